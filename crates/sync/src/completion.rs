//! Progress of a stream: the only place that publishes finished tasks.
//!
//! Tasks of a stream finish in order, so one sequence number describes its progress. The number is written by the
//! holder of the stream's claim, or under the lane lock for a task that ran inline.

use crate::facade::{AtomicU64, Ordering};
use crate::wait_queue::WaitQueue;

/// The sequence number of the latest finished task, and the threads that wait for it to grow.
pub struct Completion {
    done: AtomicU64,
    waiters: WaitQueue,
}

impl Default for Completion {
    fn default() -> Self {
        Completion { done: AtomicU64::new(0), waiters: WaitQueue::default() }
    }
}

impl Completion {
    /// The sequence number of the latest finished task. Everything that task wrote is visible to the caller.
    #[inline]
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// Publishes a task that ran inline, under the lane lock, without waking waiters. A waiter takes that lock after it
    /// reads the sequence number, so it cannot miss the update.
    #[inline]
    pub fn publish_without_wake(&self, sequence: u64) {
        self.done.store(sequence, Ordering::Release);
    }

    /// Publishes a task and wakes all waiters: one store, one wake.
    #[inline]
    pub fn publish(&self, sequence: u64) {
        self.done.store(sequence, Ordering::Release);
        self.waiters.wake_all();
    }

    /// Waits until the task is finished.
    #[cfg(loom)]
    #[inline]
    pub fn wait(&self, sequence: u64) {
        self.waiters.wait(|| self.done() >= sequence);
    }

    /// Waits until the task is finished. Returns `false` if `deadline` passes first.
    #[cfg(not(loom))]
    #[inline]
    pub fn sleep_until(&self, sequence: u64, deadline: Option<std::time::Instant>) -> bool {
        self.waiters.wait_until(deadline, || self.done() >= sequence)
    }

    /// Waits until the task is finished, `is_needed` holds, or `deadline` passes.
    #[cfg(not(loom))]
    #[inline]
    pub fn wait_or(&self, sequence: u64, deadline: std::time::Instant, is_needed: impl Fn() -> bool) {
        self.waiters.wait_until(Some(deadline), || self.done() >= sequence || is_needed());
    }

    /// Waits until the task is finished or `is_needed` holds.
    #[cfg(loom)]
    #[inline]
    pub fn wait_or(&self, sequence: u64, is_needed: impl Fn() -> bool) {
        self.waiters.wait(|| self.done() >= sequence || is_needed());
    }

    /// Wakes the waiters, so that they test their conditions again.
    #[inline]
    pub fn wake_waiters(&self) {
        self.waiters.wake_all();
    }
}
