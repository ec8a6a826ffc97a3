//! Contexts, and the system parameters that belong to them.

use crate::entry::{export, out};
use ascendcl_sys::*;
use softacl_engine::{ContextKey, Error, Result, fail};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, PoisonError};

/// System parameters by context; 0 stands for the process.
static PARAMETERS: LazyLock<Mutex<HashMap<(usize, i32), i64>>> = LazyLock::new(Mutex::default);
/// ACL_ERROR_RT_SYSPARAMOPT_NOT_SET has no cause in the engine.
const OPTIONS: std::ops::RangeInclusive<i32> = 0..=3;

export! {
    fn aclrtCreateContext(context: *mut aclrtContext, device: i32) |caller| {
        let context = out(context, "context")?;
        let before = caller.current_context().ok();
        let made = caller.create_context(device.into())?;
        context.set(made.raw() as *mut c_void).inspect_err(|_| {
            // Nobody will ever know the handle.
            let _ = caller.destroy_context(made.raw());
            let _ = before.map(|before| caller.set_current_context(before.raw()));
        })
    }

    fn aclrtDestroyContext(context: aclrtContext) |caller| {
        if context.is_null() {
            return fail(Error::Null("context"));
        }
        caller.destroy_context(context as usize)
    }

    fn aclrtSetCurrentContext(context: aclrtContext) |caller| {
        if context.is_null() {
            return fail(Error::Null("context"));
        }
        caller.set_current_context(context as usize)
    }

    fn aclrtGetCurrentContext(context: *mut aclrtContext) |caller| {
        let context = out(context, "context")?;
        context.set(caller.current_context()?.raw() as *mut c_void)
    }

    fn aclrtCtxGetCurrentDefaultStream(stream: *mut aclrtStream) |caller| {
        let stream = out(stream, "stream")?;
        stream.set(caller.current_default_stream()? as *mut c_void)
    }

    fn aclrtGetPrimaryCtxState(device: i32, flags: *mut u32, active: *mut i32) |caller| {
        let is_active = caller.is_primary_active(device.into())?;
        if !flags.is_null() {
            out(flags, "flags")?.set(0)?;
        }
        out(active, "active")?.set(i32::from(is_active))
    }

    /// Kept and given back: there are no operators that it could change.
    fn aclrtCtxSetSysParamOpt(option: i32, value: i64) |caller| {
        set(caller.current_context()?.raw(), option, value)
    }

    fn aclrtSetSysParamOpt(option: i32, value: i64) |_caller| { set(0, option, value) }
}

fn set(owner: usize, option: i32, value: i64) -> Result<()> {
    if !OPTIONS.contains(&option) {
        return fail(Error::Argument(format!("system parameter {option} is not in 0 to 3")));
    }
    PARAMETERS.lock().unwrap_or_else(PoisonError::into_inner).insert((owner, option), value);
    Ok(())
}

/// Reads a parameter; one that was never set has a code of its own.
fn get(
    function: &'static str,
    owner: impl FnOnce(softacl_engine::Caller<'_>) -> Result<usize>,
    option: i32,
    value: *mut i64,
) -> aclError {
    let mut unset = false;
    let code = crate::entry::enter(function, |caller| {
        let value = out(value, "value")?;
        if !OPTIONS.contains(&option) {
            return fail(Error::Argument(format!("system parameter {option} is not in 0 to 3")));
        }
        let owner = owner(caller)?;
        match PARAMETERS.lock().unwrap_or_else(PoisonError::into_inner).get(&(owner, option)) {
            Some(found) => value.set(*found),
            None => {
                unset = true;
                Ok(())
            }
        }
    });
    if unset {
        crate::message::set_last_code(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
        return ACL_ERROR_RT_SYSPARAMOPT_NOT_SET;
    }
    code
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCtxGetSysParamOpt(option: i32, value: *mut i64) -> aclError {
    get("aclrtCtxGetSysParamOpt", |caller| caller.current_context().map(ContextKey::raw), option, value)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetSysParamOpt(option: i32, value: *mut i64) -> aclError {
    get("aclrtGetSysParamOpt", |_| Ok(0), option, value)
}
