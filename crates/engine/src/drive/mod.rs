//! Drivers: what makes the streams go.
//!
//! The lanes say what may start; a driver decides when and on which thread. `workers` runs tasks on
//! worker threads and on the threads that wait; `stepper` runs them one at a time where a schedule
//! wants them. Both use the same three steps below: submit, run, finish.

pub(crate) mod budget;
mod job;
pub(crate) mod outside;
mod spans;
mod stepper;
mod workers;

pub use outside::ValueCondition;
pub(crate) use spans::{Shelf, Spans};
pub use stepper::Schedule;
pub(crate) use stepper::Stepper;
pub(crate) use workers::Workers;

use crate::bytes::{self, Fault, Manner, Span};
use crate::context::ContextKey;
use crate::error::{Error, Result, fail};
use crate::graph::{Node, Run};
use crate::handle::Slot;
use crate::host::{Delivery, HostCall, HostThread};
use crate::machine::Machine;
use crate::stream::lane::{Lane, Readiness, Rest};
use crate::stream::{Stream, StreamKey, StreamPoint};
use crate::sync::{MutexGuard, lock};
use crate::task::{self, Batch, Plane, Task, Waited};
use job::{Job, weight};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

type LaneGuard<'a> = MutexGuard<'a, Lane<Task, StreamKey>>;

pub(crate) enum Driver {
    Threads(Workers),
    Stepped(Arc<Stepper>),
}

/// Copies that are run under one claim, at most. Large enough that the lane's lock does not travel
/// between the submitting thread and the executing one all the time.
const GROUP: usize = 512;
/// Bytes that are run under one claim: the end of the group is when anybody learns of it, about a
/// millisecond later.
const GROUP_BYTES: usize = 16 << 20;
/// Entries of this length on average may bypass the cache.
const STREAMED: usize = 1 << 10;
/// From this weight on work is shared between threads.
pub(crate) const SHARED: usize = 1 << 20;

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
const TURN: usize = 16;

impl Limit {
    pub(crate) const ONE: Limit = Limit { until: u64::MAX, tasks: 1, claims: TURN };
    /// What a worker does before it looks at other streams.
    pub(crate) const TURN: Limit = Limit { until: u64::MAX, tasks: usize::MAX, claims: TURN };

