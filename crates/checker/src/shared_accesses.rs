//! Which operations access memory that several processes share: fills the log of them.

use crate::call::monotonic_ns;
use crate::finding::SharedRange;
use crate::operation::Operation;
use crate::shared_log::Entry;
use crate::state::State;
use softacl_engine::observer::{FunctionOrder, Mode, SharedFile, Signal, StreamPosition, Submitted, TaskKind, Touch};
use std::sync::Arc;

/// Maximum number of ranges of one access that are compared.
const MAX_RANGES: usize = 1 << 10;

impl State {
    /// Logs a submitted task that accesses shared memory, and remembers tasks that hold their stream for something
    /// outside.
    pub(crate) fn log_shared_task(&mut self, task: &Submitted<'_>, operation: &Arc<Operation>) {
        if is_gate(task) {
            self.shared_log.gates.insert(task.at);
        }
        let (ranges, omitted) = self.shared_ranges(operation);
        if !ranges.is_empty() {
            let entry = self.shared_entry(task.at, operation, ranges);
            self.shared_log.push(Entry { omitted, ..entry });
        }
    }

    /// Logs a blocking call that is about to access shared memory.
    pub(crate) fn log_shared_call(&mut self, operation: &Arc<Operation>) {
        let (ranges, omitted) = self.shared_ranges(operation);
        if ranges.is_empty() {
            return;
        }
        let now = monotonic_ns();
        self.shared_log.push(Entry {
            operation: Arc::clone(operation),
            ranges,
            queued: now,
            gates: Vec::new(),
            gated: self.shared_log.record_seen,
            started: Some(now),
            known: Some(now),
            is_dropped: false,
            omitted,
        });
    }

    /// Physical memory is shared from now on. Tasks in flight that access it are logged as if they had just been queued.
    pub(crate) fn share_memory(&mut self, physical: usize, file: SharedFile) {
        self.mappings.share(physical, file);
        let tasks: Vec<(StreamPosition, Arc<Operation>)> =
            self.in_flight().map(|task| (task.at, Arc::clone(&task.operation))).collect();
        for (at, operation) in tasks {
            if self.shared_log.pending.contains_key(&at) {
                continue;
            }
            let (ranges, omitted) = self.shared_ranges(&operation);
            if !ranges.is_empty() {
                let mut entry = self.shared_entry(at, &operation, ranges);
                // It has started before any task of another process can be queued.
                entry.started = operation.has_started().then_some(0);
                self.shared_log.push(Entry { omitted, ..entry });
            }
        }
    }

    fn shared_entry(&self, at: StreamPosition, operation: &Arc<Operation>, ranges: Vec<SharedRange>) -> Entry {
        let clock = self.clocks.of(at);
        let gates = self.shared_log.gates.iter().copied().filter(|gate| clock.includes(*gate)).collect();
        Entry {
            operation: Arc::clone(operation),
            ranges,
            queued: monotonic_ns(),
            gates,
            gated: self.shared_log.record_seen,
            started: None,
            known: None,
            is_dropped: false,
            omitted: 0,
        }
    }

    /// Ranges of shared memory that an operation accesses, and the number of those beyond the maximum.
    fn shared_ranges(&self, operation: &Operation) -> (Vec<SharedRange>, u64) {
        if !self.mappings.has_shared() {
            return (Vec::new(), 0);
        }
        let range = |touch: &Touch| {
            let (file, start) = self.mappings.shared_place(touch.address)?;
            Some(SharedRange {
                file: (file.device, file.inode),
                start,
                end: start + touch.len as u64,
                address: touch.address as u64,
                is_write: touch.mode == Mode::Write,
            })
        };
        let mut ranges = operation.touches.iter().filter(|touch| touch.len > 0).filter_map(range);
        let kept = ranges.by_ref().take(MAX_RANGES).collect();
        (kept, ranges.count() as u64)
    }
}

/// True if a task holds its stream until something happens that is not a task of this process.
fn is_gate(task: &Submitted<'_>) -> bool {
    match task.kind {
        TaskKind::EventWait => task.after.is_none(),
        TaskKind::ValueWait
        | TaskKind::NotifyWait
        | TaskKind::Delay
        | TaskKind::Stuck
        | TaskKind::HostFunction
        | TaskKind::Condition
        | TaskKind::LabelSwitch
        | TaskKind::StreamSwitch => task.function != Some(FunctionOrder::Free),
        _ => task.is_external_wait || task.signal.is_some_and(|signal| !is_change(signal)),
    }
}

fn is_change(signal: Signal) -> bool {
    matches!(signal, Signal::Change { .. })
}
