//! Functions of softacl's own, declared in `softacl/softacl.h`.

use crate::argument::{NonNullArg, OutPtr};
use crate::entry::export;
use ascendcl_sys::aclrtStream;
use softacl_engine::observer::{Mode, Touch};
use softacl_engine::segv;
use std::ffi::{c_char, c_void};

export! {
    /// The address at which host code that plays the part of a kernel may touch device memory.
    fn softaclHostView(pointer: NonNullArg, size: usize, view: OutPtr<*mut c_void>) |call| {
        view.set(call.host_view(pointer.address(), size)? as *mut c_void)
    }

    fn softaclAnnotateRead(stream: aclrtStream, pointer: *const c_void, size: usize) |call| {
        call.annotate(stream as usize, Touch { address: pointer as usize, len: size, mode: Mode::Read })
    }

    fn softaclAnnotateWrite(stream: aclrtStream, pointer: *const c_void, size: usize) |call| {
        call.annotate(stream as usize, Touch { address: pointer as usize, len: size, mode: Mode::Write })
    }
}

/// Whether the process is checked.
#[unsafe(no_mangle)]
pub extern "C" fn softaclIsChecking() -> i32 {
    i32::from(crate::config::is_checker_enabled())
}

/// Keeps the Python frames of the calling thread for the call that comes next. For the module `acl`, which
/// lets go of the interpreter's lock in calls that can block.
#[unsafe(no_mangle)]
pub extern "C" fn softaclNotePlace() {
    softacl_checker::save_frames();
}

/// Tells now what was found, for a process that ends without running exit handlers.
#[unsafe(no_mangle)]
pub extern "C" fn softaclTellFindings() -> i32 {
    i32::from(crate::check::report_once())
}

/// Writes the report so far as JSON; returns its length, which may be more than there was room for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclFindings(text: *mut c_char, size: usize) -> usize {
    let Some(report) = crate::check::report() else { return 0 };
    let Ok(mut json) = serde_json::to_vec(&report) else { return 0 };
    let whole = json.len();
    if !text.is_null() && size > 0 {
        json.truncate(size - 1);
        json.push(0);
        if !segv::try_write(text as usize, &json) {
            return 0;
        }
    }
    whole
}

/// Tells about failed tasks whose error no wait ever returned: their number, and a line for each in `text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclUnobservedErrors(text: *mut c_char, size: usize) -> usize {
    let Ok(machine) = crate::process::machine() else { return 0 };
    let failures = machine.unobserved_failures();
    if !text.is_null() && size > 0 {
        let lines: Vec<String> = failures.iter().map(|error| format!("{}: {error}", error.code())).collect();
        let mut bytes = lines.join("\n").into_bytes();
        bytes.truncate(size - 1);
        bytes.push(0);
        if !segv::try_write(text as usize, &bytes) {
            return 0;
        }
    }
    failures.len()
}

#[unsafe(no_mangle)]
pub extern "C" fn softaclVersion() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
