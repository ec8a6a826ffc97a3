//! The observer: writes a trace event for each engine callback that belongs on the timeline.

use crate::allocations::{AllocationMap, Endpoint};
use crate::chrome;
use crate::log::{Log, LogSnapshot};
use crate::marks::Texts;
use crate::summary::Summary;
use crate::timeline::Timeline;
use crate::trace_event::TraceEvent;
use softacl_engine::observer::{
    AccessKind, Advisory, FaultAction, Function, Mark, Object, Observer, Origin, StreamPosition, Submitted, TaskKind,
    Touch, Window,
};
use softacl_engine::{Error, MemoryKind};
use softacl_sync::timed_lock::lock_with_timeout;
use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Default limit of stored trace events, about 256 MB.
pub const DEFAULT_EVENT_LIMIT: u64 = 4_000_000;

/// An engine observer that records trace events and writes them as one trace.
#[derive(Debug)]
pub struct Tracer {
    log: Log,
    allocations: Mutex<AllocationMap>,
    /// Ids of internal streams that run the steps of graphs.
    graph_streams: Mutex<HashSet<u32>>,
    /// Texts of marks.
    texts: Mutex<Texts>,
    /// When the log was created, since the Unix epoch. Aligns the traces of several processes.
    start_time: Duration,
}

impl Tracer {
    /// Creates a tracer that stores at most `limit` trace events.
    pub fn new(limit: u64) -> Tracer {
        let start_time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Tracer {
            log: Log::new(limit),
            allocations: Mutex::default(),
            graph_streams: Mutex::default(),
            texts: Mutex::default(),
            start_time,
        }
    }

    /// Writes the trace of everything recorded until now, with the summary in its last line.
    pub fn write(&self, to: &mut impl io::Write) -> io::Result<Summary> {
        self.write_snapshot(self.snapshot()?, to)
    }

    /// Writes the trace of everything recorded since `start`, a result of `now`. Tasks that were submitted before
    /// are left out.
    pub fn write_since(&self, start: u64, to: &mut impl io::Write) -> io::Result<Summary> {
        let mut snapshot = self.snapshot()?;
        for (_, records) in &mut snapshot.threads {
            records.retain(|record| record.ns >= start);
        }
        self.write_snapshot(snapshot, to)
    }

    /// The present time, in ns since the tracer was created.
    pub fn now(&self) -> u64 {
        self.log.now()
    }

    fn snapshot(&self) -> io::Result<LogSnapshot> {
        let exhausted = || io::Error::new(io::ErrorKind::OutOfMemory, "not enough memory to build the trace");
        self.log.read().ok_or_else(exhausted)
    }

