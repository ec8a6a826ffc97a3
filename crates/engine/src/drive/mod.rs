//! Drivers: what makes the streams go.
//!
//! The lanes say what may start; a driver decides when and on which thread. `workers` runs tasks on
//! worker threads and on the threads that wait; `stepper` runs them one at a time where a schedule
//! wants them. Both use the same three steps below: submit, run, finish.

mod job;
pub(crate) mod outside;
mod stepper;
mod workers;

pub use outside::ValueCondition;
pub use stepper::Schedule;
pub(crate) use stepper::Stepper;
pub(crate) use workers::Workers;

use crate::bytes::{self, Span};
use crate::context::ContextKey;
use crate::error::{Error, Result, fail};
use crate::graph::{Node, Run};
use crate::host::{Delivery, HostCall, HostThread};
use crate::machine::Machine;
use crate::stream::lane::{Readiness, Rest};
use crate::stream::{Stream, StreamKey, StreamPoint};
use crate::sync::lock;
use crate::task::{self, Batch, Task, Waited};
use job::Job;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

pub(crate) enum Driver {
    Threads(Workers),
    Stepped(Arc<Stepper>),
}

/// Copies up to this size may be done by the submitting thread when its stream is idle: cheaper
/// than telling anyone about them. The size is a choice, not measured here.
const ON_THE_SPOT: usize = 16 << 10;
/// Copies up to this size are always done on the spot on an idle stream: queueing costs more.
const ALWAYS_ON_THE_SPOT: usize = 4 << 10;
/// Bytes that a thread copies on the spot in larger pieces between two waits before it starts to
/// queue, so that a program that submits much is not turned into its own copy engine.
const ON_THE_SPOT_BUDGET: usize = 256 << 10;
/// Small copies that are run under one claim.
const GROUP: usize = 32;
const GROUP_BYTES: usize = 64 << 10;
/// From this size on a task is shared between threads.
pub(crate) const SHARED: usize = 1 << 20;

/// How much of a stream to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// Stop once this task is finished.
    pub(crate) until: u64,
    pub(crate) tasks: usize,
    pub(crate) deadline: Option<Instant>,
}

impl Limit {
    pub(crate) const ONE: Limit = Limit { until: u64::MAX, tasks: 1, deadline: None };
}

/// Why `run` stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// As far as the limit asked.
    Limit,
    Empty,
    /// Somebody else runs the stream, or a host function holds it.
    Busy,
    Blocked(Readiness<StreamKey>),
}

/// What became of a task.
enum Outcome {
    Finished(Result<()>),
    /// A host function has it and finishes it.
    Held,
}

impl Machine {
    /// Queues a checked task on a stream of the context; returns its number.
    pub(crate) fn submit(&self, key: StreamKey, stream: &Stream, context: ContextKey, task: Task) -> Result<u64> {
        if stream.context() != Some(context) {
            return fail(self.other_context("stream", stream, context));
        }
        self.contexts.slot(context).check()?;
        if self.devices[stream.device() as usize].aborting.load(Ordering::Acquire) {
            return fail(Error::Aborting(stream.device()));
        }
        if stream.is_diverted() {
            return self.divert(key, stream, context, task);
        }
        let mut lane = lock(&stream.track.lane);
        if self.streams.get(key).is_none() {
            return fail(Error::Handle { what: "stream", handle: key.raw() });
        }
        if let (Driver::Threads(_), Task::Copy(span)) = (&self.driver, &task)
            && span.len <= ON_THE_SPOT
            && self.probe.is_none()
            && lane.is_idle()
            && spend(stream, span.len)
        {
            let sequence = lane.pass();
            stream.set_newest(sequence);
            let result = bytes::copy(*span).map_err(task::inaccessible(*span));
            if let Err(error) = result {
                self.note_failure(key, sequence, task.name(), error);
            }
            stream.track.completion.advance(sequence);
            drop(lane);
            self.look_again();
            return Ok(sequence);
        }
        if let Some(probe) = self.probe() {
            let at = StreamPoint { stream: key, sequence: lane.submitted() + 1 };
            self.tell_submitted(probe, at.into(), &task);
        }
        let sequence = lane.push(task);
        stream.set_newest(sequence);
        let news = lane.list();
        drop(lane);
        if news {
            self.announce(key);
        }
        self.step_after_submit();
        Ok(sequence)
    }

