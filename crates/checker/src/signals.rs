//! Signals: which change of a cell releases which wait. A cell is a value in device memory or the number of a notify.
//!
//! A wait is released by the first change that satisfies it in some legal order, and only what happens before that
//! change happens before the wait. Three models, from exact to coarse:
//!
//! - A notify that is only recorded and consumed: the n-th wait needs n records, so it is released by the n-th one.
//! - A cell that no wait clears, whose changes are ordered with each other: the contents are known one by one.
//! - Any other cell: a wait is ordered after every change that was queued before the stream passes it.
//!
//! The last model orders too much and never too little. What no model covers is [`Release::Unknown`].

use crate::clock::{Clocks, VectorClock};
use softacl_engine::observer::{Cell, CellChange, CellId, CellTest, Compare, CounterOp, StreamPosition};
use std::collections::{BTreeMap, HashSet};

/// Number of cells at which those without pending changes and waits are dropped.
const MAX_IDLE_CELLS: usize = 1024;

/// What releases a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Release {
    /// These tasks happen before the wait. None if the cell satisfies the wait already.
    By(Vec<StreamPosition>),
    /// A change that is not queued yet. These tasks happen before the wait in any case.
    Later(Vec<StreamPosition>),
    /// Something that the checker does not see.
    Unknown,
}

/// A wait for a cell, and what is known about its stream when it is queued.
pub(crate) struct NewWait<'a> {
    pub(crate) at: StreamPosition,
    pub(crate) test: CellTest,
    pub(crate) clears: bool,
    /// What happens before the wait without the cell.
    pub(crate) clock: &'a VectorClock,
    /// The stream may be held by something that changes the cell.
    pub(crate) is_held: bool,
}

#[derive(Debug, Clone, Copy)]
struct Change {
    at: StreamPosition,
    change: CellChange,
}

#[derive(Debug, Clone, Copy)]
struct PendingWait {
    at: StreamPosition,
    test: CellTest,
    is_held: bool,
}

#[derive(Debug, Default)]
struct CellState {
    /// Content before `changes`. `None` if it has to be read first.
    base: Option<u64>,
    /// Queued changes, oldest first. For a notify that is only recorded: those that no wait was paired with.
    changes: Vec<Change>,
    /// Copies and memory sets over a value.
    others: Vec<StreamPosition>,
    /// Waits that no queued change releases, oldest first.
    waits: Vec<PendingWait>,
    /// The changes are not ordered with each other.
    is_unordered: bool,
    /// A wait clears the cell.
    is_cleared: bool,
    /// Something else than a record and a consuming wait used the cell.
    is_general: bool,
    /// A record was paired with the wait that consumes it, and forgotten.
    has_paired: bool,
    /// The host wrote the cell while changes were pending, or another process can change it.
    is_unknown: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Signals {
    cells: BTreeMap<CellId, CellState>,
    /// All waits for cells that the host clock may not include.
    waits: HashSet<StreamPosition>,
}

impl Signals {
    pub(crate) fn contains(&self, cell: CellId) -> bool {
        self.cells.contains_key(&cell)
    }

    /// Starts to track a cell. `others` are the pending writes of it.
    pub(crate) fn track(&mut self, cell: CellId, others: Vec<StreamPosition>) {
        if self.cells.len() >= MAX_IDLE_CELLS {
            self.cells.retain(|_, state| !state.changes.is_empty() || !state.waits.is_empty());
        }
        self.cells.insert(cell, CellState { others, ..CellState::default() });
    }

    /// Records a change. Returns the waits that it releases, with the tasks that happen before each.
    pub(crate) fn change(
        &mut self,
        cell: &Cell,
        at: StreamPosition,
        change: CellChange,
        clocks: &Clocks,
    ) -> Vec<(StreamPosition, Vec<StreamPosition>)> {
        let state = self.cells.entry(cell.id).or_default();
        state.is_general |= change != CellChange::Count(CounterOp::Set(1));
        state.prune(cell, clocks.host());
        state.is_unknown |= cell.is_shared || state.is_general && state.has_paired;
        if state.is_consumed_only() {
            if state.is_unknown || state.waits.is_empty() {
                state.changes.push(Change { at, change });
                return Vec::new();
            }
            state.has_paired = true;
            return vec![(state.waits.remove(0).at, vec![at])];
        }
        let is_ordered = state.changes.last().is_none_or(|last| clocks.of(at).includes(last.at));
        state.is_unordered |= !is_ordered;
        state.changes.push(Change { at, change });
        if !state.is_exact() {
            return Vec::new();
        }
        let mut released = Vec::new();
        for wait in std::mem::take(&mut state.waits) {
            match state.first_match(wait.test, &clocks.of(wait.at)).filter(|_| !wait.is_held) {
                Some(by) => released.push((wait.at, by)),
                None => state.waits.push(wait),
            }
        }
        released
    }

