//! The virtual clock: data of the stepped executor when it keeps the time of a chip. How it steps is in `timed`.
//!
//! Every thread has a separate time: that of the call it is in, or of the event it carries out. A call never starts
//! before an event that has already happened, so what a thread does after another one is also later.
//!
//! `state` is locked for a moment and nothing else is locked under it; `operations` is locked before it. `is_stepping` is the turn: the thread that sets
//! it carries out events.

use crate::keys::{StreamKey, StreamPoint};
use crate::task::external_wait::WaitCondition;
use crate::task::moves::Move;
use crate::task::{Control, Task, Waited};
use softacl_memory::Memory;
use softacl_profiles::FigureName;
use softacl_sync::facade::{AtomicBool, AtomicU64, Mutex, Ordering, lock, thread_local};
use softacl_timing::{Call, Costs, Log, Place, Simulation, Step, TaskId, Work};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

/// How long a kernel runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KernelTime {
    Nanoseconds(u64),
    /// As long as its CPU version, times this factor.
    Measured(f64),
}

/// What a virtual clock is created from.
#[derive(Debug, Clone)]
pub struct Timing {
    pub costs: Costs,
    /// True if event times, timeouts and queries are virtual. Otherwise the clock runs only for its log.
    pub is_visible: bool,
    /// Factor for the time that threads of the program take between calls. With zero, runs are reproducible.
    pub host_scale: f64,
    /// Times of kernels by name; `*` stands for all others.
    pub kernels: HashMap<String, KernelTime>,
}

/// The submitting thread of tasks that a graph submits.
const RUNTIME: u32 = softacl_timing::log::RUNTIME_THREAD;

pub(crate) struct VirtualClock {
    id: u64,
    pub(super) timing: Timing,
    pub(super) state: Mutex<State>,
    pub(super) is_stepping: AtomicBool,
    /// Held while an operation runs and until the waits that it ends are polled. The polling thread, which has no
    /// virtual time, must not do that first.
    pub(super) operations: Mutex<()>,
    next_thread: AtomicU64,
}

/// A task that was submitted and has not started.
#[derive(Clone, Copy)]
pub(super) struct Queued {
    pub(super) sequence: u64,
    pub(super) submitted: u64,
    pub(super) work: Work,
    /// The step of the log that submitted it.
    pub(super) step: Option<usize>,
}

/// A stream whose front may start.
#[derive(Clone, Copy)]
pub(super) struct Ready {
    pub(super) stream: StreamKey,
    /// What made it ready.
    pub(super) by: Option<By>,
}

/// What a task did that made a stream ready.
#[derive(Clone, Copy)]
pub(super) enum By {
    /// It ended.
    End(TaskId),
    /// It started: an operation gave another one what that waited for.
    Start(TaskId),
}

/// A host function that runs.
#[derive(Clone, Copy)]
pub(super) struct Function {
    /// Its virtual start.
    pub(super) start: u64,
    /// Its real start.
    pub(super) began: Instant,
    /// The step of the log that submitted it.
    pub(super) step: Option<usize>,
}

pub(super) struct State {
    pub(super) simulation: Simulation,
    pub(super) queued: HashMap<u32, VecDeque<Queued>>,
    /// By time, and in the order in which they became ready.
    pub(super) ready: BTreeMap<(u64, u64), Ready>,
    /// Streams of the tasks that run.
    pub(super) running: HashMap<TaskId, StreamKey>,
    pub(super) functions: HashMap<TaskId, Function>,
    pub(super) log: Log,
    order: u64,
}

/// The time of a thread.
#[derive(Clone, Copy)]
struct ThreadTime {
    /// The clock that it belongs to, by its id.
    clock: u64,
    now: u64,
    thread: u32,
    /// When the last call of the thread ended, in real time.
    left: Option<Instant>,
    /// True if the next copy on this thread is one that pageable memory makes synchronous.
    is_stalling: bool,
    /// What the thread carries out.
    by: Option<By>,
}

thread_local! {
    static TIME: Cell<Option<ThreadTime>> = const { Cell::new(None) };
}

static NEXT_CLOCK: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

impl VirtualClock {
    pub(crate) fn new(timing: Timing, soc: &str) -> VirtualClock {
        let state = State {
            simulation: Simulation::new(timing.costs.clone()),
            queued: HashMap::new(),
            ready: BTreeMap::new(),
            running: HashMap::new(),
            functions: HashMap::new(),
            log: Log { soc: soc.to_owned(), ..Log::default() },
            order: 0,
        };
        VirtualClock {
            id: NEXT_CLOCK.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            timing,
            state: Mutex::new(state),
            is_stepping: AtomicBool::new(false),
            operations: Mutex::new(()),
            next_thread: AtomicU64::new(0),
        }
    }

