//! Waits of streams: what each is released by, and the races that can be judged only when that is known.
//!
//! A wait is released by an event record, by a change of a cell (`signals`), or by something invisible. Until the
//! release is queued, the tasks behind the wait may happen after anything: their conflicts are kept and judged then.

use crate::finding::FindingId;
use crate::ledger::Conflict;
use crate::operation::Operation;
use crate::signals::{NewWait, Release};
use crate::state::{InFlight, State};
use crate::unjudged::Subject;
use crate::wait_log::{MAX_DEFERRED, WaitRecord};
use softacl_engine::observer::{Cell, CellId, FunctionOrder, Mode, Signal, StreamPosition, Submitted, TaskKind, Touch};
use std::sync::Arc;

/// Why tasks were not judged.
const UNKNOWN_ORIGIN: &str =
    "they are behind a wait whose origin is unknown (another process, or code outside the runtime)";
const UNRELEASED: &str = "too many of them are behind waits that nothing has released";

impl State {
    /// Records what a submitted task waits for, and what may wait for it.
    pub(crate) fn record_order(&mut self, task: &Submitted<'_>, operation: &Arc<Operation>) {
        self.clocks.submit(task.at, task.after.filter(|_| !matches!(task.signal, Some(Signal::Wait { .. }))));
        let mut released_by: Vec<StreamPosition> = task.after.into_iter().collect();
        let mut is_stale = false;
        match task.signal {
            Some(Signal::Change { cell, change }) => {
                self.track_cell(&cell);
                let released = self.waits.signals.change(&self.known_cell(&cell), task.at, change, &self.clocks);
                for (wait, sources) in released {
                    self.resolve_external_wait(wait, &sources);
                }
            }
            Some(Signal::Wait { cell, test, clears }) => {
                self.track_cell(&cell);
                let clock = self.clocks.of(task.at);
                let is_held = self.is_behind_external_wait(task.at) || self.is_behind_host_function(task.at);
                let wait = NewWait { at: task.at, test, clears, clock: &clock, is_held };
                let cell = self.known_cell(&cell);
                let progress = &self.progress;
                let is_done =
                    |at: StreamPosition| progress.get(&at.stream).is_some_and(|progress| progress.done >= at.sequence);
                match self.waits.signals.wait(&cell, &wait, self.clocks.host(), is_done) {
                    Release::By(sources) => {
                        sources.iter().for_each(|source| self.clocks.order(task.at, *source));
                        is_stale = sources.iter().all(|source| clock.includes(*source));
                        released_by = sources;
                    }
                    Release::Later(sources) => {
                        sources.iter().for_each(|source| self.clocks.order(task.at, *source));
                        released_by.clear();
                        self.external_waits.push(task.at);
                    }
                    Release::Unknown => self.wait_for_anything(task),
                }
            }
            Some(Signal::NextRecord) => self.external_waits.push(task.at),
            None if task.is_external_wait && task.after.is_none() => self.wait_for_anything(task),
            None => {}
        }
        if matches!(task.kind, TaskKind::EventWait | TaskKind::ValueWait | TaskKind::NotifyWait) {
            self.add_wait(task, operation, released_by, is_stale);
        }
        match task.function {
            Some(FunctionOrder::HoldsStream) => {
                self.host_functions.entry(task.at.stream).or_default().insert(task.at.sequence);
            }
            Some(FunctionOrder::Free) => _ = self.free_functions.insert(task.at),
            None => {}
        }
        if let Some(event) = task.event {
            if task.kind == TaskKind::EventRecord {
                self.waits.add_record(event, task.at);
            }
            let uses = self.event_uses.entry(event).or_default();
            uses.retain(|at| !self.clocks.host().includes(*at));
            uses.push(task.at);
        }
        self.count_unjudged(task);
    }

    /// A wait of unknown origin: any earlier submit may release it. A missed finding is better than a false one.
    fn wait_for_anything(&mut self, task: &Submitted<'_>) {
        for (stream, progress) in &self.progress {
            self.clocks.order(task.at, StreamPosition { stream: *stream, sequence: progress.newest });
        }
        self.external_waits.push(task.at);
        if !matches!(task.kind, TaskKind::Delay | TaskKind::Stuck) {
            self.waits.unknown.push(task.at);
        }
    }

    fn track_cell(&mut self, cell: &Cell) {
        if self.waits.signals.contains(cell.id) {
            return;
        }
        let others = match cell.id {
            CellId::Value(address) => self.pending_writes(address, size_of::<u64>()),
            CellId::Notify(_) => Vec::new(),
        };
        self.waits.signals.track(cell.id, others);
    }

    /// The cell, with what the checker knows about its memory.
    fn known_cell(&self, cell: &Cell) -> Cell {
        match cell.id {
            CellId::Value(address) => {
                let is_viewed = self.host_views.missing(address, size_of::<u64>()).0 < size_of::<u64>();
                Cell { is_shared: is_viewed || self.mappings.is_shared(address), ..*cell }
            }
            CellId::Notify(_) => *cell,
        }
    }

