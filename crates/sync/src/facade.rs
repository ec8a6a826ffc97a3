//! Facade over the synchronization primitives of `std`, loom (`--cfg loom`) and shuttle (`--cfg shuttle`).
//!
//! loom explores the protocols of this crate, shuttle the whole engine. Everything that can block, or that decides a
//! race between threads, must therefore come from here. Use `std` for values that are set once, for statics, and for
//! atomics in memory that is mapped, shared with other processes, or read by signal handlers.

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

/// Yields to other threads. shuttle does not model time, so the caller rechecks its condition immediately.
#[cfg(shuttle)]
pub fn sleep_or_yield(_: std::time::Duration) {
    shuttle::thread::yield_now();
}
/// Sleeps for `duration`. `Thread::unpark` ends the sleep early.
#[cfg(not(any(loom, shuttle)))]
pub fn sleep_or_yield(duration: std::time::Duration) {
    std::thread::park_timeout(duration);
}

/// Locks a mutex and ignores poisoning. Panics are caught in the entry layer of the library, and the state behind every
/// lock is valid between statements, so the process remains usable.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
