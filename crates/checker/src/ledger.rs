//! The ledger: pending accesses by byte range.
//!
//! Ranges are bytes, not allocations. An entry is relevant until the host clock includes it: everything that is
//! submitted afterwards happens after it. Entries that are no longer relevant are dropped when they are met, and all
//! of them from time to time (`sweep`).

use crate::clock::VectorClock;
use crate::operation::Operation;
use softacl_engine::observer::{Mode, StreamPosition, Touch};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An access that the host clock may not include yet.
#[derive(Debug, Clone)]
struct AccessRecord {
    at: StreamPosition,
    by: Arc<Operation>,
}

#[derive(Debug, Clone, Default)]
struct Segment {
    end: usize,
    write: Option<AccessRecord>,
    reads: Vec<AccessRecord>,
}

/// Two accesses to the same bytes without an order between them.
#[derive(Debug, Clone)]
pub(crate) struct Conflict {
    pub(crate) earlier: Arc<Operation>,
    pub(crate) earlier_mode: Mode,
    pub(crate) later_mode: Mode,
    /// The bytes that both access.
    pub(crate) address: usize,
    pub(crate) len: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// By first byte. Segments do not overlap.
    segments: BTreeMap<usize, Segment>,
    /// Number of segments at which the next sweep runs.
    sweep_at: usize,
}

impl Ledger {
    /// Returns the accesses that overlap `touch` and that `clock` does not include: one conflict per earlier
    /// operation and adjacent range.
    pub(crate) fn conflicts(&self, touch: &Touch, clock: &VectorClock) -> Vec<Conflict> {
        let mut found = Vec::new();
        self.find_conflicts(touch, |at, _| clock.includes(at), &mut found);
        found
    }

    /// Adds the accesses that overlap `touch` and are not ordered to `found`.
    pub(crate) fn find_conflicts(
        &self,
        touch: &Touch,
        is_ordered: impl Fn(StreamPosition, &Operation) -> bool,
        found: &mut Vec<Conflict>,
    ) {
        if touch.len == 0 || self.is_ordered(touch, &is_ordered) {
            return;
        }
        let end = touch.address + touch.len;
        for (start, segment) in self.meeting(touch.address, end) {
            let (from, to) = (start.max(touch.address), segment.end.min(end));
            let reads = segment.reads.iter().filter(|_| touch.mode == Mode::Write).map(|read| (read, Mode::Read));
            for (access, mode) in segment.write.iter().map(|write| (write, Mode::Write)).chain(reads) {
                if is_ordered(access.at, &access.by) {
                    continue;
                }
                match found.iter_mut().find(|conflict| {
                    Arc::ptr_eq(&conflict.earlier, &access.by)
                        && conflict.earlier_mode == mode
                        && conflict.address + conflict.len == from
                }) {
                    Some(conflict) => conflict.len += to - from,
                    None => found.push(Conflict {
                        earlier: Arc::clone(&access.by),
                        earlier_mode: mode,
                        later_mode: touch.mode,
                        address: from,
                        len: to - from,
                    }),
                }
            }
        }
    }

    /// True if a touch starts where earlier ones start, lies inside their segment, and all of them are ordered. This is
    /// the common case.
    fn is_ordered(&self, touch: &Touch, is_ordered: impl Fn(StreamPosition, &Operation) -> bool) -> bool {
        self.segments.get(&touch.address).is_some_and(|segment| {
            let mut accesses = segment.write.iter().chain(&segment.reads);
            segment.end >= touch.address + touch.len && accesses.all(|access| is_ordered(access.at, &access.by))
        })
    }

    /// Adds an access of a task. Entries that `host` includes are dropped.
    pub(crate) fn enter(&mut self, touch: &Touch, at: StreamPosition, by: &Arc<Operation>, host: &VectorClock) {
        let end = touch.address + touch.len;
        if touch.len == 0 {
            return;
        }
        let access = AccessRecord { at, by: Arc::clone(by) };
        if let Some(segment) = self.segments.get_mut(&touch.address).filter(|segment| segment.end == end) {
            segment.enter(touch.mode, &access, host);
            return;
        }
        self.split(touch.address);
        self.split(end);
        let mut next = touch.address;
        let inside: Vec<usize> = self.segments.range(touch.address..end).map(|(start, _)| *start).collect();
        for start in inside {
            if start > next {
                self.segments.insert(next, Segment::new(start, touch.mode, &access));
            }
            let segment = self.segments.get_mut(&start).expect("the key was just read");
            segment.enter(touch.mode, &access, host);
            next = segment.end;
        }
        if next < end {
            self.segments.insert(next, Segment::new(end, touch.mode, &access));
        }
        if self.segments.len() > self.sweep_at {
            self.sweep(host);
            self.sweep_at = 2 * self.segments.len() + 1024;
        }
    }

