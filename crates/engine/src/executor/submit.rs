//! Submitting: a checked task gets its number and is queued, or is done on the spot.

use super::{Executor, LaneGuard, budget};
use crate::bytes::{self, AccessFault, Span};
use crate::context::ContextKey;
use crate::error::{Error, HandleKind, Result, fail};
use crate::handle::Slot;
use crate::injection::InjectionOutcome;
use crate::machine::Machine;
use crate::stream::{Stream, StreamKey, StreamPoint};
use crate::sync::{Ordering, lock};
use crate::task::{self, DeferredFailure, Task};

impl Machine {
    /// Queues a checked task on a stream of the context; returns its number.
    pub(crate) fn submit(&self, key: StreamKey, stream: &Stream, context: ContextKey, task: Task) -> Result<u64> {
        if stream.context() != Some(context) {
            return fail(self.other_context("stream", stream, context));
        }
        self.contexts.slot(context).check()?;
        let is_special = self.devices[stream.device() as usize].flags.load(Ordering::Acquire) != 0;
        if is_special {
            self.check_device_usable(stream.device())?;
        }
        if stream.is_redirected() {
            return self.divert(key, stream, context, task);
        }
        let task = if is_special { self.apply_injection(key, stream, task) } else { task };
        let _hearing = self.fault_guard();
        let lane = lock(&stream.track.lane);
        if self.streams.get(key).is_none() {
            return fail(Error::Handle { what: HandleKind::Stream, handle: key.raw() });
        }
        Ok(self.accept(key, stream, lane, task))
    }

    /// What fault rules make of a task: the same, or one that fails; the stream may have to wait first.
    #[cold]
    fn apply_injection(&self, key: StreamKey, stream: &Stream, task: Task) -> Task {
        match self.outcome_for_task(key, stream, &task) {
            InjectionOutcome::Run => task,
            InjectionOutcome::Wait(vigil) => {
                let lane = lock(&stream.track.lane);
                if self.streams.get(key).is_some() {
                    self.accept(key, stream, lane, Task::Await(vigil));
                }
                task
            }
            InjectionOutcome::Fail(error) => {
                let kind = task.kind();
                let run = match task {
                    Task::Node { run, .. } => Some(run),
                    _ => None,
                };
                Task::Fail(Box::new(DeferredFailure { error, kind, run }))
            }
        }
    }

    /// Queues an ordinary copy on a stream of the current context. `false`: the stream has ended,
    /// nothing has happened, and the full check says so.
    #[inline]
    pub(crate) fn submit_fast(&self, key: StreamKey, slot: &Slot<Stream>, span: Span) -> bool {
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
        let directed = self.must_queue_all();
        if let Task::Copy(span) = task {
            return self.accept_copy(key, stream, lane, span, directed);
        }
        stream.volume.store(budget::add_volume(task.volume()), Ordering::Relaxed);
        match task {
            Task::Batch(batch) if lane.is_idle() && !directed && budget::try_spend_batch(&batch) => {
                self.copy_batch_inline(key, stream, lane, &batch.spans)
            }
            task => self.enqueue(key, stream, lane, task, directed),
        }
    }

    /// Numbers a copy. A small one on an idle stream is done at once.
    #[inline]
    fn accept_copy(&self, key: StreamKey, stream: &Stream, mut lane: LaneGuard<'_>, span: Span, directed: bool) -> u64 {
        if span.len <= budget::MAX_INLINE_COPY && lane.is_idle() && !directed && budget::try_spend(span) {
            let sequence = lane.push_completed();
            stream.set_newest(sequence);
            if bytes::copy(span).is_err() {
                self.record_failure(key, sequence, "copy", task::inaccessible(span)(AccessFault));
            }
            stream.track.completion.publish_without_wake(sequence);
            drop(lane);
            self.poll_external_waits();
            return sequence;
        }
        stream.volume.store(budget::add_volume(span.len), Ordering::Relaxed);
        if directed {
            return self.enqueue(key, stream, lane, Task::Copy(span), directed);
        }
        let sequence = lane.push_made(|| Task::Copy(span));
        self.after_enqueue(key, stream, lane, sequence);
        sequence
    }

    /// Does a short batch on an idle stream at once.
    fn copy_batch_inline(&self, key: StreamKey, stream: &Stream, mut lane: LaneGuard<'_>, spans: &[Span]) -> u64 {
        let sequence = lane.push_completed();
        stream.set_newest(sequence);
        if let Err(failed) = bytes::copy_in_order(spans, 0..spans.len()) {
            self.record_failure(key, sequence, "batch copy", task::inaccessible(spans[failed])(AccessFault));
        }
        stream.track.completion.publish_without_wake(sequence);
        sequence
    }

    /// Whether a schedule or an observer wants to have every task in its hands.
    #[inline]
    pub(crate) fn must_queue_all(&self) -> bool {
        !matches!((&self.driver, &self.probe), (Executor::Threads(_), None))
    }

    #[inline]
    fn enqueue(&self, key: StreamKey, stream: &Stream, mut lane: LaneGuard<'_>, task: Task, directed: bool) -> u64 {
        if directed && let Some(probe) = self.probe() {
            let at = StreamPoint { stream: key, sequence: lane.submitted() + 1 };
            self.emit_submitted(probe, at.into(), stream.device(), &task);
        }
        let sequence = lane.push(task);
        self.after_enqueue(key, stream, lane, sequence);
        if directed && let Executor::Stepped(stepper) = &self.driver {
            stepper.after_submit(self);
        }
        sequence
    }

    /// A task was put into a lane: whoever has to know is told.
    #[inline]
    fn after_enqueue(&self, key: StreamKey, stream: &Stream, mut lane: LaneGuard<'_>, sequence: u64) {
        stream.set_newest(sequence);
        if !stream.is_in_busy_list.load(Ordering::Relaxed) {
            stream.is_in_busy_list.store(true, Ordering::Relaxed);
            lock(&self.busy).push(key);
        }
        let news = lane.mark_ready();
        drop(lane);
        if news {
            self.enqueue_ready(key);
        }
    }

    /// Passes a point of an idle stream at once; `None` when the stream has work, or `submit` has to look at it.
    pub(crate) fn push_completed(&self, key: StreamKey, stream: &Stream) -> Option<u64> {
        let is_special = self.devices[stream.device() as usize].flags.load(Ordering::Acquire) != 0;
        if is_special || self.must_queue_all() {
            return None;
        }
        let mut lane = lock(&stream.track.lane);
        (lane.is_idle() && self.streams.get(key).is_some()).then(|| {
            let sequence = lane.push_completed();
            stream.set_newest(sequence);
            stream.track.completion.publish_without_wake(sequence);
            sequence
        })
    }
}
