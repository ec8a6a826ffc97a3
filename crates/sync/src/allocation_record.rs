//! The record of an allocation: its bounds, read without a lock while other threads allocate and free.
//!
//! Who may touch what: anybody may read; the heap writes under its lock. A record is dead while its size is 0, and
//! its start changes only then.

use crate::facade::{AtomicUsize, Ordering};

#[repr(C)]
#[derive(Default)]
pub struct AllocationRecord {
    start: AtomicUsize,
    size: AtomicUsize,
}

impl AllocationRecord {
    /// Start and size. A record that changes meanwhile has none: a start and a size of two lives would be bounds
    /// that never were.
    #[inline]
    pub fn bounds(&self) -> Option<(usize, usize)> {
        let size = self.size.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Acquire);
        (self.size.load(Ordering::Relaxed) == size).then_some((start, size))
    }

    /// Gives a dead record another start.
    pub fn place(&self, start: usize) {
        self.start.store(start, Ordering::Release);
    }

    /// The allocation begins to live, or has another size.
    pub fn open(&self, size: usize) {
        self.size.store(size, Ordering::Release);
    }

    /// It ends; the size that it had.
    pub fn close(&self) -> usize {
        self.size.swap(0, Ordering::AcqRel)
    }
}
