//! Snapshots of sources that the guard does not see: parts of registered host memory that are not whole pages of it, or
//! that have another mapping, pages with objects on which threads block, and device memory that host code can access.
//!
//! Small sources are stored completely, so that differing bytes can be counted. For large sources a hash per page is
//! stored: it identifies the pages that differ, and misses a change with a probability of 2^-64 per page.

use softacl_memory::segv;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

const PAGE: usize = 4096;
/// Sources up to this size are stored completely.
const MAX_WHOLE_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct SourceSnapshot {
    pub(crate) address: usize,
    len: usize,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    Whole(Box<[u8]>),
    Pages(Box<[u64]>),
}

/// Difference between a source and its snapshot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Number of bytes that differ, or number of bytes of the pages that differ.
    pub(crate) bytes: usize,
    /// Offset of the first difference.
    pub(crate) first: usize,
    /// False if only pages were compared.
    pub(crate) is_exact: bool,
}

impl SourceSnapshot {
    /// Takes a snapshot. Returns `None` if the memory cannot be read.
    pub(crate) fn take(address: usize, len: usize) -> Option<SourceSnapshot> {
        let contents = if len <= MAX_WHOLE_BYTES {
            let mut bytes = vec![0; len];
            // SAFETY: the program passed the source to a copy, which is in flight.
            unsafe { segv::try_read(address, &mut bytes) }.then(|| Contents::Whole(bytes.into()))?
        } else {
            Contents::Pages(hashes(address, len)?)
        };
        Some(SourceSnapshot { address, len, contents })
    }

    pub(crate) fn meets(&self, address: usize, len: usize) -> bool {
        self.address < address + len && address < self.address + self.len
    }

    /// Replaces the snapshot after a legal write to the source.
    pub(crate) fn refresh(&mut self) {
        if let Some(now) = SourceSnapshot::take(self.address, self.len) {
            *self = now;
        }
    }

    pub(crate) fn difference(&self) -> Option<Difference> {
        let now = SourceSnapshot::take(self.address, self.len)?;
        match (&self.contents, &now.contents) {
            (Contents::Whole(was), Contents::Whole(is)) => difference(was, is),
            (Contents::Pages(was), Contents::Pages(is)) => {
                let first = was.iter().zip(is).position(|(was, is)| was != is)?;
                let pages = was.iter().zip(is).filter(|(was, is)| was != is).count();
                Some(Difference { bytes: (pages * PAGE).min(self.len), first: first * PAGE, is_exact: false })
            }
            _ => None,
        }
    }
}

/// True if a byte of the program's memory can be read.
pub(crate) fn is_readable(address: usize) -> bool {
    // SAFETY: the program passed the memory to a copy, which is in flight.
    unsafe { segv::try_read(address, &mut [0]) }
}

/// Compares two contents of equal length. Returns `None` if they are equal.
pub(crate) fn difference(was: &[u8], is: &[u8]) -> Option<Difference> {
    let first = was.iter().zip(is).position(|(was, is)| was != is)?;
    let bytes = was.iter().zip(is).filter(|(was, is)| was != is).count();
    Some(Difference { bytes, first, is_exact: true })
}

fn hashes(address: usize, len: usize) -> Option<Box<[u64]>> {
    let mut page = [0; PAGE];
    (0..len.div_ceil(PAGE))
        .map(|index| {
            let part = &mut page[..PAGE.min(len - index * PAGE)];
            // SAFETY: the program passed the source to a copy, which is in flight.
            unsafe { segv::try_read(address + index * PAGE, part) }
                .then(|| BuildHasherDefault::<DefaultHasher>::default().hash_one(&*part))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_exact_in_small_sources_and_per_page_in_large_ones() {
        let mut small = vec![1_u8; 1000];
        let snapshot = SourceSnapshot::take(small.as_ptr() as usize, small.len()).unwrap();
        assert_eq!(snapshot.difference(), None);
        small[10] = 2;
        small[999] = 2;
        assert_eq!(snapshot.difference(), Some(Difference { bytes: 2, first: 10, is_exact: true }));
        let mut large = vec![1_u8; 300_000];
        let snapshot = SourceSnapshot::take(large.as_ptr() as usize, large.len()).unwrap();
        assert_eq!(snapshot.difference(), None);
        large[2 * PAGE + 5] = 9;
        assert_eq!(snapshot.difference(), Some(Difference { bytes: PAGE, first: 2 * PAGE, is_exact: false }));
    }
}
