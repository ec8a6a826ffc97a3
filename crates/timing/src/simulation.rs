//! Discrete events: engines that are busy until a time, and tasks that end at a time.
//!
//! The owner decides when a task may start, calls `begin`, and takes ended tasks with `next_end`, in the order of time.
//! An engine does one task at a time, in the order in which they become ready.

use crate::costs::Costs;
use crate::work::{Call, Engine, Work};
use softacl_profiles::FigureName;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// A task: its stream, and its number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    pub stream: u32,
    pub sequence: u64,
}

/// Why a task did not start earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The host submitted it at that time.
    Submit,
    /// Another task ended: before it in the stream, or one that it waits for.
    Task(TaskId),
    /// Its engine was busy with this task.
    Engine(TaskId),
}

/// When a task ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub start: u64,
    pub end: u64,
    pub cause: Cause,
}

/// The state of all engines, and the tasks that run. Times are nanoseconds since the start of the program.
#[derive(Debug)]
pub struct Simulation {
    costs: Costs,
    busy: HashMap<Engine, (u64, TaskId)>,
    /// Tasks that run, by their ends. The number keeps equal times in the order of their starts.
    running: BinaryHeap<Reverse<(u64, u64, TaskId)>>,
    started: u64,
    now: u64,
    /// How often a figure was needed that is not known.
    unknown: BTreeMap<FigureName, u64>,
}

impl Simulation {
    pub fn new(costs: Costs) -> Simulation {
        Simulation {
            costs,
            busy: HashMap::new(),
            running: BinaryHeap::new(),
            started: 0,
            now: 0,
            unknown: BTreeMap::new(),
        }
    }

    /// The time of the last event.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Host time of submitting a task. An unknown one takes no time, and is counted.
    pub fn submit_cost(&mut self, work: &Work) -> u64 {
        let cost = self.costs.submit(work);
        self.count_unknown(cost)
    }

    /// Host time of a call about memory. An unknown one takes no time, and is counted.
    pub fn call(&mut self, call: Call) -> u64 {
        let cost = self.costs.call(call);
        self.count_unknown(cost)
    }

    /// A fixed cost on the host. An unknown one takes no time, and is counted.
    pub fn fixed(&mut self, name: FigureName) -> u64 {
        let cost = self.costs.get(name).map(|ns| ns as u64).ok_or(name);
        self.count_unknown(cost)
    }

    fn count_unknown(&mut self, cost: Result<u64, FigureName>) -> u64 {
        cost.unwrap_or_else(|name| {
            *self.unknown.entry(name).or_default() += 1;
            0
        })
    }

    /// Figures that were needed and are not known, and how often.
    pub fn unknown(&self) -> &BTreeMap<FigureName, u64> {
        &self.unknown
    }

    /// When a task that is ready at `ready` would start.
    pub fn start_of(&self, work: &Work, ready: u64) -> u64 {
        match (work.engine(), self.busy.get(&work.engine())) {
            (Engine::None, _) | (_, None) => ready,
            (_, Some((until, _))) => ready.max(*until),
        }
    }

    /// Starts a task that became ready at `ready`, for the reason `cause`.
    pub fn begin(&mut self, id: TaskId, work: &Work, ready: u64, cause: Cause) -> Run {
        let time = self.costs.device(work);
        let time = self.count_unknown(time);
        self.begin_for(id, work.engine(), ready, cause, time)
    }

    fn begin_for(&mut self, id: TaskId, engine: Engine, ready: u64, cause: Cause, time: u64) -> Run {
        let (start, cause) = match self.busy.get(&engine) {
            Some((until, by)) if engine != Engine::None && *until > ready => (*until, Cause::Engine(*by)),
            _ => (ready, cause),
        };
        let run = Run { start, end: start + time, cause };
        if engine != Engine::None {
            self.busy.insert(engine, (run.end, id));
        }
        self.started += 1;
        self.running.push(Reverse((run.end, self.started, id)));
        run
    }

    /// Copies on the calling thread from `from` on, and returns when it is done.
    pub fn block(&mut self, work: &Work, from: u64) -> Run {
        let engine = work.engine();
        let fixed = self.fixed(FigureName::BlockingCopy);
        let time = self.costs.device(work);
        let time = self.count_unknown(time);
        let (start, cause) = match self.busy.get(&engine) {
            Some((until, by)) if engine != Engine::None && *until > from => (*until, Cause::Engine(*by)),
            _ => (from, Cause::Submit),
        };
        if let Some(entry) = self.busy.get_mut(&engine) {
            entry.0 = start + time;
        }
        Run { start, end: start + fixed + time, cause }
    }

    /// When the next task ends.
    pub fn next_end_time(&self) -> Option<u64> {
        self.running.peek().map(|Reverse((end, ..))| *end)
    }

    /// Takes the task that ends next.
    pub fn next_end(&mut self) -> Option<(u64, TaskId)> {
        let Reverse((end, _, id)) = self.running.pop()?;
        self.now = self.now.max(end);
        Some((end, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Bound;
    use crate::work::Place;
    use softacl_profiles::profile;

    fn simulation() -> Simulation {
        Simulation::new(Costs::of(profile(Some("Ascend910C"), None).unwrap().chip, Bound::Expected))
    }

    fn id(stream: u32, sequence: u64) -> TaskId {
        TaskId { stream, sequence }
    }

    #[test]
    fn copies_of_one_direction_share_an_engine() {
        let mut simulation = simulation();
        let up = Work::copy(Place::Pinned, Place::Device(0), 56_000);
        let down = Work::copy(Place::Device(0), Place::Pinned, 54_000);
        let first = simulation.begin(id(1, 1), &up, 10, Cause::Submit);
        let second = simulation.begin(id(2, 1), &up, 20, Cause::Submit);
        let other = simulation.begin(id(3, 1), &down, 20, Cause::Submit);
        assert_eq!(first, Run { start: 10, end: 1010, cause: Cause::Submit });
        assert_eq!(second, Run { start: 1010, end: 2010, cause: Cause::Engine(id(1, 1)) });
        assert_eq!(other, Run { start: 20, end: 1020, cause: Cause::Submit });
        let ends: Vec<_> = std::iter::from_fn(|| simulation.next_end()).collect();
        assert_eq!(ends, [(1010, id(1, 1)), (1020, id(3, 1)), (2010, id(2, 1))]);
        assert_eq!(simulation.now(), 2010);
    }

    #[test]
    fn unknown_figures_take_no_time_and_are_counted() {
        let mut simulation = simulation();
        let inside = Work::copy(Place::Device(0), Place::Device(0), 1 << 30);
        let run = simulation.begin(id(1, 1), &inside, 5, Cause::Submit);
        assert_eq!((run.start, run.end), (5, 5));
        assert_eq!(simulation.unknown().iter().collect::<Vec<_>>(), [(&FigureName::InsideDevice, &1)]);
    }
}