    /// Passes a point of an idle stream at once; `None` when the stream has work.
    pub(crate) fn pass(&self, stream: &Stream) -> Option<u64> {
        let (Driver::Threads(_), None) = (&self.driver, &self.probe) else { return None };
        let mut lane = lock(&stream.track.lane);
        lane.is_idle().then(|| {
            let sequence = lane.pass();
            stream.set_newest(sequence);
            stream.track.completion.advance(sequence);
            sequence
        })
    }

    /// Tells the driver that a stream has work it was not told of.
    fn announce(&self, key: StreamKey) {
        match &self.driver {
            Driver::Threads(workers) => workers.announce(self, key),
            Driver::Stepped(stepper) => stepper.announce(self, key),
        }
    }

    /// Lists a stream whose front may have become ready.
    pub(crate) fn list(&self, key: StreamKey) {
        let news = lock(&self.streams.slot(key).track.lane).list();
        if news {
            self.announce(key);
        }
    }

    /// Runs tasks of one stream, in order, on this thread.
    pub(crate) fn run(&self, key: StreamKey, limit: Limit) -> Stop {
        let stream = self.streams.slot(key);
        let mut left = limit.tasks;
        let mut group = Vec::new();
        loop {
            let mut lane = lock(&stream.track.lane);
            let (first, mut sequence) = match lane.claim(|task| self.readiness(key, task)) {
                Ok(claimed) => claimed,
                Err(Rest::Empty) => return Stop::Empty,
                Err(Rest::Claimed) => return Stop::Busy,
                Err(Rest::Blocked(blocked)) => {
                    if let Readiness::After(point) = blocked
                        && lane.watches(point)
                    {
                        drop(lane);
                        if !self.streams.slot(point.stream).track.watch(point.sequence, key) {
                            continue;
                        }
                    }
                    return Stop::Blocked(blocked);
                }
            };
            left -= 1;
            if let Some(probe) = self.probe() {
                probe.started(StreamPoint { stream: key, sequence }.into());
            }
            if let Task::Copy(span) = first {
                let mut bytes = span.len;
                group.push(span);
                let most = if self.probe.is_some() { 1 } else { GROUP };
                while left > 0 && sequence < limit.until && group.len() < most && bytes <= GROUP_BYTES {
                    let Some((Task::Copy(span), number)) = lane.extend(|task| matches!(task, Task::Copy(_))) else {
                        break;
                    };
                    bytes += span.len;
                    group.push(span);
                    sequence = number;
                    left -= 1;
                }
                drop(lane);
                let first = sequence + 1 - group.len() as u64;
                for (number, span) in (first..).zip(group.drain(..)) {
                    if let Err(error) = self.guarded(stream, || self.copy_span(span)) {
                        self.note_failure(key, number, "copy", *error);
                    }
                }
            } else {
                drop(lane);
                let name = first.name();
                match self.execute(key, stream, sequence, first) {
                    Outcome::Held => return Stop::Busy,
                    Outcome::Finished(Ok(())) => {}
                    Outcome::Finished(Err(error)) => self.note_failure(key, sequence, name, *error),
                }
            }
            self.finish(key, sequence);
            let expired = limit.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if sequence >= limit.until || left == 0 || expired {
                self.list(key);
                return Stop::Limit;
            }
        }
    }

    /// Publishes a finished task and lets go of the claim.
    fn finish(&self, key: StreamKey, sequence: u64) {
        if let Some(probe) = self.probe() {
            probe.finished(StreamPoint { stream: key, sequence }.into());
        }
        for watcher in self.streams.slot(key).track.finish(sequence) {
            self.list(watcher);
        }
        self.look_again();
        if let Driver::Stepped(stepper) = &self.driver {
            stepper.changed();
        }
    }

