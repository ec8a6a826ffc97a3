//! Running streams: claim what may start, execute it, publish its end.
//!
//! The lanes say what may start; an executor decides when, and on which thread. Both executors use these steps.

use crate::executor::Executor;
use crate::graph::run::GraphRun;
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::stream::Stream;
use crate::task::moves::Move;
use crate::task::{Control, Task, Waited};
use softacl_errors::{Error, Result};
use softacl_sync::facade::{MutexGuard, Ordering, lock};
use softacl_sync::lane::{Lane, NotStarted, Readiness};
use std::sync::Arc;

pub(crate) type LaneGuard<'a> = MutexGuard<'a, Lane<Task, StreamKey>>;

/// How much of a stream to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// Stop once this task is finished.
    pub(crate) until: u64,
    pub(crate) tasks: usize,
    /// Times that something is claimed. A claim of copies counts as a whole turn.
    pub(crate) claims: usize,
}

/// Claims of a turn.
const CLAIMS_PER_TURN: usize = 16;

impl Limit {
    pub(crate) const ONE: Limit = Limit { until: u64::MAX, tasks: 1, claims: CLAIMS_PER_TURN };
    /// What a worker does before it looks at other streams.
    pub(crate) const TURN: Limit = Limit { until: u64::MAX, tasks: usize::MAX, claims: CLAIMS_PER_TURN };

    pub(crate) fn until(sequence: u64) -> Limit {
        Limit { until: sequence, tasks: usize::MAX, claims: usize::MAX }
    }
}

/// Why `run` stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// As far as the limit asked.
    Limit,
    Empty,
    /// Somebody else runs the stream, or a host function holds it.
    Busy,
    Blocked(Readiness<StreamKey>),
}

/// What became of a task.
pub(crate) enum TaskOutcome {
    Finished(Result<()>),
    /// A host function has it and finishes it.
    Held,
    /// This is left of it, for later.
    Yielded(Task),
}

/// What became of a claimed task.
enum Claimed {
    /// It ended, or was dropped while it ran.
    Finished,
    /// A host function holds the claim.
    Held,
    /// The rest of it is queued again.
    Requeued,
}

impl Machine {
    /// Runs tasks of one stream, in order, on this thread.
    pub(crate) fn run(&self, key: StreamKey, limit: Limit) -> StopReason {
        let stop = self.advance(key, limit);
        if stop == StopReason::Limit {
            self.mark_stream_ready(key);
        }
        stop
    }

    /// Runs tasks like `run`. If it returns `StopReason::Limit`, the caller must mark the stream ready.
    pub(crate) fn advance(&self, key: StreamKey, limit: Limit) -> StopReason {
        let stream = self.streams.slot(key);
        let (mut left, mut claims) = (limit.tasks, limit.claims);
        loop {
            let (lane, first, sequence) = match self.claim(key, stream) {
                Ok(claimed) => claimed,
                Err(stop) => return stop,
            };
            left -= 1;
            if let (Some(observer), false) = (self.observer(), matches!(first, Task::Control(Control::Resumed(_)))) {
                observer.started(StreamPoint { stream: key, sequence }.into());
            }
            claims = claims.saturating_sub(if first.volume() > 0 { CLAIMS_PER_TURN } else { 1 });
            let last = if let Task::Move(Move::Copy(span)) = first {
                let most = left.min((limit.until - sequence.min(limit.until)) as usize);
                let last = self.run_copies(key, lane, sequence, span, most);
                left -= (last - sequence) as usize;
                last
            } else {
                drop(lane);
                match self.run_task(key, stream, sequence, first) {
                    Claimed::Finished => sequence,
                    Claimed::Held => return StopReason::Busy,
                    Claimed::Requeued => {
                        left += 1;
                        continue;
                    }
                }
            };
            self.finish(key, last);
            if last >= limit.until || left == 0 || claims == 0 {
                return StopReason::Limit;
            }
        }
    }

