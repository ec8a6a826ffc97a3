//! Clocks: which tasks of other streams come before something, for certain.
//!
//! A clock says for each stream up to which task it is known to have come. Streams are the only
//! parties: all host threads count as one, because what they tell each other (mutexes, joins) cannot
//! be seen here, and a checker that cries wolf is switched off.

use softacl_engine::observer::StreamPosition;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// For each stream, the newest task that comes before, in the order of the streams.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VectorClock(Arc<[StreamPosition]>);

impl VectorClock {
    fn find(&self, stream: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&stream, |known| known.stream)
    }

    pub(crate) fn includes(&self, at: StreamPosition) -> bool {
        self.find(at.stream).is_ok_and(|index| self.0[index].sequence >= at.sequence)
    }

    /// Learns what `other` knows. `false`: there was nothing to learn.
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

/// What two clocks know together.
#[cold]
fn merged(one: &[StreamPosition], other: &[StreamPosition]) -> Arc<[StreamPosition]> {
    let mut all: Vec<StreamPosition> = one.iter().chain(other).copied().collect();
    all.sort_unstable_by_key(|known| (known.stream, Reverse(known.sequence)));
    all.dedup_by_key(|known| known.stream);
    all.into()
}

/// What comes before the tasks of one stream.
#[derive(Debug, Default)]
struct StreamClocks {
    /// The clock from a task on; changes only where the stream learns something.
    history: Vec<(u64, VectorClock)>,
    /// The version of the host's clock that the stream has learnt last.
    seen_host: u64,
}

impl StreamClocks {
    /// Forgets clocks that are older than the one at a task.
    fn forget(&mut self, sequence: u64) {
        let newest = self.history.partition_point(|(from, _)| *from <= sequence).saturating_sub(1);
        self.history.drain(..newest);
    }

    fn at(&self, sequence: u64) -> VectorClock {
        let after = self.history.partition_point(|(from, _)| *from <= sequence);
        after.checked_sub(1).map(|index| self.history[index].1.clone()).unwrap_or_default()
    }
}

/// The clocks of the host and of all streams.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    host: VectorClock,
    /// Counts changes of the host's clock.
    version: u64,
    streams: BTreeMap<u32, StreamClocks>,
}

impl Clocks {
    pub(crate) fn host(&self) -> &VectorClock {
        &self.host
    }

    /// A task is submitted: it comes after what the host knows, after the tasks before it in its
    /// stream, and after what it waits for.
    pub(crate) fn submit(&mut self, at: StreamPosition, after: Option<StreamPosition>) {
        let waited = after.map(|after| self.of(after));
        let track = self.streams.entry(at.stream).or_default();
        let mut clock = track.history.last().map(|(_, clock)| clock.clone()).unwrap_or_default();
        let mut news = false;
        if track.seen_host != self.version {
            track.seen_host = self.version;
            news |= clock.join(&self.host);
        }
        if let Some(waited) = waited {
            news |= clock.join(&waited);
        }
        if news {
            // What the host knows already is not asked for any more.
            if let Ok(index) = self.host.find(at.stream) {
                track.forget(self.host.0[index].sequence);
            }
            track.history.push((at.sequence, clock));
        }
    }

    /// A task and those behind it come after another moment as well.
    pub(crate) fn order(&mut self, from: StreamPosition, after: StreamPosition) {
        let earlier = self.of(after);
        let track = self.streams.entry(from.stream).or_default();
        let mut clock = track.history.last().map(|(_, clock)| clock.clone()).unwrap_or_default();
        if clock.join(&earlier) {
            track.history.push((from.sequence, clock));
        }
    }

    /// It turns out that a task comes after other moments as well: so does everything that comes after it,
    /// in whatever stream.
    pub(crate) fn add_edges_late(&mut self, from: StreamPosition, after: &[StreamPosition]) {
        let mut earlier = VectorClock::default();
        for after in after {
            earlier.join(&self.of(*after));
        }
        let track = self.streams.entry(from.stream).or_default();
        let index = track.history.partition_point(|(sequence, _)| *sequence < from.sequence);
        if track.history.get(index).is_none_or(|(sequence, _)| *sequence != from.sequence) {
            let clock = index.checked_sub(1).map(|before| track.history[before].1.clone()).unwrap_or_default();
            track.history.insert(index, (from.sequence, clock));
        }
        for (_, clock) in &mut track.history[index..] {
            clock.join(&earlier);
        }
        let others = self.streams.iter_mut().filter(|(stream, _)| **stream != from.stream);
        for (_, clock) in others.flat_map(|(_, track)| &mut track.history) {
            if clock.includes(from) {
                clock.join(&earlier);
            }
        }
        if self.host.includes(from) && self.host.join(&earlier) {
            self.version += 1;
        }
    }

