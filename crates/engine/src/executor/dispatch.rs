//! The executor as the rest of the engine uses it: marking streams ready, waiting for points, and polling them.
//!
//! Every function dispatches to the executor of the machine. How the executors do it is in `workers` and `steps`.

use crate::executor::{Executor, budget};
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use softacl_memory::segv;
use softacl_sync::facade::lock;
use std::time::Instant;

impl Machine {
    /// Puts a stream into the ready queue.
    pub(crate) fn enqueue_ready(&self, key: StreamKey) {
        match &self.executor {
            Executor::Threads(workers) => workers.enqueue_ready(self, key),
            Executor::Stepped(stepper) => stepper.enqueue_ready(key),
        }
    }

    /// Queues a stream whose front may have become ready.
    pub(crate) fn mark_stream_ready(&self, key: StreamKey) {
        let is_ready = lock(&self.streams.slot(key).tasks.lane).mark_ready();
        if is_ready {
            self.enqueue_ready(key);
            if let Executor::Stepped(stepper) = &self.executor {
                stepper.hand_to_progress_thread(self);
            }
        }
    }

    /// Waits until a stream reaches a point. Returns `false` if `deadline` expires first.
    pub(crate) fn wait(&self, point: StreamPoint, deadline: Option<Instant>) -> bool {
        let reached = self.wait_unobserved(point, deadline);
        self.emit_waited(point, reached)
    }

    /// Waits like `wait` but does not call the observer. Callers that make the wait visible to the program call
    /// `emit_waited` afterwards.
    pub(crate) fn wait_unobserved(&self, point: StreamPoint, deadline: Option<Instant>) -> bool {
        let stream = self.streams.slot(point.stream);
        // Under a replayed order every wait is a decision, and on a virtual clock it takes time, even if there is
        // nothing left to wait for.
        let is_decided = matches!(&self.executor, Executor::Stepped(stepper) if stepper.replayed.is_some() || stepper.clock.is_some());
        let reached = (stream.tasks.completion.done() >= point.sequence && !is_decided) || {
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

    /// Returns `true` if a stream has reached a point. Under a schedule, every poll may also run a task.
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

    /// Runs one ready task if a schedule is active. Returns `false` if none is ready, or if worker threads run the
    /// tasks.
    pub(crate) fn step(&self) -> bool {
        match &self.executor {
            Executor::Threads(_) => false,
            Executor::Stepped(stepper) => {
                let _guard = self.fault_guard();
                stepper.step_any(self)
            }
        }
    }

    /// Runs what was submitted under a `DeferGuard`, as the executor requires after a submit.
    pub(crate) fn step_after_submit(&self) {
        let _guard = self.fault_guard();
        match &self.executor {
            Executor::Threads(workers) => workers.run_deferred(self),
            Executor::Stepped(stepper) => stepper.after_submit(self),
        }
    }

    /// Wakes a worker ahead of a large job, to hide the wake-up latency.
    pub(crate) fn wake_worker_early(&self) {
        if let Executor::Threads(workers) = &self.executor {
            workers.wake_early(self);
        }
    }

    /// Keeps fault delivery enabled while a thread of the program executes tasks. Needed once memory was registered: it
    /// belongs to the program, which may have unmapped it by then.
    pub(crate) fn fault_guard(&self) -> Option<segv::FaultGuard> {
        self.memory.registered.was_used().then(segv::enter)
    }
}
