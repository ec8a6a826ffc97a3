//! Replaying: tasks and the host make their steps in the order that `decisions` chooses.
//!
//! The host decides nothing between two calls, so there are three places where tasks can run: when a call returns, when
//! the next one begins, and in a wait. The host makes a step from each of them to the next. Every task is one step.
//!
//! The order controls one thread of the program, the first that makes a call, and host functions, which the host waits
//! for. Everything else is recorded as not controlled: calls of other threads, host functions that wait for the host, and
//! tasks that the progress thread runs because the host waits for them without a call.

use crate::executor::Executor;
use crate::executor::run::Limit;
use crate::executor::stepper::{Replayed, Stepper};
use crate::graph::run::GraphRun;
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::observer::{Function, Mode};
use crate::order::{Actor, Footprint, Step};
use crate::task::external_wait::{ExternalWait, WaitCondition};
use crate::task::kernel;
use crate::task::moves::Move;
use crate::task::{Control, Task, Waited};
use softacl_sync::facade::{Ordering, lock};
use std::sync::Arc;
use std::time::Instant;

/// How often in a row a poll finds a task pending before the host must let a task run.
const MAX_PENDING_POLLS: u32 = 2;

impl Machine {
    /// The calling thread has entered an API function. Tasks may run before it takes effect.
    pub fn replay_entry(&self, function: &'static Function) {
        let Some((stepper, replayed)) = self.replayed() else { return };
        if !replayed.claim_host() {
            return;
        }
        stepper.calls.fetch_add(1, Ordering::Relaxed);
        {
            let touches = self.observer().map(|observer| observer.take_accessed()).unwrap_or_default();
            let mut decisions = lock(&replayed.decisions);
            decisions.host_touched(Footprint { touches, is_host_code: true, ..Footprint::default() });
            decisions.end_host_step();
            decisions.entered(function.name);
        }
        stepper.replay_until_host(self, replayed, || true);
    }

    /// The calling thread leaves an API function. Tasks may run before the program continues.
    pub fn replay_exit(&self) {
        let Some((stepper, replayed)) = self.replayed().filter(|(_, replayed)| replayed.is_host()) else { return };
        {
            let mut decisions = lock(&replayed.decisions);
            decisions.end_host_step();
            decisions.left();
        }
        stepper.replay_until_host(self, replayed, || true);
    }

    /// The process ends. Runs the tasks that can run, so that orders differ only in what the program did.
    pub fn replay_end(&self) {
        let Some((stepper, replayed)) = self.replayed().filter(|(_, replayed)| replayed.is_host()) else { return };
        {
            let touches = self.observer().map(|observer| observer.take_accessed()).unwrap_or_default();
            let mut decisions = lock(&replayed.decisions);
            decisions.host_touched(Footprint { touches, is_host_code: true, ..Footprint::default() });
            decisions.end_host_step();
        }
        while stepper.replay_task(self, replayed) {}
        let mut decisions = lock(&replayed.decisions);
        decisions.ended();
        decisions.flush();
    }

    /// Adds to what the present step of the host touches, if an order is replayed.
    pub(crate) fn host_touched(&self, footprint: impl FnOnce() -> Footprint) {
        if let Some((_, replayed)) = self.replayed()
            && replayed.is_host()
        {
            lock(&replayed.decisions).host_touched(footprint());
        }
    }

    /// The replayed order. `None` while the current thread runs the code of a kernel: its calls belong to the step of
    /// the kernel, and the thread holds the turn.
    fn replayed(&self) -> Option<(&Arc<Stepper>, &Replayed)> {
        if kernel::is_running() {
            return None;
        }
        match &self.executor {
            Executor::Stepped(stepper) => stepper.replayed.as_ref().map(|replayed| (stepper, replayed)),
            Executor::Threads(_) => None,
        }
    }

