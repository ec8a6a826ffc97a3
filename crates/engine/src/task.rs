//! Tasks: what a stream does, one after the other.
//!
//! A task is checked before it is made, so executing it cannot meet bad arguments; what can still
//! fail is what the device finds when the task runs: descriptor contents, pages that are gone.

use crate::bytes::reduce::{Element, ReduceOp};
use crate::bytes::{self, AccessFault, Span};
use crate::copy::rearrange::Rearranged;
use crate::error::{Error, MemoryPool, Result, fail};
use crate::event::EventKey;
use crate::executor::Spans;
use crate::executor::external_waits::ExternalWait;
use crate::graph::{Condition, ConditionProgress, GraphEvent, GraphRun, Node, Update};
use crate::host::HostCall;
use crate::memory::Memory;
use crate::memory::pool::PendingFree;
use crate::memory::shared::SharedCounters;
use crate::notify::{Counter, CounterOp};
use crate::observer::Touch;
use crate::stream::StreamPoint;
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub(crate) enum Task {
    Copy(Span),
    /// Entries in no particular order.
    Batch(Box<Batch>),
    Plane(Box<Plane>),
    /// A copy out of a buffer that was filled when the task was made.
    Staged {
        buffer: Box<[u8]>,
        target: usize,
    },
    Fill {
        target: usize,
        byte: u8,
        len: usize,
    },
    FillWords {
        target: usize,
        word: u32,
        count: usize,
    },
    Reduce(Box<Reduction>),
    Rearrange(Box<Rearranged>),
    /// A copy whose descriptor is read when it runs.
    Described {
        descriptor: usize,
        form: DescriptorForm,
    },
    /// A copy whose addresses are read from device memory when it runs.
    Indirect(Box<Indirect>),
    Record {
        event: EventKey,
        generation: u64,
    },
    /// A record that other processes see.
    RecordShared {
        counters: Arc<SharedCounters>,
        record: u64,
    },
    Wait {
        after: Waited,
        /// The event, if the program made the wait.
        event: Option<EventKey>,
    },
    /// One step of a run of a graph.
    Node {
        node: Arc<Node>,
        run: Arc<GraphRun>,
    },
    /// Waits for a run of a graph; its failures become this one's.
    Join(Arc<GraphRun>),
    /// The rest of a conditional task of a run.
    Resumed(Box<ConditionProgress>),
    /// Runs one of several sub-graphs; only as a step of a graph.
    Condition(Arc<Condition>),
    /// New contents for nodes of a graph.
    Update(Box<Update>),
    /// Resets an event that graphs share.
    ResetGraphEvent(Arc<GraphEvent>),
    Host(Box<HostCall>),
    /// Writes a value that streams may wait for.
    WriteValue {
        target: usize,
        value: u64,
    },
    /// Waits for a value or a notify.
    Await(Arc<ExternalWait>),
    /// Changes a notify.
    Change {
        counter: Arc<Counter>,
        change: CounterOp,
    },
    /// Gives memory back to its pool.
    Release(PendingFree),
    /// An operation on caches, which there are none of.
    CacheOperation,
    /// Nothing to do here: the program says what a kernel of its own touches at this point.
    Annotation(Touch),
    /// Accepted, and fails when it runs.
    Fail(Box<DeferredFailure>),
}

/// A task that will fail.
#[derive(Debug, Clone)]
pub(crate) struct DeferredFailure {
    pub(crate) error: Error,
    /// What it would have been.
    pub(crate) kind: TaskKind,
    /// The run of a graph that it is a step of: the failure is the run's.
    pub(crate) run: Option<Arc<GraphRun>>,
}

/// What a wait task waits for.
#[derive(Debug, Clone)]
pub(crate) enum Waited {
    Point(StreamPoint),
    /// A record of another process.
    Outside(Arc<ExternalWait>),
    /// The first record after the wait was made, once it is.
    Next(Arc<OnceLock<StreamPoint>>),
    /// An event that graphs share.
    Signal(Arc<GraphEvent>),
}

/// Many copies that count as one task.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) spans: Spans,
    pub(crate) bytes: usize,
}

impl Batch {
    /// The same, for another run of a graph.
    pub(crate) fn try_clone(&self) -> Result<Batch> {
        let none = || Error::OutOfMemory {
            pool: MemoryPool::HostBuffer("batch"),
            asked: self.spans.len() * size_of::<Span>(),
            free: 0,
            total: 0,
        };
        Ok(Batch { spans: self.spans.try_clone().ok_or_else(none)?, bytes: self.bytes })
    }
}

/// Rows of equal width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane {
    pub(crate) target: usize,
    pub(crate) target_pitch: usize,
    pub(crate) source: usize,
    pub(crate) source_pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Reduction {
    pub(crate) target: usize,
    pub(crate) source: usize,
    pub(crate) len: usize,
    pub(crate) element: Element,
    pub(crate) operation: ReduceOp,
}

/// Where the fields of a descriptor are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DescriptorForm {
    Short,
    Long,
}

