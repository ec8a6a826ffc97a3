//! Extents: where an allocation begins, and its size; and the page that sizes are rounded to.

/// Allocations start on pages of this size. The API promises 64 bytes; a page costs only addresses and keeps the index
/// small.
pub const PAGE: usize = 4096;

/// The bounds of a live allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub start: usize,
    pub size: usize,
}

impl Extent {
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.size
    }
}