    /// The streams whose next task can run, in ascending order, with that task.
    fn runnable(&self) -> Vec<(StreamKey, Step)> {
        let busy = lock(&self.busy).clone();
        let next = |key: StreamKey| {
            let lane = lock(&self.streams.slot(key).tasks.lane);
            let (_, number) = lane.next().filter(|(task, _)| self.may_start(key, task))?;
            Some((key, Step { actor: Actor::Stream(key.index() as u32), number }))
        };
        let mut all: Vec<_> = busy.into_iter().filter_map(next).collect();
        all.sort_by_key(|(_, step)| *step);
        all
    }

    /// True if a task can run. Like `readiness`, but changes nothing.
    fn may_start(&self, key: StreamKey, task: &Task) -> bool {
        let Task::Control(task) = task else { return true };
        let is_reached =
            |point: &StreamPoint| self.streams.slot(point.stream).tasks.completion.done() >= point.sequence;
        let may_pass = |wait: &ExternalWait| wait.is_met() || wait.is_late() || self.is_stopped(self.streams.slot(key));
        let is_canceled = |run: &GraphRun| run.is_canceled.load(Ordering::Acquire);
        match task {
            Control::Wait(wait) => {
                wait.limit.as_ref().is_some_and(|limit| limit.is_late())
                    || match &wait.after {
                        Waited::Point(point) => is_reached(point),
                        Waited::External(wait) => may_pass(wait),
                        Waited::Next(cell) => cell.get().is_some_and(is_reached),
                        Waited::GraphEvent(event) => event.is_set(),
                    }
            }
            Control::Await(wait) => may_pass(wait),
            Control::Node { node, run } => is_canceled(run) || node.external_wait().is_none_or(|wait| may_pass(&wait)),
            Control::Resumed(progress) => is_canceled(&progress.run) || may_pass(&progress.pause),
            Control::Join(run) => run.end.get().is_some_and(is_reached),
            _ => true,
        }
    }

    /// What a task depends on, with the present contents of memory.
    fn footprint(&self, task: &Task) -> Footprint {
        let mut footprint = Footprint { touches: task.accesses(&self.memory), ..Footprint::default() };
        match task {
            // Values order streams, so they are not among the ranges that are checked.
            Task::Move(Move::WriteValue { target, .. }) => {
                footprint.touches.push(self.memory.touch(*target, size_of::<u64>(), Mode::Write));
            }
            // A kernel that declares no range may access any memory.
            Task::Move(Move::Kernel(kernel)) if kernel.ranges.is_empty() => footprint.is_global = true,
            Task::Move(_) => {}
            Task::Control(control) => self.add_control(&mut footprint, control),
        }
        let pinned = self.memory.pinned_window();
        for touch in &footprint.touches {
            let is_pinned = touch.address.wrapping_sub(pinned.start) < pinned.len;
            let is_device = self.memory.device_of_mapped(touch.address).is_some() && !self.is_on_chip();
            footprint.is_pinned |= is_pinned;
            footprint.is_unguarded |= !is_pinned && !is_device;
        }
        footprint
    }

    fn add_control(&self, footprint: &mut Footprint, control: &Control) {
        match control {
            Control::Wait(wait) => match &wait.after {
                Waited::Point(point) => footprint.after.extend(step(*point)),
                Waited::Next(cell) => footprint.after.extend(cell.get().copied().and_then(step)),
                Waited::External(_) | Waited::GraphEvent(_) => footprint.is_global = true,
            },
            Control::Await(wait) => {
                footprint.is_wait = true;
                match &wait.condition {
                    WaitCondition::Value { backing, .. } => {
                        footprint.touches.push(self.memory.touch(*backing, size_of::<u64>(), Mode::Read));
                    }
                    WaitCondition::Notify { counter, .. } => footprint.notifies.push(Arc::as_ptr(counter) as u64),
                    _ => footprint.is_global = true,
                }
            }
            Control::Change { counter, .. } => footprint.notifies.push(Arc::as_ptr(counter) as u64),
            Control::Host(_) => footprint.is_function = true,
            Control::Node { node, .. } => match node.current() {
                Ok(content) => footprint.extend(content.with_task(|task| self.footprint(task))),
                Err(_) => footprint.is_global = true,
            },
            Control::Join(run) => footprint.after.extend(run.end.get().copied().and_then(step)),
            Control::Record { .. }
            | Control::Release(_)
            | Control::Nothing(_)
            | Control::Disabled(_)
            | Control::Annotation(_) => {}
            Control::RecordShared { .. }
            | Control::Resumed(_)
            | Control::Condition(_)
            | Control::LabelSwitch(_)
            | Control::StreamSwitch(_)
            | Control::Flow(_)
            | Control::Update(_)
            | Control::ResetGraphEvent(_)
            | Control::Fail(_) => footprint.is_global = true,
        }
    }
}

