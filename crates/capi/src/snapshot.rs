//! Callbacks of snapshots. Snapshots themselves are absent, because the memory of a software device is memory of the
//! process: nothing can be saved apart from it. So the callbacks are only stored.

use crate::entry::{CallError, export};
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

type Callback = unsafe extern "C" fn(i32, *mut c_void) -> u32;

/// Stage and function of each callback, in the order of registration.
static CALLBACKS: Mutex<Vec<(i32, Callback)>> = Mutex::new(Vec::new());

export! {
    fn aclrtSnapShotCallbackRegister(
        stage: i32, callback: aclrtSnapShotCallBack, _args: *mut c_void
    ) -> std::result::Result<(), CallError> |call| {
        let callback = callback.ok_or(Error::Null("callback"))?;
        check_stage(stage)?;
        call.require_supported()?;
        let mut callbacks = CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner);
        if callbacks.iter().any(|other| is_same(*other, (stage, callback))) {
            let text = format!("the callback is already registered for stage {stage}");
            return Err(CallError::runtime_code(ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED, text));
        }
        callbacks.push((stage, callback));
        Ok(())
    }

    fn aclrtSnapShotCallbackUnregister(stage: i32, callback: aclrtSnapShotCallBack) |call| {
        let callback = callback.ok_or(Error::Null("callback"))?;
        check_stage(stage)?;
        call.require_supported()?;
        let mut callbacks = CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = callbacks.iter().position(|other| is_same(*other, (stage, callback))) else {
            return fail(Error::Parameter(format!("the callback is not registered for stage {stage}")));
        };
        callbacks.remove(index);
        Ok(())
    }
}

fn check_stage(stage: i32) -> Result<()> {
    if (ACL_RT_SNAPSHOT_LOCK_PRE..=ACL_RT_SNAPSHOT_UNLOCK_POST).contains(&stage) {
        return Ok(());
    }
    fail(Error::Parameter(format!("stage {stage} is not in 0 to 5")))
}

fn is_same(one: (i32, Callback), other: (i32, Callback)) -> bool {
    one.0 == other.0 && std::ptr::fn_addr_eq(one.1, other.1)
}