    /// Removes all entries of a range.
    pub(crate) fn forget(&mut self, start: usize, len: usize) {
        self.split(start);
        self.split(start + len);
        let inside: Vec<usize> = self.segments.range(start..start + len).map(|(start, _)| *start).collect();
        for start in inside {
            self.segments.remove(&start);
        }
    }

    fn meeting(&self, start: usize, end: usize) -> impl Iterator<Item = (usize, &Segment)> {
        let first = self.segments.range(..=start).next_back().filter(|(_, segment)| segment.end > start);
        // Programs reuse their buffers, so the first segment is usually the only one.
        let is_all = end <= start + 1 || first.is_some_and(|(_, segment)| segment.end >= end);
        let others = (!is_all).then(|| self.segments.range(start + 1..end));
        first.into_iter().chain(others.into_iter().flatten()).map(|(start, segment)| (*start, segment))
    }

    /// Splits the segment that spans an address.
    fn split(&mut self, at: usize) {
        let Some((_, segment)) = self.segments.range_mut(..at).next_back() else { return };
        if segment.end > at {
            let rest = segment.clone();
            segment.end = at;
            self.segments.insert(at, rest);
        }
    }

    fn sweep(&mut self, host: &VectorClock) {
        self.segments.retain(|_, segment| {
            segment.forget(host);
            segment.write.is_some() || !segment.reads.is_empty()
        });
    }
}

impl Segment {
    fn new(end: usize, mode: Mode, access: &AccessRecord) -> Segment {
        let mut segment = Segment { end, ..Segment::default() };
        segment.enter(mode, access, &VectorClock::default());
        segment
    }

    fn enter(&mut self, mode: Mode, access: &AccessRecord, host: &VectorClock) {
        self.forget(host);
        match mode {
            Mode::Write => {
                self.write = Some(access.clone());
                self.reads.clear();
            }
            Mode::Read => {
                self.reads.retain(|read| read.at.stream != access.at.stream);
                self.reads.push(access.clone());
            }
        }
    }

    fn forget(&mut self, host: &VectorClock) {
        if self.write.as_ref().is_some_and(|write| host.includes(write.at)) {
            self.write = None;
        }
        self.reads.retain(|read| !host.includes(read.at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;

    fn touch(address: usize, len: usize, mode: Mode) -> Touch {
        Touch { address, len, mode }
    }

    #[test]
    fn only_overlapping_bytes_of_unordered_streams_conflict() {
        let (mut ledger, mut clocks) = (Ledger::default(), Clocks::default());
        let (a, b) = (StreamPosition { stream: 1, sequence: 1 }, StreamPosition { stream: 2, sequence: 1 });
        let by = Arc::new(Operation::for_test(1));
        clocks.submit(a, None);
        ledger.enter(&touch(100, 50, Mode::Write), a, &by, clocks.host());
        clocks.submit(b, None);
        let clock = clocks.of(b);
        let found = ledger.conflicts(&touch(140, 100, Mode::Read), &clock);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].address, found[0].len, found[0].earlier_mode), (140, 10, Mode::Write));
        assert!(ledger.conflicts(&touch(150, 100, Mode::Write), &clock).is_empty());
        let later = StreamPosition { stream: 2, sequence: 2 };
        clocks.submit(later, Some(a));
        let ordered = clocks.of(later);
        assert!(ledger.conflicts(&touch(140, 100, Mode::Read), &ordered).is_empty());
        clocks.wait(a);
        assert!(ledger.conflicts(&touch(140, 100, Mode::Write), clocks.host()).is_empty());
    }

    #[test]
    fn reads_conflict_only_with_writes_and_survive_splits() {
        let (mut ledger, mut clocks) = (Ledger::default(), Clocks::default());
        let a = StreamPosition { stream: 1, sequence: 1 };
        let by = Arc::new(Operation::for_test(1));
        clocks.submit(a, None);
        ledger.enter(&touch(0x1000, 64, Mode::Read), a, &by, clocks.host());
        let b = StreamPosition { stream: 2, sequence: 1 };
        clocks.submit(b, None);
        let clock = clocks.of(b);
        assert!(ledger.conflicts(&touch(0x1000, 64, Mode::Read), &clock).is_empty());
        ledger.enter(&touch(0x1010, 16, Mode::Read), b, &by, clocks.host());
        let c = StreamPosition { stream: 3, sequence: 1 };
        clocks.submit(c, None);
        let clock = clocks.of(c);
        let found = ledger.conflicts(&touch(0x1000, 64, Mode::Write), &clock);
        assert_eq!(found.iter().map(|conflict| conflict.len).sum::<usize>(), 64 + 16);
        ledger.forget(0x1000, 64);
        assert!(ledger.conflicts(&touch(0x1000, 64, Mode::Write), &clock).is_empty());
    }
}
