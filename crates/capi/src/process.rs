//! The machine of this process, created on first use.

use softacl_engine::observer::Observer;
use softacl_engine::{Error, Machine, Result, fail};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

/// Set in a child that was forked after the machine was created.
static FORKED: AtomicBool = AtomicBool::new(false);
static MACHINE: OnceLock<Result<Arc<Machine>>> = OnceLock::new();
/// Fast-path pointer to the machine; null before initialization and in a forked child.
static FAST_MACHINE: AtomicPtr<Machine> = AtomicPtr::new(ptr::null_mut());

/// Returns the machine, or the reason why there is none. The reason is printed to stderr once, because a program that
/// ignores codes would otherwise fail silently.
#[inline]
pub(crate) fn machine() -> Result<&'static Machine> {
    // SAFETY: NULL or the machine in `MACHINE`, which lives as long as the process.
    match unsafe { FAST_MACHINE.load(Ordering::Acquire).as_ref() } {
        Some(machine) => Ok(machine),
        None => machine_or_reason(),
    }
}

#[cold]
#[inline(never)]
fn machine_or_reason() -> Result<&'static Machine> {
    if FORKED.load(Ordering::Relaxed) {
        return fail(after_fork());
    }
    match MACHINE.get_or_init(make) {
        Ok(machine) => {
            FAST_MACHINE.store(Arc::as_ptr(machine).cast_mut(), Ordering::Release);
            Ok(machine)
        }
        Err(error) => Err(error.clone()),
    }
}

/// True if an observer or fault rules may be active. Conservatively true until the machine is created.
static HOOKS_ACTIVE: AtomicBool = AtomicBool::new(true);

#[inline]
pub(crate) fn hooks_may_be_active() -> bool {
    HOOKS_ACTIVE.load(Ordering::Relaxed)
}

/// Returns `true` in a child that was forked after first use.
pub(crate) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Returns the error of calls in a forked child. The threads of the machine exist only in the parent, and its locks may
/// be held.
#[cold]
fn after_fork() -> Error {
    let why = "this process was forked from one that had already used the runtime; \
               fork before the first call, or start a new program";
    Error::Setup(why.to_owned())
}

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    FAST_MACHINE.store(ptr::null_mut(), Ordering::Relaxed);
}

/// Creates the observer that the environment enables: the checker or the tracer.
fn observer() -> std::result::Result<Option<Arc<dyn Observer>>, String> {
    if let Some(checker) = crate::check::install() {
        return Ok(Some(checker));
    }
    Ok(crate::trace::install()?.map(|tracer| tracer as Arc<dyn Observer>))
}

#[cold]
fn make() -> Result<Arc<Machine>> {
    let setup = crate::config::from_environment().and_then(|config| Ok((config, observer()?)));
    let created = setup
        .map_err(|why| Box::new(Error::Setup(why)))
        .and_then(|(config, observer)| Machine::with_observer(config, observer));
    match &created {
        Ok(machine) => {
            HOOKS_ACTIVE.store(machine.has_hooks(), Ordering::Relaxed);
            machine.diagnose_faults();
            // SAFETY: the handler is a function of this library, which is never unloaded.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        }
        Err(error) => eprintln!("softacl: {error}"),
    }
    created
}
