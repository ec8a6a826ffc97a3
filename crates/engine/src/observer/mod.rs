//! Observers: the checker or the tracer, which receive what the machine does. An observer is installed when the machine
//! is created.
//!
//! Observers are passive, with two exceptions: `guards` changes the layout of pinned memory, and `touched` decides how
//! a faulting access continues. Without an observer, a call tests one pointer. With one, no copy runs inline and tasks
//! run one by one, so that every callback comes when its operation happens.
//!
//! Addresses are program addresses. Callbacks come from any thread. Those of a stream come in the order of its tasks:
//! the submit before the task can start, its end before a wait can return.

mod emit;
mod signal;

use crate::keys::StreamPoint;
pub use crate::notify::{Compare, CounterOp};
pub use crate::task::external_wait::ValueCondition;
pub use crate::task::kind::TaskKind;
pub use ascendcl_sys::manifest::Function;
pub use signal::{Cell, CellChange, CellId, CellTest, Signal};
use softacl_errors::Error;
pub use softacl_memory::touch::{Mode, Touch};
pub use softacl_memory::{FaultAction, Window};
use softacl_memory::{MemoryKind, PageGuard};
use std::sync::Arc;
use std::time::Duration;

/// A task of a stream, or everything up to it. Unique for the lifetime of the machine, because the numbering of a
/// stream continues when its handle is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamPosition {
    pub stream: u32,
    pub sequence: u64,
}

/// A task that was just numbered.
#[derive(Debug, Clone, Copy)]
pub struct Submitted<'a> {
    pub at: StreamPosition,
    /// Device of the stream.
    pub device: u32,
    /// The kind of the task. A step of a graph has the kind of its content.
    pub kind: TaskKind,
    pub touches: &'a [Touch],
    /// The name of the kernel, if the task is one.
    pub label: Option<&'a str>,
    /// The captured call that a step of a graph repeats.
    pub captured: Option<u64>,
    /// How the tasks behind a host function are ordered with it. `None` for other tasks and for steps of graphs.
    pub function: Option<FunctionOrder>,
    /// The point that the stream waits for with this task.
    pub after: Option<StreamPosition>,
    /// The event that the task records or waits for.
    pub event: Option<u32>,
    /// True if the task waits for something whose origin is unknown: anything may happen before it.
    pub is_external_wait: bool,
    /// The cell that the task changes or waits for.
    pub signal: Option<Signal>,
    /// Start of the memory that this task releases.
    pub releases: Option<usize>,
}

/// An object with a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Object {
    Stream(u32),
    Event(u32),
    Context(u32),
}

/// What a thread of the program waits for inside a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockedOn {
    /// A stream must reach a point.
    Point(StreamPosition),
    /// A record of another process, of an event that `process` created.
    ForeignRecord { process: u32, nonce: u64 },
    /// Callbacks of the streams that the thread is subscribed to.
    Reports,
}

/// Who created an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The program created it and has to destroy it.
    Program,
    /// The runtime created it together with a context: default streams and default contexts.
    Runtime,
    /// Another process created it, and the program imported it.
    Imported,
}

/// A block that changes hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockChange {
    Allocated { start: usize, size: usize },
    Freed { start: usize, size: usize },
}

/// What all processes call a piece of shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharedFile {
    /// Device and inode of the memory file.
    pub device: u64,
    pub inode: u64,
    /// The byte of the file at which the memory starts in this process.
    pub offset: u64,
}

/// Kind of a blocking access to memory by the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    Copy,
    BatchCopy,
    /// 2D copy.
    PlaneCopy,
    MemorySet,
    DescriptorWrite,
    /// A read by code outside the runtime, declared by the program.
    ExternalRead,
    /// A write by code outside the runtime, declared by the program.
    ExternalWrite,
}

impl AccessKind {
    /// Name for messages and timelines.
    pub fn name(self) -> &'static str {
        match self {
            AccessKind::Copy => "synchronous copy",
            AccessKind::BatchCopy => "synchronous batch copy",
            AccessKind::PlaneCopy => "synchronous 2D copy",
            AccessKind::MemorySet => "synchronous memory set",
            AccessKind::DescriptorWrite => "descriptor write",
            AccessKind::ExternalRead => "read from outside",
            AccessKind::ExternalWrite => "write from outside",
        }
    }
}

