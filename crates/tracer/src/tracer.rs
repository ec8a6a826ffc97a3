//! The observer: every fact that belongs on a timeline goes to the log.

use crate::allocations::{AllocationMap, Endpoint};
use crate::chrome;
use crate::log::{Log, TraceEvent};
use crate::summary::Summary;
use crate::timeline::Timeline;
use softacl_engine::observer::{
    AccessKind, Advisory, FaultAction, Function, Object, Observer, Origin, StreamPosition, Submitted, TaskKind, Touch,
    Window,
};
use softacl_engine::{Error, MemoryKind};
use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Facts that are kept unless somebody says otherwise: some 256 MB of them.
pub const DEFAULT_EVENT_LIMIT: u64 = 4_000_000;

#[derive(Debug)]
pub struct Tracer {
    log: Log,
    book: Mutex<AllocationMap>,
    /// Streams that run steps of graphs.
    lanes: Mutex<HashSet<u32>>,
    /// When the log began, for traces of several processes.
    began: Duration,
}

impl Tracer {
    /// An observer that keeps so many facts.
    pub fn new(limit: u64) -> Tracer {
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Tracer { log: Log::new(limit), book: Mutex::default(), lanes: Mutex::default(), began }
    }

    /// Writes the trace of everything up to now, with the summary at its end.
    pub fn write(&self, to: &mut impl io::Write) -> io::Result<Summary> {
        let none = || io::Error::new(io::ErrorKind::OutOfMemory, "there is no memory left for it");
        let story = Timeline::of(self.log.read().ok_or_else(none)?);
        let summary = Summary::of(&story);
        chrome::write(&story, &summary, self.began, to)?;
        Ok(summary)
    }

    fn book(&self) -> MutexGuard<'_, AllocationMap> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lanes(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Tracer {
    fn guards(&self) -> bool {
        false
    }

    fn attached(&self, pinned: Window) {
        self.book().attach(pinned);
    }

    fn entered(&self, function: &'static Function) {
        self.log.write([TraceEvent::Entered(function.name)]);
    }

    fn exited(&self, code: i32) {
        self.log.write([TraceEvent::Left(code)]);
    }

    /// The code comes when the call is left.
    fn call_failed(&self, _function: &'static Function, _error: &Error) {}

    fn finalized(&self, _is_final: bool) {}

    fn submitted(&self, task: &Submitted<'_>) {
        let is_step = self.lanes().contains(&task.at.stream);
        let submitted = TraceEvent::Submitted { at: task.at, name: task.kind.name(), device: task.device, is_step };
        match (task.touches, task.after, task.is_external_wait) {
            ([], None, false) => self.log.write([submitted]),
            ([], None, true) => self.log.write([submitted, TraceEvent::Waits(task.at)]),
            ([], Some(after), _) => {
                self.log.write([submitted, TraceEvent::Waits(task.at), TraceEvent::After(task.at, after)]);
            }
            (touches, ..) => {
                let mut load = self.book().load(touches);
                // The source of a copy through a buffer of ours was the program's, and has been read.
                if load.route.source.is_none() && task.kind == TaskKind::Copy {
                    load.route.source = Some(Endpoint::Host);
                }
                self.log.write([submitted, TraceEvent::Moves(load)]);
            }
        }
    }

    fn launched(&self, lanes: &[u32], join: Option<StreamPosition>) {
        self.lanes().extend(lanes);
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

    /// The task itself is on the timeline, from its start to its end.
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
        let load = self.book().load(touches);
        self.log.write([TraceEvent::Acting(kind.name(), load)]);
    }

    fn access_finished(&self, _touches: &[Touch], is_done: bool) {
        self.log.write([TraceEvent::Acted(is_done)]);
    }

    fn allocated(&self, place: MemoryKind, start: usize, size: usize) {
        // Written while the book is held, so that numbers have the order of their times.
        let mut book = self.book();
        if let Some((device, bytes)) = book.allocated(place, start, size) {
            self.log.write([TraceEvent::Memory(device, bytes)]);
        }
    }

    fn freed(&self, _place: MemoryKind, start: usize) {
        let mut book = self.book();
        if let Some((device, bytes)) = book.freed(start) {
            self.log.write([TraceEvent::Memory(device, bytes)]);
        }
    }

    fn registered(&self, _start: usize, _size: usize) {}
    fn unregistered(&self, _start: usize) {}

    /// The number may have been that of a stream of a graph.
    fn created(&self, object: Object, _origin: Origin) {
        if let Object::Stream(stream) = object {
            self.lanes().remove(&stream);
        }
    }

    fn ending(&self, _object: Object, _by_force: bool) {}

    fn device_cleared(&self, device: u32) {
        let mut book = self.book();
        book.cleared(device);
        self.log.write([TraceEvent::Memory(device, 0)]);
    }

    fn advised(&self, note: &Advisory) {
        if let Advisory::Blocked { waited, .. } = note {
            self.log.write([TraceEvent::Blocked(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX))]);
        }
    }

    fn touched(&self, _address: usize, _is_write: bool, _code: usize) -> FaultAction {
        FaultAction::PassOn
    }

    fn stepped(&self) {}
}
