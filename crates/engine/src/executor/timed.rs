//! Stepping by virtual time: tasks start and end in the order of the clock of a chip.
//!
//! A task does its work when it starts, and holds the claim of its stream until it ends, like a host function. Events
//! are carried out inside the calls of the program: up to the time of the call, or in a wait as far as it needs. A
//! program that makes the same calls therefore sees the same times.
//!
//! While a host function runs, no event is carried out: what it does takes real time, and must not depend on how long.

use crate::executor::Executor;
use crate::executor::clock::{By, Function, Queued, Ready, VirtualClock, task_id};
use crate::executor::run::Claimed;
use crate::executor::stepper::Stepper;
use crate::keys::StreamPoint;
use crate::machine::Machine;
use crate::observer::BlockedOn;
use crate::task::{Control, Task};
use softacl_memory::MemoryKind;
use softacl_memory::touch::{Mode, Touch};
use softacl_profiles::FigureName;
use softacl_sync::facade::{Ordering, lock};
use softacl_timing::simulation::Cause;
use softacl_timing::{Call, Place, Step, TaskId, Work};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What `step` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stepped {
    /// An event was carried out.
    Event,
    /// The next event is at this time, after the given one.
    Later(u64),
    /// There is no event.
    Nothing,
    /// Another thread carries out events, or a host function runs.
    Busy,
}

/// Whether running host functions hold up all events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Functions {
    HoldUp,
    /// They may wait for something that an event brings.
    Overtake,
}

/// The next event.
enum Event {
    Ready(Ready),
    End(TaskId),
}

impl Machine {
    /// The virtual clock, if there is one.
    pub(crate) fn clock(&self) -> Option<&VirtualClock> {
        match &self.executor {
            Executor::Stepped(stepper) => stepper.clock.as_ref(),
            Executor::Threads(_) => None,
        }
    }

    /// The clock, if the program sees its time.
    pub(crate) fn visible_clock(&self) -> Option<&VirtualClock> {
        self.clock().filter(|clock| clock.timing.is_visible)
    }

    /// Virtual nanoseconds since the start, on the calling thread. `None` without a virtual clock.
    pub fn virtual_ns(&self) -> Option<u64> {
        self.clock().map(VirtualClock::now)
    }

    /// What the program did so far, for the timing model. `None` without a virtual clock.
    pub fn timing_log(&self) -> Option<softacl_timing::Log> {
        self.clock().map(VirtualClock::log)
    }

    /// Begins a phase of the program, for the timing model.
    pub fn begin_phase(&self, name: &str) {
        if let Some(clock) = self.clock() {
            clock.begin_phase(name);
        }
    }

    /// Charges a call about memory to the calling thread.
    #[inline]
    pub(crate) fn charge_call(&self, call: Call) {
        if self.has_hooks() {
            self.charge_call_hooked(call);
        }
    }

    #[cold]
    fn charge_call_hooked(&self, call: Call) {
        if let Some(clock) = self.clock() {
            clock.called(call);
        }
    }

    /// Charges a blocking access to the calling thread.
    #[cold]
    pub(crate) fn charge_access(&self, touches: &[Touch]) {
        let Some(clock) = self.clock() else { return };
        let place = |touch: &Touch| match self.memory.finder().find("touched", touch.address).map(|found| found.place) {
            Ok(MemoryKind::Device(device)) => Place::Device(device),
            Ok(MemoryKind::Pinned) => Place::Pinned,
            Ok(MemoryKind::Pageable) | Err(_) => Place::Pageable,
        };
        let Some(target) = touches.iter().find(|touch| touch.mode == Mode::Write) else { return };
        let source = touches.iter().find(|touch| touch.mode == Mode::Read).map(place);
        let written = touches.iter().filter(|touch| touch.mode == Mode::Write).map(|touch| touch.len as u64).sum();
        clock.copied(source, place(target), written);
    }

    /// Takes over a host function that has returned. Returns `true` if the clock finishes its task, at its virtual end.
    pub(crate) fn function_returned(&self, point: StreamPoint) -> bool {
        let Executor::Stepped(stepper) = &self.executor else { return false };
        let Some(clock) = &stepper.clock else { return false };
        let id = task_id(point);
        let mut state = lock(&clock.state);
        let Some(Function { start, began, step }) = state.functions.remove(&id) else { return false };
        let work = Work::HostFunction { ns: (began.elapsed().as_nanos() as f64 * clock.timing.host_scale) as u64 };
        state.correct(step, work);
        let end = state.simulation.begin(id, &work, start, Cause::Submit).end;
        state.running.insert(id, point.stream);
        drop(state);
        clock.set_now(end);
        stepper.changed();
        true
    }
}

