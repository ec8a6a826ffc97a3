//! Connection to the interposer, the library that `softacl check` preloads (`LD_PRELOAD`). It observes how threads
//! order each other and which memory is passed to system calls.
//!
//! Its symbols are looked up at run time. Without it nothing is known about the order of threads. The implementation
//! is in `crates/cli/interposer/interposer.c`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Called before a thread uses an object on which threads block: start and size.
pub type ObjectHook = unsafe extern "C" fn(*const c_void, usize);

/// Called before memory is passed to a system call: start, size, whether it is written, and the function.
pub type TouchHook = unsafe extern "C" fn(*const c_void, usize, c_int, *const c_char);

/// Called when the process ends without its exit handlers, or when the program has installed a fault handler.
pub type ProcessHook = extern "C" fn();

struct Interposer {
    now: unsafe extern "C" fn() -> u64,
    comes_after: unsafe extern "C" fn(u64) -> c_int,
}

fn interposer() -> Option<&'static Interposer> {
    static FOUND: OnceLock<Option<Interposer>> = OnceLock::new();
    let find = || {
        let (now, after) = (symbol(c"softacl_interposer_now")?, symbol(c"softacl_interposer_comes_after")?);
        // SAFETY: the functions of these names have these types.
        unsafe {
            Some(Interposer {
                now: std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> u64>(now),
                comes_after: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u64) -> c_int>(after),
            })
        }
    };
    FOUND.get_or_init(find).as_ref()
}

fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: looks up a name in the loaded libraries.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Connects the hooks: system-call buffers, objects on which threads block, fault handlers of the program, and
/// process exit.
pub fn attach(touch: TouchHook, object: ObjectHook, handler: ProcessHook, end: ProcessHook) {
    for (name, hook) in [
        (c"softacl_interposer_touch", touch as *mut c_void),
        (c"softacl_interposer_object", object as *mut _),
        (c"softacl_interposer_handler", handler as *mut _),
        (c"softacl_interposer_end", end as *mut _),
    ] {
        if let Some(cell) = symbol(name) {
            // SAFETY: the symbol is a pointer that is only ever accessed atomically.
            let cell = unsafe { &*cell.cast::<AtomicPtr<c_void>>() };
            cell.store(hook, Ordering::Release);
        }
    }
}

/// Clock value of the calling thread, or 0 without the interposer.
pub(crate) fn now() -> u64 {
    // SAFETY: the function has no preconditions.
    interposer().map_or(0, |interposer| unsafe { (interposer.now)() })
}

/// Returns whether a clock value of another thread happens before the current point of the calling thread. `None` if
/// unknown.
pub(crate) fn comes_after(moment: u64) -> Option<bool> {
    // SAFETY: the function accepts any value.
    interposer().filter(|_| moment != 0).map(|interposer| unsafe { (interposer.comes_after)(moment) } != 0)
}
