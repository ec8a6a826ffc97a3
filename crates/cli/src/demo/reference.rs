//! What the steps of the demo are compared with: the C library's memcpy.

use crate::acl::PinnedMemory;
use anyhow::Result;

/// A memcpy over as many bytes in as many scattered pieces, on pages of the same kind.
pub struct Reference {
    target: PinnedMemory,
    source: PinnedMemory,
    order: Vec<usize>,
    piece: usize,
}

impl Reference {
    pub fn new(bytes: usize, pieces: usize) -> Result<Reference> {
        Ok(Reference {
            target: PinnedMemory::new(bytes, |_| 1)?,
            source: PinnedMemory::new(bytes, |_| 2)?,
            order: super::scattered(pieces),
            piece: bytes / pieces,
        })
    }

    pub fn run(&self) {
        for index in &self.order {
            let offset = index * self.piece;
            // SAFETY: both ranges lie inside allocations of this value, which do not overlap.
            unsafe { libc::memcpy(self.target.at(offset) as *mut _, self.source.at(offset) as *const _, self.piece) };
        }
    }
}