    /// The time of the calling thread. A thread that has made no call has the time of the last event.
    pub(crate) fn now(&self) -> u64 {
        match TIME.with(Cell::get).filter(|time| time.clock == self.id) {
            Some(time) => time.now,
            None => lock(&self.state).simulation.now(),
        }
    }

    /// Sets the time of the calling thread, and returns what it was.
    pub(super) fn set_now(&self, now: u64) -> u64 {
        let mut time = self.thread_time();
        let before = std::mem::replace(&mut time.now, now);
        TIME.with(|cell| cell.set(Some(time)));
        before
    }

    /// Says what the calling thread carries out: streams that become ready depend on it.
    pub(super) fn set_by(&self, by: Option<By>) {
        TIME.with(|cell| cell.set(Some(ThreadTime { by, ..self.thread_time() })));
    }

    fn thread_time(&self) -> ThreadTime {
        TIME.with(Cell::get).filter(|time| time.clock == self.id).unwrap_or_else(|| ThreadTime {
            clock: self.id,
            now: 0,
            thread: self.next_thread.fetch_add(1, Ordering::Relaxed) as u32,
            left: None,
            is_stalling: false,
            by: None,
        })
    }

    /// Begins a call that takes time: adds what the thread computed since its last one. Returns its number and time.
    pub(super) fn enter(&self, state: &mut State) -> (u32, u64) {
        let mut time = self.thread_time();
        time.now = time.now.max(state.simulation.now());
        if self.timing.host_scale > 0.0
            && let Some(left) = time.left
        {
            let ns = (left.elapsed().as_nanos() as f64 * self.timing.host_scale) as u64;
            time.now += ns;
            state.log.steps.push(Step::Think { thread: time.thread, ns });
        }
        TIME.with(|cell| cell.set(Some(time)));
        (time.thread, time.now)
    }

    /// Ends a call at a virtual time.
    pub(super) fn leave(&self, now: u64) {
        let mut time = self.thread_time();
        time.now = now;
        time.left = (self.timing.host_scale > 0.0).then(Instant::now);
        TIME.with(|cell| cell.set(Some(time)));
    }

    /// Marks the next wait and copy of the calling thread as caused by pageable memory.
    pub(crate) fn begin_stall(&self) {
        TIME.with(|cell| cell.set(Some(ThreadTime { is_stalling: true, ..self.thread_time() })));
    }

    pub(super) fn is_stalling(&self) -> bool {
        TIME.with(Cell::get).is_some_and(|time| time.clock == self.id && time.is_stalling)
    }

    pub(super) fn end_stall(&self) {
        TIME.with(|cell| cell.set(Some(ThreadTime { is_stalling: false, ..self.thread_time() })));
    }

    /// Puts a stream into the ready queue, at the time of the calling thread.
    pub(super) fn enqueue_ready(&self, stream: StreamKey) {
        let now = self.now();
        let mut state = lock(&self.state);
        state.order += 1;
        let by = TIME.with(Cell::get).filter(|time| time.clock == self.id).and_then(|time| time.by);
        let order = state.order;
        state.ready.insert((now, order), Ready { stream, by });
    }

