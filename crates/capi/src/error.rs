//! Asking about errors, and about faults of the hardware, of which there are none.

use crate::door::{array, doors, out, require};
use crate::message;
use ascendcl_sys::*;
use softacl_engine::probe::Probe as _;
use softacl_engine::{Error, fail};
use std::ffi::c_char;

#[unsafe(no_mangle)]
pub extern "C" fn aclGetRecentErrMsg() -> *const c_char {
    tell_asked("aclGetRecentErrMsg");
    message::take()
}

/// Tells an observer that the program looks at errors.
fn tell_asked(function: &'static str) {
    if let Some(checker) = crate::check::checker() {
        checker.entered(function);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn aclrtGetLastError(level: i32) -> aclError {
    tell_asked("aclrtGetLastError");
    if level == ACL_RT_THREAD_LEVEL { message::take_last_code() } else { ACL_ERROR_INVALID_PARAM }
}

#[unsafe(no_mangle)]
pub extern "C" fn aclrtPeekAtLastError(level: i32) -> aclError {
    tell_asked("aclrtPeekAtLastError");
    if level == ACL_RT_THREAD_LEVEL { message::last_code() } else { ACL_ERROR_INVALID_PARAM }
}

doors! {
    fn aclrtGetMemUceInfo(device: i32, infos: *mut aclrtMemUceInfo, count: usize, found: *mut usize) |caller| {
        let (_, found) = (out(infos, "memUceInfoArray")?, out(found, "retSize")?);
        if count == 0 {
            return fail(Error::Argument("arraySize is 0".to_owned()));
        }
        require(caller, "aclrtGetMemUceInfo")?;
        caller.machine().logical_device(device.into())?;
        found.set(0)
    }

    fn aclrtMemUceRepair(device: i32, infos: *mut aclrtMemUceInfo, count: usize) |caller| {
        array(infos.cast_const(), count, "memUceInfoArray")?.ok_or(Error::Null("memUceInfoArray"))?;
        if count == 0 {
            return fail(Error::Argument("arraySize is 0".to_owned()));
        }
        require(caller, "aclrtMemUceRepair")?;
        caller.machine().logical_device(device.into()).map(|_| ())
    }

    fn aclrtGetErrorVerbose(device: i32, info: *mut aclrtErrorInfo) |caller| {
        let info = out(info, "errorInfo")?;
        require(caller, "aclrtGetErrorVerbose")?;
        caller.machine().logical_device(device.into())?;
        info.set(aclrtErrorInfo { tryRepair: 0, hasDetail: 0, reserved: [0; 2], errorType: ACL_RT_NO_ERROR, detail: [0; 321] })
    }

    fn aclrtRepairError(device: i32, info: *const aclrtErrorInfo) |caller| {
        array(info, 1, "errorInfo")?.ok_or(Error::Null("errorInfo"))?;
        require(caller, "aclrtRepairError")?;
        caller.machine().logical_device(device.into()).map(|_| ())
    }
}
