//! Exception callbacks: the program is notified of each task that failed.
//!
//! A callback runs on the thread that observes the failure, in the call that returns it and before it returns. No lock
//! of softacl is held then, and a wait returns after the callbacks. The exception record is valid while the callback
//! runs.

use crate::entry::{Call, export};
use softacl_engine::{Error, Exception, Machine, Result, fail};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

type Callback = unsafe extern "C" fn(*mut c_void);

#[derive(Default)]
struct Callbacks {
    /// Set by aclrtSetExceptionInfoCallback, the older function.
    set: Option<Callback>,
    registered: Vec<Callback>,
}

static CALLBACKS: Mutex<Callbacks> = Mutex::new(Callbacks { set: None, registered: Vec::new() });

thread_local! {
    /// Recursion guard: a callback is not called for calls that it makes.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// The exception record that a callback receives.
struct ExceptionInfo {
    mark: u64,
    thread: u32,
    exception: Exception,
}

/// Marks a valid exception record.
const MARK: u64 = 0x736f_6674_6163_6c65;

export! {
    fn aclrtSetExceptionInfoCallback(callback: Option<Callback>) |call| {
        change(call, |callbacks| { callbacks.set = callback; Ok(()) })
    }

    fn aclrtExceptionInfoCallbackRegister(callback: Option<Callback>) |call| {
        let callback = callback.ok_or(Error::Null("callback"))?;
        change(call, |callbacks| {
            if !callbacks.registered.iter().any(|other| std::ptr::fn_addr_eq(*other, callback)) {
                callbacks.registered.push(callback);
            }
            Ok(())
        })
    }

    fn aclrtExceptionInfoCallbackUnregister(callback: Option<Callback>) |call| {
        let callback = callback.ok_or(Error::Null("callback"))?;
        change(call, |callbacks| {
            let before = callbacks.registered.len();
            callbacks.registered.retain(|other| !std::ptr::fn_addr_eq(*other, callback));
            if callbacks.registered.len() == before {
                return fail(Error::Parameter("the callback is not registered".to_owned()));
            }
            Ok(())
        })
    }
}

fn change(call: Call<'_>, change: impl FnOnce(&mut Callbacks) -> Result<()>) -> Result<()> {
    let mut callbacks = CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut callbacks)?;
    call.machine().exceptions().set_capture(callbacks.set.is_some() || !callbacks.registered.is_empty());
    Ok(())
}

/// Calls the exception callbacks for the tasks that failed since the last time. Called after a call of this thread
/// failed.
#[cold]
pub(crate) fn dispatch(machine: &Machine) {
    if IN_CALLBACK.try_with(Cell::get).unwrap_or(true) {
        return;
    }
    let exceptions = machine.exceptions().take();
    if exceptions.is_empty() {
        return;
    }
    let callbacks = {
        let callbacks = CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner);
        callbacks.set.into_iter().chain(callbacks.registered.iter().copied()).collect::<Vec<_>>()
    };
    IN_CALLBACK.set(true);
    // SAFETY: gettid has no preconditions.
    let thread = unsafe { libc::gettid() } as u32;
    for exception in exceptions {
        let mut information = ExceptionInfo { mark: MARK, thread, exception };
        for callback in &callbacks {
            // SAFETY: the program passed this function to be called with such a pointer, which is valid
            // until the function returns.
            unsafe { callback((&raw mut information).cast()) };
        }
    }
    IN_CALLBACK.set(false);
}

/// Reads the exception record behind a pointer. `None` if there is none.
fn information(pointer: *const c_void) -> Option<ExceptionInfo> {
    let _guard = softacl_memory::segv::enter();
    let is_whole = pointer.cast::<ExceptionInfo>().is_aligned()
        // SAFETY: the program passed the pointer to the function in progress.
        && unsafe { softacl_memory::segv::is_readable(pointer as usize, size_of::<ExceptionInfo>()) };
    if pointer.is_null() || !is_whole {
        return None;
    }
    // SAFETY: aligned and readable, and all fields are plain numbers.
    Some(unsafe { pointer.cast::<ExceptionInfo>().read() }).filter(|information| information.mark == MARK)
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
