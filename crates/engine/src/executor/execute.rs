//! Executing: what each kind of task does when its turn has come.

use super::job::{Job, weight};
use super::{Executor, SHARED, TaskOutcome};
use crate::bytes::{self, AccessFault, CachePolicy, Span};
use crate::context::Context;
use crate::error::{Error, Result, fail};
use crate::graph::{ConditionProgress, GraphRun, Node};
use crate::host::{Delivery, HostCall, HostThread};
use crate::machine::Machine;
use crate::stream::{Stream, StreamKey, StreamPoint};
use crate::sync::{Ordering, fence, lock};
use crate::task::{self, Batch, Plane, Task};
use std::sync::Arc;

impl Machine {
    /// Runs `work` unless a failure has stopped the context, which turns later tasks into nothing.
    pub(super) fn unless_stopped(&self, stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_stopped(stream) { Ok(()) } else { work() }
    }

    pub(crate) fn is_stopped(&self, stream: &Stream) -> bool {
        stream.context().is_some_and(|context| self.contexts.slot(context).is_stopped())
    }

    pub(super) fn execute(&self, key: StreamKey, stream: &Stream, sequence: u64, task: Task) -> TaskOutcome {
        let result = match task {
            Task::Host(call) => {
                // Said before the call is on its way: it may be over before we are back.
                stream.is_held.store(true, Ordering::Release);
                let outcome = self.dispatch_host_call(key, stream, sequence, *call);
                if let TaskOutcome::Finished(_) = outcome {
                    stream.is_held.store(false, Ordering::Release);
                }
                return outcome;
            }
            Task::Record { event, generation } => {
                self.mark_reached(event, generation);
                Ok(())
            }
            Task::RecordShared { counters, record } => {
                counters.mark_reached(record);
                Ok(())
            }
            Task::Wait { after, event } => {
                self.wait_is_over(key, &after, event);
                Ok(())
            }
            Task::Node { node, run } if run.is_cancelled.load(Ordering::Acquire) => {
                node.cancel();
                Ok(())
            }
            Task::Node { node, run } => return self.execute_node(key, stream, sequence, &node, &run),
            Task::Resumed(course) => return self.resume_condition(stream, sequence, course),
            Task::Join(run) => run.result(),
            Task::Update(update) => {
                update.apply();
                Ok(())
            }
            Task::ResetGraphEvent(signal) => {
                signal.reset();
                Ok(())
            }
            Task::Await(vigil) => vigil.result(),
            Task::Change { counter, change } => {
                counter.update(|value| Some(change.apply(value)));
                Ok(())
            }
            Task::Release(leaving) => {
                self.finish_release(&leaving, StreamPoint { stream: key, sequence: sequence - 1 });
                Ok(())
            }
            Task::Annotation(_) | Task::CacheOperation => Ok(()),
            Task::Fail(doom) => match doom.run {
                None => self.unless_stopped(stream, || fail(doom.error)),
                Some(run) => {
                    self.fail_run(stream, &run, doom.error.of_task(doom.kind.name(), sequence));
                    Ok(())
                }
            },
            moving => {
                let volume = stream.volume.load(Ordering::Relaxed);
                self.unless_stopped(stream, || self.move_bytes(moving, volume))
            }
        };
        TaskOutcome::Finished(result)
    }

    /// Runs one step of a graph. A failure belongs to the run, not to the stream that carries it.
    fn execute_node(
        &self,
        key: StreamKey,
        stream: &Stream,
        sequence: u64,
        node: &Arc<Node>,
        run: &Arc<GraphRun>,
    ) -> TaskOutcome {
        let outcome = match node.current() {
            // The content stays while the task runs: it may hold what the task reads.
            Ok(content) => match content.task() {
                Ok(Task::Condition(condition)) => match ConditionProgress::new(condition, node, run) {
                    Ok(course) => return self.resume_condition(stream, sequence, Box::new(course)),
                    Err(error) => TaskOutcome::Finished(Err(error)),
                },
                Ok(task) => self.execute(key, stream, sequence, task),
                Err(error) => TaskOutcome::Finished(Err(error)),
            },
            Err(error) => TaskOutcome::Finished(Err(error)),
        };
        let TaskOutcome::Finished(Err(error)) = outcome else { return outcome };
        self.fail_run(stream, run, error.of_task(node.name(), sequence));
        TaskOutcome::Finished(Ok(()))
    }

    /// Runs a conditional task, or some turns of it.
    fn resume_condition(&self, stream: &Stream, sequence: u64, mut course: Box<ConditionProgress>) -> TaskOutcome {
        match self.advance_condition(stream, &mut course) {
            Ok(true) => {}
            Ok(false) => return TaskOutcome::Yielded(Task::Resumed(course)),
            Err(error) => self.fail_run(stream, &course.run, error.of_task(course.node.name(), sequence)),
        }
        TaskOutcome::Finished(Ok(()))
    }

    fn fail_run(&self, stream: &Stream, run: &GraphRun, error: Error) {
        self.stop_context(stream, &error);
        run.fail(error);
    }

