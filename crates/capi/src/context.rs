//! Contexts, and the system parameters that belong to them.

use crate::argument::{NonNullArg, OutPtr};
use crate::entry::{CallError, export};
use ascendcl_sys::*;
use softacl_engine::{Error, fail};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Owner of the system parameters that are set for the process.
const PROCESS: usize = 0;
/// System parameters by owner, which is a context or `PROCESS`.
static PARAMETERS: LazyLock<Mutex<HashMap<(usize, i32), i64>>> = LazyLock::new(Mutex::default);
/// Numbers of the system parameters.
const OPTIONS: std::ops::RangeInclusive<i32> = 0..=3;

export! {
    fn aclrtCreateContext(context: OutPtr<aclrtContext>, device: i32) |call| {
        let before = call.current_context().ok();
        let created = call.create_context(device.into())?;
        context.set_or(created.raw() as *mut c_void, || {
            let _ = call.destroy_context(created.raw());
            let _ = before.map(|before| call.set_current_context(before.raw()));
        })
    }

    fn aclrtDestroyContext(context: NonNullArg) |call| {
        call.destroy_context(context.address())
    }

    fn aclrtSetCurrentContext(context: NonNullArg) |call| {
        call.set_current_context(context.address())
    }

    fn aclrtGetCurrentContext(context: OutPtr<aclrtContext>) |call| {
        context.set(call.current_context()?.raw() as *mut c_void)
    }

    fn aclrtCtxGetCurrentDefaultStream(stream: OutPtr<aclrtStream>) |call| {
        stream.set(call.current_default_stream()? as *mut c_void)
    }

    fn aclrtGetPrimaryCtxState(device: i32, flags: Option<OutPtr<u32>>, active: Option<OutPtr<i32>>) |call| {
        let is_active = call.is_primary_active(device.into())?;
        if let Some(flags) = flags {
            flags.set(0)?;
        }
        active.ok_or(Error::Null("active"))?.set(i32::from(is_active))
    }

    /// Stored for `aclrtCtxGetSysParamOpt`. It has no other effect, because operators compute on the CPU.
    fn aclrtCtxSetSysParamOpt(option: i32, value: i64) |call| {
        set(call.current_context()?.raw(), option, value)
    }

    fn aclrtSetSysParamOpt(option: i32, value: i64) |_call| { set(PROCESS, option, value) }

    fn aclrtCtxGetSysParamOpt(option: i32, value: OutPtr<i64>) -> Result<(), CallError> |call| {
        check_option(option)?;
        match get(call.current_context()?.raw(), option) {
            Some(found) => Ok(value.set(found)?),
            None => {
                let text = format!("system parameter {option} was never set in this context");
                Err(CallError::runtime_code(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, text))
            }
        }
    }

    /// An option that was never set is 0.
    fn aclrtGetSysParamOpt(option: i32, value: OutPtr<i64>) |_call| {
        check_option(option)?;
        value.set(get(PROCESS, option).unwrap_or_default())
    }
}

fn check_option(option: i32) -> softacl_engine::Result<()> {
    if OPTIONS.contains(&option) {
        return Ok(());
    }
    fail(Error::Argument(format!("system parameter {option} is not in 0 to 3")))
}

fn set(owner: usize, option: i32, value: i64) -> softacl_engine::Result<()> {
    check_option(option)?;
    PARAMETERS.lock().unwrap_or_else(PoisonError::into_inner).insert((owner, option), value);
    Ok(())
}

fn get(owner: usize, option: i32) -> Option<i64> {
    PARAMETERS.lock().unwrap_or_else(PoisonError::into_inner).get(&(owner, option)).copied()
}
