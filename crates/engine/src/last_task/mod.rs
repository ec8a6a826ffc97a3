//! The newest task of each thread, for programs that ask for its id.
//!
//! Submits do not record it until the program asks for the first time, because that would make each of them slower. From
//! then on a reason keeps the fast path closed on every device.

mod calls;

use crate::slow_path::ReasonGuard;
use softacl_sync::facade::{Mutex, thread_local};
use std::cell::Cell;

/// Present once a thread has asked for its newest task: one guard per device.
#[derive(Default)]
pub(crate) struct LastTasks {
    guards: Mutex<Vec<ReasonGuard>>,
}

thread_local! {
    /// Number of the newest task that this thread has queued since the first question. 0 is none.
    static LAST: Cell<u64> = const { Cell::new(0) };
}