    /// `volume`: bytes that this is part of.
    pub(crate) fn move_bytes(&self, task: Task, volume: usize) -> Result<()> {
        let alone = |span: Span| self.copy_span(span, CachePolicy::of(span.len));
        match task {
            Task::Copy(span) => self.copy_span(span, CachePolicy::of(volume)),
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
                // Whoever sees the value sees what the stream wrote before it.
                fence(Ordering::Release);
                Ok(bytes::write(target, &value.to_le_bytes()).map_err(task::inaccessible(span))?)
            }
            Task::CacheOperation => Ok(()),
            Task::Reduce(reduction) => reduction.run(),
            Task::Rearrange(rearranged) => {
                let [(source, len), (target, _)] = rearranged.plan.extents();
                Ok(rearranged.plan.run().map_err(task::inaccessible(Span { target, source, len }))?)
            }
            Task::Described { descriptor, form } => alone(task::described(&self.memory, descriptor, form)?),
            Task::Indirect(indirect) => alone(indirect.resolve(&self.memory)?),
            Task::Record { .. }
            | Task::RecordShared { .. }
            | Task::Wait { .. }
            | Task::Node { .. }
            | Task::Join(_)
            | Task::Condition(_)
            | Task::Resumed(_)
            | Task::Update(_)
            | Task::ResetGraphEvent(_)
            | Task::Host(_)
            | Task::Await(_)
            | Task::Change { .. }
            | Task::Release(_)
            | Task::Annotation(_)
            | Task::Fail(_) => unreachable!("execute handles tasks that move no bytes"),
        }
    }

    /// Copies one range, with the help of other threads when it is large.
    pub(crate) fn copy_span(&self, span: Span, manner: CachePolicy) -> Result<()> {
        let copied = match &self.driver {
            Executor::Threads(workers) if span.len >= SHARED => workers.share(self, Job::one(span, manner)),
            Executor::Threads(_) => bytes::copy_as(span, manner),
            Executor::Stepped(stepper) => stepper.copy(self, span, manner),
        };
        Ok(copied.map_err(task::inaccessible(span))?)
    }

    /// Copies many ranges, in any order, as part of so many bytes.
    pub(crate) fn copy_batch(&self, mut batch: Batch, volume: usize) -> Result<()> {
        let Batch { spans, bytes } = &mut batch;
        let (Some(first), count) = (spans.first().copied(), spans.len()) else { return Ok(()) };
        let manner = self.manner(volume.max(*bytes), count, *bytes);
        let copied = match &self.driver {
            Executor::Threads(workers) if weight(count, *bytes) >= SHARED => {
                workers.share(self, Job::many(batch.spans, manner))
            }
            Executor::Threads(_) => bytes::copy_unordered(spans.as_slice(), 0..count, manner),
            Executor::Stepped(stepper) => {
                stepper.shuffle(spans);
                bytes::copy_in_order(spans.as_slice(), 0..count).map_err(|_| AccessFault)
            }
        };
        Ok(copied.map_err(task::inaccessible(first))?)
    }

    /// Copies rows, in any order, as part of so many bytes.
    pub(crate) fn copy_plane(&self, plane: Plane, volume: usize) -> Result<()> {
        let bytes = plane.width * plane.height;
        let manner = self.manner(volume.max(bytes), plane.height, bytes);
        let copied = match &self.driver {
            Executor::Threads(workers) if weight(plane.height, bytes) >= SHARED => {
                workers.share(self, Job::rows(plane, manner))
            }
            Executor::Threads(_) => bytes::copy_unordered(&plane, 0..plane.height, manner),
            Executor::Stepped(_) => {
                // Without memory for the list the rows are copied as they come, which is an order too.
                let Some(mut spans) = self.shelf.list_of(plane.height) else {
                    let copied = bytes::copy_unordered(&plane, 0..plane.height, manner);
                    return Ok(copied.map_err(task::inaccessible(plane.row(0)))?);
                };
                spans.extend((0..plane.height).map(|index| plane.row(index)));
                return self.copy_batch(Batch { spans, bytes }, volume);
            }
        };
        Ok(copied.map_err(task::inaccessible(plane.row(0)))?)
    }

    /// Starts the thread of a context that runs host functions, unless there is one.
    pub(crate) fn start_host_thread(&self, context: &Context) -> Result<()> {
        let mut host = lock(&context.host);
        if host.is_none() {
            *host = Some(HostThread::start(self.weak())?);
        }
        Ok(())
    }

    /// Hands a call to the thread that runs it.
    fn dispatch_host_call(&self, key: StreamKey, stream: &Stream, sequence: u64, call: HostCall) -> TaskOutcome {
        match call.delivery {
            Delivery::Subscriber { thread, holds_stream } => {
                if !self.subscriptions.post(thread, call, (key, sequence), holds_stream) {
                    return TaskOutcome::Finished(fail(Error::NoCallbackThread));
                }
                if holds_stream { TaskOutcome::Held } else { TaskOutcome::Finished(Ok(())) }
            }
            Delivery::ContextThread => {
                let Some(context) = stream.context() else {
                    return TaskOutcome::Finished(fail(Error::ContextGone));
                };
                let context = self.contexts.slot(context);
                if let Err(error) = self.start_host_thread(context) {
                    return TaskOutcome::Finished(Err(error));
                }
                let host = lock(&context.host);
                let posted = host.as_ref().is_some_and(|thread| thread.post(call, key, sequence));
                if posted { TaskOutcome::Held } else { TaskOutcome::Finished(fail(Error::ContextGone)) }
            }
        }
    }
}