    /// A host function has returned: its task is finished, and the stream goes on.
    pub(crate) fn finish_held(&self, key: StreamKey, sequence: u64) {
        self.streams.slot(key).is_held.store(false, Ordering::Release);
        self.finish(key, sequence);
        self.list(key);
    }

    /// Drops what has not started. The running task, if any, still finishes; so do tasks of the runs
    /// that are returned.
    pub(crate) fn drop_pending(&self, key: StreamKey, stream: &Stream) -> Vec<Arc<Run>> {
        let (dropped, watchers) = stream.track.clear();
        if let Some(probe) = self.probe() {
            probe.dropped(StreamPoint { stream: key, sequence: stream.newest() }.into());
        }
        let mut runs = Vec::new();
        for task in dropped {
            match task {
                Task::Wait { after, event } => self.wait_is_over(key, &after, event),
                Task::Join(run) => {
                    run.is_cancelled.store(true, Ordering::Release);
                    runs.push(run);
                }
                Task::Release(leaving) => self.abandon(&leaving),
                _ => {}
            }
        }
        for watcher in watchers {
            self.list(watcher);
        }
        runs
    }

    /// Waits until a stream has come to a point; `false` when `deadline` came first.
    pub(crate) fn wait(&self, point: StreamPoint, deadline: Option<Instant>) -> bool {
        let stream = self.streams.slot(point.stream);
        stream.spent.store(0, Ordering::Relaxed);
        let reached = stream.track.completion.done() >= point.sequence
            || match &self.driver {
                Driver::Threads(workers) => workers.wait(self, point, deadline),
                Driver::Stepped(stepper) => stepper.wait(self, point, deadline),
            };
        self.tell_waited(point, reached)
    }

    /// Whether a stream has come to a point. A program that polls gives the stepper its chance.
    pub(crate) fn reached(&self, point: StreamPoint) -> bool {
        if let Driver::Stepped(stepper) = &self.driver {
            stepper.poll(self, point);
        }
        let reached = self.streams.slot(point.stream).track.completion.done() >= point.sequence;
        self.tell_waited(point, reached)
    }

    /// Passes on what the program is about to learn.
    fn tell_waited(&self, point: StreamPoint, reached: bool) -> bool {
        if let (Some(probe), true) = (self.probe(), reached) {
            probe.waited(point.into());
        }
        reached
    }

    /// Whether the front of a stream may start. A wait for a notify that may is over: it has taken it.
    fn readiness(&self, key: StreamKey, task: &Task) -> Readiness<StreamKey> {
        let after = match task {
            Task::Wait { after, .. } => after,
            Task::Await(vigil) => return self.attend(key, vigil),
            Task::Node { node, run } if !run.is_cancelled.load(Ordering::Acquire) => {
                return node.vigil().map_or(Readiness::Ready, |vigil| self.attend(key, &vigil));
            }
            Task::Join(run) => match run.end.get() {
                Some(end) => &Waited::Point(*end),
                None => return Readiness::Unknown,
            },
            _ => return Readiness::Ready,
        };
        let point = match after {
            Waited::Point(point) => *point,
            Waited::Signal(signal) if signal.is_up() => return Readiness::Ready,
            Waited::Signal(_) => return Readiness::Unknown,
            Waited::Outside(vigil) => return self.attend(key, vigil),
            Waited::Next(cell) => match cell.get() {
                Some(point) => *point,
                None => return Readiness::Unknown,
            },
        };
        if self.streams.slot(point.stream).track.completion.done() >= point.sequence {
            Readiness::Ready
        } else {
            Readiness::After(point)
        }
    }

    /// Runs one ready task when a schedule is in charge. `false` when there is none, or worker threads are.
    pub(crate) fn step(&self) -> bool {
        match &self.driver {
            Driver::Threads(_) => false,
            Driver::Stepped(stepper) => stepper.step_any(self),
        }
    }

    pub(crate) fn step_after_submit(&self) {
        if let Driver::Stepped(stepper) = &self.driver {
            stepper.after_submit(self);
        }
    }

