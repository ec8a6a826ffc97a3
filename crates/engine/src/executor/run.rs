//! Running streams: claim what may start, execute it, publish its end.
//!
//! The lanes say what may start; an executor decides when, and on which thread. Both executors use these steps.

use crate::executor::job::{Job, weight};
use crate::executor::spans::{self, Spans};
use crate::executor::{Executor, budget};
use crate::graph::run::GraphRun;
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::slow_path::Reason;
use crate::stream::Stream;
use crate::task::moves::{self, Move};
use crate::task::{Control, Task, Waited};
use softacl_errors::{Error, Result};
use softacl_memory::bytes::{self, AccessFault, CachePolicy, Span};
use softacl_memory::segv;
use softacl_sync::facade::{MutexGuard, Ordering, lock};
use softacl_sync::lane::{Lane, NotStarted, Readiness};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

pub(crate) type LaneGuard<'a> = MutexGuard<'a, Lane<Task, StreamKey>>;

/// Copies that are run under one claim, at most. Large enough that the lane's lock does not travel
/// between the submitting thread and the executing one all the time.
const MAX_GROUP_TASKS: usize = 512;
/// Bytes that are run under one claim: the end of the group is when anybody learns of it, about a
/// millisecond later.
const MAX_GROUP_BYTES: usize = 16 << 20;
/// Entries of this length on average may bypass the cache.
const STREAMING_MIN_LEN: usize = 1 << 10;
/// From this weight on work is shared between threads.
pub(crate) const SHARE_MIN_WEIGHT: usize = 1 << 20;

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

impl Machine {
    /// Tells the driver that a stream has work it was not told of.
    pub(crate) fn enqueue_ready(&self, key: StreamKey) {
        match &self.executor {
            Executor::Threads(workers) => workers.enqueue_ready(self, key),
            Executor::Stepped(stepper) => stepper.enqueue_ready(key),
        }
    }

    /// Lists a stream whose front may have become ready.
    pub(crate) fn mark_stream_ready(&self, key: StreamKey) {
        let is_ready = lock(&self.streams.slot(key).tasks.lane).mark_ready();
        if is_ready {
            self.enqueue_ready(key);
            if let Executor::Stepped(stepper) = &self.executor {
                stepper.hand_to_progress_thread(self);
            }
        }
    }

    /// Runs tasks of one stream, in order, on this thread.
    pub(crate) fn run(&self, key: StreamKey, limit: Limit) -> StopReason {
        let stop = self.advance(key, limit);
        if stop == StopReason::Limit {
            self.mark_stream_ready(key);
        }
        stop
    }

    /// The same; at the limit the caller sees to it that the stream is listed.
    pub(crate) fn advance(&self, key: StreamKey, limit: Limit) -> StopReason {
        let stream = self.streams.slot(key);
        let (mut left, mut claims) = (limit.tasks, limit.claims);
        loop {
            let mut lane = lock(&stream.tasks.lane);
            let (first, mut sequence) = match lane.claim(|task| self.readiness(key, task)) {
                Ok(claimed) => claimed,
                Err(NotStarted::Empty) => return StopReason::Empty,
                Err(NotStarted::Claimed) => return StopReason::Busy,
                Err(NotStarted::Blocked(blocked)) => {
                    if let Readiness::After(point) = blocked
                        && lane.watches(point)
                    {
                        drop(lane);
                        if !self.streams.slot(point.stream).tasks.watch(point.sequence, key) {
                            continue;
                        }
                    }
                    return StopReason::Blocked(blocked);
                }
            };
            left -= 1;
            if let (Some(observer), false) = (self.observer(), matches!(first, Task::Control(Control::Resumed(_)))) {
                observer.started(StreamPoint { stream: key, sequence }.into());
            }
            claims = claims.saturating_sub(if first.volume() > 0 { CLAIMS_PER_TURN } else { 1 });
            if let Task::Move(Move::Copy(span)) = first {
                let most = left.min((limit.until - sequence.min(limit.until)) as usize);
                // An observer is told of each copy in its moment.
                let most = if self.observer.is_some() { 0 } else { most };
                let mut rest = if most > 0 { lane.take() } else { VecDeque::new() };
                drop(lane);
                let newest = sequence + rest.len() as u64;
                let group = self.coalesce(&mut rest, span, most);
                if most > 0 {
                    self.put_back(key, rest, newest);
                }
                match group {
                    None => self.copy_one(key, sequence, span),
                    Some(group) => {
                        let number = sequence;
                        left -= group.len() - 1;
                        sequence += group.len() as u64 - 1;
                        self.copy_group(key, number, &group);
                    }
                }
            } else {
                drop(lane);
                let name = first.name();
                match self.execute(key, stream, sequence, first) {
                    TaskOutcome::Held => return StopReason::Busy,
                    TaskOutcome::Yielded(rest) => {
                        if lock(&stream.tasks.lane).give_back(rest, sequence).is_none() {
                            left += 1;
                            continue;
                        }
                    }
                    TaskOutcome::Finished(Ok(())) => {}
                    TaskOutcome::Finished(Err(error)) => self.record_failure(key, sequence, name, *error),
                }
            }
            self.finish(key, sequence);
            if sequence >= limit.until || left == 0 || claims == 0 {
                return StopReason::Limit;
            }
        }
    }