    /// Claims the front of a stream. Returns its task and number with the lane still locked, or why nothing was claimed.
    #[inline]
    fn claim<'a>(
        &self,
        key: StreamKey,
        stream: &'a Stream,
    ) -> std::result::Result<(LaneGuard<'a>, Task, u64), StopReason> {
        loop {
            let mut lane = lock(&stream.tasks.lane);
            match lane.claim(|task| self.readiness(key, task)) {
                Ok((task, sequence)) => return Ok((lane, task, sequence)),
                Err(NotStarted::Empty) => return Err(StopReason::Empty),
                Err(NotStarted::Claimed) => return Err(StopReason::Busy),
                Err(NotStarted::Blocked(blocked)) => {
                    if let Readiness::After(point) = blocked
                        && lane.watches(point)
                    {
                        drop(lane);
                        if !self.streams.slot(point.stream).tasks.watch(point.sequence, key) {
                            continue;
                        }
                    }
                    return Err(StopReason::Blocked(blocked));
                }
            }
        }
    }

    /// Executes a claimed task that is not a copy.
    fn run_task(&self, key: StreamKey, stream: &Stream, sequence: u64, task: Task) -> Claimed {
        let name = task.name();
        match self.execute(key, stream, sequence, task) {
            TaskOutcome::Held => return Claimed::Held,
            TaskOutcome::Yielded(rest) => {
                if lock(&stream.tasks.lane).give_back(rest, sequence).is_none() {
                    return Claimed::Requeued;
                }
            }
            TaskOutcome::Finished(Ok(())) => {}
            TaskOutcome::Finished(Err(error)) => self.record_failure(key, sequence, name, *error),
        }
        Claimed::Finished
    }

    /// A task that will not run. A run of a graph that it stood for is given up, and still finishes.
    pub(super) fn discard(&self, key: StreamKey, task: Task) -> Option<Arc<GraphRun>> {
        let Task::Control(task) = task else { return None };
        match task {
            Control::Wait { after, event } => self.finish_wait(key, &after, event),
            Control::Join(run) => {
                run.is_cancelled.store(true, Ordering::Release);
                return Some(run);
            }
            Control::Node { node, .. } => node.cancel(),
            // Other processes wait for it, too.
            Control::RecordShared { counters, record } => counters.mark_reached(record),
            Control::Release(pending) => {
                // What still runs in front of it may use the memory.
                let newest = self.streams.slot(key).newest();
                self.finish_release(&pending, StreamPoint { stream: key, sequence: newest });
            }
            _ => {}
        }
        None
    }

    /// Publishes a finished task and lets go of the claim.
    fn finish(&self, key: StreamKey, sequence: u64) {
        if let Some(observer) = self.observer() {
            observer.finished(StreamPoint { stream: key, sequence }.into());
        }
        for watcher in self.streams.slot(key).tasks.finish(sequence) {
            self.mark_stream_ready(watcher);
        }
        self.poll_external_waits();
        if let Executor::Stepped(stepper) = &self.executor {
            stepper.changed();
        }
    }

    /// A host function has returned: its task is finished, and the stream goes on.
    pub(crate) fn finish_held(&self, key: StreamKey, sequence: u64) {
        self.streams.slot(key).is_held.store(false, Ordering::Release);
        self.finish(key, sequence);
        self.mark_stream_ready(key);
    }

    /// Drops what has not started. The running task, if any, still finishes; so do tasks of the runs
    /// that are returned.
    pub(crate) fn drop_pending(&self, key: StreamKey, stream: &Stream) -> Vec<Arc<GraphRun>> {
        let (dropped, watchers) = stream.tasks.clear();
        if let Some(observer) = self.observer() {
            observer.dropped(StreamPoint { stream: key, sequence: stream.newest() }.into());
        }
        let runs = dropped.into_iter().filter_map(|task| self.discard(key, task)).collect();
        for watcher in watchers {
            self.mark_stream_ready(watcher);
        }
        self.subscriptions.cancel(self, key);
        runs
    }

    /// Whether the front of a stream may start. A wait for a notify that may is over: it has taken it.
    fn readiness(&self, key: StreamKey, task: &Task) -> Readiness<StreamKey> {
        let Task::Control(task) = task else { return Readiness::Ready };
        let after = match task {
            Control::Wait { after, .. } => after,
            Control::Await(wait) => return self.check_external_wait(key, wait),
            Control::Node { node, run } if !run.is_cancelled.load(Ordering::Acquire) => {
                return node.external_wait().map_or(Readiness::Ready, |wait| self.check_external_wait(key, &wait));
            }
            Control::Resumed(progress) if !progress.run.is_cancelled.load(Ordering::Acquire) => {
                return self.check_external_wait(key, &progress.pause);
            }
            Control::Join(run) => match run.end.get() {
                Some(end) => &Waited::Point(*end),
                None => return Readiness::Unknown,
            },
            _ => return Readiness::Ready,
        };
        let point = match after {
            Waited::Point(point) => *point,
            Waited::GraphEvent(graph_event) if graph_event.is_set() => return Readiness::Ready,
            Waited::GraphEvent(_) => return Readiness::Unknown,
            Waited::External(wait) => return self.check_external_wait(key, wait),
            Waited::Next(cell) => match cell.get() {
                Some(point) => *point,
                None => return Readiness::Unknown,
            },
        };
        if self.streams.slot(point.stream).tasks.completion.done() >= point.sequence {
            Readiness::Ready
        } else {
            Readiness::After(point)
        }
    }

    /// Notes the failure of a task with the stream, and with the context where that stops it.
    pub(crate) fn record_failure(&self, key: StreamKey, sequence: u64, name: &str, error: Error) {
        let stream = self.streams.slot(key);
        let error = error.of_task(name, sequence);
        if let Some(observer) = self.observer() {
            observer.failed(StreamPoint { stream: key, sequence }.into(), &error);
        }
        self.exceptions.record(StreamPoint { stream: key, sequence }, stream.device(), error.code());
        self.stop_context(stream, &error);
        stream.fail(error);
    }
}
