//! The bounds of an allocation, and the page size to which allocations are rounded.

/// Alignment of allocations. The API guarantees 64 bytes; a page costs only addresses and keeps the index small.
pub const PAGE: usize = 4096;

/// The bounds of a live allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub start: usize,
    pub size: usize,
}

impl Extent {
    /// True if the address is inside the allocation.
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.size
    }
}
