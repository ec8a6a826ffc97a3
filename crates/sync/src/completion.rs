//! Completion: how far a stream has come. The one place where it is published.
//!
//! Tasks of a stream finish in order, so one number says everything. It is written only by the
//! holder of the stream's claim, or under the lane's lock for work that was done on the spot.

use crate::facade::{AtomicU64, Ordering};
use crate::wait_queue::WaitQueue;

pub struct Completion {
    done: AtomicU64,
    bell: WaitQueue,
}

impl Default for Completion {
    fn default() -> Self {
        Completion { done: AtomicU64::new(0), bell: WaitQueue::default() }
    }
}

impl Completion {
    /// The number of the newest finished task. Everything that task wrote is visible to the caller.
    #[inline]
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// Publishes a task that was done under the lane's lock and wakes nobody: who sleeps for a point has had that lock
    /// after it learnt of the point.
    #[inline]
    pub fn publish_without_wake(&self, sequence: u64) {
        self.done.store(sequence, Ordering::Release);
    }

    /// Publishes a task and wakes those who wait for it: one store, one wake.
    #[inline]
    pub fn publish(&self, sequence: u64) {
        self.done.store(sequence, Ordering::Release);
        self.bell.wake_all();
    }

    /// Sleeps until the task is finished.
    #[cfg(loom)]
    pub fn sleep(&self, sequence: u64) {
        self.bell.sleep(|| self.done() >= sequence);
    }

    /// Sleeps until the task is finished; `false` when `deadline` came first.
    #[cfg(not(loom))]
    pub fn sleep_until(&self, sequence: u64, deadline: Option<std::time::Instant>) -> bool {
        self.bell.wait_until(deadline, || self.done() >= sequence)
    }

    /// Sleeps until the task is finished, there is something to help with, or `deadline` has come.
    #[cfg(not(loom))]
    pub fn wait_or(&self, sequence: u64, deadline: std::time::Instant, is_needed: impl Fn() -> bool) {
        self.bell.wait_until(Some(deadline), || self.done() >= sequence || is_needed());
    }

    /// The same without a time.
    #[cfg(loom)]
    pub fn sleep_unless(&self, sequence: u64, is_needed: impl Fn() -> bool) {
        self.bell.sleep(|| self.done() >= sequence || is_needed());
    }

    /// Lets those who sleep look whether there is something to help with.
    pub fn wake_waiters(&self) {
        self.bell.wake_all();
    }
}
