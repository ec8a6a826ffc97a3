//! `cargo xtask zoo`: runs the cases of `zoo/`. Every bug must be found, and no fixed twin may be reported.
//!
//! The buggy program runs under `early`, where its result may be correct by chance, and under `late` with the checker,
//! which must report exactly the findings of the case. The fixed program runs under `early`, `late` and random
//! schedules with the checker, which must report nothing. `--explore` runs the fixed programs in every order, up to a low
//! bound: none may fail. It also runs the buggy C programs whose race does not show under `early`: it must be found.
//! `--without-checker` verifies the output of the programs only.

mod case;
mod execute;
mod table;

use std::fs;
use std::io::{IsTerminal, Write as _, stdout};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::conformance::{self, Sanitizer};
use crate::parallel::in_parallel;
use crate::{python, workspace};
use case::{Case, Language, Twin, Verdict};
use execute::{CaseRun, Paths};

pub use case::FINDINGS;
pub use table::write as table;

/// Programs with false positives under ThreadSanitizer: a host function writes what the main thread reads after a wait.
/// The library orders the two, and it is not instrumented.
const TSAN_UNSUPPORTED: [&str; 1] = ["s1-kernel"];

/// Findings that depend on the order of tasks. An exploration must find them in a program that is right on `early`.
const RACES: [&str; 3] = ["H1", "H3", "S1"];

/// Selects the cases and how they run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Run only cases whose name contains this text.
    pub filter: Option<String>,
    /// Run under the checker. Otherwise only the output of the programs is verified.
    pub checker: bool,
    /// Number of random schedules per fixed program.
    pub seeds: u32,
    /// Run the fixed programs in every order instead, up to a low bound, and the buggy ones with a race.
    pub explore: bool,
    /// Run only the fixed C programs, built with a sanitizer that must report nothing.
    pub sanitizer: Option<Sanitizer>,
}

pub fn run(options: &Options) -> Result<()> {
    let started = Instant::now();
    let mut cases = case::all(&workspace::root().join("zoo"))?;
    cases.retain(|case| options.filter.as_deref().is_none_or(|filter| case.id.contains(filter)));
    if let Some(sanitizer) = options.sanitizer {
        let is_supported =
            |case: &Case| sanitizer != Sanitizer::Thread || !TSAN_UNSUPPORTED.contains(&case.id.as_str());
        cases.retain(|case| case.language == Language::C && is_supported(case));
    }
    ensure!(!cases.is_empty(), "no case matches");
    let paths = prepare(&cases, options.sanitizer)?;

    let both: &[Twin] = if options.sanitizer.is_some() { &[Twin::Fixed] } else { &[Twin::Buggy, Twin::Fixed] };
    let twins: Vec<(&Case, Twin)> = cases.iter().flat_map(|case| both.iter().map(move |twin| (case, *twin))).collect();
    let mut broken = 0;
    for ((case, twin), result) in twins.iter().zip(in_parallel(&twins, |(case, twin)| paths.build(case, *twin))) {
        if let Some(text) = result? {
            println!("{} {} does not compile\n{text}", case.id, twin.name());
            broken += 1;
        }
    }
    ensure!(broken == 0, "{broken} programs do not compile");

    let runs: Vec<CaseRun> = cases.iter().flat_map(|case| plan(case, options)).collect();
    let progress = Mutex::new(Progress::new(runs.len()));
    let outcomes = in_parallel(&runs, |run| {
        let failure = run.execute(&paths)?;
        let mut progress = progress.lock().expect("no run panics while holding the lock");
        progress.advance();
        if let Some(failure) = &failure {
            progress.clear();
            let output: Vec<String> = failure.output.lines().map(|line| format!("  | {line}")).collect();
            let output = output.join("\n");
            println!("FAILED {}\n  {}\n{output}\n  repeat: {}", run.title(), failure.reason, failure.repeat);
        }
        Ok::<_, anyhow::Error>(failure.is_some())
    });
    let mut failed = 0;
    for outcome in outcomes {
        failed += usize::from(outcome?);
    }
    println!(
        "zoo: {} cases, {} runs{}, {failed} failed, {:.1} s",
        cases.len(),
        runs.len(),
        if options.checker { "" } else { " without the checker" },
        started.elapsed().as_secs_f64()
    );
    ensure!(failed == 0, "{failed} runs of the zoo failed");
    Ok(())
}

fn prepare(cases: &[Case], sanitizer: Option<Sanitizer>) -> Result<Paths> {
    let directory = workspace::target().join(match sanitizer {
        None => "zoo".to_owned(),
        Some(sanitizer) => format!("zoo-{}", sanitizer.name()),
    });
    let library = workspace::build_library()?;
    let site = directory.join("site-packages");
    fs::create_dir_all(&site)?;
    if cases.iter().any(|case| case.language == Language::Python) {
        python::build_module()?;
        python::stage_module(&site, &library)?;
    }
    if sanitizer.is_some() {
        // A sanitizer without effect must not be mistaken for a clean run.
        let options = conformance::Options { sanitizer, ..workspace::conformance_options(library.clone()) };
        conformance::check_sanitizer(&options, &directory)?;
    }
    let include = workspace::root().join("include");
    let python = python::interpreter()?;
    Ok(Paths { library, include, site, python, binaries: directory.clone(), directory, sanitizer, variable: None })
}

