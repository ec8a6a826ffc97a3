//! Clocks: which tasks of other streams come before something, for certain.
//!
//! A clock says for each stream up to which task it is known to have come. Streams are the only
//! parties: all host threads count as one, because what they tell each other (mutexes, joins) cannot
//! be seen here, and a checker that cries wolf is switched off.

use softacl_engine::probe::Moment;
use std::collections::BTreeMap;
use std::sync::Arc;

/// For each stream, the newest task that comes before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clock(Arc<BTreeMap<u32, u64>>);

impl Clock {
    pub(crate) fn covers(&self, at: Moment) -> bool {
        self.0.get(&at.stream).is_some_and(|sequence| *sequence >= at.sequence)
    }

    /// Learns what `other` knows. `false`: there was nothing to learn.
    pub(crate) fn join(&mut self, other: &Clock) -> bool {
        let news = |mine: &BTreeMap<u32, u64>, theirs: &BTreeMap<u32, u64>| {
            theirs.iter().any(|(stream, sequence)| mine.get(stream).is_none_or(|known| known < sequence))
        };
        if Arc::ptr_eq(&self.0, &other.0) || !news(&self.0, &other.0) {
            return false;
        }
        if !news(&other.0, &self.0) {
            self.0 = Arc::clone(&other.0);
            return true;
        }
        let mine = Arc::make_mut(&mut self.0);
        for (stream, sequence) in other.0.iter() {
            let known = mine.entry(*stream).or_default();
            *known = (*known).max(*sequence);
        }
        true
    }

    pub(crate) fn advance(&mut self, at: Moment) {
        if !self.covers(at) {
            Arc::make_mut(&mut self.0).insert(at.stream, at.sequence);
        }
    }
}

/// What comes before the tasks of one stream.
#[derive(Debug, Default)]
struct Track {
    /// The clock from a task on; changes only where the stream learns something.
    history: Vec<(u64, Clock)>,
    /// The version of the host's clock that the stream has learnt last.
    seen_host: u64,
}

impl Track {
    fn at(&self, sequence: u64) -> Clock {
        let after = self.history.partition_point(|(from, _)| *from <= sequence);
        after.checked_sub(1).map(|index| self.history[index].1.clone()).unwrap_or_default()
    }
}

/// The clocks of the host and of all streams.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    host: Clock,
    /// Counts changes of the host's clock.
    version: u64,
    streams: BTreeMap<u32, Track>,
}

impl Clocks {
    pub(crate) fn host(&self) -> &Clock {
        &self.host
    }

    /// A task is submitted: it comes after what the host knows, after the tasks before it in its
    /// stream, and after what it waits for. Returns what comes before it.
    pub(crate) fn submit(&mut self, at: Moment, after: Option<Moment>) -> Clock {
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
            track.history.push((at.sequence, clock.clone()));
        }
        clock.advance(at);
        clock
    }

    /// A task and those behind it come after another moment as well.
    pub(crate) fn order(&mut self, from: Moment, after: Moment) {
        let earlier = self.of(after);
        let track = self.streams.entry(from.stream).or_default();
        let mut clock = track.history.last().map(|(_, clock)| clock.clone()).unwrap_or_default();
        if clock.join(&earlier) {
            track.history.push((from.sequence, clock));
        }
    }

    /// It turns out that a task comes after other moments as well: so does everything that comes after it,
    /// in whatever stream.
    pub(crate) fn learn(&mut self, from: Moment, after: &[Moment]) {
        let mut earlier = Clock::default();
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
            if clock.covers(from) {
                clock.join(&earlier);
            }
        }
        if self.host.covers(from) && self.host.join(&earlier) {
            self.version += 1;
        }
    }

    /// The host knows that a stream has come this far. `false`: it knew.
    pub(crate) fn wait(&mut self, at: Moment) -> bool {
        if self.host.covers(at) {
            return false;
        }
        let known = self.of(at);
        self.host.join(&known);
        self.version += 1;
        if let Some(track) = self.streams.get_mut(&at.stream) {
            // Older clocks are part of the host's by now.
            let keep = track.history.partition_point(|(from, _)| *from <= at.sequence).saturating_sub(1);
            track.history.drain(..keep);
        }
        true
    }

    /// Everything up to and including a task, and what comes before it.
    pub(crate) fn of(&self, at: Moment) -> Clock {
        let mut clock = self.streams.get(&at.stream).map(|track| track.at(at.sequence)).unwrap_or_default();
        clock.advance(at);
        clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn m(stream: u32, sequence: u64) -> Moment {
        Moment { stream, sequence }
    }

    #[test]
    fn streams_are_independent_until_an_event_joins_them() {
        let mut clocks = Clocks::default();
        clocks.submit(m(1, 1), None);
        assert!(!clocks.submit(m(2, 1), None).covers(m(1, 1)));
        assert!(clocks.submit(m(2, 2), Some(m(1, 1))).covers(m(1, 1)));
        assert!(clocks.submit(m(2, 3), None).covers(m(1, 1)), "later tasks inherit it");
        assert!(!clocks.of(m(2, 1)).covers(m(1, 1)), "earlier ones do not");
    }

    #[test]
    fn waits_are_transitive_through_events_and_the_host() {
        let mut clocks = Clocks::default();
        clocks.submit(m(1, 1), None);
        clocks.submit(m(2, 1), Some(m(1, 1)));
        clocks.submit(m(1, 2), None);
        assert!(clocks.wait(m(2, 1)));
        assert!(!clocks.wait(m(2, 1)));
        assert!(clocks.host().covers(m(1, 1)) && !clocks.host().covers(m(1, 2)));
        assert!(clocks.submit(m(3, 1), None).covers(m(1, 1)), "what the host knows comes before what it submits");
    }

    #[test]
    fn what_is_learnt_late_holds_for_everything_behind() {
        let mut clocks = Clocks::default();
        clocks.submit(m(2, 1), None);
        clocks.submit(m(2, 2), None);
        clocks.submit(m(3, 1), Some(m(2, 2)));
        clocks.submit(m(1, 1), None);
        clocks.learn(m(2, 2), &[m(1, 1)]);
        assert!(!clocks.of(m(2, 1)).covers(m(1, 1)), "what comes before the task does not learn it");
        assert!(clocks.of(m(2, 2)).covers(m(1, 1)) && clocks.of(m(3, 1)).covers(m(1, 1)));
        assert!(clocks.submit(m(2, 3), None).covers(m(1, 1)));
        clocks.wait(m(3, 1));
        assert!(clocks.host().covers(m(1, 1)));
    }

    #[test]
    fn an_order_without_a_task_holds_for_the_next_one() {
        let mut clocks = Clocks::default();
        clocks.submit(m(1, 1), None);
        clocks.learn(m(2, 1), &[m(1, 1)]);
        assert!(clocks.submit(m(2, 1), None).covers(m(1, 1)));
    }
}