    pub(crate) fn until(sequence: u64) -> Limit {
        Limit { until: sequence, tasks: usize::MAX, claims: usize::MAX }
    }
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
        let lane = lock(&stream.track.lane);
        if self.streams.get(key).is_none() {
            return fail(Error::Handle { what: "stream", handle: key.raw() });
        }
        Ok(self.accept(key, stream, lane, task))
    }

    /// Queues an ordinary copy on a stream of the current context. `false`: the stream has ended,
    /// nothing has happened, and the full check says so.
    #[inline]
    pub(crate) fn submit_ordinary(&self, key: StreamKey, slot: &Slot<Stream>, span: Span) -> bool {
        let lane = lock(&slot.value.track.lane);
        // A context ends its streams before it ends, so a stream that lives has a context that lives.
        let lives = slot.holds(key);
        if lives {
            // Ordinary calls have neither a schedule nor an observer.
            self.accept_copy(key, &slot.value, lane, span, false);
        }
        lives
    }

    /// Numbers a task and does it or queues it.
    #[inline]
    fn accept(&self, key: StreamKey, stream: &Stream, lane: LaneGuard<'_>, task: Task) -> u64 {
        let directed = self.is_directed();
        if let Task::Copy(span) = task {
            return self.accept_copy(key, stream, lane, span, directed);
        }
        stream.volume.store(stream.volume.load(Ordering::Relaxed) + task.volume(), Ordering::Relaxed);
        match task {
            Task::Batch(batch) if lane.is_idle() && !directed && budget::spend_all(&batch) => {
                self.copy_on_the_spot(key, stream, lane, &batch.spans)
            }
            task => self.enqueue(key, stream, lane, task, directed),
        }
    }

    /// Numbers a copy. A small one on an idle stream is done at once.
    #[inline]
    fn accept_copy(&self, key: StreamKey, stream: &Stream, mut lane: LaneGuard<'_>, span: Span, directed: bool) -> u64 {
        stream.volume.store(stream.volume.load(Ordering::Relaxed) + span.len, Ordering::Relaxed);
        if span.len <= budget::LONGEST && lane.is_idle() && !directed && budget::spend(span) {
            let sequence = lane.pass();
            stream.set_newest(sequence);
            if bytes::copy(span).is_err() {
                self.note_failure(key, sequence, "copy", task::inaccessible(span)(Fault));
            }
            stream.track.completion.advance(sequence);
            drop(lane);
            self.look_again();
            return sequence;
        }
        self.enqueue(key, stream, lane, Task::Copy(span), directed)
    }

    /// Does a short batch on an idle stream at once.
    fn copy_on_the_spot(&self, key: StreamKey, stream: &Stream, mut lane: LaneGuard<'_>, spans: &[Span]) -> u64 {
        let sequence = lane.pass();
        stream.set_newest(sequence);
        if let Err(failed) = bytes::copy_in_order(spans, 0..spans.len()) {
            self.note_failure(key, sequence, "batch copy", task::inaccessible(spans[failed])(Fault));
        }
        stream.track.completion.advance(sequence);
        sequence
    }

    /// Whether a schedule or an observer wants to have every task in its hands.
    #[inline]
    pub(crate) fn is_directed(&self) -> bool {
        !matches!((&self.driver, &self.probe), (Driver::Threads(_), None))
    }

    #[inline]
    fn enqueue(&self, key: StreamKey, stream: &Stream, mut lane: LaneGuard<'_>, task: Task, directed: bool) -> u64 {
        if directed && let Some(probe) = self.probe() {
            let at = StreamPoint { stream: key, sequence: lane.submitted() + 1 };
            self.tell_submitted(probe, at.into(), &task);
        }
        let sequence = lane.push(task);
        stream.set_newest(sequence);
        if !stream.is_noted.load(Ordering::Relaxed) {
            stream.is_noted.store(true, Ordering::Relaxed);
            lock(&self.busy).push(key);
        }
        let news = lane.list();
        drop(lane);
        if news {
            self.announce(key);
        }
        if directed && let Driver::Stepped(stepper) = &self.driver {
            stepper.after_submit(self);
        }
        sequence
    }

    /// Passes a point of an idle stream at once; `None` when the stream has work.
    pub(crate) fn pass(&self, stream: &Stream) -> Option<u64> {
        if self.is_directed() {
            return None;
        }
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
        let stop = self.advance(key, limit);
        if stop == Stop::Limit {
            self.list(key);
        }
        stop
    }

    /// The same; at the limit the caller sees to it that the stream is listed.
    fn advance(&self, key: StreamKey, limit: Limit) -> Stop {
        let stream = self.streams.slot(key);
        let (mut left, mut claims) = (limit.tasks, limit.claims);
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
            claims = claims.saturating_sub(if first.volume() > 0 { TURN } else { 1 });
            if let Task::Copy(span) = first {
                let most = left.min((limit.until - sequence.min(limit.until)) as usize);
                // An observer is told of each copy in its moment.
                let most = if self.probe.is_some() { 0 } else { most };
                let mut rest = if most > 0 { lane.take() } else { VecDeque::new() };
                drop(lane);
                let newest = sequence + rest.len() as u64;
                let group = self.gather(&mut rest, span, most);
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
                    Outcome::Held => return Stop::Busy,
                    Outcome::Finished(Ok(())) => {}
                    Outcome::Finished(Err(error)) => self.note_failure(key, sequence, name, *error),
                }
            }
            self.finish(key, sequence);
            if sequence >= limit.until || left == 0 || claims == 0 {
                return Stop::Limit;
            }
        }
    }

    /// Takes copies that wait behind `first`, at most so many more. `None` when there are none.
    fn gather(&self, rest: &mut VecDeque<Task>, first: Span, most: usize) -> Option<Spans> {
        let mut take = || match rest.front() {
            Some(Task::Copy(span)) => {
                let span = *span;
                rest.pop_front();
                Some(span)
            }
            _ => None,
        };
        let second = take()?;
        let mut group = self.shelf.list(GROUP);
        group.extend([first, second]);
        let mut bytes = first.len + second.len;
        while group.len() <= most.min(GROUP - 1) && bytes < GROUP_BYTES {
            let Some(span) = take() else { break };
            bytes += span.len;
            group.push(span);
        }
        Some(group)
    }

    /// Gives back what was taken out of a lane and is not started now.
    fn put_back(&self, key: StreamKey, rest: VecDeque<Task>, newest: u64) {
        let dropped = lock(&self.streams.slot(key).track.lane).put_back(rest, newest);
        for task in dropped.into_iter().flatten() {
            self.discard(key, task);
        }
    }

    /// A task that will not run. A run of a graph that it stood for is given up, and still finishes.
    fn discard(&self, key: StreamKey, task: Task) -> Option<Arc<Run>> {
        match task {
            Task::Wait { after, event } => self.wait_is_over(key, &after, event),
            Task::Join(run) => {
                run.is_cancelled.store(true, Ordering::Release);
                return Some(run);
            }
            Task::Release(leaving) => {
                // What still runs in front of it may use the memory.
                let newest = self.streams.slot(key).newest();
                self.arrive(&leaving, StreamPoint { stream: key, sequence: newest });
            }
            _ => {}
        }
        None
    }

    fn copy_one(&self, key: StreamKey, sequence: u64, span: Span) {
        let stream = self.streams.slot(key);
        let manner = Manner::of(stream.volume.load(Ordering::Relaxed));
        if let Err(error) = self.guarded(stream, || self.copy_span(span, manner)) {
            self.note_failure(key, sequence, "copy", *error);
        }
    }

    /// Copies that were queued one behind the other. Shared between threads when they are much and
    /// their order does not show.
    fn copy_group(&self, key: StreamKey, first: u64, group: &[Span]) {
        let stream = self.streams.slot(key);
        let bytes = group.iter().map(|span| span.len).sum();
        if let Driver::Threads(workers) = &self.driver
            && weight(group.len(), bytes) >= SHARED
            && !self.is_stopped(stream)
        {
            let mut sorted = self.shelf.list(group.len());
            if spans::commute(group, &mut sorted) {
                let manner = self.manner(stream.volume.load(Ordering::Relaxed), group.len(), bytes);
                if workers.share(self, Job::many(sorted, manner)).is_ok() {
                    return;
                }
                // Something was not accessible: once more in order, which says what. Nothing of it was
                // overwritten, so that copying it again changes nothing.
            }
        }
        if group.iter().any(|span| span.len >= SHARED) {
            for (number, span) in (first..).zip(group) {
                self.copy_one(key, number, *span);
            }
            return;
        }
        let mut next = 0;
        while next < group.len() && !self.is_stopped(stream) {
            let Err(failed) = bytes::copy_in_order(group, next..group.len()) else { return };
            let error = task::inaccessible(group[failed])(Fault);
            self.note_failure(key, first + failed as u64, "copy", error);
            next = failed + 1;
        }
    }

    /// How to copy entries that are part of so much work. Short ones always go through the cache.
    fn manner(&self, volume: usize, entries: usize, bytes: usize) -> Manner {
        if bytes / entries < STREAMED { Manner::Cached } else { Manner::of(volume) }
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
        let runs = dropped.into_iter().filter_map(|task| self.discard(key, task)).collect();
        for watcher in watchers {
            self.list(watcher);
        }
        runs
    }

    /// Waits until a stream has come to a point; `false` when `deadline` came first.
    pub(crate) fn wait(&self, point: StreamPoint, deadline: Option<Instant>) -> bool {
        let stream = self.streams.slot(point.stream);
        let reached = stream.track.completion.done() >= point.sequence
            || match &self.driver {
                Driver::Threads(workers) => workers.wait(self, point, deadline),
                Driver::Stepped(stepper) => stepper.wait(self, point, deadline),
            };
        if reached {
            stream.forget_volume();
            budget::renew();
        }
        self.tell_waited(point, reached)
    }

    /// Work for several threads will be there in a moment: a sleeping worker gets up meanwhile.
    pub(crate) fn rouse(&self) {
        if let Driver::Threads(workers) = &self.driver {
            workers.rouse(self);
        }
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
            moving => {
                let volume = stream.volume.load(Ordering::Relaxed);
                self.guarded(stream, || self.move_bytes(moving, volume))
            }
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

    /// `volume`: bytes that this is part of.
    pub(crate) fn move_bytes(&self, task: Task, volume: usize) -> Result<()> {
        let alone = |span: Span| self.copy_span(span, Manner::of(span.len));
        match task {
            Task::Copy(span) => self.copy_span(span, Manner::of(volume)),
            Task::Batch(batch) => self.copy_batch(*batch, volume),
            Task::Plane(plane) => self.copy_plane(*plane, volume),
            Task::Staged { buffer, target } => {
                alone(Span { target, source: buffer.as_ptr() as usize, len: buffer.len() })
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
            Task::Described { descriptor, form } => alone(task::described(&self.memory, descriptor, form)?),
            Task::Indirect(indirect) => alone(indirect.resolve(&self.memory)?),
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
    pub(crate) fn copy_span(&self, span: Span, manner: Manner) -> Result<()> {
        let copied = match &self.driver {
            Driver::Threads(workers) if span.len >= SHARED => workers.share(self, Job::one(span, manner)),
            _ => bytes::copy_as(span, manner),
        };
        Ok(copied.map_err(task::inaccessible(span))?)
    }

    /// Copies many ranges, in any order, as part of so many bytes.
    pub(crate) fn copy_batch(&self, mut batch: Batch, volume: usize) -> Result<()> {
        let Batch { spans, bytes } = &mut batch;
        let (Some(first), count) = (spans.first().copied(), spans.len()) else { return Ok(()) };
        let manner = self.manner(volume.max(*bytes), count, *bytes);
        let copied = match &self.driver {
            Driver::Threads(workers) if weight(count, *bytes) >= SHARED => {
                workers.share(self, Job::many(batch.spans, manner))
            }
            Driver::Threads(_) => bytes::copy_unordered(spans.as_slice(), 0..count, manner),
            Driver::Stepped(stepper) => {
                stepper.shuffle(spans);
                bytes::copy_in_order(spans.as_slice(), 0..count).map_err(|_| Fault)
            }
        };
        Ok(copied.map_err(task::inaccessible(first))?)
    }

    /// Copies rows, in any order, as part of so many bytes.
    pub(crate) fn copy_plane(&self, plane: Plane, volume: usize) -> Result<()> {
        let bytes = plane.width * plane.height;
        let manner = self.manner(volume.max(bytes), plane.height, bytes);
        let copied = match &self.driver {
            Driver::Threads(workers) if weight(plane.height, bytes) >= SHARED => {
                workers.share(self, Job::rows(plane, manner))
            }
            Driver::Threads(_) => bytes::copy_unordered(&plane, 0..plane.height, manner),
            Driver::Stepped(_) => {
                let mut spans = self.shelf.list(plane.height);
                spans.extend((0..plane.height).map(|index| plane.row(index)));
                return self.copy_batch(Batch { spans, bytes }, volume);
            }
        };
        Ok(copied.map_err(task::inaccessible(plane.row(0)))?)
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
                // For good: a stopped context is rare, and short ways do not ask for it.
                self.oddities.fetch_add(1, Ordering::SeqCst);
                context.stop(error);
            }
        }
    }
}
