//! Callbacks for changes of streams and devices, and for aborts. The engine decides when the first two are called.

use crate::argument::TextPtr;
use crate::entry::{CallError, export};
use ascendcl_sys::*;
use softacl_engine::{DeviceChange, Error, NamedHooks, Result, StreamChange, fail};
use std::ffi::c_void;
use std::sync::{Arc, LazyLock};

/// A C function and its last argument, which other threads may call. The program vouches for both.
#[derive(Clone, Copy)]
struct Registered<F> {
    function: F,
    argument: *mut c_void,
}

// SAFETY: the API documents that the function is called, with this argument, on any thread that changes the state.
unsafe impl<F> Send for Registered<F> {}
// SAFETY: a shared reference gives no access to what the argument points to.
unsafe impl<F> Sync for Registered<F> {}

type StreamFunction = unsafe extern "C" fn(aclrtStream, i32, *mut c_void);
type DeviceFunction = unsafe extern "C" fn(i32, i32, *mut c_void);
type AbortFunction = unsafe extern "C" fn(i32, i32, u32, *mut c_void) -> i32;

impl Registered<StreamFunction> {
    fn call(&self, stream: usize, change: StreamChange) {
        let state = match change {
            StreamChange::Created => ACL_RT_STREAM_STATE_CREATE_POST,
            StreamChange::Ending => ACL_RT_STREAM_STATE_DESTROY_PRE,
        };
        // SAFETY: the program registered this function to be called with these arguments.
        unsafe { (self.function)(stream as aclrtStream, state, self.argument) }
    }
}

impl Registered<DeviceFunction> {
    fn call(&self, device: u32, change: DeviceChange) {
        let state = match change {
            DeviceChange::Setting => ACL_RT_DEVICE_STATE_SET_PRE,
            DeviceChange::Set => ACL_RT_DEVICE_STATE_SET_POST,
            DeviceChange::Resetting => ACL_RT_DEVICE_STATE_RESET_PRE,
            DeviceChange::Reset => ACL_RT_DEVICE_STATE_RESET_POST,
        };
        // SAFETY: the program registered this function to be called with these arguments.
        unsafe { (self.function)(device as i32, state, self.argument) }
    }
}

/// Callbacks of aclrtDeviceTaskAbort.
static ABORTS: LazyLock<NamedHooks<Registered<AbortFunction>>> = LazyLock::new(NamedHooks::default);

export! {
    fn aclrtRegStreamStateCallback(name: TextPtr, callback: aclrtStreamStateCallback, args: *mut c_void) |call| {
        let name = checked_name(name)?;
        call.require_supported()?;
        let hooks = &call.machine().hooks().streams;
        let Some(function) = callback else { return hooks.remove(&name) };
        let registered = Registered { function, argument: args };
        hooks.add(name, Arc::new(move |stream, change| registered.call(stream, change)))
    }

    fn aclrtRegDeviceStateCallback(name: TextPtr, callback: aclrtDeviceStateCallback, args: *mut c_void) |call| {
        let name = checked_name(name)?;
        call.require_supported()?;
        let hooks = &call.machine().hooks().devices;
        let Some(function) = callback else { return hooks.remove(&name) };
        let registered = Registered { function, argument: args };
        hooks.add(name, Arc::new(move |device, change| registered.call(device, change)))
    }

    fn aclrtSetDeviceTaskAbortCallback(
        name: TextPtr, callback: aclrtDeviceTaskAbortCallback, args: *mut c_void
    ) |call| {
        let name = checked_name(name)?;
        call.require_supported()?;
        match callback {
            Some(function) => ABORTS.add(name, Registered { function, argument: args }),
            None => ABORTS.remove(&name),
        }
    }
}

fn checked_name(name: TextPtr) -> Result<String> {
    let name = name.read()?;
    if name.is_empty() { fail(Error::Argument("regName is empty".to_owned())) } else { Ok(name) }
}

/// Calls the abort callbacks before or after an abort. Fails if one of them fails; the others are called nevertheless.
pub(crate) fn call_abort_callbacks(device: i32, stage: i32, timeout: u32) -> std::result::Result<(), CallError> {
    let mut failed = 0;
    for Registered { function, argument } in ABORTS.all() {
        // SAFETY: the program registered this function to be called with these arguments.
        let code = unsafe { function(device, stage, timeout, argument) };
        failed = if failed == 0 { code } else { failed };
    }
    if failed == 0 {
        return Ok(());
    }
    let when = if stage == ACL_RT_DEVICE_TASK_ABORT_PRE { "before the abort, which was not begun" } else { "after it" };
    let text = format!("a callback of aclrtSetDeviceTaskAbortCallback returned {failed} {when}");
    Err(CallError::runtime_code(ACL_ERROR_RT_INTERNAL_ERROR, text))
}
