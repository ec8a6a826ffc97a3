//! Free ranges that may still be committed because they were allocated before.
//!
//! Exact to the byte: a range that is allocated again is removed, and addresses that were never allocated are not
//! included. The heap decides when to decommit them.

use std::collections::BTreeMap;

/// A set of disjoint ranges.
#[derive(Debug, Default)]
pub(super) struct CommittedRanges {
    /// Length by start. The ranges do not overlap.
    ranges: BTreeMap<usize, usize>,
    bytes: usize,
}

impl CommittedRanges {
    /// Total length of the ranges.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a range that was freed. It must not overlap the set.
    pub(super) fn add(&mut self, start: usize, len: usize) {
        self.bytes += len;
        self.ranges.insert(start, len);
    }

    /// Removes a range that was allocated, as far as it is in the set.
    pub(super) fn remove(&mut self, start: usize, len: usize) {
        let end = start + len;
        while let Some((&at, &size)) = self.ranges.range(..end).next_back()
            && at + size > start
        {
            self.ranges.remove(&at);
            self.bytes -= size;
            if at + size > end {
                self.add(end, at + size - end);
            }
            if at < start {
                self.add(at, start - at);
            }
        }
    }

    /// Removes and returns all ranges, as start and length.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (usize, usize)> + use<> {
        self.bytes = 0;
        std::mem::take(&mut self.ranges).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reused_ranges_leave_the_committed_set() {
        let mut committed = CommittedRanges::default();
        committed.add(100, 50);
        committed.add(200, 50);
        committed.remove(300, 50);
        committed.remove(150, 50);
        assert_eq!(committed.bytes(), 100);
        committed.remove(120, 10);
        assert_eq!(committed.bytes(), 90);
        committed.remove(140, 70);
        assert_eq!(committed.bytes(), 70);
        assert_eq!(committed.drain().collect::<Vec<_>>(), [(100, 20), (130, 10), (210, 40)]);
        assert_eq!((committed.bytes(), committed.drain().count()), (0, 0));
    }
}
