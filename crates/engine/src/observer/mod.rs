//! Observers: what happens in the machine, told as facts to a observer that was installed when the
//! machine was made.
//!
//! Out only: a observer is told and cannot answer, and nothing in the engine depends on it. Without
//! one, a call pays one test of a pointer. With one, small copies are not done on the spot, and tasks
//! run one by one, so that every fact has its moment.
//!
//! Addresses are those of the program. Facts come from any thread; those about a stream come in the
//! order of its tasks, a submit before the task can start, an end before anyone can have waited for it.

mod emit;

use crate::keys::StreamPoint;
use softacl_errors::Error;
pub use softacl_memory::touch::{Mode, Touch};
pub use softacl_memory::{FaultAction, Window};
use softacl_memory::{MemoryKind, PageGuard};
use std::sync::Arc;
use std::time::Duration;

/// A task of a stream, or everything up to it. Unique in the life of the machine: the numbers of a
/// stream go on when its handle is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamPosition {
    pub stream: u32,
    pub sequence: u64,
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

/// Receives facts.
pub trait Observer: Send + Sync {
    /// Whether it protects memory to see touches of the program. Then pinned memory is mapped twice, fresh device
    /// memory is made recognisable, and pools reuse only what looks like the same allocation used on.
    fn guards(&self) -> bool;
    /// A machine was made.
    fn attached(&self, pinned: Window);
    /// The calling thread has entered a function of the interface.
    fn entered(&self, function: &'static str);
    /// The calling thread leaves the function that it entered last, with this code.
    fn exited(&self, code: i32);
    /// The function that the calling thread is in has failed.
    fn call_failed(&self, function: &'static str, error: &Error);
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
    /// Host memory that the observer may have protected was touched by the instruction at `code`. Called in
    /// a signal handler, on the thread that touched.
    fn touched(&self, address: usize, is_write: bool, code: usize) -> FaultAction;
    /// The one instruction that `Reaction::Step` asked for is over. Called in a signal handler.
    fn stepped(&self);
}

/// The page guard of an observer that guards memory.
pub(crate) fn page_guard(observer: &Arc<dyn Observer>) -> Arc<dyn PageGuard> {
    struct Guard(Arc<dyn Observer>);

    impl PageGuard for Guard {
        fn touched(&self, address: usize, is_write: bool, code: usize) -> FaultAction {
            self.0.touched(address, is_write, code)
        }

        fn stepped(&self) {
            self.0.stepped();
        }
    }

    Arc::new(Guard(Arc::clone(observer)))
}

impl From<StreamPoint> for StreamPosition {
    fn from(point: StreamPoint) -> StreamPosition {
        StreamPosition { stream: point.stream.index() as u32, sequence: point.sequence }
    }
}
