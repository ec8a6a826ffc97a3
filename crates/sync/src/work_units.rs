//! A counter from which threads take the units of one job.
//!
//! Threads take units one at a time, so a slow helper delays the others only at the end. Any thread may take units at
//! any time. Everything that was done in a unit is visible to the thread that waits for completion. The meaning of a
//! unit is up to the caller.

use crate::facade::{AtomicBool, AtomicUsize, Ordering};
use crate::wait_queue::WaitQueue;

/// The units of a job: how many are taken and how many are done.
pub struct WorkUnits {
    units: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    has_failed: AtomicBool,
    waiters: WaitQueue,
}

impl WorkUnits {
    pub fn new(units: usize) -> WorkUnits {
        WorkUnits {
            units,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            waiters: WaitQueue::default(),
        }
    }

    /// Takes a unit and runs it. `run` returns `false` if the unit failed. Returns `false` if no unit is left.
    #[inline]
    pub fn take(&self, run: impl FnOnce(usize) -> bool) -> bool {
        let unit = self.next.fetch_add(1, Ordering::Relaxed);
        if unit >= self.units {
            return false;
        }
        let mut done = 1;
        if !run(unit) {
            self.has_failed.store(true, Ordering::Relaxed);
            // The remaining units would fail too: skip them.
            let taken = self.next.swap(self.units, Ordering::Relaxed);
            done += self.units.saturating_sub(taken);
        }
        if self.done.fetch_add(done, Ordering::AcqRel) + done == self.units {
            self.waiters.wake_all();
        }
        true
    }

    /// True if every unit is done or skipped.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.units
    }

    /// Waits until every unit is done or skipped.
    pub fn wait(&self) {
        #[cfg(loom)]
        self.waiters.wait(|| self.is_complete());
        #[cfg(not(loom))]
        self.waiters.wait_until(None, || self.is_complete());
    }

    /// True if a unit failed. Meaningful once the job is complete.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