impl Stepper {
    /// Carries out events up to the time of the calling thread.
    pub(super) fn catch_up(&self, machine: &Machine, clock: &VirtualClock) {
        let now = clock.now();
        while clock.step(machine, now, Functions::HoldUp) == Stepped::Event {}
    }

    /// Charges a query, and carries out what has happened by then.
    pub(super) fn timed_poll(&self, machine: &Machine, clock: &VirtualClock) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        clock.charge(FigureName::Query, |thread| Step::Query { thread });
        self.catch_up(machine, clock);
        if !clock.timing.is_visible {
            // The program must not see the clock: as far as it can see, tasks run as fast as possible.
            clock.step(machine, u64::MAX, Functions::HoldUp);
        }
    }

    /// Waits until a stream reaches a point. Returns `false` if `deadline` expires first.
    pub(super) fn timed_wait(
        self: &Arc<Self>,
        machine: &Machine,
        clock: &VirtualClock,
        point: StreamPoint,
        deadline: Option<Instant>,
    ) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let completion = &machine.streams.slot(point.stream).tasks.completion;
        let (thread, entered) = clock.enter(&mut lock(&clock.state));
        self.catch_up(machine, clock);
        let had_ended = completion.done() >= point.sequence;
        let limit = deadline.map_or(u64::MAX, |deadline| machine.virtual_deadline(deadline));
        let (mut blocked, mut functions) = (None, Functions::HoldUp);
        let mut reached_at = entered;
        while completion.done() < point.sequence {
            let seen = self.changes.load(Ordering::Acquire);
            match clock.step(machine, limit, functions) {
                Stepped::Event => {
                    functions = Functions::HoldUp;
                    continue;
                }
                Stepped::Later(_) => {
                    clock.leave(limit);
                    return false;
                }
                Stepped::Nothing | Stepped::Busy => {}
            }
            if completion.done() >= point.sequence {
                break;
            }
            let changed = || self.changes.load(Ordering::Acquire) != seen;
            blocked.get_or_insert_with(|| machine.block(BlockedOn::Point(point.into()), deadline));
            if !self.waiters.wait_until(Some(Instant::now() + self.progress_timeout), changed) {
                machine.poll_external_waits();
                // A host function that holds everything up may wait for another stream.
                functions = Functions::Overtake;
                if deadline.is_some() && clock.step(machine, limit, functions) == Stepped::Nothing {
                    clock.leave(limit);
                    return false;
                }
            }
        }
        let mut state = lock(&clock.state);
        reached_at = reached_at.max(state.simulation.now());
        let figure = if had_ended { FigureName::SynchronizeIdle } else { FigureName::WakeUp };
        let cost = state.simulation.fixed(figure);
        let is_stall = clock.is_stalling();
        state.log.steps.push(Step::Wait { thread, id: task_id(point), is_stall });
        drop(state);
        clock.leave(reached_at + cost);
        true
    }
}

impl Machine {
    /// The virtual nanoseconds at which a deadline of the virtual clock expires.
    fn virtual_deadline(&self, deadline: Instant) -> u64 {
        match self.visible_clock() {
            Some(_) => deadline.saturating_duration_since(self.started()).as_nanos() as u64,
            // Deadlines are real, and a wait never takes long.
            None => u64::MAX,
        }
    }

    /// The present time: virtual if the program sees that.
    pub(crate) fn now(&self) -> Instant {
        match self.visible_clock() {
            Some(clock) => self.started() + Duration::from_nanos(clock.now()),
            None => Instant::now(),
        }
    }

    /// The time at which a timeout expires; `None` if it is negative, or too far in the future to represent.
    pub(crate) fn deadline(&self, timeout_ms: i32) -> Option<Instant> {
        let ms = u64::try_from(timeout_ms).ok()?;
        self.now().checked_add(Duration::from_millis(ms))
    }
}

impl VirtualClock {
    /// True if there is an event.
    pub(super) fn has_events(&self) -> bool {
        let state = lock(&self.state);
        !state.ready.is_empty() || state.simulation.next_end_time().is_some()
    }

    /// Carries out the next event, unless it is after `until`.
    pub(super) fn step(&self, machine: &Machine, until: u64, functions: Functions) -> Stepped {
        if self.is_stepping.swap(true, Ordering::Acquire) {
            return Stepped::Busy;
        }
        let stepped = self.step_in_turn(machine, until, functions);
        self.is_stepping.store(false, Ordering::Release);
        stepped
    }

