//! Executing: what each kind of task does when it runs.
//!
//! Claiming, and publishing the end of a task, is in `run`.

use crate::executor::Executor;
use crate::executor::job::{Job, SHARE_MIN_WEIGHT, weight};
use crate::executor::run::TaskOutcome;
use crate::graph::run::GraphRun;
use crate::host::{Delivery, HostCall, Posted};
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::stream::Stream;
use crate::task::descriptor::described;
use crate::task::kernel::Kernel;
use crate::task::moves::{self, Batch, Move, Plane};
use crate::task::operation::OperationRun;
use crate::task::{ConditionProgress, Control, Node, PendingOperation, Task};
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes::{self, AccessFault, CachePolicy, Span};
use softacl_sync::facade::{Ordering, fence, lock};
use std::sync::Arc;

impl Machine {
    /// Executes a claimed task.
    pub(crate) fn execute(&self, key: StreamKey, stream: &Stream, sequence: u64, task: Task) -> TaskOutcome {
        match task {
            Task::Control(work) => self.execute_control(key, stream, sequence, work),
            Task::Move(Move::Kernel(kernel)) if kernel.is_operation() => {
                self.begin_operation(stream, sequence, &kernel, None)
            }
            Task::Move(work) => {
                let volume = stream.volume.load(Ordering::Relaxed);
                TaskOutcome::Finished(self.unless_stopped(stream, || self.move_bytes(work, volume, stream.device())))
            }
        }
    }

    /// Executes a task that moves no bytes.
    fn execute_control(&self, key: StreamKey, stream: &Stream, sequence: u64, work: Control) -> TaskOutcome {
        let result = match work {
            Control::Host(call) => return self.execute_host_call((key, sequence), stream, *call, None),
            Control::Record { event, generation } => {
                self.mark_reached(event, generation);
                Ok(())
            }
            Control::RecordShared { counters, record } => {
                counters.mark_reached(record);
                Ok(())
            }
            Control::Wait(wait) => {
                self.finish_wait(key, &wait);
                wait.limit.map_or(Ok(()), |limit| limit.result())
            }
            Control::Node { node, run } if run.is_canceled.load(Ordering::Acquire) => {
                node.cancel();
                Ok(())
            }
            Control::Node { node, run } => return self.execute_node(key, stream, sequence, &node, &run),
            Control::Resumed(progress) => return self.resume_condition(stream, sequence, progress),
            Control::Operation(pending) => return self.resume_operation(stream, sequence, pending),
            Control::Join(run) => self.run_result(&run),
            Control::Update(update) => {
                update.apply();
                Ok(())
            }
            Control::ResetGraphEvent(graph_event) => {
                graph_event.reset();
                Ok(())
            }
            Control::Await(wait) => wait.result(),
            Control::Change { counter, change } => {
                counter.update(|value| Some(change.apply(value)));
                Ok(())
            }
            Control::Release(pending) => {
                self.finish_release(&pending, StreamPoint { stream: key, sequence: sequence - 1 });
                Ok(())
            }
            Control::Flow(task) => {
                self.execute_flow(stream, StreamPoint { stream: key, sequence }, *task);
                Ok(())
            }
            Control::Annotation(_) | Control::Nothing(_) | Control::Disabled(_) => Ok(()),
            Control::Fail(failure) => match failure.run {
                None => self.unless_stopped(stream, || fail(failure.error)),
                Some(run) => {
                    let error = self.as_task_failure(failure.error);
                    self.fail_run(stream, &run, error.of_task(failure.kind.name(), sequence));
                    Ok(())
                }
            },
            // Occur only as steps of a graph, and `execute_node` and `execute_flow` run those.
            Control::Condition(_) | Control::LabelSwitch(_) | Control::StreamSwitch(_) => {
                fail(Error::Internal("a conditional task outside a graph".to_owned()))
            }
        };
        TaskOutcome::Finished(result)
    }

    /// Executes one step of a graph. Its failure belongs to the run, not to the stream of the branch.
    fn execute_node(
        &self,
        key: StreamKey,
        stream: &Stream,
        sequence: u64,
        node: &Arc<Node>,
        run: &Arc<GraphRun>,
    ) -> TaskOutcome {
        let outcome = match node.current() {
            // The content must outlive the task, which may borrow from it.
            Ok(content) => match content.task() {
                Ok(Task::Control(Control::Condition(condition))) => {
                    match ConditionProgress::new(condition, node, run) {
                        Ok(progress) => return self.resume_condition(stream, sequence, Box::new(progress)),
                        Err(error) => TaskOutcome::Finished(Err(error)),
                    }
                }
                Ok(Task::Control(Control::Host(call))) => {
                    self.execute_host_call((key, sequence), stream, *call, Some(Arc::clone(run)))
                }
                Ok(Task::Move(Move::Kernel(kernel))) if kernel.is_operation() => {
                    self.begin_operation(stream, sequence, &kernel, Some((Arc::clone(node), Arc::clone(run))))
                }
                Ok(task) => self.execute(key, stream, sequence, task),
                Err(error) => TaskOutcome::Finished(Err(error)),
            },
            Err(error) => TaskOutcome::Finished(Err(error)),
        };
        let TaskOutcome::Finished(Err(error)) = outcome else { return outcome };
        self.fail_run(stream, run, self.as_task_failure(*error).of_task(node.name(), sequence));
        TaskOutcome::Finished(Ok(()))
    }

