//! Questions about communicators, and settings of the library.

use crate::communicator::{Handle, find, find_named};
use crate::failure::{Failure, HcclResult, REMOTE, SUCCESS};
use crate::program;
use crate::status::enter;
use crate::types::MAX_NAME;
use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicI32, Ordering};

/// Number of capabilities: everything up to the name of the buffer.
const CAPABILITIES: u32 = 12;
/// The only setting, `HCCL_DETERMINISTIC`.
const DETERMINISTIC: i32 = 0;

#[unsafe(no_mangle)]
pub extern "C" fn HcclGetCommConfigCapability() -> u32 {
    CAPABILITIES
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclGetRankSize(comm: Handle, size: *mut u32) -> HcclResult {
    enter("HcclGetRankSize", || program::write(size, find(comm)?.group.ranks(), "rankSize"))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclGetRankId(comm: Handle, rank: *mut u32) -> HcclResult {
    enter("HcclGetRankId", || program::write(rank, find(comm)?.group.rank(), "rank"))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclGetCommName(comm: Handle, name: *mut c_char) -> HcclResult {
    enter("HcclGetCommName", || {
        let communicator = find(comm)?;
        let mut bytes = CString::new(communicator.name.as_str()).unwrap_or_default().into_bytes();
        bytes.truncate(MAX_NAME - 1);
        bytes.push(0);
        program::write_bytes(name.cast(), &bytes, "commName")
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommGetHandleWithName(name: *const c_char, comm: *mut Handle) -> HcclResult {
    enter("HcclCommGetHandleWithName", || {
        let name = program::text(name, MAX_NAME, "commName")?;
        let found = find_named(&name).ok_or_else(|| Failure::NotFound(format!("no communicator is named {name:?}")))?;
        program::write(comm, found, "comm")
    })
}

/// Returns 0, or the code for a rank that failed. Cheap: watchdogs ask all the time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclGetCommAsyncError(comm: Handle, result: *mut HcclResult) -> HcclResult {
    enter("HcclGetCommAsyncError", || {
        let code = if find(comm)?.failure().is_some() { REMOTE } else { SUCCESS };
        program::write(result, code, "asyncError")
    })
}

/// Results are always deterministic, so every value is met.
static SETTING: AtomicI32 = AtomicI32::new(0);

#[unsafe(no_mangle)]
pub extern "C" fn HcclSetConfig(config: i32, value: i32) -> HcclResult {
    enter("HcclSetConfig", || match (config, value) {
        (DETERMINISTIC, 0..=2) => {
            SETTING.store(value, Ordering::Relaxed);
            Ok(())
        }
        (DETERMINISTIC, _) => Err(Failure::Parameter(format!("{value} is not a value of HCCL_DETERMINISTIC"))),
        _ => Err(Failure::Parameter(format!("{config} is not a setting"))),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclGetConfig(config: i32, value: *mut i32) -> HcclResult {
    enter("HcclGetConfig", || match config {
        DETERMINISTIC => program::write(value, SETTING.load(Ordering::Relaxed), "value"),
        _ => Err(Failure::Parameter(format!("{config} is not a setting"))),
    })
}