    fn write_snapshot(&self, snapshot: LogSnapshot, to: &mut impl io::Write) -> io::Result<Summary> {
        // At process exit, a thread that will never run again may hold the lock.
        let texts = lock_with_timeout(&self.texts).map_or_else(Vec::new, |texts| texts.all());
        let timeline = Timeline::of(snapshot, texts);
        let summary = Summary::of(&timeline);
        chrome::write(&timeline, &summary, self.start_time, to)?;
        Ok(summary)
    }

    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allocations(&self) -> MutexGuard<'_, AllocationMap> {
        self.allocations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn graph_streams(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.graph_streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Tracer {
    fn guards(&self) -> bool {
        false
    }

    fn attached(&self, pinned: Window) {
        self.allocations().attach(pinned);
    }

    fn entered(&self, function: &'static Function) {
        self.log.write([TraceEvent::Entered(function.name)]);
    }

    fn exited(&self, code: i32) {
        self.log.write([TraceEvent::Exited(code)]);
    }

    /// Ignored: `exited` receives the code.
    fn call_failed(&self, _function: &'static Function, _error: &Error) {}

    fn finalized(&self, _is_final: bool) {}

    fn submitted(&self, task: &Submitted<'_>) {
        let is_graph_step = self.graph_streams().contains(&task.at.stream);
        let submitted =
            TraceEvent::Submitted { at: task.at, name: task.kind.name(), device: task.device, is_graph_step };
        match (task.touches, task.after, task.is_external_wait) {
            ([], None, false) => self.log.write([submitted]),
            ([], None, true) => self.log.write([submitted, TraceEvent::Waits(task.at)]),
            ([], Some(after), _) => {
                self.log.write([submitted, TraceEvent::Waits(task.at), TraceEvent::After(task.at, after)]);
            }
            (touches, ..) => {
                let mut transfer = self.allocations().transfer(touches);
                // A staged copy has no source touch: its source, host memory, was read at submit.
                if transfer.route.source.is_none() && task.kind == TaskKind::Copy {
                    transfer.route.source = Some(Endpoint::Host);
                }
                self.log.write([submitted, TraceEvent::Transfer(transfer)]);
            }
        }
    }

    fn launched(&self, graph_streams: &[u32], join: Option<StreamPosition>) {
        self.graph_streams().extend(graph_streams);
        if let Some(join) = join {
            self.log.write([TraceEvent::Waits(join)]);
        }
    }

    fn started(&self, at: StreamPosition) {
        self.log.write([TraceEvent::Started(at)]);
    }

    fn failed(&self, at: StreamPosition, error: &Error) {
        self.log.write([TraceEvent::Failed(at, error.code())]);
    }

    fn finished(&self, at: StreamPosition) {
        self.log.write([TraceEvent::Finished(at)]);
    }

    /// Ignored: the task is on the timeline from its start to its end.
    fn function_entered(&self, _at: StreamPosition) {}
    fn function_left(&self, _at: StreamPosition) {}

    fn dropped(&self, at: StreamPosition) {
        self.log.write([TraceEvent::Dropped(at)]);
    }

    fn ordered(&self, from: StreamPosition, after: StreamPosition) {
        self.log.write([TraceEvent::After(from, after)]);
    }

    fn waited(&self, _at: StreamPosition) {}

    fn access_started(&self, kind: AccessKind, touches: &[Touch]) {
        let transfer = self.allocations().transfer(touches);
        self.log.write([TraceEvent::AccessStarted(kind.name(), transfer)]);
    }

    fn access_finished(&self, _touches: &[Touch], is_done: bool) {
        self.log.write([TraceEvent::AccessFinished(is_done)]);
    }

    fn allocated(&self, kind: MemoryKind, start: usize, size: usize) {
        // Logged under the lock, so that the values are in the order of their times.
        let mut allocations = self.allocations();
        if let Some((device, bytes)) = allocations.allocated(kind, start, size) {
            self.log.write([TraceEvent::Memory(device, bytes)]);
        }
    }

    fn freed(&self, _kind: MemoryKind, start: usize) {
        let mut allocations = self.allocations();
        if let Some((device, bytes)) = allocations.freed(start) {
            self.log.write([TraceEvent::Memory(device, bytes)]);
        }
    }

    fn registered(&self, _start: usize, _size: usize) {}
    fn unregistered(&self, _start: usize) {}

    /// The id may have belonged to a graph stream before.
    fn created(&self, object: Object, _origin: Origin) {
        if let Object::Stream(stream) = object {
            self.graph_streams().remove(&stream);
        }
    }

    fn ending(&self, _object: Object, _by_force: bool) {}

    fn device_cleared(&self, device: u32) {
        let mut allocations = self.allocations();
        allocations.cleared(device);
        self.log.write([TraceEvent::Memory(device, 0)]);
    }

    fn marked(&self, mark: &Mark<'_>) {
        let text = |text: &str| self.texts().number(text);
        self.log.write([match *mark {
            Mark::Point(name) => TraceEvent::Marked(text(name)),
            Mark::Opened { range, text: name, is_nested } => {
                TraceEvent::RangeOpened { range, text: text(name), is_nested }
            }
            Mark::Closed { range } => TraceEvent::RangeClosed(range),
            Mark::Label { at, text: name } => TraceEvent::Labeled(at, text(name)),
        }]);
    }

    fn advised(&self, advisory: &Advisory) {
        if let Advisory::Blocked { waited, .. } = advisory {
            self.log.write([TraceEvent::Blocked(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX))]);
        }
    }

    fn touched(&self, _address: usize, _is_write: bool, _code: usize) -> FaultAction {
        FaultAction::PassOn
    }

    fn stepped(&self) {}
}