    /// The host knows that a stream has come this far. `false`: it knew.
    pub(crate) fn wait(&mut self, at: StreamPosition) -> bool {
        if self.host.includes(at) {
            return false;
        }
        self.version += 1;
        if let Some(track) = self.streams.get_mut(&at.stream) {
            track.forget(at.sequence);
            if let Some((_, known)) = track.history.first().filter(|(from, _)| *from <= at.sequence) {
                self.host.join(known);
            }
        }
        self.host.advance(at);
        true
    }

    /// The tasks of a stream behind `done` up to `at` were thrown away: the host knows that they are over, and nothing
    /// about what they would have waited for.
    pub(crate) fn discard_tasks(&mut self, at: StreamPosition, done: u64) {
        self.version += 1;
        if let Some(track) = self.streams.get_mut(&at.stream) {
            track.history.retain(|(from, _)| *from <= done);
        }
        self.host.advance(at);
    }

    /// Everything up to and including a task, and what comes before it.
    pub(crate) fn of(&self, at: StreamPosition) -> VectorClock {
        let mut clock = self.streams.get(&at.stream).map(|track| track.at(at.sequence)).unwrap_or_default();
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
        /// Submits a task and says what comes before it.
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
        assert!(clocks.before(m(2, 3), None).includes(m(1, 1)), "later tasks inherit it");
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
        assert!(clocks.before(m(3, 1), None).includes(m(1, 1)), "what the host knows comes before what it submits");
    }

    #[test]
    fn what_is_learnt_late_holds_for_everything_behind() {
        let mut clocks = Clocks::default();
        clocks.submit(m(2, 1), None);
        clocks.submit(m(2, 2), None);
        clocks.submit(m(3, 1), Some(m(2, 2)));
        clocks.submit(m(1, 1), None);
        clocks.add_edges_late(m(2, 2), &[m(1, 1)]);
        assert!(!clocks.of(m(2, 1)).includes(m(1, 1)), "what comes before the task does not learn it");
        assert!(clocks.of(m(2, 2)).includes(m(1, 1)) && clocks.of(m(3, 1)).includes(m(1, 1)));
        assert!(clocks.before(m(2, 3), None).includes(m(1, 1)));
        clocks.wait(m(3, 1));
        assert!(clocks.host().includes(m(1, 1)));
    }

    #[test]
    fn what_was_thrown_away_orders_nothing() {
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
    fn streams_that_nobody_waits_for_remember_little() {
        let mut clocks = Clocks::default();
        for number in 1..100 {
            clocks.submit(m(2, number), Some(m(1, number)));
            clocks.submit(m(1, number + 1), Some(m(2, number)));
            clocks.wait(m(1, number + 1));
        }
        assert!(clocks.streams.values().all(|track| track.history.len() < 4), "{:?}", clocks.streams);
    }

    #[test]
    fn clocks_agree_with_maps() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut clocks, mut maps) = (vec![VectorClock::default(); 4], vec![BTreeMap::new(); 4]);
        for _ in 0..if cfg!(miri) { 500 } else { 20_000 } {
            let (one, other) = (random.usize(..4), random.usize(..4));
            let at = m(random.u32(..6), random.u64(1..50));
            match random.u8(..8) {
                0 => (clocks[one], maps[one]) = (VectorClock::default(), BTreeMap::new()),
                1 | 2 => {
                    let (learnt, theirs) = (clocks[other].clone(), maps[other].clone());
                    let before = maps[one].clone();
                    for (stream, sequence) in theirs {
                        let known: &mut u64 = maps[one].entry(stream).or_default();
                        *known = (*known).max(sequence);
                    }
                    assert_eq!(clocks[one].join(&learnt), maps[one] != before);
                }
                3 | 4 => {
                    clocks[one].advance(at);
                    let known = maps[one].entry(at.stream).or_default();
                    *known = (*known).max(at.sequence);
                }
                _ => {
                    let knows = maps[one].get(&at.stream).is_some_and(|known| *known >= at.sequence);
                    assert_eq!(clocks[one].includes(at), knows);
                }
            }
        }
    }

    #[test]
    fn an_order_without_a_task_holds_for_the_next_one() {
        let mut clocks = Clocks::default();
        clocks.submit(m(1, 1), None);
        clocks.add_edges_late(m(2, 1), &[m(1, 1)]);
        assert!(clocks.before(m(2, 1), None).includes(m(1, 1)));
    }
}
