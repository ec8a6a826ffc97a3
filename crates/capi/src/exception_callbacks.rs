//! Exception callbacks: the program is notified of each task that failed.
//!
//! A callback runs on the thread that observes the failure, in the call that returns it and before it returns. No lock
//! of softacl is held then, and a wait returns after the callbacks. The exception record is valid while the callback
//! runs.

use softacl_engine::{Exception, Machine, Result};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// A function of the program that receives an exception record.
pub(crate) type Callback = unsafe extern "C" fn(*mut c_void);

/// The callbacks of the program.
pub(crate) struct Callbacks {
    /// Set by aclrtSetExceptionInfoCallback, the older function.
    pub(crate) set: Option<Callback>,
    pub(crate) registered: Vec<Callback>,
}

static CALLBACKS: Mutex<Callbacks> = Mutex::new(Callbacks { set: None, registered: Vec::new() });

thread_local! {
    /// Recursion guard: a callback is not called for calls that it makes.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// The exception record that a callback receives.
pub(crate) struct ExceptionInfo {
    mark: u64,
    pub(crate) thread: u32,
    pub(crate) exception: Exception,
}

/// Marks a valid exception record.
const MARK: u64 = 0x736f_6674_6163_6c65;

/// Changes the callbacks. The machine records failed tasks while there is a callback.
pub(crate) fn change(machine: &Machine, change: impl FnOnce(&mut Callbacks) -> Result<()>) -> Result<()> {
    let mut callbacks = CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner);
    change(&mut callbacks)?;
    machine.exceptions().set_capture(callbacks.set.is_some() || !callbacks.registered.is_empty());
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
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
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
pub(crate) fn information(pointer: *const c_void) -> Option<ExceptionInfo> {
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
