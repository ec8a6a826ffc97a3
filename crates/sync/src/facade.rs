//! The synchronisation primitives of the engine: from `std`, or under `--cfg loom` from loom, or under
//! `--cfg shuttle` from shuttle.
//!
//! loom explores the protocols alone, shuttle the whole engine. So whatever can block, or decides between threads, comes
//! from here. What stays with `std`: values that are set once, statics, and atomics in memory that is mapped,
//! shared with other processes, or read by signal handlers.

#[cfg(loom)]
pub use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};
#[cfg(shuttle)]
use shuttle as world;
#[cfg(not(any(loom, shuttle)))]
use std as world;
#[cfg(not(loom))]
pub use world::{
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
        mpsc,
    },
    thread, thread_local,
};

/// Lets others go on for a while. shuttle knows no time: whoever waits for some looks again at once.
#[cfg(shuttle)]
pub fn sleep_or_yield(_: std::time::Duration) {
    shuttle::thread::yield_now();
}
/// The same, for so long.
#[cfg(not(any(loom, shuttle)))]
pub fn sleep_or_yield(duration: std::time::Duration) {
    std::thread::park_timeout(duration);
}

/// Locks and ignores poisoning: a panic is caught at the door of the library, and the state behind
/// every lock is valid between statements, so the process stays usable.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
