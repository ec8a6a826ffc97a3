//! Vector clocks: which tasks of other streams happen before a task.
//!
//! A clock stores, for each stream, the newest task that is known to have finished before. There is one clock per
//! stream position and one for the host. All host threads share it, because their synchronization (mutexes, joins) is
//! not visible here, and a checker with false positives is switched off.

use softacl_engine::observer::StreamPosition;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// For each stream, the newest task that happens before. Sorted by stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VectorClock(Arc<[StreamPosition]>);

impl VectorClock {
    fn find(&self, stream: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&stream, |known| known.stream)
    }

    pub(crate) fn includes(&self, at: StreamPosition) -> bool {
        self.find(at.stream).is_ok_and(|index| self.0[index].sequence >= at.sequence)
    }

    /// Merges `other` into this clock. Returns `false` if nothing changed.
    pub(crate) fn join(&mut self, other: &VectorClock) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) || other.0.iter().all(|known| self.includes(*known)) {
            return false;
        }
        if self.0.iter().all(|known| other.includes(*known)) {
            self.0 = Arc::clone(&other.0);
        } else {
            self.0 = merged(&self.0, &other.0);
        }
        true
    }

    pub(crate) fn advance(&mut self, at: StreamPosition) {
        match self.find(at.stream) {
            Ok(index) if self.0[index].sequence >= at.sequence => {}
            Ok(index) => Arc::make_mut(&mut self.0)[index] = at,
            Err(_) => self.0 = merged(&self.0, &[at]),
        }
    }
}

/// Element-wise maximum of two clocks.
#[cold]
fn merged(one: &[StreamPosition], other: &[StreamPosition]) -> Arc<[StreamPosition]> {
    let mut all: Vec<StreamPosition> = one.iter().chain(other).copied().collect();
    all.sort_unstable_by_key(|known| (known.stream, Reverse(known.sequence)));
    all.dedup_by_key(|known| known.stream);
    all.into()
}

/// Clock history of one stream.
#[derive(Debug, Default)]
struct StreamClocks {
    /// Clocks by first task. A new entry is added only where the clock changes.
    history: Vec<(u64, VectorClock)>,
    /// Version of the host clock that was merged last.
    merged_host: u64,
}

impl StreamClocks {
    /// Drops clocks that are older than the one of a task.
    fn forget(&mut self, sequence: u64) {
        let newest = self.history.partition_point(|(from, _)| *from <= sequence).saturating_sub(1);
        self.history.drain(..newest);
    }

    /// The clock of a task, as far as it is stored.
    fn last_until(&self, sequence: u64) -> Option<&VectorClock> {
        let after = self.history.partition_point(|(from, _)| *from <= sequence);
        after.checked_sub(1).map(|index| &self.history[index].1)
    }

    fn at(&self, sequence: u64) -> VectorClock {
        self.last_until(sequence).cloned().unwrap_or_default()
    }
}

/// Clocks of the host and of all streams.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    host: VectorClock,
    /// Incremented on every change of the host clock.
    version: u64,
    streams: BTreeMap<u32, StreamClocks>,
}

impl Clocks {
    pub(crate) fn host(&self) -> &VectorClock {
        &self.host
    }

    /// Records a submit. The task happens after everything the host has waited for, after the earlier tasks of its
    /// stream, and after what it waits for.
    pub(crate) fn submit(&mut self, at: StreamPosition, after: Option<StreamPosition>) {
        let waited = after.map(|after| self.of(after));
        let clocks = self.streams.entry(at.stream).or_default();
        let mut clock = clocks.history.last().map(|(_, clock)| clock.clone()).unwrap_or_default();
        let mut changed = false;
        if clocks.merged_host != self.version {
            clocks.merged_host = self.version;
            changed |= clock.join(&self.host);
        }
        if let Some(waited) = waited {
            changed |= clock.join(&waited);
        }
        if changed {
            // Clocks that the host clock includes are never read again.
            if let Ok(index) = self.host.find(at.stream) {
                clocks.forget(self.host.0[index].sequence);
            }
            clocks.history.push((at.sequence, clock));
        }
    }