impl Replayed {
    /// True if this is the thread that the order controls.
    pub(crate) fn is_host(&self) -> bool {
        self.host.get() == Some(&std::thread::current().id())
    }

    /// Makes the first thread that calls the host. Returns `false` on every other.
    fn claim_host(&self) -> bool {
        let current = std::thread::current();
        let is_host = *self.host.get_or_init(|| current.id()) == current.id();
        // A host function may make calls. It belongs to a step.
        if !is_host && current.name() != Some("softacl-host") {
            lock(&self.decisions).uncontrolled("threads");
        }
        is_host
    }
}

impl Stepper {
    /// Records a task that is about to be queued.
    pub(crate) fn record_submitted(&self, machine: &Machine, point: StreamPoint, task: &Task) {
        if let Some(clock) = &self.clock {
            clock.submitted(&machine.memory, point, machine.streams.slot(point.stream).device(), task);
        }
        if let (Some(replayed), Some(step)) = (&self.replayed, step(point)) {
            lock(&replayed.decisions).submitted(step, &machine.footprint(task));
        }
    }

    /// Runs tasks until the order chooses the host, which can be chosen while `is_ready`. Returns `false` if nothing
    /// can be chosen.
    fn replay_until_host(
        self: &Arc<Self>,
        machine: &Machine,
        replayed: &Replayed,
        is_ready: impl Fn() -> bool,
    ) -> bool {
        let _turn = lock(&replayed.turn);
        loop {
            let runnable = machine.runnable();
            let mut enabled: Vec<Step> = runnable.iter().map(|(_, step)| *step).collect();
            if is_ready() {
                enabled.push(lock(&replayed.decisions).host);
            }
            if enabled.is_empty() {
                return false;
            }
            let chosen = lock(&replayed.decisions).choose(&enabled);
            match runnable.iter().find(|(_, step)| *step == chosen) {
                Some((key, step)) => self.run_chosen(machine, replayed, *key, *step),
                None => {
                    lock(&replayed.decisions).flush();
                    if !runnable.is_empty() {
                        self.ensure_replay_progress(machine);
                    }
                    return true;
                }
            }
        }
    }

    /// Runs one task that the order chooses. Returns `false` if none can run.
    pub(crate) fn replay_task(&self, machine: &Machine, replayed: &Replayed) -> bool {
        let _turn = lock(&replayed.turn);
        let runnable = machine.runnable();
        if runnable.is_empty() {
            return false;
        }
        let enabled: Vec<Step> = runnable.iter().map(|(_, step)| *step).collect();
        let chosen = lock(&replayed.decisions).choose(&enabled);
        if let Some((key, step)) = runnable.iter().find(|(_, step)| *step == chosen) {
            self.run_chosen(machine, replayed, *key, *step);
        }
        true
    }

    fn run_chosen(&self, machine: &Machine, replayed: &Replayed, key: StreamKey, step: Step) {
        let stream = machine.streams.slot(key);
        let footprint = lock(&stream.tasks.lane).next().map(|(task, _)| machine.footprint(task));
        let mut footprint = footprint.unwrap_or_default();
        let has_failed = || stream.failure().is_some() || machine.is_stopped(stream);
        let had_failed = has_failed();
        machine.run(key, Limit::ONE);
        let is_done = || stream.tasks.completion.done() >= step.number;
        if !is_done() {
            // A host function holds the stream. It may in turn wait for the host.
            let until = Instant::now() + self.progress_timeout;
            if !self.waiters.wait_until(Some(until), is_done) {
                lock(&replayed.decisions).uncontrolled("function");
            }
        }
        footprint.is_global |= has_failed() != had_failed;
        lock(&replayed.decisions).stepped(step, &footprint);
    }

