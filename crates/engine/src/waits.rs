//! Who waits for what: a snapshot of the streams that have work, of the threads that wait inside a call, and of the
//! threads that run host functions. Nothing is decided here; `softacl-checker` proves from two snapshots that a program
//! hangs.
//!
//! Taking a snapshot changes nothing: no notify is consumed, and no stream is marked ready.

use crate::blocked::{BlockedGuard, BlockedThread, RunningFunction};
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::notify::Counter;
use crate::observer::{BlockedOn, StreamPosition};
use crate::stream::Stream;
use crate::task::external_wait::{ExternalWait, ValueCondition, WaitCondition};
use crate::task::kind::TaskKind;
use crate::task::moves::Move;
use crate::task::operation::Helpers;
use crate::task::{Control, Task, Waited};
use softacl_memory::bytes;
use softacl_memory::shared::SharedName;
use softacl_sync::facade::{Ordering, lock};
use std::sync::Arc;
use std::time::Instant;

/// Who waits for what at one time. The streams are visited one after another, so two snapshots are needed to know that
/// something did not change.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitSnapshot {
    /// Streams with queued or running tasks, in the order of their ids.
    pub streams: Vec<StreamState>,
    /// Number of streams, with or without work.
    pub stream_count: u32,
    pub threads: Vec<BlockedThread>,
    pub functions: Vec<RunningFunction>,
}

/// A stream with work.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamState {
    pub stream: u32,
    pub device: u32,
    /// Number of the last finished task.
    pub done: u64,
    /// Number of the newest task.
    pub newest: u64,
    /// Number of the first unfinished task, which `front` describes.
    pub sequence: u64,
    pub front: Front,
}

/// The first unfinished task of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Front {
    /// It runs.
    Running,
    /// It can start.
    Ready,
    /// A host function or callback that the stream waits for. It runs, or its thread has not begun it.
    HostFunction,
    Waits(StreamWait),
}

/// A wait that a stream stands at.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamWait {
    pub kind: TaskKind,
    pub on: Awaited,
    /// True if the wait ends automatically, with a timeout or a delay.
    pub is_bounded: bool,
    /// Queued tasks that would end the wait if they ran.
    pub satisfied_by: Vec<StreamPosition>,
}

/// What a stream waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum Awaited {
    /// Another stream must reach a point.
    Point(StreamPosition),
    /// The next record of an event, which is made by a call.
    NextRecord { event: Option<u32> },
    /// An event that graphs share with streams must be set by a task.
    GraphEvent { event: Option<u32> },
    /// The tasks of a run of a graph.
    GraphRun,
    /// A notify. `id` is `None` if it was destroyed; `is_shared` is true if another process may record it.
    Notify { id: Option<u32>, value: u32, is_shared: bool },
    /// A value in device memory. `is_shared` is true if another process may write it.
    Value { address: usize, found: Option<u64>, wanted: u64, condition: ValueCondition, is_shared: bool },
    /// A record of another process, of an event that `name` identifies.
    ForeignRecord { name: SharedName, record: u64 },
    /// Others, so that an operation can continue: `text` says which, `helpers` where they are.
    Operation { name: Arc<str>, text: String, helpers: Helpers },
    /// Time: a fault rule delays the stream, or a loop of a graph pauses.
    Time,
    /// Nothing: a fault rule made the task stuck.
    Injected,
}

