//! Queries of errors and of hardware faults. The only hardware faults are injected ones.

use crate::argument::{InMutPtr, InPtr, OutPtr};
use crate::entry::export;
use crate::message;
use ascendcl_sys::*;
use softacl_engine::observer::Observer as _;
use softacl_engine::{Error, fail, segv};
use softacl_faults::{BadRange, DeviceHealth};
use std::ffi::{c_char, c_void};

#[unsafe(no_mangle)]
pub extern "C" fn aclGetRecentErrMsg() -> *const c_char {
    emit_error_query(rows::aclGetRecentErrMsg);
    message::take()
}

/// Reports to the checker that the program reads errors.
fn emit_error_query(function: &'static Function) {
    if let Some(checker) = crate::check::checker() {
        checker.entered(function);
        checker.exited(0);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn aclrtGetLastError(level: i32) -> aclError {
    emit_error_query(rows::aclrtGetLastError);
    if level == ACL_RT_THREAD_LEVEL { message::take_last_code() } else { ACL_ERROR_INVALID_PARAM }
}

#[unsafe(no_mangle)]
pub extern "C" fn aclrtPeekAtLastError(level: i32) -> aclError {
    emit_error_query(rows::aclrtPeekAtLastError);
    if level == ACL_RT_THREAD_LEVEL { message::last_code() } else { ACL_ERROR_INVALID_PARAM }
}

export! {
    fn aclrtGetMemUceInfo(device: i32, infos: OutPtr<aclrtMemUceInfo>, count: usize, found: OutPtr<usize>) |call| {
        if count == 0 {
            return fail(Error::Argument("arraySize is 0".to_owned()));
        }
        call.require_supported()?;
        let health = call.machine().health(device.into())?;
        let mut written = 0;
        for range in bad_ranges(&health).iter().take(count) {
            infos.set_at(written, entry(range))?;
            written += 1;
        }
        found.set(written)
    }

    fn aclrtMemUceRepair(device: i32, infos: InMutPtr<aclrtMemUceInfo>, count: usize) |call| {
        let guard = segv::enter();
        let infos = infos.array(count, &guard)?;
        if count == 0 {
            return fail(Error::Argument("arraySize is 0".to_owned()));
        }
        call.require_supported()?;
        call.machine().logical_device(device.into())?;
        for info in infos {
            call.machine().repair_memory(device.into(), info.addr as usize, info.len)?;
        }
        Ok(())
    }

    fn aclrtGetErrorVerbose(device: i32, info: OutPtr<aclrtErrorInfo>) |call| {
        call.require_supported()?;
        info.set(verbose(&call.machine().health(device.into())?))
    }

    fn aclrtRepairError(device: i32, info: InPtr<aclrtErrorInfo>) |call| {
        let info = &info.read()?;
        call.require_supported()?;
        let machine = call.machine();
        machine.logical_device(device.into())?;
        match info.errorType {
            ACL_RT_ERROR_MEMORY => {
                for range in info.detail[1..].chunks_exact(ENTRY).take((info.detail[0] as usize).min(UCE_ENTRIES)) {
                    machine.repair_memory(device.into(), range[0] as usize, range[1] as usize)?;
                }
                Ok(())
            }
            ACL_RT_NO_ERROR => Ok(()),
            _ => machine.repair_device(device.into()),
        }
    }
}

/// Words per entry of the list of bad memory, and its number of entries.
const ENTRY: usize = size_of::<aclrtMemUceInfo>() / 8;
const UCE_ENTRIES: usize = 20;

fn bad_ranges(health: &DeviceHealth) -> &[BadRange] {
    match health {
        DeviceHealth::BadMemory(ranges) => ranges,
        _ => &[],
    }
}

fn entry(range: &BadRange) -> aclrtMemUceInfo {
    aclrtMemUceInfo { addr: range.start as *mut c_void, len: range.len, reserved: [0; 14] }
}

/// Converts the health of a device to the C struct. Only bad memory has details.
fn verbose(health: &DeviceHealth) -> aclrtErrorInfo {
    let (error_type, repairable) = match health {
        DeviceHealth::Well => (ACL_RT_NO_ERROR, false),
        DeviceHealth::BadMemory(_) => (ACL_RT_ERROR_MEMORY, true),
        DeviceHealth::LinkGone => (ACL_RT_ERROR_LINK, true),
        DeviceHealth::Failed => (ACL_RT_ERROR_OTHERS, true),
        // Only a reset repairs it.
        DeviceHealth::Lost => (ACL_RT_ERROR_OTHERS, false),
    };
    let mut detail = [0; 321];
    let ranges = bad_ranges(health);
    detail[0] = ranges.len().min(UCE_ENTRIES) as u64;
    for (place, range) in detail[1..].chunks_exact_mut(ENTRY).zip(ranges) {
        (place[0], place[1]) = (range.start as u64, range.len as u64);
    }
    aclrtErrorInfo {
        tryRepair: u8::from(repairable),
        hasDetail: u8::from(!ranges.is_empty()),
        reserved: [0; 2],
        errorType: error_type,
        detail,
    }
}