    /// Runs `work` unless a failure has stopped the context, which turns later tasks into nothing.
    fn guarded(&self, stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_stopped(stream) { Ok(()) } else { work() }
    }

    pub(crate) fn is_stopped(&self, stream: &Stream) -> bool {
        stream.context().is_some_and(|context| self.contexts.slot(context).is_stopped())
    }

    fn execute(&self, key: StreamKey, stream: &Stream, sequence: u64, task: Task) -> Outcome {
        let result = match task {
            Task::Host(call) => {
                // Said before the call is on its way: it may be over before we are back.
                stream.is_held.store(true, Ordering::Release);
                let outcome = self.deliver(key, stream, sequence, *call);
                if let Outcome::Finished(_) = outcome {
                    stream.is_held.store(false, Ordering::Release);
                }
                return outcome;
            }
            Task::Record { event, generation } => {
                self.stamp(event, generation);
                Ok(())
            }
            Task::RecordShared { counters, record } => {
                counters.reach(record);
                Ok(())
            }
            Task::Wait { after, event } => {
                self.wait_is_over(key, &after, event);
                Ok(())
            }
            Task::Node { run, .. } if run.is_cancelled.load(Ordering::Acquire) => Ok(()),
            Task::Node { node, run } => return self.execute_node(key, stream, sequence, &node, &run),
            Task::Join(run) => run.result(),
            Task::Update(update) => {
                update.apply();
                Ok(())
            }
            Task::Lower(signal) => {
                signal.lower();
                Ok(())
            }
            Task::Await(vigil) => vigil.result(),
            Task::Change { counter, change } => {
                counter.update(|value| Some(change.apply(value)));
                Ok(())
            }
            Task::Release(leaving) => {
                self.arrive(&leaving, StreamPoint { stream: key, sequence: sequence - 1 });
                Ok(())
            }
            Task::Annotation(_) | Task::CacheOperation => Ok(()),
            Task::Doomed(error) => Err(error),
            moving => self.guarded(stream, || self.move_bytes(moving)),
        };
        Outcome::Finished(result)
    }

    /// Runs one step of a graph. A failure belongs to the run, not to the stream that carries it.
    fn execute_node(&self, key: StreamKey, stream: &Stream, sequence: u64, node: &Node, run: &Run) -> Outcome {
        let outcome = match node.current() {
            // The content stays while the task runs: it may hold what the task reads.
            Ok(content) => match content.task() {
                Task::Condition(condition) => Outcome::Finished(self.run_condition(stream, &condition, run)),
                task => self.execute(key, stream, sequence, task),
            },
            Err(error) => Outcome::Finished(Err(error)),
        };
        let Outcome::Finished(Err(error)) = outcome else { return outcome };
        let error = error.of_task(node.name(), sequence);
        self.stop_context(stream, &error);
        run.fail(error);
        Outcome::Finished(Ok(()))
    }

    pub(crate) fn move_bytes(&self, task: Task) -> Result<()> {
        match task {
            Task::Copy(span) => self.copy_span(span),
            Task::Batch(batch) => self.copy_batch(*batch),
            Task::Plane(plane) => self.copy_batch(plane.rows()),
            Task::Staged { buffer, target } => {
                self.copy_span(Span { target, source: buffer.as_ptr() as usize, len: buffer.len() })
            }
            Task::Fill { target, byte, len } => {
                let span = Span { target, source: target, len };
                Ok(bytes::fill(target, byte, len).map_err(task::inaccessible(span))?)
            }
            Task::FillWords { target, word, count } => {
                let span = Span { target, source: target, len: 4 * count };
                Ok(bytes::fill_words(target, word, count).map_err(task::inaccessible(span))?)
            }
            Task::WriteValue { target, value } => {
                let span = Span { target, source: target, len: size_of::<u64>() };
                Ok(bytes::write(target, &value.to_le_bytes()).map_err(task::inaccessible(span))?)
            }
            Task::CacheOperation => Ok(()),
            Task::Reduce(reduction) => reduction.run(),
            Task::Described { descriptor, form } => self.copy_span(task::described(&self.memory, descriptor, form)?),
            Task::Indirect(indirect) => self.copy_span(indirect.resolve(&self.memory)?),
            Task::Record { .. }
            | Task::RecordShared { .. }
            | Task::Wait { .. }
            | Task::Node { .. }
            | Task::Join(_)
            | Task::Condition(_)
            | Task::Update(_)
            | Task::Lower(_)
            | Task::Host(_)
            | Task::Await(_)
            | Task::Change { .. }
            | Task::Release(_)
            | Task::Annotation(_)
            | Task::Doomed(_) => unreachable!("execute handles tasks that move no bytes"),
        }
    }

