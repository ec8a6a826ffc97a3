//! Deferring: a thread that submits under a lock does not execute what it submits.

use softacl_sync::facade::thread_local;
use std::cell::Cell;

thread_local! {
    static ACTIVE_GUARDS: Cell<u32> = const { Cell::new(0) };
}

/// While it lives, what this thread submits is not run by it at once. Whoever submits under a lock has one: a task
/// may need any lock, also one whose holder waits for ours.
pub(crate) struct DeferGuard(());

impl DeferGuard {
    pub(crate) fn new() -> DeferGuard {
        ACTIVE_GUARDS.with(|count| count.set(count.get() + 1));
        DeferGuard(())
    }

    /// Whether this thread has one.
    pub(super) fn is_active() -> bool {
        ACTIVE_GUARDS.with(Cell::get) > 0
    }
}

impl Drop for DeferGuard {
    fn drop(&mut self) {
        ACTIVE_GUARDS.with(|count| count.set(count.get() - 1));
    }
}
