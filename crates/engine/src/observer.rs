//! Observers: what happens in the machine, told as facts to a probe that was installed when the
//! machine was made.
//!
//! Out only: a probe is told and cannot answer, and nothing in the engine depends on it. Without
//! one, a call pays one test of a pointer. With one, small copies are not done on the spot, and tasks
//! run one by one, so that every fact has its moment.
//!
//! Addresses are those of the program. Facts come from any thread; those about a stream come in the
//! order of its tasks, a submit before the task can start, an end before anyone can have waited for it.

use crate::bytes::Span;
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::memory::{Memory, MemoryKind};
use crate::stream::{StreamKey, StreamPoint};
use crate::task::{self, Task, Waited};
use std::time::Duration;

pub use ascendcl_sys::manifest::Function;

/// A task of a stream, or everything up to it. Unique in the life of the machine: the numbers of a
/// stream go on when its handle is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamPosition {
    pub stream: u32,
    pub sequence: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Read,
    Write,
}

/// A range that an operation reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    pub address: usize,
    pub len: usize,
    pub mode: Mode,
}

/// A task that was just given its number.
#[derive(Debug, Clone, Copy)]
pub struct Submitted<'a> {
    pub at: StreamPosition,
    /// The device of its stream.
    pub device: u32,
    pub name: &'static str,
    pub touches: &'a [Touch],
    /// Entries of a batch, which has no order among them.
    pub is_batch: bool,
    /// Code of the program runs as this task.
    pub is_host_function: bool,
    /// What the stream waits for with this task.
    pub after: Option<StreamPosition>,
    /// The event that is recorded or waited for.
    pub event: Option<u32>,
    /// The stream waits for something whose origin is not known: anything may come before it.
    pub is_external_wait: bool,
    /// The start of memory that this task gives back.
    pub releases: Option<usize>,
}

/// Things that have handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Object {
    Stream(u32),
    Event(u32),
    Context(u32),
}

/// Something that works and that the program may want to know about.
#[derive(Debug, Clone, PartialEq)]
pub enum Advisory {
    /// The declared kind is not where the memory is; it was repaired.
    Kind { declared: i32, source: MemoryKind, target: MemoryKind },
    /// A call that the program may think asynchronous has waited.
    Blocked { drained: u64, waited: Duration, source: MemoryKind, target: MemoryKind },
    /// The declared capacity is more than there is, so that it cannot protect.
    Capacity { declared: usize, room: usize },
    /// Every entry of a batch declares exactly its size as the capacity.
    TightCapacities { entries: usize },
    /// A thread without a context used the configured default device.
    DefaultDevice(u32),
    /// Device memory may be written by what an observer is told nothing about: host code, another process, a value.
    Viewed { address: usize, len: usize },
}

/// Where pinned memory is, and how far from there the engine reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub start: usize,
    pub len: usize,
    pub shift: isize,
}

/// What becomes of an access that faulted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// It is not the probe's.
    PassOn,
    /// It can be repeated now.
    Repeat,
    /// It can be repeated, and the probe is called again right after it.
    Step,
}

