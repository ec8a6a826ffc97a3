//! The calling thread: its id, the API function that it executes, and its place in the global order of operations.

use crate::api::ApiFunction;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Next number in the global order of operations. A larger number means a later start.
pub(crate) fn next_sequence() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::SeqCst)
}

thread_local! {
    /// The API function that this thread executes.
    static CALL: Cell<Option<ApiFunction>> = const { Cell::new(None) };
    static THREAD: Cell<u32> = const { Cell::new(u32::MAX) };
    /// Sequence number of its entry.
    static ENTERED: Cell<u64> = const { Cell::new(0) };
    /// The thread is in code of the runtime.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The API function that the calling thread executes.
pub(crate) fn call() -> Option<ApiFunction> {
    CALL.get()
}

/// The calling thread enters an API function. It is in code of the runtime until `leave_call`.
pub(crate) fn set_call(function: ApiFunction) {
    CALL.set(Some(function));
    ENTERED.set(next_sequence());
    IS_INSIDE.set(true);
}

/// The calling thread returns to the program.
pub(crate) fn leave_call() {
    IS_INSIDE.set(false);
}

/// True if the calling thread is in code of the runtime. A signal handler of the program may have interrupted it.
pub(crate) fn is_inside() -> bool {
    IS_INSIDE.get()
}

/// Marks the calling thread as inside the runtime while `run` runs.
pub(crate) fn inside<T>(run: impl FnOnce() -> T) -> T {
    let before = IS_INSIDE.replace(true);
    let result = run();
    IS_INSIDE.set(before);
    result
}

/// Sequence number of the entry into the current API function of the calling thread.
pub(crate) fn entered() -> u64 {
    ENTERED.get()
}

/// The monotonic clock of the system, which all processes share, at the last tick of the system. Reading it costs
/// less than reading the exact time.
pub(crate) fn coarse_monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the local structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The monotonic clock of the system, which all processes share.
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the local structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The id that the system gives the calling thread.
pub(crate) fn thread_id() -> i32 {
    // SAFETY: the call has no preconditions and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// Small id of the calling thread, starting at 0 in the order of first use.
pub(crate) fn thread() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if THREAD.get() == u32::MAX {
        THREAD.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    THREAD.get()
}
