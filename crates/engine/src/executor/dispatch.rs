//! The executor as the rest of the engine uses it: marking streams ready, waiting for points, polling them.
//!
//! Every function dispatches to the executor of the machine. How the executors do it is in `workers` and `steps`.

use crate::executor::{Executor, budget};
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use softacl_memory::segv;
use softacl_sync::facade::lock;
use std::time::Instant;

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

    /// Work for several threads will be there in a moment: a sleeping worker gets up meanwhile.
    pub(crate) fn wake_worker_early(&self) {
        if let Executor::Threads(workers) = &self.executor {
            workers.wake_early(self);
        }
    }

    /// For a thread of the program that may execute tasks: registered memory is the program's own and
    /// can be gone when its turn comes.
    pub(crate) fn fault_guard(&self) -> Option<segv::FaultGuard> {
        self.memory.registered.was_used().then(segv::enter)
    }
}
