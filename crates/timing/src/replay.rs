//! Replays: a log with other figures, or with its copies joined to batches.
//!
//! A replay follows the calls as they were made. A program that decides by time, for example by queries, might make
//! others on another chip; `softacl what-if` therefore runs the program once per chip and replays only the intervals.

use crate::costs::Costs;
use crate::log::{Log, RUNTIME_THREAD, Step};
use crate::simulation::{Cause, Run, Simulation, TaskId};
use crate::work::Work;
use softacl_profiles::FigureName;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A task with its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRun {
    pub id: TaskId,
    /// The thread that submitted it.
    pub thread: u32,
    pub work: Work,
    pub run: Run,
}

/// Where the time of a host thread went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostTime {
    Think,
    /// Submitting a task, or asking for one.
    Call,
    /// Allocating, freeing or registering memory.
    Memory,
    /// A copy on the calling thread.
    BlockingCopy {
        is_stall: bool,
    },
    /// Waiting for this task, if it had not ended.
    Wait {
        id: Option<TaskId>,
        is_stall: bool,
    },
}

/// A piece of the timeline of a host thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSpan {
    pub thread: u32,
    pub start: u64,
    pub end: u64,
    pub what: HostTime,
}

/// A beginning phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseStart {
    pub name: u32,
    pub at: u64,
}

/// What a replay produces. Times are nanoseconds.
#[derive(Debug, Default)]
pub struct Outcome {
    pub tasks: Vec<TaskRun>,
    pub host: Vec<HostSpan>,
    pub phases: Vec<PhaseStart>,
    /// The time of the last event.
    pub total: u64,
    /// Figures that were needed and are not known.
    pub unknown: BTreeMap<FigureName, u64>,
}

/// Runs the steps of a log with these costs.
pub fn replay(log: &Log, costs: Costs) -> Outcome {
    let mut replay = Replay {
        simulation: Simulation::new(costs),
        streams: HashMap::new(),
        after: HashMap::new(),
        meets: HashMap::new(),
        expected: HashSet::new(),
        waiting: HashMap::new(),
        meeting: HashMap::new(),
        clocks: HashMap::new(),
        last_thread: 0,
        outcome: Outcome::default(),
    };
    for step in &log.steps {
        match *step {
            Step::After { id, other } => replay.after.entry(id).or_default().push(other),
            Step::Meet { id, other } => replay.meets.entry(id).or_default().push(other),
            _ => {}
        }
    }
    let others: HashSet<TaskId> = replay.after.values().chain(replay.meets.values()).flatten().copied().collect();
    if !others.is_empty() {
        let ids = log.steps.iter().filter_map(|step| if let Step::Submit { id, .. } = step { Some(*id) } else { None });
        replay.expected = ids.filter(|id| others.contains(id)).collect();
    }
    for step in &log.steps {
        replay.step(step);
    }
    replay.advance(u64::MAX);
    let host = replay.clocks.values().copied().max().unwrap_or(0);
    let tasks = replay.outcome.tasks.iter().map(|task| task.run.end).max().unwrap_or(0);
    replay.outcome.total = host.max(tasks);
    replay.outcome.unknown = replay.simulation.unknown().clone();
    replay.outcome
}

/// Joins runs of single copies of one thread, stream and direction to batches of at most `most` entries.
#[must_use]
pub fn batched(log: &Log, most: u32) -> Log {
    let mut steps: Vec<Step> = Vec::with_capacity(log.steps.len());
    // The task that a task became a part of.
    let mut joined: HashMap<TaskId, TaskId> = HashMap::new();
    for step in &log.steps {
        if let (Step::Submit { thread, id, work }, Some(Step::Submit { thread: before, id: to, work: batch })) =
            (*step, steps.last_mut())
            && thread == *before
            && id.stream == to.stream
            && let Some(larger) = join(*batch, work, most)
        {
            *batch = larger;
            joined.insert(id, *to);
            continue;
        }
        steps.push(*step);
    }
    let moved = |id: TaskId| joined.get(&id).copied().unwrap_or(id);
    for step in &mut steps {
        match step {
            Step::After { id, other } | Step::Meet { id, other } => (*id, *other) = (moved(*id), moved(*other)),
            Step::Wait { id, .. } => *id = moved(*id),
            _ => {}
        }
    }
    Log { steps, ..log.clone() }
}

