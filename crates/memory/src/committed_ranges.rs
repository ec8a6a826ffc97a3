//! Leftovers: free ranges that were used, so that the system may still have memory behind them.
//!
//! Exact to the byte: a range that is handed out again is none any more, and fresh addresses never were. What is done about them is not decided here.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct CommittedRanges {
    /// Lengths by start; they do not overlap.
    ranges: BTreeMap<usize, usize>,
    bytes: usize,
}

impl CommittedRanges {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A range became free. It was in use, so nothing of it is in here.
    pub(super) fn add(&mut self, start: usize, len: usize) {
        self.bytes += len;
        self.ranges.insert(start, len);
    }

    /// A range is in use.
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

    /// Takes all of them out, as start and length.
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
        let mut leftovers = CommittedRanges::default();
        leftovers.add(100, 50);
        leftovers.add(200, 50);
        leftovers.remove(300, 50);
        leftovers.remove(150, 50);
        assert_eq!(leftovers.bytes(), 100);
        leftovers.remove(120, 10);
        assert_eq!(leftovers.bytes(), 90);
        leftovers.remove(140, 70);
        assert_eq!(leftovers.bytes(), 70);
        assert_eq!(leftovers.drain().collect::<Vec<_>>(), [(100, 20), (130, 10), (210, 40)]);
        assert_eq!((leftovers.bytes(), leftovers.drain().count()), (0, 0));
    }
}
