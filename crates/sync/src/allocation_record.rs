//! The record of an allocation: its bounds, read without a lock while other threads allocate and free.
//!
//! Any thread may read a record; only the heap writes it, under its lock. A record is dead while its size is 0. Its
//! start changes only while it is dead.

use crate::facade::{AtomicUsize, Ordering};

/// The bounds of an allocation that may end while they are read.
#[repr(C)]
#[derive(Default)]
pub struct AllocationRecord {
    start: AtomicUsize,
    size: AtomicUsize,
}

impl AllocationRecord {
    /// Returns the start and the size, which is 0 if the record is dead. `None` if the size changes during the read:
    /// the start of one allocation and the size of another would be bounds that never existed.
    #[inline]
    pub fn bounds(&self) -> Option<(usize, usize)> {
        let size = self.size.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Acquire);
        (self.size.load(Ordering::Relaxed) == size).then_some((start, size))
    }

    /// Sets the start of a dead record.
    #[inline]
    pub fn place(&self, start: usize) {
        self.start.store(start, Ordering::Release);
    }

    /// Makes the record live, or changes the size of a live one.
    #[inline]
    pub fn open(&self, size: usize) {
        self.size.store(size, Ordering::Release);
    }

    /// Ends the allocation. Returns its size.
    #[inline]
    pub fn close(&self) -> usize {
        self.size.swap(0, Ordering::AcqRel)
    }
}
