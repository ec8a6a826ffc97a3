//! The search: runs orders on all cores until none is left or a bound is reached, and collects what they show.

use super::runner::{Failure, Run, Runner};
use super::shrink;
use super::trace::End;
use super::tree::{Job, Tree};
use crate::check::arguments::Arguments;
use crate::check::collect;
use crate::{output, signals};
use anyhow::Result;
use softacl_checker::finding::Report;
use softacl_checker::report::Outcome;
use softacl_checker::report::exploration::grouped;
use softacl_checker::report::suppression::Suppressions;
use softacl_engine::order::{Constraint, Order, RandomPriorities};
use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Number of ordered steps that random orders look for.
pub const RANDOM_DEPTH: u32 = 3;
/// Bounds of the number of random orders after a bound was reached. In between, a tenth of the orders so far.
const RANDOM_RUNS: std::ops::RangeInclusive<u64> = 10..=100;
/// Bounds of the time that a run may take. In between, this factor of the first run.
const TIME_FACTOR: u32 = 20;
const MIN_TIME: Duration = Duration::from_secs(10);
/// How often a run may stand still until the progress thread runs a task, each for up to twice the progress timeout.
const STALLS: u32 = 20;
const DEFAULT_PROGRESS_TIMEOUT: Duration = Duration::from_millis(250);
const FIRST_TIME: Duration = Duration::from_secs(600);

/// All runs, and what they have shown.
#[derive(Default)]
pub struct Search {
    pub tree: Tree,
    pub runs: u64,
    pub random_runs: u64,
    /// The option that ended the search.
    pub bound: Option<String>,
    /// What the program does that is not controlled.
    pub uncontrolled: BTreeSet<String>,
    pub causes: Vec<Cause>,
    /// Standard output of the first run.
    pub expected: Vec<u8>,
    pub first_duration: Option<Duration>,
    /// Output of the first run that failed, or of the first run.
    pub shown: Shown,
    /// Maximum numbers of actors and steps in a run.
    pub actors: usize,
    pub steps: u64,
    under_way: usize,
    known: HashSet<Symptom>,
    error: Option<anyhow::Error>,
}

/// Something that a run shows, and the order of that run.
pub struct Cause {
    pub symptom: Symptom,
    pub run: u64,
    pub constraints: Vec<Constraint>,
}

/// Something wrong in a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Symptom {
    Failure(Failure),
    Finding {
        id: String,
        /// The fingerprint in a brief report.
        brief: String,
    },
}

/// Output of a run.
#[derive(Default)]
pub struct Shown {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub exit_code: i32,
    has_failed: bool,
}

/// State that the worker threads share.
struct Shared<'a> {
    search: Mutex<Search>,
    changed: Condvar,
    outcome: Mutex<&'a mut Outcome>,
    suppressions: &'a Suppressions,
    deadline: Option<Instant>,
    arguments: &'a Arguments,
}

/// How long a run may take, given the first one.
pub fn limit(first: Option<Duration>) -> Duration {
    first.map_or(FIRST_TIME, |first| (first * TIME_FACTOR).max(MIN_TIME).max(progress_timeout() * 2 * STALLS))
}

/// The progress timeout of the runs. The runtime refuses a value that is not a number.
fn progress_timeout() -> Duration {
    let value = std::env::var("SOFTACL_PROGRESS_TIMEOUT_MS").ok();
    value.and_then(|text| text.parse().ok()).map_or(DEFAULT_PROGRESS_TIMEOUT, Duration::from_millis)
}

impl Search {
    /// Runs all orders.
    pub fn run(arguments: &Arguments, suppressions: &Suppressions, outcome: &mut Outcome) -> Result<Search> {
        let minutes = arguments.minutes.map(|minutes| Duration::from_secs_f64(minutes.max(0.0) * 60.0));
        let shared = Shared {
            search: Mutex::default(),
            changed: Condvar::new(),
            outcome: Mutex::new(outcome),
            suppressions,
            deadline: minutes.map(|minutes| Instant::now() + minutes),
            arguments,
        };
        let workers = thread::available_parallelism().map_or(1, usize::from);
        on_all_cores(workers, |_| shared.explore());
        if shared.search().bound.is_some() {
            let count = (shared.search().tree.orders() / 10).clamp(*RANDOM_RUNS.start(), *RANDOM_RUNS.end());
            on_all_cores(workers, |worker| shared.explore_randomly(worker as u64, workers as u64, count));
        }
        progress("", true);
        let mut search = shared.search.into_inner().unwrap_or_else(PoisonError::into_inner);
        match search.error.take() {
            Some(error) => Err(error),
            None => Ok(search),
        }
    }