    fn step_in_turn(&self, machine: &Machine, until: u64, functions: Functions) -> Stepped {
        let (at, event) = {
            let mut state = lock(&self.state);
            if functions == Functions::HoldUp && !state.functions.is_empty() {
                return Stepped::Busy;
            }
            let ready = state.ready.first_key_value().map(|((at, _), _)| *at);
            let end = state.simulation.next_end_time();
            // At one time, tasks end before others start.
            let is_end = end.is_some_and(|end| ready.is_none_or(|ready| end <= ready));
            let Some(at) = (if is_end { end } else { ready }) else { return Stepped::Nothing };
            if at > until {
                return Stepped::Later(at);
            }
            match is_end {
                true => {
                    let (at, id) = state.simulation.next_end().expect("a task runs");
                    (at, Event::End(id))
                }
                false => {
                    let (_, ready) = state.ready.pop_first().expect("a stream is ready");
                    (at, Event::Ready(ready))
                }
            }
        };
        let before = self.set_now(at);
        match event {
            Event::Ready(ready) => self.begin(machine, at, ready),
            Event::End(id) => {
                let stream = lock(&self.state).running.remove(&id);
                self.set_by(Some(By::End(id)));
                if let Some(stream) = stream {
                    machine.finish_held(stream, id.sequence);
                }
                self.set_by(None);
            }
        }
        self.set_now(before);
        Stepped::Event
    }

    /// Starts the front of a stream, if it may start.
    fn begin(&self, machine: &Machine, at: u64, ready: Ready) {
        let key = ready.stream;
        let stream = machine.streams.slot(key);
        lock(&stream.tasks.lane).clear_ready();
        let Ok((lane, task, sequence)) = machine.claim(key, stream) else { return };
        drop(lane);
        let point = StreamPoint { stream: key, sequence };
        let id = task_id(point);
        let queued = self.take_queued(id);
        let earliest = at.max(queued.submitted);
        let start = lock(&self.state).simulation.start_of(&queued.work, earliest);
        self.set_now(start);
        if !matches!(task, Task::Control(Control::Resumed(_) | Control::Operation(_)))
            && let Some(observer) = machine.observer()
        {
            machine.emit_started(observer, point.into(), &task);
        }
        let (claimed, work) = self.carry_out(machine, point, start, queued, task);
        let mut state = lock(&self.state);
        match ready.by {
            Some(By::End(other)) if other.stream != id.stream => state.log.steps.push(Step::After { id, other }),
            Some(By::Start(other)) if other.stream != id.stream => state.log.steps.push(Step::Meet { id, other }),
            _ => {}
        }
        match claimed {
            Claimed::Held => {}
            Claimed::Finished => {
                state.functions.remove(&id);
                let cause = match ready.by {
                    Some(By::End(by) | By::Start(by)) if at >= queued.submitted => Cause::Task(by),
                    _ => Cause::Submit,
                };
                state.simulation.begin(id, &work, earliest, cause);
                state.running.insert(id, key);
                // Like a host function, the clock holds the claim until the task ends.
                stream.is_held.store(true, Ordering::Release);
            }
            Claimed::Requeued => {
                // It takes its time once, after its last step: until then it waits for others.
                let rest = Queued { submitted: start, work, ..queued };
                state.queued.entry(id.stream).or_default().push_front(rest);
                drop(state);
                machine.mark_stream_ready(key);
            }
        }
    }

    /// Runs a claimed task. Returns what happened to it, and its work with the time that is now known.
    fn carry_out(
        &self,
        machine: &Machine,
        point: StreamPoint,
        start: u64,
        queued: Queued,
        task: Task,
    ) -> (Claimed, Work) {
        let id = task_id(point);
        let stream = machine.streams.slot(point.stream);
        let began = Instant::now();
        let (scale, is_operation) = (self.measured_scale(&task), task.is_operation());
        if matches!(task, Task::Control(Control::Host(_))) {
            lock(&self.state).functions.insert(id, Function { start, began, step: queued.step });
        }
        let turn = is_operation.then(|| lock(&self.operations));
        self.set_by(Some(By::Start(id)));
        let claimed = machine.run_task(point.stream, stream, point.sequence, task);
        let took = began.elapsed().as_nanos() as f64;
        if is_operation {
            // What it did may let an operation of another stream continue, which does not wait for the end of this one.
            machine.poll_external_waits();
        }
        self.set_by(None);
        drop(turn);
        let work = match (scale, queued.work) {
            (Some(scale), Work::Kernel { device, name, ns }) => {
                let work = Work::Kernel { device, name, ns: Some(ns.unwrap_or(0) + (took * scale) as u64) };
                lock(&self.state).correct(queued.step, work);
                work
            }
            (_, work) => work,
        };
        (claimed, work)
    }

    /// Takes what is known about a submitted task. Tasks before it were dropped.
    fn take_queued(&self, id: TaskId) -> Queued {
        let mut state = lock(&self.state);
        let queue = state.queued.entry(id.stream).or_default();
        while let Some(queued) = queue.pop_front() {
            if queued.sequence == id.sequence {
                return queued;
            }
        }
        Queued { sequence: id.sequence, submitted: 0, work: Work::Nothing, step: None }
    }
}