    /// Continues a conditional task until it ends or yields.
    fn resume_condition(&self, stream: &Stream, sequence: u64, mut progress: Box<ConditionProgress>) -> TaskOutcome {
        match self.advance_condition(stream, &mut progress) {
            Ok(true) => {}
            Ok(false) => return TaskOutcome::Yielded(Task::Control(Control::Resumed(progress))),
            Err(error) => {
                let error = self.as_task_failure(*error).of_task(progress.node.name(), sequence);
                self.fail_run(stream, &progress.run, error);
            }
        }
        TaskOutcome::Finished(Ok(()))
    }

    /// Begins an operation, as a separate task or as a step of a graph.
    fn begin_operation(
        &self,
        stream: &Stream,
        sequence: u64,
        kernel: &Arc<Kernel>,
        step: Option<(Arc<Node>, Arc<GraphRun>)>,
    ) -> TaskOutcome {
        match (!self.is_stopped(stream)).then(|| OperationRun::begin(kernel)).flatten() {
            Some(run) => self.resume_operation(stream, sequence, Box::new(PendingOperation::new(run, step))),
            None => TaskOutcome::Finished(Ok(())),
        }
    }

    /// Continues an operation until it ends or waits for others.
    fn resume_operation(&self, stream: &Stream, sequence: u64, pending: Box<PendingOperation>) -> TaskOutcome {
        if pending.is_canceled() || self.is_stopped(stream) {
            return TaskOutcome::Finished(Ok(()));
        }
        match (pending.run().step(), &pending.step) {
            (Ok(true), _) => TaskOutcome::Finished(Ok(())),
            (Ok(false), _) => TaskOutcome::Yielded(Task::Control(Control::Operation(pending))),
            (Err(error), None) => TaskOutcome::Finished(Err(error)),
            (Err(error), Some((node, run))) => {
                self.fail_run(stream, run, self.as_task_failure(*error).of_task(node.name(), sequence));
                TaskOutcome::Finished(Ok(()))
            }
        }
    }

    /// Records the failure of a run.
    fn fail_run(&self, stream: &Stream, run: &GraphRun, error: Error) {
        let error = error.in_graph();
        self.stop_context(stream, &error);
        run.fail(error);
    }

    /// Moves bytes on a device, as a part of `volume` bytes that the stream moves together.
    pub(crate) fn move_bytes(&self, work: Move, volume: usize, device: u32) -> Result<()> {
        let alone = |span: Span| self.copy_span(span, CachePolicy::of(span.len));
        match work {
            Move::Copy(span) => self.copy_span(span, CachePolicy::of(volume)),
            Move::Batch(batch) => self.copy_batch(*batch, volume),
            Move::Plane(plane) => self.copy_plane(*plane, volume),
            Move::Staged { buffer, target } => {
                alone(Span { target, source: buffer.as_ptr() as usize, len: buffer.len() })
            }
            Move::Fill { target, byte, len } => {
                let span = Span { target, source: target, len };
                // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                Ok(unsafe { bytes::fill(target, byte, len) }.map_err(moves::inaccessible(span))?)
            }
            Move::FillWords { target, word, count } => {
                let span = Span { target, source: target, len: 4 * count };
                // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                Ok(unsafe { bytes::fill_words(target, word, count) }.map_err(moves::inaccessible(span))?)
            }
            Move::WriteValue { target, value } => {
                let span = Span { target, source: target, len: size_of::<u64>() };
                // Orders the earlier writes of the stream before the value.
                fence(Ordering::Release);
                // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                Ok(unsafe { bytes::write(target, &value.to_le_bytes()) }.map_err(moves::inaccessible(span))?)
            }
            Move::Reduce(reduction) => reduction.run(),
            Move::Rearrange(rearranged) => {
                let [(source, len), (target, _)] = rearranged.plan.extents();
                // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                Ok(unsafe { rearranged.plan.run() }.map_err(moves::inaccessible(Span { target, source, len }))?)
            }
            Move::Described { descriptor, form } => {
                let span = described(&self.memory, descriptor, form)?;
                self.check_device_reaches(device, [descriptor, descriptor], span)?;
                alone(span)
            }
            Move::Indirect(indirect) => {
                let span = indirect.resolve(&self.memory)?;
                self.check_device_reaches(device, [indirect.source_cell, indirect.target_cell], span)?;
                alone(span)
            }
            Move::Random(random) => random.run(),
            Move::Kernel(kernel) => kernel.run(),
        }
    }

    /// Refuses addresses that a device has read, and a copy that they describe, if they are on a device that it may not
    /// access.
    fn check_device_reaches(&self, device: u32, cells: [usize; 2], span: Span) -> Result<()> {
        // Both ends of such a copy are on one device.
        for address in cells.into_iter().chain([self.memory.program_address(span.target)]) {
            if let Some(other) = self.memory.device_of_mapped(address) {
                self.check_peers(device, other)?;
            }
        }
        Ok(())
    }