/// Something that works but deserves advice.
#[derive(Debug, Clone, PartialEq)]
pub enum Advisory {
    /// The declared copy kind does not match the memory kinds. The copy ran with the right one.
    Kind { declared: i32, source: MemoryKind, target: MemoryKind },
    /// A call that looks asynchronous has waited.
    Blocked { drained: u64, waited: Duration, source: MemoryKind, target: MemoryKind },
    /// The declared capacity exceeds the allocation, so it protects nothing.
    Capacity { declared: usize, room: usize },
    /// Every entry of a batch declares exactly its size as its capacity.
    TightCapacities { entries: usize },
    /// A copy between two devices, of which only `device` has enabled its peer. Some drivers require both directions.
    OneWayPeer { device: u32, peer: u32 },
    /// The address of a value write is not aligned to 8 bytes, which the documentation requires.
    UnalignedValue(usize),
    /// A thread without a context used the configured default device.
    DefaultDevice(u32),
    /// Something shared ends although other processes use it: they have the memory open, have waits for the event
    /// queued, or records of the notify.
    SharedInUse { what: &'static str, processes: Vec<u32> },
    /// An event, a notify or exported memory ended before this process opened it. Its creator, `process`, still runs.
    EndedBeforeImport { what: &'static str, process: u32 },
    /// Device memory may be written by something that no callback reports: host code, another process.
    Viewed { address: usize, len: usize },
}

/// How a host function and the tasks behind it are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionOrder {
    /// The tasks wait until it has returned.
    HoldsStream,
    /// The tasks may run before it.
    Free,
}

/// A mark of the program on the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark<'a> {
    /// The present time of the calling thread.
    Point(&'a str),
    /// A range begins. Ranges of a thread nest, other ranges can end on any thread.
    Opened { range: u64, text: &'a str, is_nested: bool },
    /// A range ends.
    Closed { range: u64 },
    /// A text for a task.
    Label { at: StreamPosition, text: &'a str },
}

/// Receives everything the engine does. All methods may be called from any thread.
pub trait Observer: Send + Sync {
    /// True if the observer protects pages to observe host accesses. Then pinned memory is mapped twice, fresh device
    /// memory is filled with a pattern, and pools reuse a block only if it looks like the same allocation in continued
    /// use.
    fn guards(&self) -> bool;
    /// A machine was created. `pinned` is its window of pinned memory.
    fn attached(&self, pinned: Window);
    /// The calling thread entered an API function.
    fn entered(&self, function: &'static Function);
    /// The calling thread leaves the function that it entered last, with this code.
    fn exited(&self, code: i32);
    /// The function that the calling thread is in failed.
    fn call_failed(&self, function: &'static Function, error: &Error);
    /// The program finalized the API (`is_final` is true) or initialized it.
    fn finalized(&self, is_final: bool);

    /// A task was numbered and is about to be queued.
    fn submitted(&self, task: &Submitted<'_>);
    /// A graph was launched. Its tasks go to `streams`, which the program has no handles of. `join` is the task that
    /// waits for their end on a stream of the program; without one, the calling thread waits.
    fn launched(&self, streams: &[u32], join: Option<StreamPosition>);
    /// A copy whose addresses are in device memory is about to start, with the ranges that they name now.
    fn resolved(&self, _at: StreamPosition, _kind: TaskKind, _touches: &[Touch]) {}
    /// The task starts to run.
    fn started(&self, at: StreamPosition);
    /// The task failed.
    fn failed(&self, at: StreamPosition, error: &Error);
    /// The task ended, with or without a failure.
    fn finished(&self, at: StreamPosition);
    /// The calling thread runs code of the program as this task, until `function_left`.
    fn function_entered(&self, at: StreamPosition);
    /// The code of the program that ran as this task has returned.
    fn function_left(&self, at: StreamPosition);
    /// A call was captured into a graph. The steps of its runs have this number.
    fn captured(&self, _number: u64) {}
    /// The program ended a wait of a stream before what it waits for.
    fn wait_stopped(&self, _at: StreamPosition) {}
    /// Everything up to this point that had not started was dropped.
    fn dropped(&self, at: StreamPosition);
    /// A task, and everything after it in its stream, happens after another point. If the task is an external wait, the
    /// point is what resolves it.
    fn ordered(&self, from: StreamPosition, after: StreamPosition);
    /// The program has observed that a stream reached this point.
    fn waited(&self, at: StreamPosition);
    /// The calling thread is about to park inside a call.
    fn blocked(&self, on: BlockedOn);

    /// The calling thread is about to access memory, ordered with no stream.
    fn access_started(&self, kind: AccessKind, touches: &[Touch]);
    /// The access announced by `access_started` is finished or has failed.
    fn access_finished(&self, touches: &[Touch], is_done: bool);

    /// An allocation was made.
    fn allocated(&self, kind: MemoryKind, start: usize, size: usize);
    /// An allocation was freed. Called before the range can be reused.
    fn freed(&self, kind: MemoryKind, start: usize);
    /// Host memory was registered.
    fn registered(&self, start: usize, size: usize);
    /// Host memory was unregistered.
    fn unregistered(&self, start: usize);
    /// An object was created.
    fn created(&self, object: Object, origin: Origin);
    /// The object is about to end. `by_force` is true if it ends without waiting for pending tasks.
    fn ending(&self, object: Object, by_force: bool);
    /// The memory of a device was released with its last context.
    fn device_cleared(&self, device: u32);
    /// A block changed hands inside memory that stays allocated: in a pool, or in an allocator of the program. `at` is
    /// its position in the order of a stream; without one, the change happens now.
    fn block_changed(&self, change: BlockChange, at: Option<StreamPosition>);
    /// Physical memory was mapped at an address. `physical` identifies it while it is mapped anywhere.
    fn mapped(&self, start: usize, size: usize, physical: usize);
    /// The physical memory is shared with other processes, which know it by its file.
    fn shared(&self, physical: usize, file: SharedFile);
    /// The calling thread has seen that a record of another process was reached, without a task that waits for it.
    fn foreign_record_seen(&self) {}

    /// The program marked its timeline.
    fn marked(&self, mark: &Mark<'_>);
    /// The program did something that works but deserves advice.
    fn advised(&self, advisory: &Advisory);
    /// The instruction at `code` accessed host memory that the observer may have protected. Called in a signal handler,
    /// on the accessing thread.
    fn touched(&self, address: usize, is_write: bool, code: usize) -> FaultAction;
    /// Returns the host memory in flight that the program has accessed since the last call, as far as the observer
    /// protects it.
    fn take_accessed(&self) -> Vec<Touch> {
        Vec::new()
    }
    /// The single instruction that `FaultAction::Step` requested has finished. Called in a signal handler.
    fn stepped(&self);
    /// True if the observer has protected this address although it is not in pinned memory. Called in a signal handler.
    fn watches(&self, _address: usize) -> bool {
        false
    }
    /// True while the observer holds a thread of the program until host functions have run. Ready work then runs
    /// without a wait that needs it.
    fn wants_progress(&self) -> bool {
        false
    }
}

/// Wraps an observer that protects pages into a page guard for the memory crate.
pub(crate) fn page_guard(observer: &Arc<dyn Observer>) -> Arc<dyn PageGuard> {
    struct Guard(Arc<dyn Observer>);

    impl PageGuard for Guard {
        fn touched(&self, address: usize, is_write: bool, code: usize) -> FaultAction {
            self.0.touched(address, is_write, code)
        }

        fn stepped(&self) {
            self.0.stepped();
        }

        fn watches(&self, address: usize) -> bool {
            self.0.watches(address)
        }
    }

    Arc::new(Guard(Arc::clone(observer)))
}

impl From<StreamPoint> for StreamPosition {
    fn from(point: StreamPoint) -> StreamPosition {
        StreamPosition { stream: point.stream.index() as u32, sequence: point.sequence }
    }
}
