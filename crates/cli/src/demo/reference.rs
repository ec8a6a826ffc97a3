//! The reference that the steps of the demo are compared with: the C library's memcpy.

use crate::permutation::scattered;
use anyhow::Result;
use ascendcl::{Context, PinnedBuffer};

/// A memcpy loop over equal pieces in scattered order, on pinned memory.
pub struct Reference {
    target: PinnedBuffer<u8>,
    source: PinnedBuffer<u8>,
    order: Vec<usize>,
    piece: usize,
}

impl Reference {
    pub fn new(context: &Context, bytes: usize, pieces: usize) -> Result<Reference> {
        let [mut target, mut source] = [context.alloc_pinned(bytes)?, context.alloc_pinned(bytes)?];
        target.fill(1);
        source.fill(2);
        Ok(Reference { target, source, order: scattered(pieces), piece: bytes / pieces })
    }

    pub fn run(&mut self) {
        for index in &self.order {
            let range = index * self.piece..(index + 1) * self.piece;
            self.target[range.clone()].copy_from_slice(&self.source[range]);
        }
    }
}