    /// Records a wait. `is_done` is true if a task has run.
    pub(crate) fn wait(
        &mut self,
        cell: &Cell,
        wait: &NewWait<'_>,
        host: &VectorClock,
        is_done: impl Fn(StreamPosition) -> bool,
    ) -> Release {
        self.waits.retain(|known| !host.includes(*known));
        self.waits.insert(wait.at);
        let state = self.cells.entry(cell.id).or_default();
        state.is_general |= wait.test != CellTest::Count(Compare::Equal(1)) || !wait.clears;
        state.prune(cell, host);
        state.is_cleared |= wait.clears;
        state.is_unknown |= cell.is_shared || state.is_general && state.has_paired;
        if state.is_unknown {
            return Release::Unknown;
        }
        let pending = PendingWait { at: wait.at, test: wait.test, is_held: wait.is_held };
        if state.is_consumed_only() {
            if cell.content == Some(0) {
                // Consumed by another wait, together with an earlier record, or reset.
                state.changes.retain(|record| !is_done(record.at));
            }
            return state.consume(wait).unwrap_or_else(|| {
                state.waits.push(pending);
                Release::Later(Vec::new())
            });
        }
        if !state.is_exact() || wait.is_held {
            state.waits.push(pending);
            return Release::Later(state.sources());
        }
        match state.first_match(wait.test, wait.clock) {
            Some(by) => Release::By(by),
            None => {
                state.waits.push(pending);
                Release::Later(Vec::new())
            }
        }
    }

    /// A stream passes a wait that nothing has released. Returns the tasks that happen before it, or `None` if that is
    /// unknown.
    pub(crate) fn passed(&mut self, at: StreamPosition) -> Option<Vec<StreamPosition>> {
        let is_meant = |wait: &PendingWait| wait.at == at;
        let state = self.cells.values_mut().find(|state| state.waits.iter().any(is_meant))?;
        state.waits.retain(|wait| wait.at != at);
        let is_known = !state.is_consumed_only() && !state.is_exact() && !state.is_unknown;
        is_known.then(|| state.sources())
    }

    /// True if a task waits for a cell.
    pub(crate) fn is_wait(&self, at: StreamPosition) -> bool {
        self.waits.contains(&at)
    }

    /// Something else than a signal writes bytes: a task, or the host.
    pub(crate) fn overwritten(&mut self, start: usize, len: usize, at: Option<StreamPosition>, host: &VectorClock) {
        if self.cells.is_empty() {
            return;
        }
        let first = CellId::Value(start.saturating_sub(size_of::<u64>() - 1));
        for (_, state) in self.cells.range_mut(first..CellId::Value(start + len)) {
            match at {
                Some(at) => state.others.push(at),
                None if state.is_idle(host) => *state = CellState::default(),
                None => state.is_unknown = true,
            }
        }
    }

    /// The tasks of a stream after `done` up to `at` were dropped.
    pub(crate) fn dropped(&mut self, at: StreamPosition, done: u64) {
        let is_dropped =
            |task: StreamPosition| task.stream == at.stream && task.sequence > done && task.sequence <= at.sequence;
        for state in self.cells.values_mut() {
            state.changes.retain(|change| !is_dropped(change.at));
            state.others.retain(|other| !is_dropped(*other));
            state.waits.retain(|wait| !is_dropped(wait.at));
        }
    }
}

impl CellState {
    /// Only records of 1 and waits that consume them use the cell.
    fn is_consumed_only(&self) -> bool {
        !self.is_general && self.others.is_empty()
    }

    /// The contents of the cell are known one by one.
    fn is_exact(&self) -> bool {
        !self.is_unordered && !self.is_cleared && !self.is_unknown && self.others.is_empty() && self.base.is_some()
    }

    fn is_idle(&self, host: &VectorClock) -> bool {
        self.waits.is_empty() && self.sources().iter().all(|source| host.includes(*source))
    }

    /// Every task that writes the cell.
    fn sources(&self) -> Vec<StreamPosition> {
        self.changes.iter().map(|change| change.at).chain(self.others.iter().copied()).collect()
    }

