//! The log of accesses to memory that several processes share. A process cannot compare them with those of the others;
//! `softacl check` does, from the logs of all of them (`report/process_races`).
//!
//! All times are nanoseconds of the system's monotonic clock, which processes share. They are taken so that an error is
//! on the safe side: the time from which a task could run is rather too late, and the time of its start is taken before
//! it moves a byte.

use crate::backtrace::SymbolCache;
use crate::call::monotonic_ns;
use crate::finding::{ProcessAccesses, SharedAccess, SharedRange};
use crate::operation::Operation;
use softacl_engine::observer::StreamPosition;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Maximum number of accesses that are kept. The oldest are forgotten, and counted.
const MAX_ACCESSES: usize = 1 << 14;

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) operation: Arc<Operation>,
    pub(crate) ranges: Vec<SharedRange>,
    pub(crate) queued: u64,
    /// Waits and host functions ahead of the task that had not ended when it was queued.
    pub(crate) gates: Vec<StreamPosition>,
    /// When the last of them ended, or when the host last saw a record of another process.
    pub(crate) gated: u64,
    pub(crate) started: Option<u64>,
    /// When a host wait covered the task.
    pub(crate) known: Option<u64>,
    /// The task was dropped before it started, so it accesses nothing.
    pub(crate) is_dropped: bool,
    /// Number of ranges that are not listed.
    pub(crate) omitted: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct SharedLog {
    entries: VecDeque<Entry>,
    /// Number of forgotten entries.
    forgotten: u64,
    /// The entries of tasks that no host wait covers, by their numbers.
    pub(crate) pending: HashMap<StreamPosition, u64>,
    /// Tasks that hold their streams for something outside: waits and host functions that have not ended.
    pub(crate) gates: HashSet<StreamPosition>,
    /// When the host last saw a record of another process.
    pub(crate) record_seen: u64,
}

impl SharedLog {
    pub(crate) fn started(&mut self, at: StreamPosition) {
        if !self.pending.is_empty() {
            let now = monotonic_ns();
            if let Some(entry) = self.entry(at) {
                entry.started.get_or_insert(now);
            }
        }
    }

    /// A host wait covers a task, or it was dropped.
    pub(crate) fn known(&mut self, at: StreamPosition) {
        if !self.pending.is_empty() {
            let now = monotonic_ns();
            if let Some(entry) = self.entry(at) {
                entry.known = Some(now);
            }
            self.pending.remove(&at);
        }
    }

    /// A task has ended. If it held its stream, the tasks behind it can run from now on.
    pub(crate) fn passed(&mut self, at: StreamPosition) {
        if self.gates.remove(&at) {
            self.open_gates(|gate| gate == at);
        }
    }

    /// The tasks of a stream up to `at` that have not started were dropped.
    pub(crate) fn dropped(&mut self, at: StreamPosition) {
        let is_dropped = |task: StreamPosition| task.stream == at.stream && task.sequence <= at.sequence;
        self.gates.retain(|gate| !is_dropped(*gate));
        self.open_gates(is_dropped);
        let tasks = self.pending.iter().filter(|(task, _)| is_dropped(**task));
        for number in tasks.map(|(_, number)| *number) {
            let Some(index) = number.checked_sub(self.forgotten) else { continue };
            if let Some(entry) = self.entries.get_mut(index as usize) {
                entry.is_dropped = entry.started.is_none();
            }
        }
    }

    pub(crate) fn record_seen(&mut self) {
        self.record_seen = monotonic_ns();
    }

    fn open_gates(&mut self, is_open: impl Fn(StreamPosition) -> bool) {
        if self.pending.is_empty() {
            return;
        }
        let now = monotonic_ns();
        for number in self.pending.values() {
            let Some(index) = number.checked_sub(self.forgotten) else { continue };
            let Some(entry) = self.entries.get_mut(index as usize) else { continue };
            let before = entry.gates.len();
            entry.gates.retain(|gate| !is_open(*gate));
            if entry.gates.len() < before {
                entry.gated = now;
            }
        }
    }