/// One task that copies what two do. `None` if they do not fit together.
fn join(first: Work, second: Work, most: u32) -> Option<Work> {
    match (first, second) {
        (
            Work::Copy { source, target, bytes, entries, .. },
            Work::Copy { source: from, target: to, bytes: more, entries: 1, is_batch: false },
        ) if (source, target) == (from, to) && entries < most => {
            Some(Work::Copy { source, target, bytes: bytes + more, entries: entries + 1, is_batch: true })
        }
        _ => None,
    }
}

/// A submitted task.
#[derive(Clone, Copy)]
struct Queued {
    id: TaskId,
    work: Work,
    thread: u32,
    submitted: u64,
}

/// A stream during a replay.
#[derive(Default)]
struct Queue {
    queued: VecDeque<Queued>,
    is_running: bool,
    /// The last task that came to the front and waited for nothing but those that it meets.
    arrived: u64,
    /// The end of the last task, and the task.
    last: Option<(u64, TaskId)>,
}

struct Replay {
    simulation: Simulation,
    streams: HashMap<u32, Queue>,
    after: HashMap<TaskId, Vec<TaskId>>,
    meets: HashMap<TaskId, Vec<TaskId>>,
    /// Tasks that others depend on, and that the log submits later.
    expected: HashSet<TaskId>,
    /// Streams whose first task waits for the end of a task of this one.
    waiting: HashMap<u32, Vec<u32>>,
    /// Streams whose first task meets one of this stream that has not arrived.
    meeting: HashMap<u32, Vec<u32>>,
    clocks: HashMap<u32, u64>,
    /// The thread that made the last submit.
    last_thread: u32,
    outcome: Outcome,
}