    /// Tasks that write a range and that the host clock does not include.
    pub(crate) fn pending_writes(&self, address: usize, len: usize) -> Vec<StreamPosition> {
        let read = self.mappings.canonical_touch(&Touch { address, len, mode: Mode::Read });
        let pending = self.ledger.conflicts(&read, self.clocks.host());
        pending.iter().filter_map(|conflict| conflict.earlier.at).collect()
    }

    /// The host writes memory: values in it change outside all streams.
    pub(crate) fn host_overwrites(&mut self, touches: &[Touch]) {
        for touch in touches.iter().filter(|touch| touch.mode == Mode::Write) {
            self.waits.signals.overwritten(touch.address, touch.len, None, self.clocks.host());
        }
    }

    /// Resolves an external wait when the stream passes it. If its origin is unknown, everything that has finished by
    /// now happens before the wait.
    pub(crate) fn resolve_on_pass(&mut self, at: StreamPosition) {
        if !self.external_waits.contains(&at) {
            return;
        }
        if let Some(sources) = self.waits.signals.passed(at) {
            self.resolve_external_wait(at, &sources);
            return;
        }
        if self.waits.signals.is_wait(at) && !self.waits.unknown.contains(&at) {
            let is_behind = |task: &&InFlight| {
                task.at != at && !task.operation.touches.is_empty() && self.clocks.of(task.at).includes(at)
            };
            let count = self.in_flight().filter(is_behind).count() as u64;
            self.not_judged(&[FindingId::S1], Subject::Task, count, UNKNOWN_ORIGIN);
            self.waits.unknown.push(at);
        }
        let others = self.progress.iter().filter(|(stream, progress)| **stream != at.stream && progress.done > 0);
        let done: Vec<StreamPosition> =
            others.map(|(stream, progress)| StreamPosition { stream: *stream, sequence: progress.done }).collect();
        self.resolve_external_wait(at, &done);
    }

    /// Resolves an external wait whose origin became known. Earlier host accesses to memory of the tasks behind it
    /// were legal.
    pub(crate) fn resolve_external_wait(&mut self, at: StreamPosition, after: &[StreamPosition]) {
        self.external_waits.retain(|wait| *wait != at);
        self.clocks.add_edges_late(at, after);
        self.waits.released(at, after);
        self.resnapshot_after(at);
        self.judge_deferred();
    }

    /// Keeps a conflict until the waits before its two tasks are released.
    pub(crate) fn defer(&mut self, operation: &Arc<Operation>, conflict: &Conflict) {
        if self.waits.deferred.len() < MAX_DEFERRED {
            self.waits.deferred.push((Arc::clone(operation), conflict.clone()));
        } else {
            self.not_judged(&[FindingId::S1], Subject::Task, 1, UNRELEASED);
        }
    }

    /// Judges the deferred conflicts whose waits are all released.
    fn judge_deferred(&mut self) {
        for (operation, conflict) in std::mem::take(&mut self.waits.deferred) {
            let (Some(later), Some(earlier)) = (operation.at, conflict.earlier.at) else { continue };
            if self.is_behind_external_wait(later) || self.is_behind_external_wait(earlier) {
                self.waits.deferred.push((operation, conflict));
            } else if !self.clocks.of(later).includes(earlier) && !self.clocks.of(earlier).includes(later) {
                self.find_race(&operation, &conflict);
            }
        }
    }

    /// The tasks of a stream after `done` up to `at` were dropped.
    pub(crate) fn waits_dropped(&mut self, at: StreamPosition, done: u64) {
        self.external_waits.retain(|wait| wait.stream != at.stream || wait.sequence > at.sequence);
        self.waits.signals.dropped(at, done);
        self.freed_blocks.dropped(at, done);
        let is_dropped =
            |task: &Operation| task.at.is_some_and(|task| task.stream == at.stream && task.sequence > done);
        self.waits.deferred.retain(|(later, conflict)| !is_dropped(later) && !is_dropped(&conflict.earlier));
    }

