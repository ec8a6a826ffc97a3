//! Running streams: claiming what may start, and publishing its end.
//!
//! The lanes define what may start; an executor decides when, and on which thread. Both executors use this file. What a
//! task does is in `execute`.

use crate::executor::Executor;
use crate::graph::run::GraphRun;
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::order::Footprint;
use crate::stream::Stream;
use crate::task::moves::Move;
use crate::task::{Control, Task, Waited};
use softacl_errors::{Error, Result};
use softacl_sync::facade::{MutexGuard, Ordering, lock};
use softacl_sync::lane::{Lane, NotStarted, Readiness};
use std::sync::Arc;

/// The locked lane of a stream.
pub(crate) type LaneGuard<'a> = MutexGuard<'a, Lane<Task, StreamKey>>;

/// How much of a stream to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// Stops after the task with this number.
    pub(crate) until: u64,
    pub(crate) tasks: usize,
    /// Maximum number of claims. A claim of copies counts as a whole turn.
    pub(crate) claims: usize,
}

/// Number of claims in a turn.
const CLAIMS_PER_TURN: usize = 16;

impl Limit {
    /// One task.
    pub(crate) const ONE: Limit = Limit { until: u64::MAX, tasks: 1, claims: CLAIMS_PER_TURN };
    /// What a worker runs before it serves other streams.
    pub(crate) const TURN: Limit = Limit { until: u64::MAX, tasks: usize::MAX, claims: CLAIMS_PER_TURN };

    /// Everything up to a task.
    pub(crate) fn until(sequence: u64) -> Limit {
        Limit { until: sequence, tasks: usize::MAX, claims: usize::MAX }
    }
}

/// Why `run` returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The limit was reached.
    Limit,
    Empty,
    /// Another thread runs the stream, or a host function holds it.
    Busy,
    Blocked(Readiness<StreamKey>),
}

/// What executing a task produced.
pub(crate) enum TaskOutcome {
    Finished(Result<()>),
    /// A host function holds the claim and finishes the task later.
    Held,
    /// The rest of the task, to be resumed later.
    Yielded(Task),
}