    /// The next order to run, unless the search has ended.
    fn next(&mut self, shared: &Shared<'_>) -> Option<Job> {
        if self.error.is_some() {
            return None;
        }
        let stop = || signals::stopped().map(|signal| format!("signal {signal}"));
        let orders = || {
            let bound = shared.arguments.orders;
            (self.tree.orders() >= bound).then(|| format!("--orders {bound}"))
        };
        let time = || {
            let is_over = shared.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let minutes = shared.arguments.minutes.unwrap_or_default();
            (is_over && self.runs > 0).then(|| format!("--minutes {minutes}"))
        };
        let reached = stop().or_else(orders).or_else(time);
        if reached.is_some() {
            // A bound that is reached with the last order is none.
            if self.tree.left() > 0 && self.bound.is_none() {
                self.bound = reached;
            }
            return None;
        }
        self.tree.next()
    }

    /// Uses a run: its trace for the tree, and whatever it shows.
    fn add(&mut self, shared: &Shared<'_>, job: Option<&Job>, run: Run) {
        self.runs += 1;
        let number = self.runs;
        let Run { mut trace, failure, exit_code, reports, full, stdout, stderr, duration } = run;
        self.actors = self.actors.max(trace.actors().len());
        self.steps = self.steps.max(trace.steps.len() as u64);
        if self.first_duration.is_none() {
            self.first_duration = Some(duration);
            self.expected.clone_from(&stdout);
        }
        if number == 1 || (failure.is_some() && !self.shown.has_failed) {
            self.shown = Shown { stdout, stderr, exit_code, has_failed: failure.is_some() };
        }
        self.uncontrolled.append(&mut trace.uncontrolled);
        if let Some(job) = job {
            self.tree.add(job, &trace);
        }
        if trace.end == End::Redundant {
            return;
        }
        let mut outcome = shared.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if number == 1 && reports.is_empty() && trace.steps.is_empty() && failure.is_none() {
            collect::set_unchecked(shared.arguments, &mut outcome);
        }
        let mut symptoms: Vec<Symptom> = failure.map(Symptom::Failure).into_iter().collect();
        symptoms.extend(brief_findings(&reports));
        symptoms.retain(|symptom| self.known.insert(symptom.clone()));
        let mut new: HashSet<String> = HashSet::new();
        let plain = reports.into_iter().filter(|_| number == 1 && full.is_empty());
        for report in full.iter().cloned().chain(plain) {
            let before: HashSet<String> = fingerprints(&outcome);
            let notes = outcome.notes.clone();
            outcome.add(report, shared.suppressions);
            new.extend(fingerprints(&outcome).difference(&before).cloned());
            if number > 1 {
                // The notes are the same for every run.
                outcome.notes = notes;
            }
        }
        // What the first run shows needs no particular order, so the checker's report is enough. Nor does a finding
        // with other frames of the runtime, or one that is suppressed.
        let is_ordered = |symptom: &Symptom| match symptom {
            Symptom::Failure(_) => true,
            Symptom::Finding { id, .. } => {
                number > 1 && new.iter().any(|fingerprint| fingerprint.split(' ').next() == Some(id))
            }
        };
        for symptom in symptoms.into_iter().filter(is_ordered) {
            self.causes.push(Cause { symptom, run: number, constraints: shrink::constraints(&trace) });
        }
    }

    /// True if a run shows a finding that no run before has shown.
    fn is_news(&self, run: &Run) -> bool {
        brief_findings(&run.reports).any(|symptom| !self.known.contains(&symptom))
    }
}

