//! Exception callbacks: their registration, and the fields of exception records. `exception_callbacks` calls them.

use crate::argument::OutPtr;
use crate::entry::export;
use crate::exception_callbacks::{Callback, ExceptionInfo, change, information};
use softacl_engine::{Error, fail};
use std::ffi::c_void;

export! {
    fn aclrtSetExceptionInfoCallback(callback: Option<Callback>) |call| {
        change(call.machine(), |callbacks| { callbacks.set = callback; Ok(()) })
    }

    fn aclrtExceptionInfoCallbackRegister(callback: Option<Callback>) |call| {
        let callback = callback.ok_or(Error::Null("callback"))?;
        change(call.machine(), |callbacks| {
            if !callbacks.registered.iter().any(|other| std::ptr::fn_addr_eq(*other, callback)) {
                callbacks.registered.push(callback);
            }
            Ok(())
        })
    }

    fn aclrtExceptionInfoCallbackUnregister(callback: Option<Callback>) |call| {
        let callback = callback.ok_or(Error::Null("callback"))?;
        change(call.machine(), |callbacks| {
            let before = callbacks.registered.len();
            callbacks.registered.retain(|other| !std::ptr::fn_addr_eq(*other, callback));
            if callbacks.registered.len() == before {
                return fail(Error::Parameter("the callback is not registered".to_owned()));
            }
            Ok(())
        })
    }

    /// Only kernels have arguments. Exception records do not keep those of the kernel that failed.
    fn aclrtGetArgsFromExceptionInfo(
        info: *const c_void, _args: OutPtr<*mut c_void>, _len: OutPtr<u32>
    ) |_call| { without_kernel(info) }

    fn aclrtGetFuncHandleFromExceptionInfo(info: *const c_void, _function: OutPtr<*mut c_void>) |_call| {
        without_kernel(info)
    }
}

/// Fails with the reason why an exception record has no kernel.
fn without_kernel(info: *const c_void) -> softacl_engine::Result<()> {
    fail(Error::Parameter(match information(info) {
        Some(_) => "exception records contain neither the arguments nor the function of a kernel".to_owned(),
        None => "exceptionInfo is not an exception record".to_owned(),
    }))
}

/// Reads a field of an exception record. Returns `u32::MAX` if `info` is not a valid exception record.
fn field(info: *const c_void, read: impl FnOnce(&ExceptionInfo) -> u32) -> u32 {
    information(info).as_ref().map_or(u32::MAX, read)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetTaskIdFromExceptionInfo(info: *const c_void) -> u32 {
    field(info, |information| information.exception.task as u32)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetStreamIdFromExceptionInfo(info: *const c_void) -> u32 {
    field(info, |information| information.exception.stream)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetThreadIdFromExceptionInfo(info: *const c_void) -> u32 {
    field(info, |information| information.thread)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDeviceIdFromExceptionInfo(info: *const c_void) -> u32 {
    field(info, |information| information.exception.device)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetErrorCodeFromExceptionInfo(info: *const c_void) -> u32 {
    field(info, |information| information.exception.code as u32)
}