#[derive(Debug, Clone)]
pub(crate) struct Indirect {
    pub(crate) target_cell: usize,
    pub(crate) target_offset: usize,
    pub(crate) source_cell: usize,
    pub(crate) source_offset: usize,
    pub(crate) len: usize,
}

impl Task {
    /// Whether the task will touch one of the `len` bytes that the engine reaches at `start`. Copies
    /// that read their addresses when they run check them then.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        let meets = |at: usize, size: usize| at < start + len && start < at + size;
        let span = |span: &Span| meets(span.target, span.len) || meets(span.source, span.len);
        match self {
            Task::Copy(copy) => span(copy),
            Task::Batch(batch) => batch.spans.iter().any(span),
            Task::Plane(plane) => {
                let rows = plane.height - 1;
                meets(plane.target, rows * plane.target_pitch + plane.width)
                    || meets(plane.source, rows * plane.source_pitch + plane.width)
            }
            Task::Staged { buffer, target } => meets(*target, buffer.len()),
            Task::Fill { target, len, .. } => meets(*target, *len),
            Task::FillWords { target, count, .. } => meets(*target, 4 * count),
            Task::WriteValue { target, .. } => meets(*target, size_of::<u64>()),
            Task::Await(vigil) => vigil.touches(start, len),
            Task::Reduce(reduction) => meets(reduction.target, reduction.len) || meets(reduction.source, reduction.len),
            Task::Rearrange(rearranged) => rearranged.plan.extents().iter().any(|(at, size)| meets(*at, *size)),
            Task::Node { node, .. } => node.content().touches(start, len),
            Task::Condition(condition) => condition.touches(start, len),
            Task::Resumed(course) => course.touches(start, len),
            Task::Update(update) => update.contents.iter().any(|content| content.touches(start, len)),
            Task::Described { .. }
            | Task::Indirect(_)
            | Task::Record { .. }
            | Task::RecordShared { .. }
            | Task::Wait { .. }
            | Task::Join(_)
            | Task::ResetGraphEvent(_)
            | Task::Host(_)
            | Task::Change { .. }
            | Task::Release(_)
            | Task::CacheOperation
            | Task::Annotation(_)
            | Task::Fail(_) => false,
        }
    }

    /// Bytes that a copy moves; 0 for everything else.
    pub(crate) fn volume(&self) -> usize {
        match self {
            Task::Copy(span) => span.len,
            Task::Batch(batch) => batch.bytes,
            Task::Plane(plane) => plane.width * plane.height,
            Task::Node { node, .. } => node.content().volume(),
            _ => 0,
        }
    }

    pub(crate) fn kind(&self) -> TaskKind {
        match self {
            Task::Copy(_) | Task::Staged { .. } => TaskKind::Copy,
            Task::Batch(_) => TaskKind::BatchCopy,
            Task::Plane(_) => TaskKind::PlaneCopy,
            Task::Fill { .. } | Task::FillWords { .. } => TaskKind::MemorySet,
            Task::Reduce(_) => TaskKind::Reduction,
            Task::Rearrange(_) => TaskKind::TensorCopy,
            Task::Described { .. } => TaskKind::DescriptorCopy,
            Task::Indirect(_) => TaskKind::IndirectCopy,
            Task::Record { .. } | Task::RecordShared { .. } => TaskKind::EventRecord,
            Task::Wait { .. } => TaskKind::EventWait,
            Task::Host(_) => TaskKind::HostFunction,
            Task::WriteValue { .. } => TaskKind::ValueWrite,
            Task::Await(vigil) => vigil.kind(),
            Task::Change { .. } => TaskKind::NotifyRecord,
            Task::Release(_) => TaskKind::PoolRelease,
            Task::CacheOperation => TaskKind::CacheOperation,
            Task::Annotation(_) => TaskKind::AnnotatedKernel,
            Task::Node { node, .. } => node.kind(),
            Task::Join(_) => TaskKind::GraphRun,
            Task::Condition(_) | Task::Resumed(_) => TaskKind::Condition,
            Task::Update(_) => TaskKind::GraphUpdate,
            Task::ResetGraphEvent(_) => TaskKind::EventReset,
            Task::Fail(failure) => failure.kind,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.kind().name()
    }
}

/// Kind of a task. Tasks of one kind can replace each other in an update of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskKind {
    Copy,
    BatchCopy,
    /// 2D copy.
    PlaneCopy,
    /// A copy that was accepted although the device cannot execute it.
    HostToHostCopy,
    MemorySet,
    Reduction,
    TensorCopy,
    DescriptorCopy,
    IndirectCopy,
    EventRecord,
    EventWait,
    EventReset,
    ValueWrite,
    ValueWait,
    NotifyRecord,
    NotifyWait,
    HostFunction,
    PoolRelease,
    CacheOperation,
    AnnotatedKernel,
    GraphRun,
    GraphUpdate,
    Condition,
    /// A delay of a fault rule.
    Delay,
    /// A task that a fault rule prevents from finishing.
    Stuck,
}