/// Receives facts.
pub trait Observer: Send + Sync {
    /// Whether it protects memory to see touches of the program. Then pinned memory is mapped twice, fresh device
    /// memory is made recognisable, and pools reuse only what looks like the same allocation used on.
    fn guards(&self) -> bool;
    /// A machine was made.
    fn attached(&self, pinned: Window);
    /// The calling thread entered a function of the API.
    fn entered(&self, function: &'static Function);
    /// The calling thread leaves the function that it entered last, with this code.
    fn exited(&self, code: i32);
    /// The function that the calling thread entered last failed.
    fn call_failed(&self, function: &'static Function, error: &Error);
    /// The program said that it is finished with the interface.
    fn finalized(&self, is_final: bool);

    fn submitted(&self, task: &Submitted<'_>);
    /// A graph is launched: its tasks go to these streams, which no program sees. `join` is the task that waits for
    /// their end on a stream of the program; without one the calling thread waits.
    fn launched(&self, lanes: &[u32], join: Option<StreamPosition>);
    /// The task begins to run.
    fn started(&self, at: StreamPosition);
    fn failed(&self, at: StreamPosition, error: &Error);
    fn finished(&self, at: StreamPosition);
    /// The calling thread runs code of the program as this task, until it says that it has left.
    fn function_entered(&self, at: StreamPosition);
    fn function_left(&self, at: StreamPosition);
    /// Everything up to here that has not started was thrown away.
    fn dropped(&self, at: StreamPosition);
    /// What a stream does from a task on comes after another moment. The task may be a wait for a sign: then
    /// this is who gives it.
    fn ordered(&self, from: StreamPosition, after: StreamPosition);
    /// The program knows that a stream has come this far.
    fn waited(&self, at: StreamPosition);

    /// The calling thread touches memory now, ordered with no stream.
    fn access_started(&self, name: &'static str, touches: &[Touch]);
    /// It has, or could not.
    fn access_finished(&self, touches: &[Touch], is_done: bool);

    fn allocated(&self, place: MemoryKind, start: usize, size: usize);
    /// Before the range can be used again.
    fn freed(&self, place: MemoryKind, start: usize);
    fn registered(&self, start: usize, size: usize);
    fn unregistered(&self, start: usize);
    fn created(&self, object: Object);
    /// The object is about to end. `by_force`: without waiting for what is pending.
    fn ending(&self, object: Object, by_force: bool);
    /// The memory of a device was taken away with its last context.
    fn device_cleared(&self, device: u32);

    fn advised(&self, note: &Advisory);
    /// Host memory that the probe may have protected was touched by the instruction at `code`. Called in
    /// a signal handler, on the thread that touched.
    fn touched(&self, address: usize, is_write: bool, code: usize) -> FaultAction;
    /// The one instruction that `Reaction::Step` asked for is over. Called in a signal handler.
    fn stepped(&self);
}

impl From<StreamPoint> for StreamPosition {
    fn from(point: StreamPoint) -> StreamPosition {
        StreamPosition { stream: point.stream.index() as u32, sequence: point.sequence }
    }
}

impl Machine {
    /// The observer, if there is one.
    #[inline]
    pub fn probe(&self) -> Option<&dyn Observer> {
        self.probe.as_deref()
    }

    /// Whether the observer protects memory.
    pub(crate) fn is_guarded(&self) -> bool {
        self.probe().is_some_and(Observer::guards)
    }

    /// The task that a stream gets next. Another thread may come first: then an observer sees an order that is
    /// a task too early, or none.
    pub(crate) fn next_point(&self, stream: StreamKey) -> StreamPoint {
        StreamPoint { stream, sequence: self.streams.slot(stream).newest() + 1 }
    }

    /// Tells the probe about a task that is about to be queued.
    #[cold]
    pub(crate) fn emit_submitted(&self, probe: &dyn Observer, at: StreamPosition, device: u32, task: &Task) {
        let (after, event) = match task {
            Task::Wait { after: Waited::Point(point), event } => (Some(StreamPosition::from(*point)), *event),
            Task::Wait { event, .. } => (None, *event),
            Task::Await(vigil) => (vigil.after.map(StreamPosition::from), None),
            Task::Record { event, .. } => (None, Some(*event)),
            _ => (None, None),
        };
        // Memory is about to be protected, and the program may have put a handler of its own above ours.
        if self.is_guarded() {
            crate::segv::ensure_guarding();
        }
        probe.submitted(&Submitted {
            at,
            device,
            name: task.name(),
            touches: &task.accesses(&self.memory),
            is_batch: match task {
                Task::Node { node, .. } => {
                    node.current().is_ok_and(|content| content.with_task(|task| matches!(task, Task::Batch(_))))
                }
                task => matches!(task, Task::Batch(_)),
            },
            is_host_function: matches!(task, Task::Host(_)),
            after,
            event: event.map(|event| event.index() as u32),
            is_external_wait: match task {
                Task::Await(_) => true,
                Task::Wait { after, .. } => !matches!(after, Waited::Point(_)),
                Task::Node { node, .. } => node.vigil().is_some(),
                _ => false,
            },
            releases: match task {
                Task::Release(leaving) => Some(leaving.start),
                _ => None,
            },
        });
    }

    /// Tells the probe what the calling thread is about to touch, does it, and tells that it is done. Memory
    /// that a fault rule has spoiled is not touched.
    pub(crate) fn with_access(
        &self,
        name: &'static str,
        task: impl FnOnce() -> Vec<Touch>,
        run: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let result = if self.has_hooks() { self.with_access_observed(name, &task(), run) } else { run() };
        self.poll_external_waits();
        result
    }

    #[cold]
    fn with_access_observed(
        &self,
        name: &'static str,
        touches: &[Touch],
        run: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.check_touches(touches)?;
        let Some(probe) = self.probe() else { return run() };
        probe.access_started(name, touches);
        let result = run();
        probe.access_finished(touches, result.is_ok());
        result
    }

    #[inline]
    pub(crate) fn advise(&self, note: impl FnOnce() -> Advisory) {
        if let Some(probe) = self.probe() {
            probe.advised(&note());
        }
    }
}

impl Memory {
    /// What a span touches.
    pub(crate) fn touches_of(&self, span: &Span) -> [Touch; 2] {
        [self.touch(span.source, span.len, Mode::Read), self.touch(span.target, span.len, Mode::Write)]
    }

    pub(crate) fn touch(&self, reach: usize, len: usize, mode: Mode) -> Touch {
        Touch { address: self.program_address(reach), len, mode }
    }
}

impl Task {
    /// What the task will touch. Copies that read their addresses when they run are taken by what
    /// device memory says now.
    pub(crate) fn accesses(&self, memory: &Memory) -> Vec<Touch> {
        match self {
            Task::Copy(span) => memory.touches_of(span).to_vec(),
            Task::Batch(batch) => batch.spans.iter().flat_map(|span| memory.touches_of(span)).collect(),
            Task::Plane(plane) => (0..plane.height).flat_map(|row| memory.touches_of(&plane.row(row))).collect(),
            Task::Staged { buffer, target } => vec![memory.touch(*target, buffer.len(), Mode::Write)],
            Task::Fill { target, len, .. } => vec![memory.touch(*target, *len, Mode::Write)],
            Task::FillWords { target, count, .. } => vec![memory.touch(*target, 4 * count, Mode::Write)],
            Task::Reduce(reduction) => vec![
                memory.touch(reduction.source, reduction.len, Mode::Read),
                memory.touch(reduction.target, reduction.len, Mode::Read),
                memory.touch(reduction.target, reduction.len, Mode::Write),
            ],
            Task::Rearrange(rearranged) => {
                let [reads, writes] = rearranged.ranges();
                let reads = reads.into_iter().map(|(at, len)| memory.touch(at, len, Mode::Read));
                reads.chain(writes.into_iter().map(|(at, len)| memory.touch(at, len, Mode::Write))).collect()
            }
            Task::Described { descriptor, form } => {
                let span = task::described(memory, *descriptor, *form).ok();
                let own = Touch { address: *descriptor, len: form.size(), mode: Mode::Read };
                span.iter().flat_map(|span| memory.touches_of(span)).chain([own]).collect()
            }
            Task::Indirect(indirect) => {
                let span = indirect.resolve(memory).ok();
                let cell = |address| Touch { address, len: size_of::<usize>(), mode: Mode::Read };
                let own = [cell(indirect.source_cell), cell(indirect.target_cell)];
                span.iter().flat_map(|span| memory.touches_of(span)).chain(own).collect()
            }
            Task::Annotation(touch) => vec![*touch],
            Task::Node { node, .. } => match node.current() {
                // Its list is not copied only to be looked at.
                Ok(content) => content.with_task(|task| match task {
                    Task::Batch(_) => task.accesses(memory),
                    _ => content.task().map_or_else(|_| Vec::new(), |task| task.accesses(memory)),
                }),
                Err(_) => Vec::new(),
            },
            Task::Record { .. }
            | Task::RecordShared { .. }
            | Task::Wait { .. }
            | Task::Join(_)
            | Task::Condition(_)
            | Task::Resumed(_)
            | Task::Update(_)
            | Task::ResetGraphEvent(_)
            | Task::Host(_)
            // Values order streams: that several write and read them at the same time is their purpose.
            | Task::WriteValue { .. }
            | Task::Await(_)
            | Task::Change { .. }
            | Task::Release(_)
            | Task::CacheOperation
            | Task::Fail(_) => Vec::new(),
        }
    }
}
