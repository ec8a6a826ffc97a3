//! What the times of a replay mean: how busy the engines are, what overlaps, and what the total is made of.

use crate::replay::{HostSpan, HostTime, Outcome, TaskRun};
use crate::simulation::{Cause, TaskId};
use crate::work::Engine;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// How an engine was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EngineUse {
    pub busy: u64,
    pub tasks: u64,
    pub bytes: u64,
}

/// A kind of thing that the total time is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A task of this stream on this engine.
    Task(Engine, u32),
    /// Calls of this thread.
    Calls(u32),
    /// Calls of this thread that allocate, free or register memory.
    Memory(u32),
    /// Computation of this thread between calls.
    Think(u32),
    /// Synchronous copies of this thread.
    BlockingCopies(u32),
    /// Asynchronous copies of this thread that pageable memory made synchronous.
    Stalls(u32),
    /// A waiting thread continues.
    WakeUps,
    /// Nothing that the log explains.
    Idle,
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Segment::Task(Engine::None, stream) => write!(f, "events and host functions of stream {stream}"),
            Segment::Task(Engine::Compute(device), stream) => {
                write!(f, "kernels of stream {stream} on device {device}")
            }
            Segment::Task(engine, stream) => write!(f, "copies of stream {stream}, {engine}"),
            Segment::Calls(thread) => write!(f, "submits of thread {thread}"),
            Segment::Memory(thread) => write!(f, "allocations of thread {thread}"),
            Segment::Think(thread) => write!(f, "computation of thread {thread}"),
            Segment::BlockingCopies(thread) => write!(f, "synchronous copies of thread {thread}"),
            Segment::Stalls(thread) => write!(f, "copies of thread {thread} that pageable memory makes synchronous"),
            Segment::WakeUps => f.write_str("waking up threads that wait"),
            Segment::Idle => f.write_str("nothing that the log explains"),
        }
    }
}

/// The use of every engine that had a task.
pub fn engine_use(outcome: &Outcome) -> BTreeMap<Engine, EngineUse> {
    let mut engines: BTreeMap<Engine, EngineUse> = BTreeMap::new();
    for TaskRun { work, run, .. } in &outcome.tasks {
        let engine = work.engine();
        if engine != Engine::None {
            let used = engines.entry(engine).or_default();
            used.busy += run.end - run.start;
            used.tasks += 1;
            used.bytes += work.bytes();
        }
    }
    engines
}

/// Times during which copies run, and during which copies and kernels run at once.
pub fn copy_overlap(outcome: &Outcome) -> (u64, u64) {
    // +1 where a task starts, -1 where it ends; the flag is true for copies.
    let mut edges: Vec<(u64, i32, bool)> = Vec::new();
    for TaskRun { work, run, .. } in &outcome.tasks {
        let engine = work.engine();
        if engine != Engine::None && run.start < run.end {
            edges.extend([(run.start, 1, engine.is_copy_engine()), (run.end, -1, engine.is_copy_engine())]);
        }
    }
    edges.sort_unstable();
    let (mut copies, mut kernels, mut before) = (0, 0, 0);
    let (mut copying, mut both) = (0, 0);
    for (at, change, is_copy) in edges {
        if copies > 0 {
            copying += at - before;
            both += if kernels > 0 { at - before } else { 0 };
        }
        *(if is_copy { &mut copies } else { &mut kernels }) += change;
        before = at;
    }
    (copying, both)
}

/// Sums the time of host threads by what they did.
pub fn host_time(outcome: &Outcome, is_wanted: impl Fn(&HostTime) -> bool) -> u64 {
    outcome.host.iter().filter(|span| is_wanted(&span.what)).map(|span| span.end - span.start).sum()
}

/// The critical path: follows the last event back to the start, through whatever made it late. Returns the time of each
/// kind of segment, longest first; the sum is the total.
pub fn critical_path(outcome: &Outcome) -> Vec<(Segment, u64)> {
    let tasks: HashMap<TaskId, &TaskRun> = outcome.tasks.iter().map(|task| (task.id, task)).collect();
    let mut threads: HashMap<u32, Vec<&HostSpan>> = HashMap::new();
    for span in &outcome.host {
        threads.entry(span.thread).or_default().push(span);
    }
    let last_task = outcome.tasks.iter().max_by_key(|task| task.run.end);
    let last_span = outcome.host.iter().max_by_key(|span| span.end);
    let mut place = match (last_task, last_span) {
        (Some(task), span) if span.is_none_or(|span| span.end < task.run.end) => Place::Task(task.id),
        (_, Some(span)) => Place::Thread(span.thread),
        _ => return Vec::new(),
    };
    let mut sums: BTreeMap<Segment, u64> = BTreeMap::new();
    let mut now = outcome.total;
    while now > 0 {
        let (segment, from, next) = match place {
            Place::Task(id) => step_from_task(tasks[&id], &tasks),
            Place::Thread(thread) => {
                step_from_thread(thread, now, threads.get(&thread).map_or(&[], |spans| spans), &tasks)
            }
        };
        // A thread may have lagged behind the event that a step leads to.
        *sums.entry(segment).or_default() += now - from.min(now);
        now = now.min(from);
        place = next;
    }
    let mut sums: Vec<(Segment, u64)> = sums.into_iter().filter(|(_, ns)| *ns > 0).collect();
    sums.sort_by_key(|(segment, ns)| (std::cmp::Reverse(*ns), *segment));
    sums
}

