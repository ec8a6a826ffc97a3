//! The answers: what a program takes on a chip and why, with intervals.
//!
//! Everything is computed three times: with the figures as they are, and with all of them at the fast or the slow end
//! of their intervals. The interval of a result is therefore wide where figures are, and never too narrow because
//! errors happened to cancel.

use crate::analysis::{Segment, copy_overlap, critical_path, engine_use, host_time};
use crate::costs::{Bound, Costs};
use crate::log::{Log, Step};
use crate::replay::{HostTime, Outcome, batched, replay};
use crate::work::{Engine, Work};
use serde::Serialize;
use softacl_profiles::{Chip, FigureName, Quality};
use std::collections::BTreeMap;

/// A time in nanoseconds, or a difference of two, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    pub expected: f64,
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// The values of three replays: expected, fastest, slowest.
    fn new([expected, one, other]: [f64; 3]) -> Range {
        Range { expected, low: one.min(other).min(expected), high: one.max(other).max(expected) }
    }
}

/// How an engine is used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineLine {
    pub engine: String,
    pub busy_ns: Range,
    /// Part of the total time, from 0 to 1.
    pub share: Range,
    pub tasks: u64,
    pub bytes: u64,
    /// How well the figure behind it is known. `None` if it is not known at all.
    pub quality: Option<Quality>,
}

/// A part of the critical path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathLine {
    pub what: String,
    pub ns: Range,
    /// Part of the total time, from 0 to 1.
    pub share: Range,
}

/// What joining copies to batches would change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BatchLine {
    /// Largest number of entries in a batch.
    pub entries: u32,
    /// Copies that could be joined.
    pub copies: u64,
    pub total_ns: Range,
    pub saves_ns: Range,
}

/// A phase of the program, from its start to the start of the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseLine {
    pub name: String,
    pub count: u64,
    pub ns: Range,
}

/// The report of one process on one chip.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    pub soc: String,
    pub total_ns: Range,
    pub engines: Vec<EngineLine>,
    /// Time in which copies run, and the part of it in which kernels run too.
    pub copying_ns: Range,
    pub overlap: Range,
    /// Host time in submits and queries, in waits, and in copies that pageable memory made synchronous.
    pub submit_ns: Range,
    pub wait_ns: Range,
    pub stall_ns: Range,
    pub stalls: u64,
    pub critical_path: Vec<PathLine>,
    pub batches: Vec<BatchLine>,
    pub phases: Vec<PhaseLine>,
    /// Figures that were needed but are not known: what needs them took no time.
    pub unknown: Vec<String>,
    /// Names of kernels without a time.
    pub kernels_without_time: Vec<String>,
}

impl Report {
    /// What another report saves: the differences of the totals, when the figures of both are at the same ends.
    pub fn saved_by(&self, other: &Report) -> Range {
        let (before, after) = (self.total_ns, other.total_ns);
        let saved = [before.expected - after.expected, before.low - after.low, before.high - after.high];
        Range::new(saved)
    }
}

const BOUNDS: [Bound; 3] = [Bound::Expected, Bound::Fastest, Bound::Slowest];

/// Builds the report of a log on a chip, with these batch sizes.
pub fn report(log: &Log, chip: &Chip, soc: &str, batch_sizes: &[u32]) -> Report {
    let outcomes = BOUNDS.map(|bound| replay(log, Costs::of(chip, bound)));
    let range = |of: &dyn Fn(&Outcome) -> f64| Range::new([0, 1, 2].map(|index| of(&outcomes[index])));
    let ns_of = |is_wanted: &dyn Fn(&HostTime) -> bool| range(&|outcome| host_time(outcome, is_wanted) as f64);
    let expected = &outcomes[0];
    let total_ns = range(&|outcome| outcome.total as f64);
    let is_stall = |what: &HostTime| {
        matches!(what, HostTime::BlockingCopy { is_stall: true } | HostTime::Wait { is_stall: true, .. })
    };
    let overlap_of = |outcome: &Outcome| match copy_overlap(outcome) {
        (0, _) => 0.0,
        (copying, both) => both as f64 / copying as f64,
    };
    let without_time = |step: &Step| match step {
        Step::Submit { work: Work::Kernel { name, ns: None, .. }, .. } => log.names.get(*name as usize).cloned(),
        _ => None,
    };
    let mut kernels_without_time: Vec<String> = log.steps.iter().filter_map(without_time).collect();
    kernels_without_time.sort_unstable();
    kernels_without_time.dedup();
    Report {
        soc: soc.to_owned(),
        engines: engines(&outcomes, chip),
        copying_ns: range(&|outcome| copy_overlap(outcome).0 as f64),
        overlap: range(&overlap_of),
        submit_ns: ns_of(&|what| matches!(what, HostTime::Call)),
        wait_ns: ns_of(&|what| matches!(what, HostTime::Wait { is_stall: false, .. })),
        stall_ns: ns_of(&is_stall),
        stalls: expected
            .host
            .iter()
            .filter(|span| matches!(span.what, HostTime::BlockingCopy { is_stall: true }))
            .count() as u64,
        critical_path: path(&outcomes),
        batches: batch_sizes.iter().filter_map(|entries| batch(log, chip, *entries, &outcomes)).collect(),
        phases: phases(log, &outcomes),
        unknown: expected
            .unknown
            .iter()
            .map(|(name, count)| format!("{name} ({}) is not known for {}: {count} times", name.meaning(), chip.family))
            .collect(),
        kernels_without_time,
        total_ns,
    }
}

