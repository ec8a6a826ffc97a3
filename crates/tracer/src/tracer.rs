//! The observer: writes a trace event for each engine callback that belongs on the timeline.

use crate::allocations::{Allocations, Endpoint};
use crate::log::Log;
use crate::names::Names;
use crate::record::Slot;
use crate::snapshot::LogSnapshot;
use crate::summary::Summary;
use crate::trace;
use crate::trace_event::{TextId, TraceEvent};
use softacl_engine::observer::{
    AccessKind, Advisory, BlockChange, BlockedOn, FaultAction, Function, Mark, Object, Observer, Origin, SharedFile,
    StreamPosition, Submitted, TaskKind, Touch, Window,
};
use softacl_engine::{Error, MemoryKind};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Default limit of stored trace events, 512 MiB.
pub const DEFAULT_EVENT_LIMIT: u64 = 16 << 20;

/// Bytes of a trace event in a log.
pub const RECORD_BYTES: u64 = size_of::<Slot>() as u64;

/// An engine observer that records trace events in a log.
#[derive(Debug)]
pub struct Tracer {
    log: Log,
    names: Names,
    allocations: Allocations,
    /// Ids of internal streams that run the steps of graphs.
    graph_streams: Mutex<HashSet<u32>>,
    /// False until a graph was launched.
    has_graph_streams: AtomicBool,
    /// Numbers of the texts of marks.
    texts: Mutex<HashMap<String, TextId>>,
}

impl Tracer {
    /// Creates a tracer that stores at most `limit` trace events in memory.
    pub fn new(limit: u64) -> io::Result<Tracer> {
        Tracer::with_log(Log::new(limit, None)?)
    }

    /// Creates a tracer that stores at most `limit` trace events in an empty file, from which `TraceWriter` reads
    /// them, however the process ends.
    pub fn with_file(limit: u64, file: File) -> io::Result<Tracer> {
        Tracer::with_log(Log::new(limit, Some(file))?)
    }

    /// Takes times from a virtual clock, in ns since the start of the program.
    #[must_use]
    pub fn with_clock(mut self, clock: fn() -> u64) -> Tracer {
        self.log.set_clock(clock);
        self
    }

    fn with_log(log: Log) -> io::Result<Tracer> {
        Ok(Tracer {
            log,
            names: Names::new(),
            allocations: Allocations::new(),
            graph_streams: Mutex::default(),
            has_graph_streams: AtomicBool::new(false),
            texts: Mutex::default(),
        })
    }

    /// Writes the trace of everything recorded until now, with the summary in its last line.
    pub fn write(&self, to: &mut impl io::Write) -> io::Result<Summary> {
        trace::write(self.snapshot()?, to)
    }

    /// Writes the trace of everything recorded since `start`, a result of `now`. Tasks that were submitted before
    /// are left out.
    pub fn write_since(&self, start: u64, to: &mut impl io::Write) -> io::Result<Summary> {
        let mut snapshot = self.snapshot()?;
        for thread in &mut snapshot.threads {
            thread.records.retain(|record| record.ns >= start);
        }
        trace::write(snapshot, to)
    }

    /// The present time, in ns since the tracer was created.
    pub fn now(&self) -> u64 {
        self.log.now()
    }

    /// Records that the process ends in an orderly way.
    pub fn end(&self) {
        self.log.end();
    }

    fn snapshot(&self) -> io::Result<LogSnapshot> {
        let exhausted = || io::Error::new(io::ErrorKind::OutOfMemory, "not enough memory to build the trace");
        self.log.read().ok_or_else(exhausted)
    }

    fn name(&self, name: &'static str) -> TextId {
        self.names.number(name, &self.log)
    }

    /// Number of a text of the program. Equal texts have one number.
    fn text(&self, text: &str) -> TextId {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = texts.get(text) {
            return *number;
        }
        let number = self.log.write_text(text);
        texts.insert(text.to_owned(), number);
        number
    }

    fn graph_streams(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.graph_streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the bytes in use on a device. Called under the lock of the allocations, so that the values are in the
    /// order of their times.
    fn memory_changed(&self, used: Option<(u32, u64)>) {
        if let Some((device, bytes)) = used {
            self.log.write([TraceEvent::Memory(device, bytes)]);
        }
    }

    fn is_graph_stream(&self, stream: u32) -> bool {
        self.has_graph_streams.load(Ordering::Acquire) && self.graph_streams().contains(&stream)
    }
}

impl Observer for Tracer {
    fn guards(&self) -> bool {
        false
    }