    /// Copies one range, with the help of other threads when it is large.
    pub(crate) fn copy_span(&self, span: Span) -> Result<()> {
        if span.len >= SHARED
            && let Driver::Threads(workers) = &self.driver
        {
            return Ok(workers.share(self, Job::one(span)).map_err(task::inaccessible(span))?);
        }
        Ok(bytes::copy(span).map_err(task::inaccessible(span))?)
    }

    /// Copies many ranges, in any order.
    pub(crate) fn copy_batch(&self, mut batch: Batch) -> Result<()> {
        match &self.driver {
            Driver::Threads(workers) if batch.bytes >= SHARED => {
                let span = batch.spans[0];
                Ok(workers.share(self, Job::many(batch)).map_err(task::inaccessible(span))?)
            }
            Driver::Threads(_) => copy_all(&batch.spans),
            Driver::Stepped(stepper) => {
                stepper.shuffle(&mut batch.spans);
                copy_all(&batch.spans)
            }
        }
    }

    /// Hands a call to the thread that runs it.
    fn deliver(&self, key: StreamKey, stream: &Stream, sequence: u64, call: HostCall) -> Outcome {
        match call.delivery {
            Delivery::Subscriber { thread, holds_stream } => {
                if !self.subscriptions.post(thread, call, (key, sequence), holds_stream) {
                    return Outcome::Finished(fail(Error::NoCallbackThread));
                }
                if holds_stream { Outcome::Held } else { Outcome::Finished(Ok(())) }
            }
            Delivery::ContextThread => {
                let Some(context) = stream.context() else {
                    return Outcome::Finished(fail(Error::ContextGone));
                };
                let mut host = lock(&self.contexts.slot(context).host);
                if host.is_none() {
                    match HostThread::start(self.weak()) {
                        Ok(thread) => *host = Some(thread),
                        Err(error) => return Outcome::Finished(Err(error)),
                    }
                }
                let posted = host.as_ref().is_some_and(|thread| thread.post(call, key, sequence));
                if posted { Outcome::Held } else { Outcome::Finished(fail(Error::ContextGone)) }
            }
        }
    }

    /// Notes the failure of a task with the stream, and with the context where that stops it.
    fn note_failure(&self, key: StreamKey, sequence: u64, name: &str, error: Error) {
        let stream = self.streams.slot(key);
        let error = error.of_task(name, sequence);
        if let Some(probe) = self.probe() {
            probe.failed(StreamPoint { stream: key, sequence }.into(), &error);
        }
        self.stop_context(stream, &error);
        stream.fail(error);
    }

    /// Stops the context of a stream, if it is one that failures stop.
    fn stop_context(&self, stream: &Stream, error: &Error) {
        if let Some(context) = stream.context() {
            let context = self.contexts.slot(context);
            if context.stops_on_failure() {
                context.stop(error);
            }
        }
    }
}

/// Takes a copy out of the stream's budget for work on the spot.
#[inline]
fn spend(stream: &Stream, len: usize) -> bool {
    if len <= ALWAYS_ON_THE_SPOT {
        return true;
    }
    let spent = stream.spent.load(Ordering::Relaxed) + len;
    let affordable = spent <= ON_THE_SPOT_BUDGET;
    if affordable {
        stream.spent.store(spent, Ordering::Relaxed);
    }
    affordable
}

fn copy_all(spans: &[Span]) -> Result<()> {
    spans.iter().try_for_each(|span| Ok(bytes::copy(*span).map_err(task::inaccessible(*span))?))
}