impl Machine {
    /// Enters the calling thread as one that waits until the guard is dropped.
    pub(crate) fn block(&self, on: BlockedOn, deadline: Option<Instant>) -> BlockedGuard<'_> {
        let guard = self.blocked.enter(on, deadline.is_some());
        if let Some(observer) = self.observer() {
            observer.blocked(on);
        }
        guard
    }

    /// Sets the function that is called when a thread is about to wait inside a call, or to run a host function. Only the
    /// first one is kept.
    pub fn on_wait(&self, call: fn()) {
        let _ = self.blocked.on_enter.set(call);
    }

    /// Records that the program shares something with other processes. From then on, one of them may wait for this one,
    /// even if no thread of this one ever waits inside a call.
    pub(crate) fn begin_sharing(&self) {
        self.blocked.is_sharing.store(true, Ordering::Relaxed);
        if self.is_guarded() {
            self.blocked.emit_entered();
        }
    }

    /// True if the program has shared events, notifies or memory with other processes.
    pub fn is_sharing(&self) -> bool {
        self.blocked.is_sharing.load(Ordering::Relaxed)
    }

    /// Returns who waits for what.
    pub fn wait_snapshot(&self) -> WaitSnapshot {
        let mut keys = lock(&self.busy).clone();
        keys.sort_unstable_by_key(|key| key.index());
        let mut streams: Vec<StreamState> = keys.iter().filter_map(|key| self.stream_state(*key)).collect();
        for state in &mut streams {
            if let Front::Waits(wait) = &mut state.front {
                wait.satisfied_by =
                    keys.iter().flat_map(|key| self.satisfying_tasks(*key, state.stream, wait)).collect();
            }
        }
        WaitSnapshot {
            streams,
            stream_count: self.streams.live().count() as u32,
            threads: self.blocked.waits(),
            functions: self.blocked.functions(),
        }
    }

    /// The state of a stream. `None` if it has no work.
    fn stream_state(&self, key: StreamKey) -> Option<StreamState> {
        let stream = self.streams.slot(key);
        let lane = lock(&stream.tasks.lane);
        let done = stream.tasks.completion.done();
        let (sequence, front) = match lane.queued().next() {
            _ if lane.is_claimed() && stream.is_held.load(Ordering::Acquire) => (done + 1, Front::HostFunction),
            _ if lane.is_claimed() => (done + 1, Front::Running),
            None => return None,
            Some((sequence, task)) => (sequence, self.front(stream, task)),
        };
        let newest = lane.submitted();
        Some(StreamState { stream: key.index() as u32, device: stream.device(), done, newest, sequence, front })
    }

    /// The state of a task at the front of its stream.
    fn front(&self, stream: &Stream, task: &Task) -> Front {
        let Task::Control(control) = task else { return Front::Ready };
        let found = match control {
            _ if self.is_stopped(stream) => None,
            Control::Wait(wait) => {
                let event = wait.event.map(|event| event.index() as u32);
                let is_bounded = wait.limit.is_some();
                match &wait.after {
                    Waited::Point(point) => self.unreached(*point),
                    Waited::Next(cell) => match cell.get() {
                        Some(point) => self.unreached(*point),
                        None => Some((Awaited::NextRecord { event }, false)),
                    },
                    Waited::GraphEvent(set) => (!set.is_set()).then_some((Awaited::GraphEvent { event }, false)),
                    Waited::External(wait) => self.external(wait),
                }
                .map(|(on, ends)| (on, ends || is_bounded))
            }
            Control::Await(wait) => self.external(wait),
            Control::Node { node, run } if !run.is_canceled.load(Ordering::Acquire) => {
                node.external_wait().and_then(|wait| self.external(&wait))
            }
            Control::Resumed(progress) if !progress.run.is_canceled.load(Ordering::Acquire) => {
                self.external(&progress.pause)
            }
            Control::Operation(pending) if !pending.is_canceled() => self.external(&pending.wait),
            Control::Join(run) => match run.end.get() {
                Some(end) => self.unreached(*end),
                None => Some((Awaited::GraphRun, false)),
            },
            _ => None,
        };
        found.map_or(Front::Ready, |(on, is_bounded)| {
            Front::Waits(StreamWait { kind: task.kind(), on, is_bounded, satisfied_by: Vec::new() })
        })
    }

    fn unreached(&self, point: StreamPoint) -> Option<(Awaited, bool)> {
        let done = self.streams.slot(point.stream).tasks.completion.done();
        (done < point.sequence).then(|| (Awaited::Point(point.into()), false))
    }

    /// What an external wait waits for, and whether it ends automatically. `None` if it has ended.
    fn external(&self, wait: &ExternalWait) -> Option<(Awaited, bool)> {
        if wait.is_met() || wait.is_late() {
            return None;
        }
        let on = match &wait.condition {
            WaitCondition::Record { counters, record, .. } => {
                Awaited::ForeignRecord { name: counters.name(), record: *record }
            }
            WaitCondition::Value { backing, value, condition } => Awaited::Value {
                address: self.memory.program_address(*backing),
                // SAFETY: the cell is in device memory that a `Caller` named, resolved and bounded when the task was
                // made.
                found: unsafe { bytes::read(*backing) }.ok().map(u64::from_le_bytes),
                wanted: *value,
                condition: *condition,
                is_shared: self.memory.exchange.was_used(),
            },
            WaitCondition::Notify { counter, .. } => {
                Awaited::Notify { id: self.notify_of(counter), value: counter.value(), is_shared: counter.is_shared() }
            }
            WaitCondition::Operation(run) => {
                let name = Arc::clone(&run.kernel.name);
                Awaited::Operation { name, text: run.description(), helpers: run.helpers() }
            }
            WaitCondition::Delay | WaitCondition::Limit => Awaited::Time,
            WaitCondition::Never(_) => Awaited::Injected,
        };
        Some((on, wait.timeout.is_some()))
    }

    /// The id of the notify that has this counter. `None` if it was destroyed.
    fn notify_of(&self, counter: &Arc<Counter>) -> Option<u32> {
        let owns = |notify: &crate::notify::Notify| Arc::ptr_eq(&lock(&notify.state).counter, counter);
        self.notifies.live().find(|(_, notify)| owns(notify)).map(|(key, _)| key.index() as u32)
    }

    /// The queued tasks of a stream that would end a wait of stream `waiting`.
    fn satisfying_tasks(&self, key: StreamKey, waiting: u32, wait: &StreamWait) -> Vec<StreamPosition> {
        let stream = key.index() as u32;
        let lane = lock(&self.streams.slot(key).tasks.lane);
        let satisfies = |task: &Task| match (&wait.on, task) {
            (Awaited::Notify { id: Some(id), .. }, Task::Control(Control::Change { counter, .. })) => {
                self.notify_of(counter) == Some(*id)
            }
            (Awaited::Value { address, wanted, condition, .. }, Task::Move(Move::WriteValue { target, value })) => {
                self.memory.program_address(*target) == *address && condition.holds(*value, *wanted)
            }
            (Awaited::GraphEvent { event: Some(event) }, Task::Control(Control::Record { event: recorded, .. })) => {
                recorded.index() as u32 == *event
            }
            _ => false,
        };
        // What is queued behind the wait in its own stream is listed too: that is a mistake worth showing.
        let queued = lane.queued().skip(usize::from(stream == waiting));
        queued.filter(|(_, task)| satisfies(task)).map(|(sequence, _)| StreamPosition { stream, sequence }).collect()
    }
}
