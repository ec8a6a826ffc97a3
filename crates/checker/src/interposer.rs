//! The interposer: a library that `softacl check` puts before all others in the program. It knows how threads
//! order each other, and it says when memory is given to the system.
//!
//! Found by name at run time; without it nothing is known about threads. Here are only the questions: the
//! answers are in `crates/cli/interposer/interposer.c`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Told about objects on which threads wait: start and size.
pub type ObjectHook = unsafe extern "C" fn(*const c_void, usize);

/// Told about memory that is given to the system: start, size, whether it is written, and by which function.
pub type TouchHook = unsafe extern "C" fn(*const c_void, usize, c_int, *const c_char);

/// Told that the process ends without its exit handlers, or that the program has installed a handler for faults.
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
    // SAFETY: looks a name up in what is loaded already.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Lets the interposer tell about memory that is given to the system, about objects on which threads wait, about
/// handlers, and about the end.
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

/// The moment that the calling thread is at; 0 when nobody knows.
pub(crate) fn now() -> u64 {
    // SAFETY: the function has no conditions.
    interposer().map_or(0, |interposer| unsafe { (interposer.now)() })
}

/// Whether a moment of a thread comes before what the calling thread does now. `None`: nobody knows.
pub(crate) fn comes_after(moment: u64) -> Option<bool> {
    // SAFETY: the function takes any number.
    interposer().filter(|_| moment != 0).map(|interposer| unsafe { (interposer.comes_after)(moment) } != 0)
}