    fn entry(&mut self, at: StreamPosition) -> Option<&mut Entry> {
        let index = self.pending.get(&at)?.checked_sub(self.forgotten)?;
        self.entries.get_mut(index as usize)
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        if self.entries.len() == MAX_ACCESSES {
            self.entries.pop_front();
            self.forgotten += 1;
        }
        if let Some(at) = entry.operation.at {
            self.pending.insert(at, self.forgotten + self.entries.len() as u64);
        }
        self.entries.push_back(entry);
    }

    /// The log in the form of the report.
    pub(crate) fn to_reported(&self, names: &mut SymbolCache) -> ProcessAccesses {
        let now = monotonic_ns();
        let mut log = ProcessAccesses { forgotten: self.forgotten, ..ProcessAccesses::default() };
        let mut places: HashMap<(u64, Option<&'static str>), usize> = HashMap::new();
        for entry in &self.entries {
            let key = (entry.operation.backtrace.key(), entry.operation.function);
            let place = *places.entry(key).or_insert_with(|| {
                log.places.push(entry.operation.place(names));
                log.places.len() - 1
            });
            let known = entry.known.unwrap_or(now);
            log.omitted += entry.omitted;
            let can_run = entry.gates.is_empty() && !entry.is_dropped;
            log.accesses.push(SharedAccess {
                ranges: entry.ranges.clone(),
                ready: can_run.then_some(entry.queued.max(entry.gated)),
                gated: entry.gated,
                started: entry.started.unwrap_or(known),
                known,
                is_call: entry.operation.at.is_none(),
                operation: entry.operation.to_reported_without_place(),
                place,
            });
        }
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: StreamPosition = StreamPosition { stream: 1, sequence: 1 };
    const COPY: StreamPosition = StreamPosition { stream: 1, sequence: 2 };

    fn operation(at: Option<StreamPosition>) -> Arc<Operation> {
        let mut operation = Operation::for_test(1);
        operation.at = at;
        Arc::new(operation)
    }

    /// A log with one copy that is queued behind a wait.
    fn log() -> SharedLog {
        let mut log = SharedLog::default();
        log.gates.insert(WAIT);
        log.push(Entry {
            operation: operation(Some(COPY)),
            ranges: Vec::new(),
            queued: 1,
            gates: vec![WAIT],
            gated: 0,
            started: None,
            known: None,
            is_dropped: false,
            omitted: 0,
        });
        log
    }

    fn reported(log: &SharedLog) -> SharedAccess {
        log.to_reported(&mut SymbolCache::new(true)).accesses[0].clone()
    }

    #[test]
    fn task_behind_a_wait_is_ready_when_the_wait_ends() {
        let mut log = log();
        assert_eq!(reported(&log).ready, None);
        let before = monotonic_ns();
        log.passed(WAIT);
        assert!(log.gates.is_empty());
        assert!(reported(&log).ready.is_some_and(|ready| ready >= before && ready == reported(&log).gated));
    }

    #[test]
    fn dropped_task_accesses_nothing() {
        let mut log = log();
        log.dropped(COPY);
        assert_eq!(reported(&log).ready, None);
        assert!(log.gates.is_empty());
    }

    #[test]
    fn task_that_has_started_is_not_dropped() {
        let mut log = log();
        log.passed(WAIT);
        log.started(COPY);
        log.dropped(COPY);
        assert!(reported(&log).ready.is_some());
    }

    #[test]
    fn times_of_forgotten_tasks_change_nothing() {
        let mut log = log();
        for _ in 0..MAX_ACCESSES {
            let entry = Entry { operation: operation(None), gates: Vec::new(), ..log.entries[0].clone() };
            log.push(entry);
        }
        assert_eq!((log.entries.len(), log.forgotten), (MAX_ACCESSES, 1));
        log.started(COPY);
        log.known(COPY);
        assert!(log.entries[0].started.is_none() && log.pending.is_empty());
    }
}