    /// Waits until a stream reaches a point. Returns `false` if `deadline` expires first.
    pub(crate) fn replay_wait(
        self: &Arc<Self>,
        machine: &Machine,
        replayed: &Replayed,
        point: StreamPoint,
        deadline: Option<Instant>,
    ) -> bool {
        lock(&replayed.decisions).end_host_step();
        let completion = &machine.streams.slot(point.stream).tasks.completion;
        let is_reached = || completion.done() >= point.sequence;
        loop {
            let seen = self.changes.load(Ordering::Acquire);
            if self.replay_until_host(machine, replayed, is_reached) {
                let after = step(point).into_iter().collect();
                lock(&replayed.decisions).host_touched(Footprint { after, ..Footprint::default() });
                return true;
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                lock(&replayed.decisions).uncontrolled("timeout");
                return false;
            }
            lock(&replayed.decisions).flush();
            let recheck = Instant::now() + self.progress_timeout;
            let until = deadline.map_or(recheck, |deadline| deadline.min(recheck));
            self.waiters.wait_until(Some(until), || self.changes.load(Ordering::Acquire) != seen);
            machine.poll_external_waits();
        }
    }

    /// The host asks whether a stream has reached a point. A loop of such questions would have endlessly many orders,
    /// so the host lets a task run before it asks too often.
    pub(crate) fn replay_poll(self: &Arc<Self>, machine: &Machine, replayed: &Replayed, point: StreamPoint) {
        if !replayed.is_host() {
            return;
        }
        let stream = machine.streams.slot(point.stream);
        let is_reached = stream.tasks.completion.done() >= point.sequence;
        let polls = if is_reached { 0 } else { stream.polls.load(Ordering::Relaxed) + 1 };
        stream.polls.store(polls, Ordering::Relaxed);
        if polls > MAX_PENDING_POLLS {
            lock(&replayed.decisions).end_host_step();
            self.replay_task(machine, replayed);
            self.replay_until_host(machine, replayed, || true);
        }
        let queried = step(point).into_iter().collect();
        lock(&replayed.decisions).host_touched(Footprint { queried, ..Footprint::default() });
    }

    /// Starts the thread that runs tasks which the host may wait for without a call.
    fn ensure_replay_progress(self: &Arc<Self>, machine: &Machine) {
        self.progress_thread.ensure_started(1, |_| {
            let (stepper, weak) = (Arc::clone(self), machine.weak());
            let run = move || {
                let seen = || (stepper.calls.load(Ordering::Relaxed), stepper.changes.load(Ordering::Acquire));
                let mut before = seen();
                loop {
                    let until = Instant::now() + stepper.progress_timeout;
                    let is_stopped = || stepper.stop.load(Ordering::Acquire);
                    if stepper.active_wait.wait_until(Some(until), is_stopped) {
                        return;
                    }
                    let Some(machine) = weak.upgrade() else { return };
                    let now = seen();
                    if now == before
                        && let Some(replayed) = &stepper.replayed
                        && !machine.runnable().is_empty()
                    {
                        lock(&replayed.decisions).uncontrolled("progress");
                        while stepper.replay_task(&machine, replayed) {}
                        lock(&replayed.decisions).flush();
                    }
                    before = seen();
                }
            };
            crate::thread::start("softacl-progress".to_owned(), run)
        });
    }
}

/// The step of a task. `None` for the start of a stream.
fn step(point: StreamPoint) -> Option<Step> {
    let actor = Actor::Stream(point.stream.index() as u32);
    (point.sequence > 0).then_some(Step { actor, number: point.sequence })
}
