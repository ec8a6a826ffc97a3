//! The cell that holds the machine of this process. `process` creates the machine; a forked child has none.

use softacl_engine::{Error, Machine, Result, fail};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

/// Set in a child that was forked after the machine was created.
static FORKED: AtomicBool = AtomicBool::new(false);
static MACHINE: OnceLock<Result<Arc<Machine>>> = OnceLock::new();
/// Fast-path pointer to the machine; null before initialization and in a forked child.
static FAST_MACHINE: AtomicPtr<Machine> = AtomicPtr::new(ptr::null_mut());

/// Returns the machine if it was returned before and this process was not forked afterwards.
#[inline]
pub(crate) fn fast() -> Option<&'static Machine> {
    // SAFETY: NULL or the machine in `MACHINE`, which lives as long as the process.
    unsafe { FAST_MACHINE.load(Ordering::Acquire).as_ref() }
}

/// Returns the machine, or the reason why there is none. The first call creates it; concurrent ones wait.
pub(crate) fn get_or_create(create: fn() -> Result<Arc<Machine>>) -> Result<&'static Machine> {
    if is_forked() {
        return fail(after_fork());
    }
    match MACHINE.get_or_init(create) {
        Ok(machine) => {
            FAST_MACHINE.store(Arc::as_ptr(machine).cast_mut(), Ordering::Release);
            Ok(machine)
        }
        Err(error) => Err(error.clone()),
    }
}

/// Returns the machine, or the reason why there is none. `None` if it is not created yet.
pub(crate) fn get() -> Option<Result<&'static Machine>> {
    if is_forked() {
        return Some(fail(after_fork()));
    }
    MACHINE.get().map(|created| created.as_deref().map_err(Clone::clone))
}

/// Returns `true` in a child that was forked after first use.
pub(crate) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Arranges that children forked from now on have no machine.
pub(crate) fn detach_in_children() {
    // SAFETY: the handler is a function of this library, which is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    FAST_MACHINE.store(ptr::null_mut(), Ordering::Relaxed);
}

/// Returns the error of calls in a forked child. The threads of the machine exist only in the parent, and its locks may
/// be held.
#[cold]
fn after_fork() -> Error {
    let why = "this process was forked from one that had already used the runtime; \
               fork before the first call, or start a new program";
    Error::Setup(why.to_owned())
}