impl Replay {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Think { thread, ns } => self.spend(thread, ns, HostTime::Think),
            Step::Submit { thread: RUNTIME_THREAD, id, work } => {
                let (thread, now) = (self.last_thread, self.enter(self.last_thread));
                self.queue(Queued { id, work, thread, submitted: now });
            }
            Step::Submit { thread, id, work } => {
                self.enter(thread);
                self.last_thread = thread;
                let cost = self.simulation.submit_cost(&work);
                self.spend(thread, cost, HostTime::Call);
                self.queue(Queued { id, work, thread, submitted: self.clocks[&thread] });
            }
            Step::After { .. } | Step::Meet { .. } => {}
            Step::Blocking { thread, work, is_stall } => {
                let now = self.enter(thread);
                self.advance(now);
                let run = self.simulation.block(&work, now);
                self.spend(thread, run.end - now, HostTime::BlockingCopy { is_stall });
            }
            Step::Wait { thread, id, is_stall } => {
                let now = self.enter(thread);
                self.advance(now);
                let had_ended = self.has_ended(id);
                while !self.has_ended(id) && self.advance_once() {}
                let cost =
                    self.simulation.fixed(if had_ended { FigureName::SynchronizeIdle } else { FigureName::WakeUp });
                let until = self.simulation.now().max(now) + cost;
                let id = (!had_ended).then_some(id);
                self.spend(thread, until - now, HostTime::Wait { id, is_stall });
            }
            Step::Query { thread } => {
                self.enter(thread);
                let cost = self.simulation.fixed(FigureName::Query);
                self.spend(thread, cost, HostTime::Call);
                self.advance(self.clocks[&thread]);
            }
            Step::Call { thread, call } => {
                self.enter(thread);
                let cost = self.simulation.call(call);
                self.spend(thread, cost, HostTime::Memory);
            }
            Step::Phase { thread, name } => {
                let at = self.enter(thread);
                self.outcome.phases.push(PhaseStart { name, at });
            }
        }
    }

    fn queue(&mut self, task: Queued) {
        self.expected.remove(&task.id);
        self.advance(task.submitted);
        self.streams.entry(task.id.stream).or_default().queued.push_back(task);
        self.start_front(task.id.stream, task.submitted, Cause::Submit);
    }

    /// The time of a thread when it makes a call: not before anything that has already happened.
    fn enter(&mut self, thread: u32) -> u64 {
        let clock = self.clocks.entry(thread).or_default();
        *clock = (*clock).max(self.simulation.now());
        *clock
    }

    fn spend(&mut self, thread: u32, ns: u64, what: HostTime) {
        let clock = self.clocks.entry(thread).or_default();
        let start = *clock;
        *clock += ns;
        if ns > 0 {
            self.outcome.host.push(HostSpan { thread, start, end: *clock, what });
        }
    }

    fn has_ended(&self, id: TaskId) -> bool {
        self.streams.get(&id.stream).and_then(|queue| queue.last).is_some_and(|(_, last)| last.sequence >= id.sequence)
    }

    /// Starts the first task of a stream, if it may start.
    fn start_front(&mut self, stream: u32, now: u64, cause: Cause) {
        let Some(queue) = self.streams.get(&stream).filter(|queue| !queue.is_running) else { return };
        let Some(Queued { id, work, thread, submitted }) = queue.queued.front().copied() else { return };
        if let Some(other) = self.open(&self.after, id, |other| self.has_ended(other)) {
            note(&mut self.waiting, other.stream, stream);
            return;
        }
        let (ready, cause) = if submitted >= now { (submitted, Cause::Submit) } else { (now, cause) };
        self.arrive(id, self.simulation.start_of(&work, ready));
        if let Some(other) = self.open(&self.meets, id, |other| self.has_arrived(other)) {
            note(&mut self.meeting, other.stream, stream);
            return;
        }
        let run = self.simulation.begin(id, &work, ready, cause);
        self.outcome.tasks.push(TaskRun { id, thread, work, run });
        let queue = self.streams.entry(stream).or_default();
        queue.queued.pop_front();
        queue.is_running = true;
    }

    /// The first task that another one depends on, and for which that is not fulfilled.
    fn open(
        &self,
        dependencies: &HashMap<TaskId, Vec<TaskId>>,
        id: TaskId,
        is_fulfilled: impl Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        // A task that was never submitted cannot be waited for: its stream may have been cleared.
        let exists = |other: &TaskId| {
            self.expected.contains(other)
                || self.streams.get(&other.stream).is_some_and(|queue| {
                    queue.is_running || queue.queued.iter().any(|queued| queued.id.sequence <= other.sequence)
                })
        };
        let others = dependencies.get(&id)?.iter().copied();
        others.filter(|other| other.stream != id.stream).find(|other| !is_fulfilled(*other) && exists(other))
    }

    fn has_arrived(&self, id: TaskId) -> bool {
        self.streams.get(&id.stream).is_some_and(|queue| queue.arrived >= id.sequence)
    }

    /// A task has come to the front of its stream, at this time. Those that meet it may start.
    fn arrive(&mut self, id: TaskId, at: u64) {
        let queue = self.streams.entry(id.stream).or_default();
        if queue.arrived < id.sequence {
            queue.arrived = id.sequence;
            for stream in self.meeting.remove(&id.stream).unwrap_or_default() {
                self.start_front(stream, at, Cause::Task(id));
            }
        }
    }

    /// Ends all tasks that end until a time.
    fn advance(&mut self, until: u64) {
        while self.simulation.next_end_time().is_some_and(|end| end <= until) {
            self.advance_once();
        }
    }

    /// Ends the next task. Returns `false` if none runs.
    fn advance_once(&mut self) -> bool {
        let Some((end, id)) = self.simulation.next_end() else { return false };
        let queue = self.streams.entry(id.stream).or_default();
        queue.is_running = false;
        queue.last = Some((end, id));
        self.start_front(id.stream, end, Cause::Task(id));
        for stream in self.waiting.remove(&id.stream).unwrap_or_default() {
            self.start_front(stream, end, Cause::Task(id));
        }
        true
    }
}