    /// Copies one range. Other threads help if it is large.
    pub(crate) fn copy_span(&self, span: Span, cache_policy: CachePolicy) -> Result<()> {
        let copied = match &self.executor {
            Executor::Threads(workers) if span.len >= SHARE_MIN_WEIGHT => {
                workers.share(self, Job::one(span, cache_policy))
            }
            // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
            Executor::Threads(_) => unsafe { bytes::copy_as(span, cache_policy) },
            Executor::Stepped(stepper) => stepper.copy(self, span, cache_policy),
        };
        Ok(copied.map_err(moves::inaccessible(span))?)
    }

    /// Copies several ranges, in any order, as a part of `volume` bytes.
    pub(crate) fn copy_batch(&self, mut batch: Batch, volume: usize) -> Result<()> {
        let Batch { spans, bytes } = &mut batch;
        let (Some(first), count) = (spans.first().copied(), spans.len()) else { return Ok(()) };
        let cache_policy = self.cache_policy(volume.max(*bytes), count, *bytes);
        let copied = match &self.executor {
            Executor::Threads(workers) if weight(count, *bytes) >= SHARE_MIN_WEIGHT => {
                workers.share(self, Job::many(batch.spans, cache_policy))
            }
            // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
            Executor::Threads(_) => unsafe { bytes::copy_unordered(spans.as_slice(), 0..count, cache_policy) },
            Executor::Stepped(stepper) => {
                stepper.shuffle(spans);
                // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                unsafe { bytes::copy_in_order(spans.as_slice(), 0..count) }.map_err(|_| AccessFault)
            }
        };
        Ok(copied.map_err(moves::inaccessible(first))?)
    }

    /// Copies rows, in any order, as a part of `volume` bytes.
    pub(crate) fn copy_plane(&self, plane: Plane, volume: usize) -> Result<()> {
        let bytes = plane.width * plane.height;
        let cache_policy = self.cache_policy(volume.max(bytes), plane.height, bytes);
        let copied = match &self.executor {
            Executor::Threads(workers) if weight(plane.height, bytes) >= SHARE_MIN_WEIGHT => {
                workers.share(self, Job::rows(plane, cache_policy))
            }
            // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
            Executor::Threads(_) => unsafe { bytes::copy_unordered(&plane, 0..plane.height, cache_policy) },
            Executor::Stepped(_) => {
                // Without memory for the list, the rows are copied in ascending order, which the schedule allows.
                let Some(mut spans) = self.span_pool.list_of(plane.height) else {
                    // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                    let copied = unsafe { bytes::copy_unordered(&plane, 0..plane.height, cache_policy) };
                    return Ok(copied.map_err(moves::inaccessible(plane.row(0)))?);
                };
                spans.extend((0..plane.height).map(|index| plane.row(index)));
                return self.copy_batch(Batch { spans, bytes }, volume);
            }
        };
        Ok(copied.map_err(moves::inaccessible(plane.row(0)))?)
    }

    /// Executes a host function or a callback: hands it to the thread that runs it.
    fn execute_host_call(
        &self,
        at: (StreamKey, u64),
        stream: &Stream,
        call: HostCall,
        run: Option<Arc<GraphRun>>,
    ) -> TaskOutcome {
        let HostCall { function, delivery } = call;
        let holds_stream = match delivery {
            Delivery::ContextThread => true,
            Delivery::Subscriber { holds_stream, .. } | Delivery::SubscriberOf { holds_stream, .. } => holds_stream,
        };
        let posted = Posted { function, at, holds_stream, run };
        // Set before the call is handed over: it may return before this function does.
        stream.is_held.store(true, Ordering::Release);
        let handed_over = match delivery {
            Delivery::ContextThread => self.post_to_context(stream, posted),
            Delivery::Subscriber { thread, .. } => self.post_to_subscriber(Some(thread), posted),
            Delivery::SubscriberOf { stream, .. } => {
                self.post_to_subscriber(self.subscriptions.subscriber(stream), posted)
            }
        };
        if handed_over.is_ok() && holds_stream {
            return TaskOutcome::Held;
        }
        stream.is_held.store(false, Ordering::Release);
        TaskOutcome::Finished(handed_over)
    }

    /// Hands a call to a subscribed thread.
    fn post_to_subscriber(&self, thread: Option<u64>, posted: Posted) -> Result<()> {
        let is_posted = thread.is_some_and(|thread| self.subscriptions.post(thread, posted));
        if is_posted { Ok(()) } else { fail(Error::NoCallbackThread) }
    }

    /// Hands a call to the host-function thread of the context of its stream.
    fn post_to_context(&self, stream: &Stream, posted: Posted) -> Result<()> {
        let context = self.contexts.slot(stream.context().ok_or(Error::ContextGone)?);
        self.start_host_thread(context)?;
        let is_posted = lock(&context.host).as_ref().is_some_and(|thread| thread.post(posted));
        if is_posted { Ok(()) } else { fail(Error::ContextGone) }
    }
}