/// Where the walk along the critical path is.
enum Place {
    Task(TaskId),
    Thread(u32),
}

/// What a task took, when it started, and who is responsible for that.
fn step_from_task(task: &TaskRun, tasks: &HashMap<TaskId, &TaskRun>) -> (Segment, u64, Place) {
    let next = match task.run.cause {
        Cause::Task(id) | Cause::Engine(id) if tasks.contains_key(&id) && id != task.id => Place::Task(id),
        _ => Place::Thread(task.thread),
    };
    (Segment::Task(task.work.engine(), task.id.stream), task.run.start, next)
}

/// What a thread did until `now`, since when, and who is responsible for that.
fn step_from_thread(
    thread: u32,
    now: u64,
    spans: &[&HostSpan],
    tasks: &HashMap<TaskId, &TaskRun>,
) -> (Segment, u64, Place) {
    let count = spans.partition_point(|span| span.start < now);
    let Some(span) = spans[..count].last() else { return (Segment::Idle, 0, Place::Thread(thread)) };
    if span.end < now {
        return (Segment::Idle, span.end, Place::Thread(thread));
    }
    let segment = match span.what {
        HostTime::Think => Segment::Think(thread),
        HostTime::Call => Segment::Calls(thread),
        HostTime::Memory => Segment::Memory(thread),
        HostTime::BlockingCopy { is_stall: false } => Segment::BlockingCopies(thread),
        HostTime::BlockingCopy { is_stall: true } => Segment::Stalls(thread),
        HostTime::Wait { id: Some(id), .. } => {
            // The wait itself is what the task took; only the wake-up is added.
            if let Some(task) = tasks.get(&id).filter(|task| task.run.end < now) {
                return (Segment::WakeUps, task.run.end, Place::Task(id));
            }
            Segment::WakeUps
        }
        HostTime::Wait { id: None, .. } => Segment::Calls(thread),
    };
    (segment, span.start, Place::Thread(thread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::{Bound, Costs};
    use crate::log::{Log, Step};
    use crate::replay::replay;
    use crate::work::{Place as At, Work};
    use softacl_profiles::profile;

    fn outcome(steps: Vec<Step>) -> Outcome {
        let chip = profile(Some("Ascend910C"), None).unwrap().chip;
        replay(&Log { steps, ..Log::default() }, Costs::of(chip, Bound::Expected))
    }

    fn submit(stream: u32, sequence: u64, work: Work) -> Step {
        Step::Submit { thread: 0, id: TaskId { stream, sequence }, work }
    }

    #[test]
    fn critical_path_names_what_the_end_waits_for_and_adds_up() {
        let slow = Work::copy(At::Device(0), At::Pinned, 540_000_000);
        let quick = Work::copy(At::Pinned, At::Device(0), 5600);
        let id = TaskId { stream: 3, sequence: 2 };
        let result = outcome(vec![
            submit(3, 1, slow),
            submit(4, 1, quick),
            submit(3, 2, slow),
            Step::Wait { thread: 0, id, is_stall: false },
        ]);
        let path = critical_path(&result);
        assert_eq!(path[0].0, Segment::Task(Engine::DeviceToHost(0), 3));
        assert!(path[0].1 as f64 > 0.99 * result.total as f64);
        assert_eq!(path.iter().map(|(_, ns)| ns).sum::<u64>(), result.total);
    }

    #[test]
    fn many_small_copies_are_the_fault_of_their_submits() {
        let work = Work::copy(At::Device(0), At::Pinned, 64);
        let mut steps: Vec<Step> = (1..=50).map(|sequence| submit(1, sequence, work)).collect();
        steps.push(Step::Wait { thread: 0, id: TaskId { stream: 1, sequence: 50 }, is_stall: false });
        let result = outcome(steps);
        let path = critical_path(&result);
        assert_eq!(path[0].0, Segment::Calls(0));
        assert_eq!(path.iter().map(|(_, ns)| ns).sum::<u64>(), result.total);
    }

    #[test]
    fn overlap_is_the_time_in_which_copies_and_kernels_run() {
        let kernel = Work::Kernel { device: 0, name: 0, ns: Some(1_000_000) };
        let copy = Work::copy(At::Device(0), At::Pinned, 54 * 100_000);
        let hidden = outcome(vec![submit(1, 1, kernel), submit(2, 1, copy)]);
        let (copying, both) = copy_overlap(&hidden);
        assert_eq!((copying, both), (100_000, 100_000));
        let behind = outcome(vec![submit(1, 1, kernel), submit(1, 2, copy)]);
        assert_eq!(copy_overlap(&behind), (100_000, 0));
        assert_eq!(
            engine_use(&behind)[&Engine::DeviceToHost(0)],
            EngineUse { busy: 100_000, tasks: 1, bytes: 5_400_000 }
        );
    }
}