/// What happened to a claimed task.
pub(super) enum Claimed {
    /// It ended, or was dropped while it ran.
    Finished,
    /// A host function holds the claim.
    Held,
    /// The rest of it was queued again.
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
            let has_started = matches!(first, Task::Control(Control::Resumed(_) | Control::Operation(_)));
            if let (Some(observer), false) = (self.observer(), has_started) {
                self.emit_started(observer, StreamPoint { stream: key, sequence }.into(), &first);
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

    /// Claims the front of a stream. Returns its task and number, with the lane still locked, or why nothing was
    /// claimed.
    #[inline]
    pub(super) fn claim<'a>(
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
    pub(super) fn run_task(&self, key: StreamKey, stream: &Stream, sequence: u64, task: Task) -> Claimed {
        let name = task.name();
        match self.execute(key, stream, sequence, task) {
            TaskOutcome::Held => return Claimed::Held,
            TaskOutcome::Yielded(rest) => {
                let returned = lock(&stream.tasks.lane).give_back(rest, sequence);
                // What the task has done may let an operation of another stream continue.
                self.poll_external_waits();
                if returned.is_none() {
                    return Claimed::Requeued;
                }
            }
            TaskOutcome::Finished(Ok(())) => {}
            TaskOutcome::Finished(Err(error)) => self.record_failure(key, sequence, name, *error),
        }
        Claimed::Finished
    }

    /// Discards a task that will not run. If it stood for a run of a graph, cancels the run and returns it; the run
    /// still finishes.
    pub(crate) fn discard(&self, key: StreamKey, task: Task) -> Option<Arc<GraphRun>> {
        let Task::Control(task) = task else { return None };
        match task {
            Control::Wait(wait) => self.finish_wait(key, &wait),
            Control::Join(run) => {
                run.is_canceled.store(true, Ordering::Release);
                return Some(run);
            }
            Control::Node { node, .. } => node.cancel(),
            Control::Flow(task) => self.finish_flow(&task.flow),
            // Other processes may wait for the record.
            Control::RecordShared { counters, record } => counters.mark_reached(record),
            Control::Release(pending) => {
                // Tasks that still run before the release may use the memory.
                let newest = self.streams.slot(key).newest();
                self.finish_release(&pending, StreamPoint { stream: key, sequence: newest });
            }
            _ => {}
        }
        None
    }

    /// Publishes a finished task and releases the claim.
    pub(crate) fn finish(&self, key: StreamKey, sequence: u64) {
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

    /// Finishes a task whose host function has returned, and lets the stream continue.
    pub(crate) fn finish_held(&self, key: StreamKey, sequence: u64) {
        if self.function_returned(StreamPoint { stream: key, sequence }) {
            return;
        }
        self.streams.slot(key).is_held.store(false, Ordering::Release);
        self.finish(key, sequence);
        self.mark_stream_ready(key);
    }

    /// Drops the tasks that have not started. The running task, if any, still finishes, and so do the tasks of the
    /// returned runs.
    pub(crate) fn drop_pending(&self, key: StreamKey, stream: &Stream) -> Vec<Arc<GraphRun>> {
        self.host_touched(|| Footprint { drops: vec![key.index() as u32], ..Footprint::default() });
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

    /// Returns whether the front of a stream may start. If a wait for a notify may start, this has consumed the notify.
    fn readiness(&self, key: StreamKey, task: &Task) -> Readiness<StreamKey> {
        let Task::Control(task) = task else { return Readiness::Ready };
        match task {
            Control::Wait(wait) => {
                let readiness = self.readiness_after(key, &wait.after);
                match &wait.limit {
                    Some(limit) if readiness != Readiness::Ready => self.check_limit(key, limit, readiness),
                    _ => readiness,
                }
            }
            Control::Await(wait) => self.check_external_wait(key, wait),
            Control::Node { node, run } if !run.is_canceled.load(Ordering::Acquire) => {
                node.external_wait().map_or(Readiness::Ready, |wait| self.check_external_wait(key, &wait))
            }
            Control::Resumed(progress) if !progress.run.is_canceled.load(Ordering::Acquire) => {
                self.check_external_wait(key, &progress.pause)
            }
            Control::Operation(pending) if !pending.is_canceled() => self.check_external_wait(key, &pending.wait),
            Control::Join(run) => run.end.get().map_or(Readiness::Unknown, |end| self.readiness_at(*end)),
            _ => Readiness::Ready,
        }
    }

    /// Returns whether what a stream waits for has happened.
    fn readiness_after(&self, key: StreamKey, after: &Waited) -> Readiness<StreamKey> {
        match after {
            Waited::Point(point) => self.readiness_at(*point),
            Waited::GraphEvent(graph_event) if graph_event.is_set() => Readiness::Ready,
            Waited::GraphEvent(_) => Readiness::Unknown,
            Waited::External(wait) => self.check_external_wait(key, wait),
            Waited::Next(cell) => cell.get().map_or(Readiness::Unknown, |point| self.readiness_at(*point)),
        }
    }

    /// Returns whether a point has been reached.
    fn readiness_at(&self, point: StreamPoint) -> Readiness<StreamKey> {
        if self.streams.slot(point.stream).tasks.completion.done() >= point.sequence {
            Readiness::Ready
        } else {
            Readiness::After(point)
        }
    }

    /// Records the failure of a task in its stream, and stops the context if its failure mode requires that.
    pub(crate) fn record_failure(&self, key: StreamKey, sequence: u64, name: &str, error: Error) {
        let stream = self.streams.slot(key);
        let error = self.as_task_failure(error).of_task(name, sequence);
        if let Some(observer) = self.observer() {
            observer.failed(StreamPoint { stream: key, sequence }.into(), &error);
        }
        self.exceptions.record(StreamPoint { stream: key, sequence }, stream.device(), error.cause().code());
        self.stop_context(stream, &error);
        stream.fail(error);
    }
}