    /// Adds a happens-before edge from `after` to a task and everything after it in its stream.
    pub(crate) fn order(&mut self, from: StreamPosition, after: StreamPosition) {
        let earlier = self.of(after);
        let clocks = self.streams.entry(from.stream).or_default();
        let mut clock = clocks.history.last().map(|(_, clock)| clock.clone()).unwrap_or_default();
        if clock.join(&earlier) {
            clocks.history.push((from.sequence, clock));
        }
    }

    /// Adds happens-before edges to a task after the fact and propagates them to every later task, across streams.
    pub(crate) fn add_edges_late(&mut self, from: StreamPosition, after: &[StreamPosition]) {
        let mut earlier = VectorClock::default();
        for after in after {
            earlier.join(&self.of(*after));
        }
        let clocks = self.streams.entry(from.stream).or_default();
        let index = clocks.history.partition_point(|(sequence, _)| *sequence < from.sequence);
        if clocks.history.get(index).is_none_or(|(sequence, _)| *sequence != from.sequence) {
            let clock = index.checked_sub(1).map(|before| clocks.history[before].1.clone()).unwrap_or_default();
            clocks.history.insert(index, (from.sequence, clock));
        }
        for (_, clock) in &mut clocks.history[index..] {
            clock.join(&earlier);
        }
        let others = self.streams.iter_mut().filter(|(stream, _)| **stream != from.stream);
        for (_, clock) in others.flat_map(|(_, clocks)| &mut clocks.history) {
            if clock.includes(from) {
                clock.join(&earlier);
            }
        }
        if self.host.includes(from) && self.host.join(&earlier) {
            self.version += 1;
        }
    }

    /// Records that the host has waited for a position. Returns `false` if an earlier wait covers it.
    pub(crate) fn wait(&mut self, at: StreamPosition) -> bool {
        if self.host.includes(at) {
            return false;
        }
        self.version += 1;
        if let Some(clocks) = self.streams.get_mut(&at.stream) {
            clocks.forget(at.sequence);
            if let Some((_, known)) = clocks.history.first().filter(|(from, _)| *from <= at.sequence) {
                self.host.join(known);
            }
        }
        self.host.advance(at);
        true
    }

    /// Marks the tasks after `done` up to `at` as dropped: they are finished from the host's view but add no
    /// happens-before edges.
    pub(crate) fn discard_tasks(&mut self, at: StreamPosition, done: u64) {
        self.version += 1;
        if let Some(clocks) = self.streams.get_mut(&at.stream) {
            clocks.history.retain(|(from, _)| *from <= done);
        }
        self.host.advance(at);
    }

    /// Clock of a task without the task itself and those before it in its stream.
    pub(crate) fn ahead_of(&self, at: StreamPosition) -> Option<&VectorClock> {
        self.streams.get(&at.stream)?.last_until(at.sequence)
    }