    /// Takes copies that wait behind `first`, at most so many more. `None` when there are none.
    fn coalesce(&self, rest: &mut VecDeque<Task>, first: Span, most: usize) -> Option<Spans> {
        let mut take = || match rest.front() {
            Some(Task::Move(Move::Copy(span))) => {
                let span = *span;
                rest.pop_front();
                Some(span)
            }
            _ => None,
        };
        let second = take()?;
        let mut group = self.span_pool.list(MAX_GROUP_TASKS);
        group.extend([first, second]);
        let mut bytes = first.len + second.len;
        while group.len() <= most.min(MAX_GROUP_TASKS - 1) && bytes < MAX_GROUP_BYTES {
            let Some(span) = take() else { break };
            bytes += span.len;
            group.push(span);
        }
        Some(group)
    }

    /// Gives back what was taken out of a lane and is not started now.
    fn put_back(&self, key: StreamKey, rest: VecDeque<Task>, newest: u64) {
        let dropped = lock(&self.streams.slot(key).tasks.lane).put_back(rest, newest);
        for task in dropped.into_iter().flatten() {
            self.discard(key, task);
        }
    }

    /// A task that will not run. A run of a graph that it stood for is given up, and still finishes.
    fn discard(&self, key: StreamKey, task: Task) -> Option<Arc<GraphRun>> {
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

    fn copy_one(&self, key: StreamKey, sequence: u64, span: Span) {
        let stream = self.streams.slot(key);
        let cache_policy = CachePolicy::of(stream.volume.load(Ordering::Relaxed));
        if let Err(error) = self.unless_stopped(stream, || self.copy_span(span, cache_policy)) {
            self.record_failure(key, sequence, "copy", *error);
        }
    }

    /// Copies that were queued one behind the other. Where their order does not show they are shared
    /// between threads when they are much, and go past the cache when they are part of much.
    fn copy_group(&self, key: StreamKey, first: u64, group: &[Span]) {
        let stream = self.streams.slot(key);
        let bytes = group.iter().map(|span| span.len).sum();
        let cache_policy = self.cache_policy(stream.volume.load(Ordering::Relaxed), group.len(), bytes);
        let is_shared = weight(group.len(), bytes) >= SHARE_MIN_WEIGHT;
        if let Executor::Threads(workers) = &self.executor
            && (is_shared || cache_policy == CachePolicy::Streaming)
            && !self.is_stopped(stream)
        {
            // Without memory for the list they are copied in order.
            if let Some(mut sorted) = self.span_pool.list_of(group.len())
                && spans::commute(group, &mut sorted)
            {
                let copied = if is_shared {
                    workers.share(self, Job::many(sorted, cache_policy))
                } else {
                    bytes::copy_unordered(sorted.as_slice(), 0..sorted.len(), cache_policy)
                };
                if copied.is_ok() {
                    return;
                }
                // Something was not accessible: once more in order, which says what. Nothing of it was
                // overwritten, so that copying it again changes nothing.
            }
        }
        if group.iter().any(|span| span.len >= SHARE_MIN_WEIGHT) {
            for (number, span) in (first..).zip(group) {
                self.copy_one(key, number, *span);
            }
            return;
        }
        let mut next = 0;
        while next < group.len() && !self.is_stopped(stream) {
            let Err(failed) = bytes::copy_in_order(group, next..group.len()) else { return };
            let error = moves::inaccessible(group[failed])(AccessFault);
            self.record_failure(key, first + failed as u64, "copy", error);
            next = failed + 1;
        }
    }

    /// How to copy entries that are part of so much work. Short ones always go through the cache.
    pub(crate) fn cache_policy(&self, volume: usize, entries: usize, bytes: usize) -> CachePolicy {
        if bytes / entries < STREAMING_MIN_LEN { CachePolicy::Cached } else { CachePolicy::of(volume) }
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

    /// Waits until a stream has come to a point; `false` when `deadline` came first.
    pub(crate) fn wait(&self, point: StreamPoint, deadline: Option<Instant>) -> bool {
        let reached = self.wait_unobserved(point, deadline);
        self.emit_waited(point, reached)
    }

    /// The same; the program does not learn of it, or `tell_waited` is next.
    pub(crate) fn wait_unobserved(&self, point: StreamPoint, deadline: Option<Instant>) -> bool {
        let stream = self.streams.slot(point.stream);
        let reached = stream.tasks.completion.done() >= point.sequence || {
            let _guard = self.fault_guard();
            match &self.executor {
                Executor::Threads(workers) => workers.wait(self, point, deadline),
                Executor::Stepped(stepper) => stepper.wait(self, point, deadline),
            }
        };
        if reached {
            budget::refill();
        }
        reached
    }

    /// Work for several threads will be there in a moment: a sleeping worker gets up meanwhile.
    pub(crate) fn wake_worker_early(&self) {
        if let Executor::Threads(workers) = &self.executor {
            workers.wake_early(self);
        }
    }

    /// Whether a stream has come to a point. A program that polls gives the stepper its chance.
    pub(crate) fn reached(&self, point: StreamPoint) -> bool {
        let completion = &self.streams.slot(point.stream).tasks.completion;
        match &self.executor {
            Executor::Stepped(stepper) => {
                let _guard = self.fault_guard();
                stepper.poll(self, point);
            }
            Executor::Threads(workers) if completion.done() < point.sequence => {
                let _guard = self.fault_guard();
                workers.poll(self, point);
            }
            Executor::Threads(_) => {}
        }
        let reached = completion.done() >= point.sequence;
        self.emit_waited(point, reached)
    }

    /// Passes on what the program is about to learn.
    pub(crate) fn emit_waited(&self, point: StreamPoint, reached: bool) -> bool {
        if let (Some(observer), true) = (self.observer(), reached) {
            observer.waited(point.into());
        }
        reached
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

    /// Runs one ready task when a schedule is in charge. `false` when there is none, or worker threads are.
    pub(crate) fn step(&self) -> bool {
        match &self.executor {
            Executor::Threads(_) => false,
            Executor::Stepped(stepper) => {
                let _guard = self.fault_guard();
                stepper.step_any(self)
            }
        }
    }

    pub(crate) fn step_after_submit(&self) {
        let _guard = self.fault_guard();
        match &self.executor {
            Executor::Threads(workers) => workers.run_deferred(self),
            Executor::Stepped(stepper) => stepper.after_submit(self),
        }
    }

    /// For a thread of the program that may execute tasks: registered memory is the program's own and
    /// can be gone when its turn comes.
    pub(crate) fn fault_guard(&self) -> Option<segv::FaultGuard> {
        self.memory.registered.was_used().then(segv::enter)
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

    /// Stops the context of a stream, if it is one that failures stop.
    pub(crate) fn stop_context(&self, stream: &Stream, error: &Error) {
        if let Some(context) = stream.context() {
            let context = self.contexts.slot(context);
            if context.stops_on_failure() {
                // Before the context is stopped: the fast path does not look at contexts.
                context.stop(error, self.reasons.hold(Reason::StoppedContext));
            }
        }
    }
}