    fn attached(&self, pinned: Window) {
        self.allocations.change(|map| map.attach(pinned), drop);
    }

    fn entered(&self, function: &'static Function) {
        self.log.enter(self.name(function.name));
    }

    fn exited(&self, code: i32) {
        self.log.exit(code);
    }

    /// Ignored: `exited` receives the code.
    fn call_failed(&self, _function: &'static Function, _error: &Error) {}

    fn finalized(&self, _is_final: bool) {}

    fn submitted(&self, task: &Submitted<'_>) {
        let is_graph_step = self.is_graph_stream(task.at.stream);
        let submitted = TraceEvent::Submitted {
            at: task.at,
            name: self.name(task.kind.name()),
            device: task.device,
            is_graph_step,
        };
        match (task.touches, task.after, task.is_external_wait) {
            ([], None, false) => _ = self.log.write([submitted]),
            ([], None, true) => _ = self.log.write([submitted, TraceEvent::Waits(task.at)]),
            ([], Some(after), _) => {
                self.log.write([submitted, TraceEvent::Waits(task.at), TraceEvent::After(task.at, after)]);
            }
            (touches, ..) => {
                let mut transfer = self.allocations.transfer(touches);
                // A staged copy has no source touch: its source, host memory, was read at submit.
                if transfer.route.source.is_none() && task.kind == TaskKind::Copy {
                    transfer.route.source = Some(Endpoint::Host);
                }
                self.log.submit(submitted, transfer);
            }
        }
        if let Some(label) = task.label {
            self.marked(&Mark::Label { at: task.at, text: label });
        }
    }

    fn launched(&self, graph_streams: &[u32], join: Option<StreamPosition>) {
        self.graph_streams().extend(graph_streams);
        self.has_graph_streams.store(true, Ordering::Release);
        if let Some(join) = join {
            self.log.write([TraceEvent::Waits(join)]);
        }
    }

    fn started(&self, at: StreamPosition) {
        self.log.start(at);
    }

    fn failed(&self, at: StreamPosition, error: &Error) {
        self.log.write([TraceEvent::Failed(at, error.code())]);
    }

    fn finished(&self, at: StreamPosition) {
        self.log.finish(at);
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

    /// Nothing to do: the call that waits is on the timeline.
    fn blocked(&self, _on: BlockedOn) {}

    fn access_started(&self, kind: AccessKind, touches: &[Touch]) {
        let transfer = self.allocations.transfer(touches);
        self.log.write([TraceEvent::AccessStarted(self.name(kind.name())), TraceEvent::Transfer(transfer)]);
    }

    fn access_finished(&self, _touches: &[Touch], is_done: bool) {
        self.log.write([TraceEvent::AccessFinished(is_done)]);
    }

    fn allocated(&self, kind: MemoryKind, start: usize, size: usize) {
        self.allocations.change(|map| map.allocated(kind, start, size), |used| self.memory_changed(used));
    }

    fn freed(&self, _kind: MemoryKind, start: usize) {
        self.allocations.change(|map| map.freed(start), |used| self.memory_changed(used));
    }

    fn registered(&self, _start: usize, _size: usize) {}
    fn unregistered(&self, _start: usize) {}

    /// The id may have belonged to a graph stream before.
    fn created(&self, object: Object, _origin: Origin) {
        if let Object::Stream(stream) = object
            && self.has_graph_streams.load(Ordering::Acquire)
        {
            self.graph_streams().remove(&stream);
        }
    }

    fn ending(&self, _object: Object, _by_force: bool) {}

    fn device_cleared(&self, device: u32) {
        self.allocations.change(|map| map.cleared(device), |()| self.memory_changed(Some((device, 0))));
    }

    /// Ignored: the memory around a block stays allocated, and mappings are reported as allocations.
    fn block_changed(&self, _change: BlockChange, _at: Option<StreamPosition>) {}
    fn mapped(&self, _start: usize, _size: usize, _physical: usize) {}
    fn shared(&self, _physical: usize, _file: SharedFile) {}

    fn marked(&self, mark: &Mark<'_>) {
        let text = |text: &str| self.text(text);
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