impl TaskKind {
    /// Name for messages and timelines.
    pub fn name(self) -> &'static str {
        match self {
            TaskKind::Copy => "copy",
            TaskKind::BatchCopy => "batch copy",
            TaskKind::PlaneCopy => "2D copy",
            TaskKind::HostToHostCopy => "host to host copy",
            TaskKind::MemorySet => "memory set",
            TaskKind::Reduction => "reduction",
            TaskKind::TensorCopy => "tensor copy",
            TaskKind::DescriptorCopy => "copy by descriptor",
            TaskKind::IndirectCopy => "copy by address cells",
            TaskKind::EventRecord => "event record",
            TaskKind::EventWait => "event wait",
            TaskKind::EventReset => "event reset",
            TaskKind::ValueWrite => "value write",
            TaskKind::ValueWait => "value wait",
            TaskKind::NotifyRecord => "notify record",
            TaskKind::NotifyWait => "notify wait",
            TaskKind::HostFunction => "host function",
            TaskKind::PoolRelease => "release to a pool",
            TaskKind::CacheOperation => "cache operation",
            TaskKind::AnnotatedKernel => "annotated kernel",
            TaskKind::GraphRun => "run of a graph",
            TaskKind::GraphUpdate => "update of a graph",
            TaskKind::Condition => "conditional task",
            TaskKind::Delay => "slow task",
            TaskKind::Stuck => "stuck task",
        }
    }
}

/// Names what could not be touched.
pub(crate) fn inaccessible(span: Span) -> impl FnOnce(AccessFault) -> Error {
    move |AccessFault| Error::Inaccessible { side: "source or destination", address: span.source, len: span.len }
}

impl Plane {
    pub(crate) fn row(&self, index: usize) -> Span {
        Span {
            target: self.target + index * self.target_pitch,
            source: self.source + index * self.source_pitch,
            len: self.width,
        }
    }
}

impl Reduction {
    pub(crate) fn run(&self) -> Result<()> {
        let Reduction { target, source, len, element, operation } = *self;
        let span = Span { target, source, len };
        Ok(bytes::reduce::reduce(target, source, len, element, operation).map_err(inaccessible(span))?)
    }
}

/// Reads a descriptor as the device does: the copy that it describes now.
pub(crate) fn described(memory: &Memory, descriptor: usize, form: DescriptorForm) -> Result<Span> {
    let bytes: [u8; 64] = match form {
        DescriptorForm::Long => read(memory, "descriptor", descriptor)?,
        DescriptorForm::Short => {
            let short: [u8; 32] = read(memory, "descriptor", descriptor)?;
            let mut padded = [0; 64];
            padded[..32].copy_from_slice(&short);
            padded
        }
    };
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let (len, source, target) = form.offsets();
    let len = u32::from_le_bytes(bytes[len..len + 4].try_into().expect("four bytes"));
    on_device(memory, word(target) as usize, word(source) as usize, len as usize)
}

impl DescriptorForm {
    /// Bytes of a descriptor.
    pub(crate) fn size(self) -> usize {
        match self {
            DescriptorForm::Short => 32,
            DescriptorForm::Long => 64,
        }
    }

    /// Offsets of length, source and destination.
    pub(crate) fn offsets(self) -> (usize, usize, usize) {
        match self {
            DescriptorForm::Short => (12, 16, 24),
            DescriptorForm::Long => (48, 32, 40),
        }
    }
}

impl Indirect {
    pub(crate) fn resolve(&self, memory: &Memory) -> Result<Span> {
        let target = usize::from_le_bytes(read(memory, "destination cell", self.target_cell)?);
        let source = usize::from_le_bytes(read(memory, "source cell", self.source_cell)?);
        on_device(memory, target.wrapping_add(self.target_offset), source.wrapping_add(self.source_offset), self.len)
    }
}

fn read<const N: usize>(memory: &Memory, what: &'static str, address: usize) -> Result<[u8; N]> {
    let spot = memory.finder().find(what, address).map_err(device_copy)?;
    if !spot.place.is_device() {
        return fail(Error::DeviceCopy(format!("the {what} at {address:#x} is not in device memory")));
    }
    spot.covers(what, N).map_err(device_copy)?;
    let gone = |AccessFault| Error::DeviceCopy(format!("the {what} at {address:#x} is gone"));
    Ok(bytes::read(spot.reach).map_err(gone)?)
}

/// Checks what the device found in its memory: both ranges live, whole and on one device.
fn on_device(memory: &Memory, target: usize, source: usize, len: usize) -> Result<Span> {
    let finder = memory.finder();
    let target = finder.find("destination", target).map_err(device_copy)?;
    let source = finder.find("source", source).map_err(device_copy)?;
    if !target.place.is_device() || target.place != source.place {
        return fail(Error::DeviceCopy(format!(
            "it goes from {} at {:#x} to {} at {:#x}, and must stay on one device",
            source.place.describe(),
            source.address,
            target.place.describe(),
            target.address,
        )));
    }
    target.covers("destination", len).map_err(device_copy)?;
    source.covers("source", len).map_err(device_copy)?;
    Ok(Span { target: target.reach, source: source.reach, len })
}

fn device_copy(error: Box<Error>) -> Box<Error> {
    Box::new(Error::DeviceCopy(error.to_string()))
}
