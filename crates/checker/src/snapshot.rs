//! Fingerprints of sources that cannot be guarded: registered host memory.
//!
//! Small ones are kept whole, so that differing bytes can be counted. Of large ones a hash per page is
//! kept: it says which pages differ, and a change is missed with a chance of one in 2^64 per page.

use softacl_memory::segv;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

const PAGE: usize = 4096;
/// Sources up to this size are kept whole.
const WHOLE: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct SourceSnapshot {
    pub(crate) address: usize,
    len: usize,
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    Whole(Box<[u8]>),
    Pages(Box<[u64]>),
}

/// How a source differs from its fingerprint.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Bytes that differ, or bytes of the pages that do.
    pub(crate) bytes: usize,
    pub(crate) first: usize,
    pub(crate) is_exact: bool,
}

impl SourceSnapshot {
    /// `None`: the memory cannot be read.
    pub(crate) fn take(address: usize, len: usize) -> Option<SourceSnapshot> {
        let kept = if len <= WHOLE {
            let mut bytes = vec![0; len];
            segv::try_read(address, &mut bytes).then(|| Kept::Whole(bytes.into()))?
        } else {
            Kept::Pages(hashes(address, len)?)
        };
        Some(SourceSnapshot { address, len, kept })
    }

    pub(crate) fn meets(&self, address: usize, len: usize) -> bool {
        self.address < address + len && address < self.address + self.len
    }

    /// Takes the fingerprint anew, after somebody wrote the source who may.
    pub(crate) fn refresh(&mut self) {
        if let Some(now) = SourceSnapshot::take(self.address, self.len) {
            *self = now;
        }
    }

    pub(crate) fn difference(&self) -> Option<Difference> {
        let now = SourceSnapshot::take(self.address, self.len)?;
        match (&self.kept, &now.kept) {
            (Kept::Whole(was), Kept::Whole(is)) => difference(was, is),
            (Kept::Pages(was), Kept::Pages(is)) => {
                let first = was.iter().zip(is).position(|(was, is)| was != is)?;
                let pages = was.iter().zip(is).filter(|(was, is)| was != is).count();
                Some(Difference { bytes: (pages * PAGE).min(self.len), first: first * PAGE, is_exact: false })
            }
            _ => None,
        }
    }
}

/// Counts the bytes that differ.
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
            segv::try_read(address + index * PAGE, part)
                .then(|| BuildHasherDefault::<DefaultHasher>::default().hash_one(&*part))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted_in_small_sources_and_found_in_large_ones() {
        let mut small = vec![1_u8; 1000];
        let print = SourceSnapshot::take(small.as_ptr() as usize, small.len()).unwrap();
        assert_eq!(print.difference(), None);
        small[10] = 2;
        small[999] = 2;
        assert_eq!(print.difference(), Some(Difference { bytes: 2, first: 10, is_exact: true }));
        let mut large = vec![1_u8; 300_000];
        let print = SourceSnapshot::take(large.as_ptr() as usize, large.len()).unwrap();
        assert_eq!(print.difference(), None);
        large[2 * PAGE + 5] = 9;
        assert_eq!(print.difference(), Some(Difference { bytes: PAGE, first: 2 * PAGE, is_exact: false }));
    }
}
