//! Connection to the interposer, the library that `softacl check` preloads (`LD_PRELOAD`). It observes how threads
//! order each other and which memory is passed to system calls.
//!
//! Its symbols are looked up at run time. Without it nothing is known about the order of threads. The implementation
//! is in `crates/cli/interposer/interposer.c`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Called before a thread uses an object on which threads block: start and size.
pub type ObjectHook = unsafe extern "C" fn(*const c_void, usize);

/// Called before memory is passed to a system call: start, size, whether it is written, and the function.
pub type BeginHook = unsafe extern "C" fn(*const c_void, usize, c_int, *const c_char);

/// Called after the system call: the start that was announced, and how many bytes the call has used, or `usize::MAX` if
/// that is unknown.
pub type EndHook = unsafe extern "C" fn(*const c_void, usize);

/// Called after a function has read memory, or before one releases it: start, size, and the function.
pub type RangeHook = unsafe extern "C" fn(*const c_void, usize, *const c_char);

/// Called when the process ends without its exit handlers, or when the program has installed a fault handler.
pub type ProcessHook = extern "C" fn();

/// The functions that the interposer calls.
pub struct Hooks {
    pub begin: BeginHook,
    pub end: EndHook,
    pub read: RangeHook,
    pub release: RangeHook,
    pub object: ObjectHook,
    pub handler: ProcessHook,
    pub exit: ProcessHook,
}

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

/// Connects the hooks.
pub fn attach(hooks: &Hooks) {
    for (name, hook) in [
        (c"softacl_interposer_begin", hooks.begin as *mut c_void),
        (c"softacl_interposer_done", hooks.end as *mut _),
        (c"softacl_interposer_read", hooks.read as *mut _),
        (c"softacl_interposer_release", hooks.release as *mut _),
        (c"softacl_interposer_object", hooks.object as *mut _),
        (c"softacl_interposer_handler", hooks.handler as *mut _),
        (c"softacl_interposer_end", hooks.exit as *mut _),
    ] {
        if let Some(cell) = symbol(name) {
            // SAFETY: the symbol is a pointer that is only ever accessed atomically.
            let cell = unsafe { &*cell.cast::<AtomicPtr<c_void>>() };
            cell.store(hook, Ordering::Release);
        }
    }
}

/// Bounds of the memory that the interposer looks at: first and last byte of pinned memory, then those of all memory
/// that was ever registered. `None` without the interposer.
fn bounds() -> Option<&'static [AtomicUsize; 4]> {
    // SAFETY: the symbol is an array of four words that are only ever accessed atomically.
    symbol(c"softacl_interposer_bounds").map(|cells| unsafe { &*cells.cast::<[AtomicUsize; 4]>() })
}

/// Makes the interposer look at pinned memory.
pub(crate) fn watch_pinned(start: usize, len: usize) {
    if let Some([first, last, ..]) = bounds() {
        first.store(start, Ordering::Relaxed);
        last.store(start + len - 1, Ordering::Release);
    }
}

/// Makes the interposer look at registered memory, too.
pub(crate) fn watch_registered(start: usize, len: usize) {
    if let Some([_, _, first, last]) = bounds() {
        let known = last.load(Ordering::Relaxed) != 0;
        if !known || start < first.load(Ordering::Relaxed) {
            first.store(start, Ordering::Relaxed);
        }
        last.fetch_max(start + len - 1, Ordering::Release);
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