/// Builds all programs for another library than that of the workspace, for [`Cases::failures`].
pub fn prepare_with(library: PathBuf, directory: PathBuf) -> Result<Cases> {
    let all = case::all(&workspace::root().join("zoo"))?;
    let site = directory.join("site-packages");
    fs::create_dir_all(&site)?;
    python::build_module()?;
    python::stage_module(&site, &workspace::target().join("release"))?;
    let (include, python) = (workspace::root().join("include"), python::interpreter()?);
    let binaries = directory.clone();
    let paths = Paths { library, include, site, python, binaries, directory, sanitizer: None, variable: None };
    let twins: Vec<(&Case, Twin)> = all.iter().flat_map(|case| [(case, Twin::Buggy), (case, Twin::Fixed)]).collect();
    for ((case, twin), result) in twins.iter().zip(in_parallel(&twins, |(case, twin)| paths.build(case, *twin))) {
        let text = result?;
        ensure!(text.is_none(), "{} {} does not compile\n{}", case.id, twin.name(), text.unwrap_or_default());
    }
    Ok(Cases { all, paths })
}

/// The cases with their built programs.
#[derive(Debug)]
pub struct Cases {
    all: Vec<Case>,
    paths: Paths,
}

impl Cases {
    /// Runs the cases that show a finding under the checker, with a variable. Returns the failed runs. With a variable,
    /// the first one is enough.
    pub fn failures(&self, finding: &str, variable: Option<(&str, &str)>) -> Result<Vec<String>> {
        let name = variable.map_or_else(|| "plain".to_owned(), |(name, value)| format!("{name}-{value}"));
        let directory = self.paths.directory.join(format!("{finding}-{name}"));
        fs::create_dir_all(&directory)?;
        let variable = variable.map(|(name, value)| (name.to_owned(), value.into()));
        let is_quick = variable.is_some();
        let paths = Paths { directory, variable, ..self.paths.clone() };
        let mut failures = Vec::new();
        for case in self.all.iter().filter(|case| case.findings.iter().any(|found| found.id() == finding)) {
            for twin in [Twin::Buggy, Twin::Fixed] {
                let run = CaseRun { case, twin, schedule: "late".to_owned(), checked: true };
                failures.extend(
                    run.execute(&paths)?.map(|failure| {
                        format!("{}: {}", run.title(), failure.reason.lines().next().unwrap_or_default())
                    }),
                );
                if is_quick && !failures.is_empty() {
                    return Ok(failures);
                }
            }
        }
        Ok(failures)
    }
}

/// Returns the runs of one case.
fn plan<'c>(case: &'c Case, options: &Options) -> Vec<CaseRun<'c>> {
    let run = |twin, schedule: &str, checked| CaseRun { case, twin, schedule: schedule.to_owned(), checked };
    if options.sanitizer.is_some() {
        return ["threads", "early", "late"].map(|schedule| run(Twin::Fixed, schedule, false)).into();
    }
    if options.explore {
        // Fault rules delay tasks in real time, and every order would take that time.
        let takes_time = case.env.contains_key("SOFTACL_FAULTS");
        if takes_time {
            return Vec::new();
        }
        let is_race = case.findings.iter().any(|finding| RACES.contains(&finding.id()));
        // Each order is a process, and an interpreter starts slowly.
        let is_quick = case.language == Language::C && !case.hangs;
        let hides = is_race && is_quick && case.early == Verdict::Right;
        let buggy = hides.then(|| run(Twin::Buggy, execute::EXPLORE, true));
        return buggy.into_iter().chain([run(Twin::Fixed, execute::EXPLORE, true)]).collect();
    }
    let mut runs = Vec::new();
    match (case.hangs, options.checker) {
        // A hang is found on every schedule. Without the checker, nothing ends the program.
        (true, true) => runs.extend(["early", "late", "threads", "random:1"].map(|at| run(Twin::Buggy, at, true))),
        (true, false) => {}
        (false, is_checked) => {
            runs.extend(["early", "late"].map(|schedule| run(Twin::Buggy, schedule, false)));
            runs.extend(is_checked.then(|| run(Twin::Buggy, "late", true)));
        }
    }
    runs.push(run(Twin::Fixed, "threads", false));
    let seeds = (1..=options.seeds).map(|seed| format!("random:{seed}"));
    for schedule in case.schedules.iter().cloned().chain(seeds) {
        runs.push(run(Twin::Fixed, &schedule, options.checker));
    }
    runs
}

/// Prints the number of finished runs: one updated line on a terminal, otherwise a line per tenth of the runs.
#[derive(Debug)]
struct Progress {
    total: usize,
    done: usize,
    terminal: bool,
}

impl Progress {
    fn new(total: usize) -> Progress {
        Progress { total, done: 0, terminal: stdout().is_terminal() }
    }

    fn advance(&mut self) {
        self.done += 1;
        if self.terminal {
            print!("\rzoo: {} of {} runs", self.done, self.total);
            if self.done == self.total {
                println!();
            }
            // Progress output is optional.
            stdout().flush().ok();
        } else if self.done * 10 / self.total > (self.done - 1) * 10 / self.total {
            println!("zoo: {} of {} runs", self.done, self.total);
        }
    }

    /// Clears the line for other output.
    fn clear(&self) {
        if self.terminal {
            print!("\r\x1b[K");
        }
    }
}