    /// Charges the host time of a task that is about to be queued, and logs it.
    pub(super) fn submitted(&self, memory: &Memory, point: StreamPoint, device: u32, task: &Task) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let work = self.work_of(memory, device, task, &mut state.log);
        let id = task_id(point);
        let is_step = matches!(task, Task::Control(Control::Node { .. } | Control::Flow(_)));
        let (thread, submitted) = if is_step {
            (RUNTIME, self.thread_time().now)
        } else {
            let (thread, now) = self.enter(state);
            let cost = state.simulation.submit_cost(&work);
            self.leave(now + cost);
            (thread, now + cost)
        };
        let step = Some(state.log.steps.len());
        state.log.steps.push(Step::Submit { thread, id, work });
        if let Task::Control(Control::Wait(wait)) = task
            && let Waited::Point(after) = wait.after
        {
            state.log.steps.push(Step::After { id, other: task_id(after) });
        }
        state.queued.entry(id.stream).or_default().push_back(Queued { sequence: id.sequence, submitted, work, step });
    }

    /// Charges a copy that the calling thread has made itself.
    pub(crate) fn copied(&self, source: Option<Place>, target: Place, bytes: u64) {
        let work = Work::copy(source.unwrap_or(target), target, bytes);
        let mut state = lock(&self.state);
        let (thread, now) = self.enter(&mut state);
        let run = state.simulation.block(&work, now);
        let is_stall = self.is_stalling();
        state.log.steps.push(Step::Blocking { thread, work, is_stall });
        drop(state);
        self.end_stall();
        self.leave(run.end);
    }

    /// Charges a call with a fixed cost.
    pub(super) fn charge(&self, name: FigureName, step: impl FnOnce(u32) -> Step) -> u64 {
        let mut state = lock(&self.state);
        let (thread, now) = self.enter(&mut state);
        let cost = state.simulation.fixed(name);
        state.log.steps.push(step(thread));
        drop(state);
        self.leave(now + cost);
        now + cost
    }

    /// Charges a call about memory.
    pub(crate) fn called(&self, call: Call) {
        let mut state = lock(&self.state);
        let (thread, now) = self.enter(&mut state);
        let cost = state.simulation.call(call);
        state.log.steps.push(Step::Call { thread, call });
        drop(state);
        self.leave(now + cost);
    }

    /// Lets time pass on the calling thread.
    pub(crate) fn pass(&self, time: Duration) {
        let mut state = lock(&self.state);
        let (thread, now) = self.enter(&mut state);
        let ns = time.as_nanos() as u64;
        state.log.steps.push(Step::Think { thread, ns });
        drop(state);
        self.leave(now + ns);
    }

    /// Begins a phase of the program.
    pub(crate) fn begin_phase(&self, name: &str) {
        let mut state = lock(&self.state);
        let (thread, now) = self.enter(&mut state);
        let name = state.log.name(name);
        state.log.steps.push(Step::Phase { thread, name });
        drop(state);
        self.leave(now);
    }

    /// Everything that the program did so far.
    pub(crate) fn log(&self) -> Log {
        lock(&self.state).log.clone()
    }

    /// What a task does, as far as time is concerned.
    fn work_of(&self, memory: &Memory, device: u32, task: &Task, log: &mut Log) -> Work {
        let place = |backing: usize| {
            let address = memory.program_address(backing);
            memory.device_of_mapped(address).map_or(Place::Pinned, Place::Device)
        };
        let inside = |bytes: usize| Work::copy(Place::Device(device), Place::Device(device), bytes as u64);
        match task {
            Task::Move(Move::Copy(span)) => Work::copy(place(span.source), place(span.target), span.len as u64),
            Task::Move(Move::Batch(batch)) => match batch.spans.first() {
                None => Work::Nothing,
                Some(first) => Work::Copy {
                    source: place(first.source),
                    target: place(first.target),
                    bytes: batch.bytes as u64,
                    entries: batch.spans.len() as u32,
                    is_batch: true,
                },
            },
            Task::Move(Move::Plane(plane)) => {
                Work::copy(place(plane.source), place(plane.target), (plane.width * plane.height) as u64)
            }
            Task::Move(Move::Staged { buffer, target }) => {
                Work::copy(Place::Pinned, place(*target), buffer.len() as u64)
            }
            Task::Move(Move::Kernel(kernel)) => {
                let time = self.timing.kernels.get(&*kernel.name).or_else(|| self.timing.kernels.get("*"));
                let ns = match time {
                    Some(KernelTime::Nanoseconds(ns)) => Some(*ns),
                    Some(KernelTime::Measured(_)) | None => None,
                };
                Work::Kernel { device, name: log.name(&kernel.name), ns }
            }
            Task::Move(Move::WriteValue { .. }) => Work::Event,
            Task::Move(work) => {
                let written = work.accesses(memory);
                let written = written.iter().filter(|touch| touch.mode == softacl_memory::touch::Mode::Write);
                inside(written.map(|touch| touch.len).sum())
            }
            Task::Control(Control::Await(wait)) if matches!(wait.condition, WaitCondition::Delay) => {
                Work::HostFunction { ns: wait.timeout.map_or(0, |time| time.as_nanos() as u64) }
            }
            Task::Control(Control::Host(_)) => Work::HostFunction { ns: 0 },
            Task::Control(Control::Node { node, .. }) => {
                node.content().with_task(|task| self.work_of(memory, device, task, log))
            }
            Task::Control(
                Control::Record { .. }
                | Control::RecordShared { .. }
                | Control::Wait(_)
                | Control::Await(_)
                | Control::Change { .. }
                | Control::ResetGraphEvent(_),
            ) => Work::Event,
            Task::Control(_) => Work::Nothing,
        }
    }

    /// The factor for the measured time of a kernel, if its time is measured.
    pub(super) fn measured_scale(&self, task: &Task) -> Option<f64> {
        let name = task.label()?;
        match self.timing.kernels.get(&*name).or_else(|| self.timing.kernels.get("*"))? {
            KernelTime::Measured(scale) => Some(*scale),
            KernelTime::Nanoseconds(_) => None,
        }
    }
}

impl State {
    /// Corrects what a step of the log submitted, when it is known how long that took.
    pub(super) fn correct(&mut self, step: Option<usize>, work: Work) {
        if let Some(Step::Submit { work: logged, .. }) = step.and_then(|step| self.log.steps.get_mut(step)) {
            *logged = work;
        }
    }
}

pub(super) fn task_id(point: StreamPoint) -> TaskId {
    TaskId { stream: point.stream.index() as u32, sequence: point.sequence }
}