impl Shared<'_> {
    fn search(&self) -> MutexGuard<'_, Search> {
        self.search.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs orders until none is left or a bound is reached.
    fn explore(&self) {
        let mut runner = None;
        loop {
            let mut search = self.search();
            let job = loop {
                match search.next(self) {
                    Some(job) => break Some(job),
                    // A run that is under way may add orders.
                    None if search.under_way > 0 && search.error.is_none() && search.bound.is_none() => {
                        search = self.changed.wait(search).unwrap_or_else(PoisonError::into_inner);
                    }
                    None => break None,
                }
            };
            let Some(job) = job else {
                self.changed.notify_all();
                return;
            };
            search.under_way += 1;
            let (limit, expected) = (limit(search.first_duration), search.expected.clone());
            let is_first = search.runs == 0;
            drop(search);
            let run = self.run(&mut runner, &job.order, limit, (!is_first).then_some(expected.as_slice()));
            let mut search = self.search();
            search.under_way -= 1;
            self.finish(&mut search, Some(&job), run);
        }
    }

    /// Runs random orders: every `workers`-th of `count`.
    fn explore_randomly(&self, worker: u64, workers: u64, count: u64) {
        let mut runner = None;
        for seed in (worker..count).step_by(workers as usize) {
            let search = self.search();
            if search.error.is_some() || signals::stopped().is_some() {
                return;
            }
            let random = Some(RandomPriorities { seed, depth: RANDOM_DEPTH, steps: search.steps });
            let (limit, expected) = (limit(search.first_duration), search.expected.clone());
            drop(search);
            let run = self.run(&mut runner, &Order { random, ..Order::default() }, limit, Some(&expected));
            let mut search = self.search();
            search.random_runs += 1;
            self.finish(&mut search, None, run);
        }
    }

    fn run(&self, runner: &mut Option<Runner>, order: &Order, limit: Duration, expected: Option<&[u8]>) -> Result<Run> {
        let runner = match runner {
            Some(runner) => runner,
            None => runner.insert(Runner::new(self.arguments)?),
        };
        let mut run = runner.run(order, limit, expected)?;
        // Source locations take long to find, so only runs that show something new are reported in full.
        if self.search().is_news(&run) {
            let order = Order { is_narrated: true, ..order.clone() };
            run.full = runner.run(&order, limit, expected)?.reports;
        }
        Ok(run)
    }

    fn finish(&self, search: &mut Search, job: Option<&Job>, run: Result<Run>) {
        match run {
            Ok(_) if signals::stopped().is_some() => {}
            Ok(run) => search.add(self, job, run),
            Err(error) => search.error = Some(search.error.take().unwrap_or(error)),
        }
        let (orders, left) = (search.tree.orders(), search.tree.left());
        let text = format!("softacl check: {} orders explored, {left} branches left", grouped(orders));
        progress(&text, false);
        self.changed.notify_all();
    }
}

/// The findings of brief reports.
fn brief_findings(reports: &[Report]) -> impl Iterator<Item = Symptom> {
    let findings = reports.iter().flat_map(|report| &report.findings);
    findings.map(|finding| Symptom::Finding { id: finding.id.clone(), brief: finding.fingerprint.clone() })
}

fn fingerprints(outcome: &Outcome) -> HashSet<String> {
    outcome.cases.iter().map(|case| case.finding.fingerprint.clone()).collect()
}

/// Runs work on several threads and waits for them.
fn on_all_cores(count: usize, work: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for worker in 0..count {
            let work = &work;
            scope.spawn(move || work(worker));
        }
    });
}

/// Prints a status line: one that replaces the previous one on a terminal, and one every ten seconds elsewhere.
fn progress(text: &str, is_last: bool) {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    if output::is_quiet() {
        return;
    }
    let is_terminal = output::shows_progress();
    let pause = Duration::from_millis(if is_terminal { 100 } else { 10_000 });
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let is_due = last.get_or_insert_with(Instant::now).elapsed() >= pause;
    if !(is_due || is_last && is_terminal) {
        return;
    }
    *last = Some(Instant::now());
    let _ = match is_terminal {
        true => write!(io::stderr(), "\r\x1b[K{text}"),
        false => writeln!(io::stderr(), "{text}"),
    };
}