    /// Forgets changes that the host clock includes: every wait is ordered after them.
    fn prune(&mut self, cell: &Cell, host: &VectorClock) {
        if self.is_consumed_only() {
            return;
        }
        if self.is_idle(host) {
            // Everything has run, so the content is what the next task finds.
            self.changes.clear();
            self.others.clear();
            self.is_unordered = false;
            self.base = cell.content;
        } else if self.is_exact() {
            let known = self.changes.partition_point(|change| host.includes(change.at));
            for change in self.changes.drain(..known) {
                self.base = self.base.map(|content| change.change.apply(content));
            }
        }
        self.others.retain(|other| !host.includes(*other) || !self.changes.is_empty());
    }

    /// The first content from which the wait can pass, in a cell that is exact: the change that produces it, or no
    /// change if the wait happens after that anyway. `None` if no queued change satisfies the wait.
    fn first_match(&self, test: CellTest, clock: &VectorClock) -> Option<Vec<StreamPosition>> {
        let known = self.changes.iter().rposition(|change| clock.includes(change.at)).map_or(0, |last| last + 1);
        let mut content = self.base?;
        for change in &self.changes[..known] {
            content = change.change.apply(content);
        }
        if test.holds(content) {
            return Some(self.changes[..known].last().map(|change| change.at).into_iter().collect());
        }
        self.changes[known..].iter().find_map(|change| {
            content = change.change.apply(content);
            test.holds(content).then(|| vec![change.at])
        })
    }