/// Notes that a stream waits for another one.
fn note(waiting: &mut HashMap<u32, Vec<u32>>, on: u32, stream: u32) {
    let streams = waiting.entry(on).or_default();
    if !streams.contains(&stream) {
        streams.push(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Bound;
    use crate::work::Place;
    use softacl_profiles::profile;

    fn costs(soc: &str) -> Costs {
        Costs::of(profile(Some(soc), None).unwrap().chip, Bound::Expected)
    }

    fn id(stream: u32, sequence: u64) -> TaskId {
        TaskId { stream, sequence }
    }

    fn copies(count: u64, bytes: u64) -> Log {
        let work = Work::copy(Place::Device(0), Place::Pinned, bytes);
        let mut steps: Vec<Step> =
            (1..=count).map(|sequence| Step::Submit { thread: 0, id: id(1, sequence), work }).collect();
        steps.push(Step::Wait { thread: 0, id: id(1, count), is_stall: false });
        Log { steps, ..Log::default() }
    }

    #[test]
    fn small_copies_are_bound_by_their_submits_and_large_ones_by_the_link() {
        let total = |bytes| replay(&copies(100, bytes), costs("Ascend910C")).total as f64 / 100.0;
        // 7.915 us per submit, and one wake-up.
        assert!((total(1024) - 7915.0).abs() < 100.0, "{}", total(1024));
        let transfer = f64::from(2 << 20) / 54.0;
        assert!((total(2 << 20) / transfer - 1.0).abs() < 0.01, "{}", total(2 << 20));
    }

    #[test]
    fn batches_save_what_they_save() {
        let log = copies(100, 1024);
        let joined = batched(&log, 64);
        assert_eq!(joined.steps.len(), 3);
        let [before, after] = [&log, &joined].map(|log| replay(log, costs("Ascend910C")).total);
        assert!(after < before && after > before / 2, "{after} {before}");
        let bytes = |log: &Log| {
            log.steps
                .iter()
                .map(|step| if let Step::Submit { work, .. } = step { work.bytes() } else { 0 })
                .sum::<u64>()
        };
        assert_eq!(bytes(&joined), bytes(&log));
    }

    #[test]
    fn waits_of_streams_order_their_tasks() {
        let kernel = Work::Kernel { device: 0, name: 0, ns: Some(1_000_000) };
        let copy = Work::copy(Place::Device(0), Place::Pinned, 54);
        let steps = vec![
            Step::Submit { thread: 0, id: id(1, 1), work: kernel },
            Step::Submit { thread: 0, id: id(1, 2), work: Work::Event },
            Step::Submit { thread: 0, id: id(2, 1), work: Work::Event },
            Step::After { id: id(2, 1), other: id(1, 2) },
            Step::Submit { thread: 0, id: id(2, 2), work: copy },
            Step::Wait { thread: 0, id: id(2, 2), is_stall: false },
        ];
        let outcome = replay(&Log { steps, ..Log::default() }, costs("Ascend910C"));
        let find = |wanted| outcome.tasks.iter().find(|task| task.id == wanted).unwrap().run;
        assert!(find(id(1, 1)).end >= 1_000_000);
        assert_eq!(find(id(2, 1)).cause, Cause::Task(id(1, 2)));
        assert!(find(id(2, 2)).start >= find(id(1, 2)).end);
        assert!(outcome.total > find(id(2, 2)).end);
    }

    #[test]
    fn two_chips_differ_by_their_figures() {
        let log = copies(10, 64 << 20);
        let [a2, a3] = ["Ascend910B", "Ascend910C"].map(|soc| replay(&log, costs(soc)).total as f64);
        assert!((a2 / a3 - 54.0 / 23.0).abs() < 0.02, "{}", a2 / a3);
    }
}
