//! Aborting a stream, which drops its tasks, and stopping it, which ends only the task that runs.
//!
//! While a stream is being aborted it refuses work and waits. The reason that closes the fast path is held first, so
//! calls on the fast path test nothing.

use crate::caller::Caller;
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::slow_path::Reason;
use crate::stream::Stream;
use crate::stream::calls::check_not_capturing;
use crate::task::{Control, Task};
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::lock;
use softacl_sync::lane::{NotStarted, Readiness};

/// How often a wait for a running task rechecks for calls into the program that reached a thread which cannot start them:
/// it never processes its reports, or it is the waiting thread.
const RECHECK_MS: i32 = 10;

impl Caller<'_> {
    /// Drops the tasks that have not started and waits for the others. 0 is the default stream.
    pub fn abort_stream(&self, raw: usize) -> Result<()> {
        let (key, stream) = self.stream(raw)?;
        check_not_capturing(stream, "aborted")?;
        let reasons = &self.machine.devices[stream.device() as usize].reasons;
        let _reason = self.machine.reasons.hold_for(reasons, Reason::AbortingStream);
        let _aborting = stream.begin_abort();
        let runs = self.machine.drop_pending(key, stream);
        // Wakes stuck steps: their run is canceled.
        self.machine.poll_external_waits();
        let point = StreamPoint { stream: key, sequence: stream.newest() };
        // A call that was being handed to its thread is taken back at the next recheck.
        while !self.machine.wait(point, self.machine.deadline(RECHECK_MS)) {
            self.machine.subscriptions.cancel(self.machine, key);
        }
        for run in &runs {
            self.machine.wait_canceled(run);
        }
        Ok(())
    }

    /// Ends the task that a stream runs and keeps the tasks after it.
    pub fn stop_stream(&self, raw: usize) -> Result<()> {
        let (key, stream) = self.explicit_stream(raw)?.ok_or(Error::Null("stream"))?;
        let context = stream.context().map(|context| self.machine.contexts.slot(context));
        if context.is_some_and(|context| lock(&context.state).default_stream == Some(key)) {
            return fail(Error::Parameter("the default stream of a context cannot be stopped".to_owned()));
        }
        let config = &self.machine.config;
        if config.cann.stop_device_streams.include(config.profile.chip) && !stream.is_for_device() {
            return fail(Error::Feature(format!(
                "CANN {} on {} stops only streams that were created with ACL_STREAM_DEVICE_USE_ONLY",
                config.cann.version, config.profile.soc
            )));
        }
        check_not_capturing(stream, "stopped")?;
        self.machine.stop_running(key, stream);
        Ok(())
    }
}

impl Machine {
    /// Ends the task that a stream has begun. A wait that the stream stands at ends, a run of a graph is canceled; moved
    /// bytes and host functions that run cannot be taken back and are waited for.
    fn stop_running(&self, key: StreamKey, stream: &Stream) {
        let mut lane = lock(&stream.tasks.lane);
        let has_begun = |task: &Task| {
            let begun = matches!(
                task,
                Task::Control(Control::Wait(_) | Control::Await(_) | Control::Join(_) | Control::Operation(_))
            );
            if begun { Readiness::Ready } else { Readiness::Unknown }
        };
        let (task, first) = match lane.claim(has_begun) {
            Ok(claimed) => claimed,
            Err(NotStarted::Claimed) => {
                let running = StreamPoint { stream: key, sequence: stream.tasks.completion.done() + 1 };
                drop(lane);
                return self.await_running(running);
            }
            Err(NotStarted::Empty | NotStarted::Blocked(_)) => return,
        };
        // A fault rule puts a wait before the task that it makes slow or stuck. The two are one task of the program.
        let delayed = match &task {
            Task::Control(Control::Await(wait)) if wait.is_injected() => {
                let mut rest = lane.take();
                let delayed = rest.pop_front();
                let newest = lane.submitted();
                let returned = lane.put_back(rest, newest);
                debug_assert!(returned.is_none(), "the lane was locked since the tasks were taken");
                delayed
            }
            _ => None,
        };
        drop(lane);
        let last = first + u64::from(delayed.is_some());
        if let Some(observer) = self.observer() {
            let at = |sequence| StreamPoint { stream: key, sequence }.into();
            if !matches!(task, Task::Control(Control::Operation(_))) {
                observer.started(at(first));
            }
            if matches!(task, Task::Control(Control::Wait(_) | Control::Await(_))) && delayed.is_none() {
                observer.wait_stopped(at(first));
            }
            if last > first {
                observer.finished(at(first));
                observer.started(at(last));
            }
        }
        for task in [Some(task), delayed].into_iter().flatten() {
            if let Some(run) = self.discard(key, task) {
                // Wakes stuck steps of the run, which is canceled.
                self.poll_external_waits();
                if let Some(end) = run.end.get() {
                    self.wait(*end, None);
                }
            }
        }
        self.finish(key, last);
        self.mark_stream_ready(key);
    }

    /// Waits for a task that runs. A call into the program that no thread has fetched is taken back.
    fn await_running(&self, running: StreamPoint) {
        while !self.wait(running, self.deadline(RECHECK_MS)) {
            self.subscriptions.cancel_held(self, running.stream);
        }
    }
}
