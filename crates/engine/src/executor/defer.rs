//! Deferring: a thread that submits under a lock does not execute what it submits.

use softacl_sync::facade::thread_local;
use std::cell::Cell;

thread_local! {
    /// Number of guards that this thread has.
    static ACTIVE_GUARDS: Cell<u32> = const { Cell::new(0) };
}

/// Defers execution of tasks that this thread submits. Required when submitting under a lock: a task may need any lock,
/// including one whose holder waits for the caller's. The owner calls `Machine::step_after_submit` after dropping the
/// guard and the lock.
pub(crate) struct DeferGuard(());

impl DeferGuard {
    pub(crate) fn new() -> DeferGuard {
        ACTIVE_GUARDS.with(|count| count.set(count.get() + 1));
        DeferGuard(())
    }

    /// True if this thread has a guard.
    pub(super) fn is_active() -> bool {
        ACTIVE_GUARDS.with(Cell::get) > 0
    }
}

impl Drop for DeferGuard {
    fn drop(&mut self) {
        ACTIVE_GUARDS.with(|count| count.set(count.get() - 1));
    }
}