    /// Pairs a wait with the record that it consumes, if one is queued.
    fn consume(&mut self, wait: &NewWait<'_>) -> Option<Release> {
        self.has_paired |= !self.changes.is_empty();
        // Records that the wait happens after anyway have become one, because nothing consumed them in between.
        let known = self.changes.iter().rev().find(|record| wait.clock.includes(record.at)).map(|record| record.at);
        if let Some(known) = known {
            self.changes.retain(|record| !wait.clock.includes(record.at));
            return Some(Release::By(vec![known]));
        }
        if wait.is_held && self.changes.len() > 1 {
            // They may all have run when the stream arrives at the wait.
            return Some(Release::By(self.changes.drain(..).map(|record| record.at).collect()));
        }
        (!self.changes.is_empty()).then(|| Release::By(vec![self.changes.remove(0).at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softacl_engine::observer::ValueCondition;

    const RECORD: CellChange = CellChange::Count(CounterOp::Set(1));

    fn m(stream: u32, sequence: u64) -> StreamPosition {
        StreamPosition { stream, sequence }
    }

    #[derive(Default)]
    struct Fixture {
        signals: Signals,
        clocks: Clocks,
        next: BTreeMap<u32, u64>,
    }

    impl Fixture {
        fn submit(&mut self, stream: u32) -> StreamPosition {
            let next = self.next.entry(stream).or_default();
            *next += 1;
            let at = m(stream, *next);
            self.clocks.submit(at, None);
            at
        }

        fn change(
            &mut self,
            cell: Cell,
            change: CellChange,
            stream: u32,
        ) -> Vec<(StreamPosition, Vec<StreamPosition>)> {
            let at = self.submit(stream);
            let released = self.signals.change(&cell, at, change, &self.clocks);
            for (wait, by) in &released {
                self.clocks.add_edges_late(*wait, by);
            }
            released
        }

        fn wait(&mut self, cell: Cell, test: CellTest, clears: bool, stream: u32) -> Release {
            let at = self.submit(stream);
            let clock = self.clocks.of(at);
            let wait = NewWait { at, test, clears, clock: &clock, is_held: false };
            let release = self.signals.wait(&cell, &wait, self.clocks.host(), |_| false);
            if let Release::By(sources) = &release {
                sources.iter().for_each(|source| self.clocks.order(at, *source));
            }
            release
        }

        fn record(&mut self, stream: u32) -> Vec<(StreamPosition, Vec<StreamPosition>)> {
            self.change(notify(0), RECORD, stream)
        }

        fn consume(&mut self, stream: u32) -> Release {
            self.wait(notify(0), CellTest::Count(Compare::Equal(1)), true, stream)
        }
    }

    fn notify(content: u64) -> Cell {
        Cell { id: CellId::Notify(1), content: Some(content), is_shared: false }
    }

    fn value(content: u64) -> Cell {
        Cell { id: CellId::Value(0x1000), content: Some(content), is_shared: false }
    }

    fn at_least(wanted: u64) -> CellTest {
        CellTest::Value(ValueCondition::AtLeast, wanted)
    }

    #[test]
    fn record_releases_the_wait_queued_after_it_or_before_it() {
        let mut fixture = Fixture::default();
        fixture.record(1);
        assert_eq!(fixture.consume(2), Release::By(vec![m(1, 1)]));
        assert_eq!(fixture.consume(2), Release::Later(vec![]));
        assert_eq!(fixture.record(1), [(m(2, 2), vec![m(1, 2)])]);
    }

    #[test]
    fn record_that_was_left_over_releases_the_next_wait() {
        let mut fixture = Fixture::default();
        fixture.record(1);
        fixture.record(1);
        assert_eq!(fixture.consume(2), Release::By(vec![m(1, 1)]));
        fixture.record(1);
        assert_eq!(fixture.consume(2), Release::By(vec![m(1, 2)]), "not the newest record, 3");
    }

    #[test]
    fn records_before_a_host_wait_are_one() {
        let mut fixture = Fixture::default();
        fixture.record(1);
        fixture.record(1);
        fixture.clocks.wait(m(1, 2));
        assert_eq!(fixture.consume(2), Release::By(vec![m(1, 2)]));
        fixture.record(1);
        assert_eq!(fixture.consume(2), Release::By(vec![m(1, 3)]));
    }

    #[test]
    fn first_sufficient_value_releases_the_wait() {
        let mut fixture = Fixture::default();
        fixture.change(value(0), CellChange::Write(1), 1);
        fixture.change(value(0), CellChange::Write(2), 1);
        fixture.change(value(0), CellChange::Write(3), 1);
        assert_eq!(fixture.wait(value(0), at_least(2), false, 2), Release::By(vec![m(1, 2)]));
        assert_eq!(fixture.wait(value(0), at_least(1), false, 2), Release::By(vec![m(1, 2)]), "known anyway");
        assert_eq!(fixture.wait(value(0), at_least(4), false, 2), Release::Later(vec![]));
        assert_eq!(fixture.change(value(0), CellChange::Write(9), 1), [(m(2, 3), vec![m(1, 4)])]);
    }

    #[test]
    fn value_that_is_already_there_releases_a_wait_at_once() {
        let mut fixture = Fixture::default();
        assert_eq!(fixture.wait(value(1), at_least(1), false, 2), Release::By(vec![]));
        fixture.change(value(1), CellChange::Write(1), 1);
        assert_eq!(fixture.wait(value(1), at_least(1), false, 2), Release::By(vec![]));
    }

    #[test]
    fn unordered_writers_order_a_wait_after_all_of_them() {
        let mut fixture = Fixture::default();
        fixture.change(value(0), CellChange::Write(1), 1);
        fixture.change(value(0), CellChange::Write(2), 3);
        assert_eq!(fixture.wait(value(0), at_least(1), false, 2), Release::Later(vec![m(1, 1), m(3, 1)]));
        fixture.change(value(0), CellChange::Write(3), 4);
        assert_eq!(fixture.signals.passed(m(2, 1)), Some(vec![m(1, 1), m(3, 1), m(4, 1)]));
    }

    #[test]
    fn overwritten_value_is_not_exact() {
        let mut fixture = Fixture::default();
        fixture.change(value(0), CellChange::Write(1), 1);
        let set = fixture.submit(3);
        fixture.signals.overwritten(0xff8, 16, Some(set), fixture.clocks.host());
        assert_eq!(fixture.wait(value(0), at_least(1), false, 2), Release::Later(vec![m(1, 1), m(3, 1)]));
        fixture.signals.overwritten(0x1000, 8, None, fixture.clocks.host());
        assert_eq!(fixture.wait(value(0), at_least(1), false, 2), Release::Unknown);
    }

    #[test]
    fn counting_notify_without_clearing_waits_is_exact() {
        let mut fixture = Fixture::default();
        let add = CellChange::Count(CounterOp::Add(1));
        (0..3).for_each(|_| drop(fixture.change(notify(0), add, 1)));
        let test = CellTest::Count(Compare::AtLeast(2));
        assert_eq!(fixture.wait(notify(0), test, false, 2), Release::By(vec![m(1, 2)]));
    }

    #[test]
    fn notify_of_two_processes_is_unknown() {
        let mut fixture = Fixture::default();
        fixture.record(1);
        let shared = Cell { is_shared: true, ..notify(0) };
        assert_eq!(fixture.wait(shared, CellTest::Count(Compare::Equal(1)), true, 2), Release::Unknown);
    }

    #[test]
    fn dropped_record_releases_nothing() {
        let mut fixture = Fixture::default();
        fixture.record(1);
        fixture.signals.dropped(m(1, 1), 0);
        assert_eq!(fixture.consume(2), Release::Later(vec![]));
    }
}
