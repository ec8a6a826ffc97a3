//! Submitting: a validated task gets its number, and is queued or runs inline.
//!
//! `submit_fast` and `accept_copy` are the fast path. They contain only what the common copy needs, and are always inlined:
//! as calls they cost a fifth more instructions per submit.

use crate::executor::run::LaneGuard;
use crate::executor::{Executor, budget};
use crate::injection::InjectionOutcome;
use crate::keys::{ContextKey, StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::slow_path::Reason;
use crate::stream::Stream;
use crate::task::moves::{self, Move};
use crate::task::{Control, DeferredFailure, Task};
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_memory::bytes::{self, AccessFault, Span};
use softacl_sync::facade::{Ordering, lock};
use softacl_sync::handle::Slot;

impl Machine {
    /// Queues a validated task on a stream of the context. Returns its number, or 0 if it was captured.
    #[inline]
    pub(crate) fn submit(
        &self,
        key: StreamKey,
        stream: &Stream,
        context: ContextKey,
        task: impl Into<Task>,
    ) -> Result<u64> {
        self.submit_task(key, stream, context, task.into())
    }

    /// Submits a task after checking the stream, its context and its device.
    fn submit_task(&self, key: StreamKey, stream: &Stream, context: ContextKey, task: Task) -> Result<u64> {
        if stream.context() != Some(context) {
            return fail(self.other_context("stream", stream, context));
        }
        self.contexts.slot(context).check()?;
        if !self.devices[stream.device() as usize].reasons.is_empty() {
            return self.submit_with_reasons(key, stream, context, task);
        }
        if stream.is_redirected() {
            return self.redirect(key, stream, context, task);
        }
        self.submit_to_lane(key, stream, task)
    }

    /// Submits a task on a device that has reasons for the slow path.
    #[cold]
    fn submit_with_reasons(&self, key: StreamKey, stream: &Stream, context: ContextKey, task: Task) -> Result<u64> {
        self.check_device_usable(stream.device())?;
        stream.check_not_aborting(key)?;
        if stream.is_redirected() {
            return self.redirect(key, stream, context, task);
        }
        let task = self.apply_injection(key, stream, task);
        let sequence = self.submit_to_lane(key, stream, task)?;
        self.record_last_task(stream, sequence);
        Ok(sequence)
    }

    #[inline(always)]
    fn submit_to_lane(&self, key: StreamKey, stream: &Stream, task: Task) -> Result<u64> {
        let _guard = self.fault_guard();
        let lane = lock(&stream.tasks.lane);
        if self.streams.get(key).is_none() {
            return fail(Error::Handle { what: HandleKind::Stream, handle: key.raw() });
        }
        Ok(self.accept(key, stream, lane, task))
    }

    /// Applies fault rules to a task: returns it unchanged or as a task that fails, after queueing a delay if a rule
    /// requires one.
    #[cold]
    fn apply_injection(&self, key: StreamKey, stream: &Stream, task: Task) -> Task {
        match self.outcome_for_task(key, stream, &task) {
            InjectionOutcome::Run => task,
            InjectionOutcome::Wait(wait) => {
                let lane = lock(&stream.tasks.lane);
                if self.streams.get(key).is_some() {
                    self.accept(key, stream, lane, Control::Await(wait).into());
                }
                task
            }
            InjectionOutcome::Fail(error) => {
                let (kind, run) = (task.kind(), task.run().cloned());
                let touches =
                    if self.observer().is_some() { task.accesses(&self.memory).into() } else { Box::default() };
                Control::Fail(Box::new(DeferredFailure { error, kind, touches, run })).into()
            }
        }
    }

    /// Queues a copy on a stream of the current context, without further checks. Returns `false`, having done nothing,
    /// if the stream has ended; the full check then returns the error.
    #[inline(always)]
    pub(crate) fn submit_fast(&self, key: StreamKey, slot: &Slot<Stream>, span: Span) -> bool {
        let lane = lock(&slot.value.tasks.lane);
        // A context ends its streams before it ends, so a live stream has a live context.
        let lives = slot.holds(key);
        if lives {
            // The fast path is closed while a schedule or an observer is active.
            self.accept_copy(key, &slot.value, lane, span, false);
        }
        lives
    }

    /// Numbers a task, and runs it inline or queues it.
    #[inline]
    fn accept(&self, key: StreamKey, stream: &Stream, lane: LaneGuard<'_>, task: Task) -> u64 {
        let must_queue = self.must_queue_all();
        if let Task::Move(Move::Copy(span)) = task {
            return self.accept_copy(key, stream, lane, span, must_queue);
        }
        stream.volume.store(budget::add_volume(task.volume()), Ordering::Relaxed);
        match task {
            Task::Move(Move::Batch(batch)) if lane.is_idle() && !must_queue && budget::try_spend_batch(&batch) => {
                self.copy_batch_inline(key, stream, lane, &batch.spans)
            }
            task => self.enqueue(key, stream, lane, task, must_queue),
        }
    }

    /// Numbers a copy. A small one on an idle stream runs inline.
    #[inline(always)]
    fn accept_copy(
        &self,
        key: StreamKey,
        stream: &Stream,
        mut lane: LaneGuard<'_>,
        span: Span,
        must_queue: bool,
    ) -> u64 {
        if span.len <= budget::MAX_INLINE_COPY && lane.is_idle() && !must_queue && budget::try_spend(span) {
            let sequence = lane.push_completed();
            stream.set_newest(sequence);
            // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
            if unsafe { bytes::copy(span) }.is_err() {
                self.record_failure(key, sequence, "copy", moves::inaccessible(span)(AccessFault));
            }
            stream.tasks.completion.publish_without_wake(sequence);
            drop(lane);
            self.poll_external_waits();
            return sequence;
        }
        stream.volume.store(budget::add_volume(span.len), Ordering::Relaxed);
        if must_queue {
            return self.enqueue(key, stream, lane, Move::Copy(span).into(), must_queue);
        }
        let sequence = lane.push_made(|| Task::Move(Move::Copy(span)));
        self.after_enqueue(key, stream, lane, sequence);
        sequence
    }

    /// Runs a short batch on an idle stream inline.
    fn copy_batch_inline(&self, key: StreamKey, stream: &Stream, mut lane: LaneGuard<'_>, spans: &[Span]) -> u64 {
        let sequence = lane.push_completed();
        stream.set_newest(sequence);
        // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
        if let Err(failed) = unsafe { bytes::copy_in_order(spans, 0..spans.len()) } {
            self.record_failure(key, sequence, "batch copy", moves::inaccessible(spans[failed])(AccessFault));
        }
        stream.tasks.completion.publish_without_wake(sequence);
        sequence
    }

    /// True if every task must be queued because a schedule or an observer is active.
    #[inline]
    pub(crate) fn must_queue_all(&self) -> bool {
        self.reasons.has_either(Reason::Schedule, Reason::Observer)
    }

    /// Emits a task, pushes it, and lets a schedule run.
    #[inline]
    fn enqueue(&self, key: StreamKey, stream: &Stream, mut lane: LaneGuard<'_>, task: Task, must_queue: bool) -> u64 {
        if must_queue && let Some(observer) = self.observer() {
            let at = StreamPoint { stream: key, sequence: lane.submitted() + 1 };
            self.emit_submitted(observer, at.into(), stream.device(), &task);
        }
        if must_queue && let Executor::Stepped(stepper) = &self.executor {
            stepper.record_submitted(self, StreamPoint { stream: key, sequence: lane.submitted() + 1 }, &task);
        }
        let sequence = lane.push(task);
        self.after_enqueue(key, stream, lane, sequence);
        if must_queue && let Executor::Stepped(stepper) = &self.executor {
            stepper.after_submit(self);
        }
        sequence
    }

    /// Marks the stream ready after a task was queued.
    #[inline(always)]
    fn after_enqueue(&self, key: StreamKey, stream: &Stream, mut lane: LaneGuard<'_>, sequence: u64) {
        stream.set_newest(sequence);
        if !stream.is_in_busy_list.load(Ordering::Relaxed) {
            stream.is_in_busy_list.store(true, Ordering::Relaxed);
            lock(&self.busy).push(key);
        }
        let is_ready = lane.mark_ready();
        drop(lane);
        if is_ready {
            self.enqueue_ready(key);
        }
    }

    /// Numbers a task that needs no execution, if the stream is idle. `None` if the stream has work, or if `submit`
    /// must check the device.
    pub(crate) fn push_completed(&self, key: StreamKey, stream: &Stream) -> Option<u64> {
        let has_reasons = !self.devices[stream.device() as usize].reasons.is_empty();
        if has_reasons || self.must_queue_all() {
            return None;
        }
        let mut lane = lock(&stream.tasks.lane);
        (lane.is_idle() && self.streams.get(key).is_some()).then(|| {
            let sequence = lane.push_completed();
            stream.set_newest(sequence);
            stream.tasks.completion.publish_without_wake(sequence);
            sequence
        })
    }
}