    /// Clock of a task: the task itself and everything that happens before it.
    pub(crate) fn of(&self, at: StreamPosition) -> VectorClock {
        let mut clock = self.streams.get(&at.stream).map(|clocks| clocks.at(at.sequence)).unwrap_or_default();
        clock.advance(at);
        clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn m(stream: u32, sequence: u64) -> StreamPosition {
        StreamPosition { stream, sequence }
    }

    impl Clocks {
        /// Submits a task and returns its clock.
        fn before(&mut self, at: StreamPosition, after: Option<StreamPosition>) -> VectorClock {
            self.submit(at, after);
            self.of(at)
        }
    }

    #[test]
    fn streams_are_independent_until_an_event_joins_them() {
        let mut clocks = Clocks::default();
        clocks.submit(m(1, 1), None);
        assert!(!clocks.before(m(2, 1), None).includes(m(1, 1)));
        assert!(clocks.before(m(2, 2), Some(m(1, 1))).includes(m(1, 1)));
        assert!(clocks.before(m(2, 3), None).includes(m(1, 1)), "later tasks inherit the edge");
        assert!(!clocks.of(m(2, 1)).includes(m(1, 1)), "earlier ones do not");
    }

    #[test]
    fn waits_are_transitive_through_events_and_the_host() {
        let mut clocks = Clocks::default();
        clocks.submit(m(1, 1), None);
        clocks.submit(m(2, 1), Some(m(1, 1)));
        clocks.submit(m(1, 2), None);
        assert!(clocks.wait(m(2, 1)));
        assert!(!clocks.wait(m(2, 1)));
        assert!(clocks.host().includes(m(1, 1)) && !clocks.host().includes(m(1, 2)));
        assert!(clocks.before(m(3, 1), None).includes(m(1, 1)), "the host clock happens before later submits");
    }

    #[test]
    fn late_edges_propagate_to_every_later_task() {
        let mut clocks = Clocks::default();
        clocks.submit(m(2, 1), None);
        clocks.submit(m(2, 2), None);
        clocks.submit(m(3, 1), Some(m(2, 2)));
        clocks.submit(m(1, 1), None);
        clocks.add_edges_late(m(2, 2), &[m(1, 1)]);
        assert!(!clocks.of(m(2, 1)).includes(m(1, 1)), "tasks before it are unaffected");
        assert!(clocks.of(m(2, 2)).includes(m(1, 1)) && clocks.of(m(3, 1)).includes(m(1, 1)));
        assert!(clocks.before(m(2, 3), None).includes(m(1, 1)));
        clocks.wait(m(3, 1));
        assert!(clocks.host().includes(m(1, 1)));
    }

    #[test]
    fn dropped_tasks_add_no_edges() {
        let mut clocks = Clocks::default();
        clocks.submit(m(1, 1), None);
        clocks.submit(m(2, 1), None);
        clocks.submit(m(2, 2), Some(m(1, 1)));
        clocks.discard_tasks(m(2, 2), 1);
        assert!(clocks.host().includes(m(2, 2)) && !clocks.host().includes(m(1, 1)));
        assert!(!clocks.before(m(2, 3), None).includes(m(1, 1)));
        clocks.wait(m(2, 3));
        assert!(!clocks.host().includes(m(1, 1)));
    }

    #[test]
    fn clock_history_stays_short() {
        let mut clocks = Clocks::default();
        for number in 1..100 {
            clocks.submit(m(2, number), Some(m(1, number)));
            clocks.submit(m(1, number + 1), Some(m(2, number)));
            clocks.wait(m(1, number + 1));
        }
        assert!(clocks.streams.values().all(|clocks| clocks.history.len() < 4), "{:?}", clocks.streams);
    }

    #[test]
    fn clocks_match_a_map_model() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut clocks, mut maps) = (vec![VectorClock::default(); 4], vec![BTreeMap::new(); 4]);
        for _ in 0..if cfg!(miri) { 500 } else { 20_000 } {
            let (one, other) = (random.usize(..4), random.usize(..4));
            let at = m(random.u32(..6), random.u64(1..50));
            match random.u8(..8) {
                0 => (clocks[one], maps[one]) = (VectorClock::default(), BTreeMap::new()),
                1 | 2 => {
                    let (joined, theirs) = (clocks[other].clone(), maps[other].clone());
                    let before = maps[one].clone();
                    for (stream, sequence) in theirs {
                        let known: &mut u64 = maps[one].entry(stream).or_default();
                        *known = (*known).max(sequence);
                    }
                    assert_eq!(clocks[one].join(&joined), maps[one] != before);
                }
                3 | 4 => {
                    clocks[one].advance(at);
                    let known = maps[one].entry(at.stream).or_default();
                    *known = (*known).max(at.sequence);
                }
                _ => {
                    let includes = maps[one].get(&at.stream).is_some_and(|known| *known >= at.sequence);
                    assert_eq!(clocks[one].includes(at), includes);
                }
            }
        }
    }

    #[test]
    fn late_edge_before_submit_applies_to_the_next_task() {
        let mut clocks = Clocks::default();
        clocks.submit(m(1, 1), None);
        clocks.add_edges_late(m(2, 1), &[m(1, 1)]);
        assert!(clocks.before(m(2, 1), None).includes(m(1, 1)));
    }
}