fn engines(outcomes: &[Outcome; 3], chip: &Chip) -> Vec<EngineLine> {
    let uses = [0, 1, 2].map(|index| engine_use(&outcomes[index]));
    let line = |engine: &Engine| {
        let busy = [0, 1, 2].map(|index| uses[index].get(engine).copied().unwrap_or_default().busy as f64);
        let share = [0, 1, 2].map(|index| busy[index] / (outcomes[index].total.max(1)) as f64);
        let used = uses[0][engine];
        EngineLine {
            engine: engine.to_string(),
            busy_ns: Range::new(busy),
            share: Range::new(share),
            tasks: used.tasks,
            bytes: used.bytes,
            quality: chip.timing.get(figure_of(*engine)).map(|figure| figure.quality),
        }
    };
    uses[0].keys().map(line).collect()
}

/// The figure that decides how fast an engine is.
fn figure_of(engine: Engine) -> FigureName {
    match engine {
        Engine::HostToDevice(_) => FigureName::HostToDevice,
        Engine::DeviceToHost(_) => FigureName::DeviceToHost,
        Engine::Inside(_) => FigureName::InsideDevice,
        Engine::Link(from, to) if from / 2 == to / 2 => FigureName::Peer,
        Engine::Link(..) => FigureName::FarPeer,
        Engine::Host => FigureName::HostToHost,
        Engine::Compute(_) | Engine::None => FigureName::KernelStart,
    }
}

fn path(outcomes: &[Outcome; 3]) -> Vec<PathLine> {
    let paths: [BTreeMap<Segment, u64>; 3] =
        [0, 1, 2].map(|index| critical_path(&outcomes[index]).into_iter().collect());
    let line = |(segment, _): (Segment, u64)| {
        let ns = [0, 1, 2].map(|index| paths[index].get(&segment).copied().unwrap_or(0) as f64);
        PathLine {
            what: segment.to_string(),
            ns: Range::new(ns),
            share: Range::new([0, 1, 2].map(|index| ns[index] / outcomes[index].total.max(1) as f64)),
        }
    };
    critical_path(&outcomes[0]).into_iter().map(line).collect()
}

/// What batches of this size would change. `None` if no copies can be joined.
fn batch(log: &Log, chip: &Chip, entries: u32, before: &[Outcome; 3]) -> Option<BatchLine> {
    let joined = batched(log, entries);
    let copies =
        |log: &Log| log.steps.iter().filter(|step| matches!(step, Step::Submit { work, .. } if work.is_copy())).count();
    let removed = copies(log) - copies(&joined);
    if removed == 0 {
        return None;
    }
    let joined_copies = joined.steps.iter().map(|step| match step {
        Step::Submit { work: Work::Copy { entries, is_batch: true, .. }, .. } => u64::from(*entries),
        _ => 0,
    });
    let totals = BOUNDS.map(|bound| replay(&joined, Costs::of(chip, bound)).total as f64);
    let saved = [0, 1, 2].map(|index| before[index].total as f64 - totals[index]);
    Some(BatchLine { entries, copies: joined_copies.sum(), total_ns: Range::new(totals), saves_ns: Range::new(saved) })
}

fn phases(log: &Log, outcomes: &[Outcome; 3]) -> Vec<PhaseLine> {
    // The replays have the same phases, at different times.
    let durations = |outcome: &Outcome| {
        let ends = outcome.phases.iter().skip(1).map(|phase| phase.at).chain([outcome.total]);
        let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (phase, end) in outcome.phases.iter().zip(ends) {
            let (count, ns) = sums.entry(phase.name).or_default();
            *count += 1;
            *ns += end.saturating_sub(phase.at);
        }
        sums
    };
    let sums = [0, 1, 2].map(|index| durations(&outcomes[index]));
    let line = |(name, (count, _)): (&u32, &(u64, u64))| PhaseLine {
        name: log.names.get(*name as usize).cloned().unwrap_or_default(),
        count: *count,
        ns: Range::new([0, 1, 2].map(|index| sums[index].get(name).map_or(0.0, |(_, ns)| *ns as f64))),
    };
    sums[0].iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::TaskId;
    use crate::work::Place;
    use softacl_profiles::profile;

    fn offload(copies: u64) -> Log {
        let id = |stream, sequence| TaskId { stream, sequence };
        let mut log = Log::default();
        let name = log.name("decode");
        let work = Work::copy(Place::Device(0), Place::Pinned, 4096);
        let kernel = Work::Kernel { device: 0, name, ns: Some(100_000) };
        log.steps.push(Step::Submit { thread: 0, id: id(1, 1), work: kernel });
        log.steps.extend((1..=copies).map(|sequence| Step::Submit { thread: 0, id: id(2, sequence), work }));
        log.steps.push(Step::Wait { thread: 0, id: id(2, copies), is_stall: false });
        log
    }

    #[test]
    fn intervals_contain_the_expected_values() {
        let chip = profile(Some("Ascend910C"), None).unwrap().chip;
        let report = report(&offload(1000), chip, "Ascend910_9392", &[64]);
        for range in [report.total_ns, report.submit_ns, report.overlap, report.batches[0].saves_ns] {
            assert!(range.low <= range.expected && range.expected <= range.high, "{range:?}");
        }
        assert!(report.total_ns.low < report.total_ns.high);
        assert_eq!(report.batches[0].copies, 1000);
        assert!(report.batches[0].saves_ns.low > 0.0);
        assert!(report.critical_path[0].what.contains("submits of thread 0"), "{:?}", report.critical_path);
        assert!(report.unknown.is_empty() && report.kernels_without_time.is_empty());
    }

    #[test]
    fn what_is_not_known_is_said() {
        let chip = profile(Some("Ascend310P"), None).unwrap().chip;
        let report = report(&offload(2), chip, "Ascend310P3", &[]);
        assert!(report.unknown.iter().any(|line| line.contains("d2h_bandwidth") && line.contains("Ascend310P")));
    }
}