    /// S1: a wait of a stream timed out or was stopped, so the tasks behind it run before those that it waited for.
    pub(crate) fn wait_abandoned(&mut self, at: StreamPosition) {
        if self.external_waits.contains(&at) {
            // Nothing has released it.
            self.waits.signals.passed(at);
            self.waits.unknown.retain(|wait| *wait != at);
            self.resolve_external_wait(at, &[]);
        }
        let Some(waits) = self.waits.by_stream.get_mut(&at.stream) else { return };
        // Tasks behind another wait may be ordered by that one.
        let next = waits.iter().map(|wait| wait.at.sequence).filter(|sequence| *sequence > at.sequence).min();
        if let Some(wait) = waits.iter_mut().find(|wait| wait.at == at) {
            wait.is_abandoned = true;
        }
        let with = self.clocks.of(at);
        let mut without = self.clocks.of(StreamPosition { stream: at.stream, sequence: at.sequence - 1 });
        without.join(self.clocks.host());
        let is_awaited = |task: &&InFlight| {
            let done = self.progress.get(&task.at.stream).map_or(0, |progress| progress.done);
            task.at.sequence > done && with.includes(task.at) && !without.includes(task.at)
        };
        let is_behind = |task: &&InFlight| {
            task.at.stream == at.stream
                && task.at.sequence > at.sequence
                && next.is_none_or(|next| task.at.sequence < next)
        };
        let awaited: Vec<&InFlight> = self.in_flight().filter(is_awaited).collect();
        let behind = self.in_flight().filter(is_behind);
        let pairs = behind.flat_map(|later| awaited.iter().map(move |earlier| (&later.operation, &earlier.operation)));
        let conflicts = pairs.filter_map(|(later, earlier)| Some((Arc::clone(later), conflict(earlier, later)?)));
        let conflicts: Vec<(Arc<Operation>, Conflict)> = conflicts.collect();
        for (later, conflict) in conflicts {
            self.find_race(&later, &conflict);
        }
    }

    fn add_wait(
        &mut self,
        task: &Submitted<'_>,
        operation: &Arc<Operation>,
        released_by: Vec<StreamPosition>,
        is_stale: bool,
    ) {
        let waits = self.waits.by_stream.entry(task.at.stream).or_default();
        while waits.front().is_some_and(|wait| self.clocks.host().includes(wait.at)) {
            waits.pop_front();
        }
        let operation = Arc::clone(operation);
        waits.push_back(WaitRecord {
            at: task.at,
            operation,
            event: task.event,
            released_by,
            is_stale,
            is_abandoned: false,
        });
    }

    /// Counts a task that accesses memory behind a wait of unknown origin.
    fn count_unjudged(&mut self, task: &Submitted<'_>) {
        if self.waits.unknown.is_empty() {
            return;
        }
        let host = self.clocks.host();
        self.waits.unknown.retain(|wait| !host.includes(*wait));
        let clock = self.clocks.of(task.at);
        let is_behind = self.waits.unknown.iter().any(|wait| *wait != task.at && clock.includes(*wait));
        if is_behind && !task.touches.is_empty() {
            self.not_judged(&[FindingId::S1], Subject::Task, 1, UNKNOWN_ORIGIN);
        }
    }

    /// The newest wait of the stream of `later` that looks as if it covered `earlier` and does not, described.
    pub(crate) fn insufficient_wait(&self, earlier: &Operation, later: &Operation) -> Option<(Arc<Operation>, String)> {
        let (Some(done), Some(at)) = (earlier.at, later.at) else { return None };
        if earlier.launch.is_some() || later.launch.is_some() {
            return None;
        }
        let waits = self.waits.by_stream.get(&at.stream)?;
        waits.iter().rev().filter(|wait| wait.at.sequence < at.sequence).find_map(|wait| {
            let is_before = |by: &&StreamPosition| by.stream == done.stream && by.sequence < done.sequence;
            let start = format!("stream {} waited (task {})", at.stream, wait.at.sequence);
            let by = wait.released_by.iter().rev().find(is_before);
            let text = match (by, wait.event) {
                _ if wait.is_abandoned => format!("{start}, but that wait timed out or was stopped"),
                (Some(by), Some(event)) => format!(
                    "{start} for {} of event {event}, task {} of stream {}, which is before task {}",
                    self.waits.record_text(event, *by),
                    by.sequence,
                    by.stream,
                    done.sequence
                ),
                (Some(by), None) => format!(
                    "{start}, but task {} of stream {} releases that wait, and it is before task {}",
                    by.sequence, by.stream, done.sequence
                ),
                (None, None) if wait.is_stale => {
                    format!("{start}, but an earlier signal already satisfies that wait")
                }
                _ => return None,
            };
            Some((Arc::clone(&wait.operation), text))
        })
    }
}

/// The first conflict between the accesses of two operations.
fn conflict(earlier: &Arc<Operation>, later: &Operation) -> Option<Conflict> {
    let pairs = earlier.touches.iter().flat_map(|one| later.touches.iter().map(move |other| (one, other)));
    pairs.into_iter().find_map(|(one, other)| {
        let (from, to) = (one.address.max(other.address), (one.address + one.len).min(other.address + other.len));
        let is_conflict = from < to && (one.mode == Mode::Write || other.mode == Mode::Write);
        is_conflict.then(|| Conflict {
            earlier: Arc::clone(earlier),
            earlier_mode: one.mode,
            later_mode: other.mode,
            address: from,
            len: to - from,
        })
    })
}
