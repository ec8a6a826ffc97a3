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
}

/// The API function that the calling thread executes.
pub(crate) fn call() -> Option<ApiFunction> {
    CALL.get()
}

pub(crate) fn set_call(function: ApiFunction) {
    CALL.set(Some(function));
    ENTERED.set(next_sequence());
}

/// Sequence number of the entry into the current API function of the calling thread.
pub(crate) fn entered() -> u64 {
    ENTERED.get()
}

/// Small id of the calling thread, starting at 0 in the order of first use.
pub(crate) fn thread() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if THREAD.get() == u32::MAX {
        THREAD.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    THREAD.get()
}
