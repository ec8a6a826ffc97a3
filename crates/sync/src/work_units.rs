//! How several threads share the units of one piece of work: who takes which, and when all are done.
//!
//! Units are taken from a counter, so nobody waits for a slow helper until the end. What a unit is, is not known
//! here. Any thread may take units at any time; the one that waits sees everything that the others did in theirs.

use crate::facade::{AtomicBool, AtomicUsize, Ordering};
use crate::wait_queue::WaitQueue;

pub struct WorkUnits {
    units: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    has_failed: AtomicBool,
    bell: WaitQueue,
}

impl WorkUnits {
    pub fn new(units: usize) -> WorkUnits {
        WorkUnits {
            units,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            bell: WaitQueue::default(),
        }
    }

    /// Takes one unit and does it; `run` says whether that went well. `false` when there are none left.
    #[inline]
    pub fn take(&self, run: impl FnOnce(usize) -> bool) -> bool {
        let unit = self.next.fetch_add(1, Ordering::Relaxed);
        if unit >= self.units {
            return false;
        }
        let mut done = 1;
        if !run(unit) {
            self.has_failed.store(true, Ordering::Relaxed);
            // The rest would only fail again: nobody needs to try.
            let taken = self.next.swap(self.units, Ordering::Relaxed);
            done += self.units.saturating_sub(taken);
        }
        if self.done.fetch_add(done, Ordering::AcqRel) + done == self.units {
            self.bell.wake_all();
        }
        true
    }

    #[inline]
    pub fn is_complete(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.units
    }

    /// Sleeps until every unit is done.
    pub fn wait(&self) {
        #[cfg(loom)]
        self.bell.sleep(|| self.is_complete());
        #[cfg(not(loom))]
        self.bell.wait_until(None, || self.is_complete());
    }

    /// Whether a unit did not go well; asked when all are done.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
