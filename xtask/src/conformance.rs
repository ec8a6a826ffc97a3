//! Conformance runner: builds the C and C++ programs under `conformance/` and runs each of them against a
//! `libascendcl.so`, once for every product and schedule that its directives select.

mod build;
mod directives;
mod execute;
mod options;
mod probe;
mod program;
mod traces;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::parallel::in_parallel;
use directives::Form;
use execute::{ProgramRun, RunOutcome};
use program::{Program, collect};

pub use build::{command_line, quoted};
pub use execute::{End, clean_environment, run_into, run_into_within, sanitizer_variables};
pub use options::{Observer, Options, Sanitizer};

/// Fails unless the sanitizer reports known bugs in programs that are built in `directory`.
pub fn check_sanitizer(options: &Options, directory: &Path) -> Result<()> {
    let toolchain = build::Toolchain::new(options, directory);
    options.sanitizer.map_or(Ok(()), |sanitizer| probe::sanitizer_reports(&toolchain, sanitizer))
}

/// Number of runs that passed and failed, and of programs that were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

/// A compiled program and its environment variables.
pub struct Built {
    pub label: String,
    pub binary: PathBuf,
    pub variables: Vec<(String, OsString)>,
}

/// Builds the programs that `options` select, for the first product of each. Skips programs that cannot run on this
/// host and programs that set fault rules.
pub fn built(options: &Options) -> Result<Vec<Built>> {
    let directory = options.build_dir.join("plain");
    fs::create_dir_all(&directory).with_context(|| format!("creating {}", directory.display()))?;
    let toolchain = build::Toolchain::new(options, &directory);
    let programs = collect(&options.source_dir, options.filter.as_deref())?;
    let failures: Vec<_> = in_parallel(&programs, |program| toolchain.compile(program));
    let mut ready = Vec::new();
    for (program, failure) in programs.iter().zip(failures) {
        if let Some(text) = failure? {
            anyhow::bail!("{} does not compile:\n{text}", program.label());
        }
        let has_rules = program.directives.environment.iter().any(|(name, _)| name == "SOFTACL_FAULTS");
        if let (false, Some(run)) = (has_rules, plan(program, options, None).into_iter().next()) {
            let (label, binary) = (program.label(), toolchain.binary(program));
            ready.push(Built { label, binary, variables: run.variables(&toolchain) });
        }
    }
    Ok(ready)
}

/// Builds and runs the programs that `options` select. Prints and counts failures.
///
/// # Errors
///
/// Fails if the runner itself fails; a failed program is not an error.
pub fn run(options: &Options) -> Result<Summary> {
    ensure!(
        options.library_dir.join("libascendcl.so").is_file(),
        "{} does not contain libascendcl.so",
        options.library_dir.display()
    );
    let started = Instant::now();
    let directory = options.build_dir.join(options.sanitizer.map_or("plain", Sanitizer::name));
    fs::create_dir_all(&directory).with_context(|| format!("creating {}", directory.display()))?;
    let toolchain = build::Toolchain::new(options, &directory);
    if let Some(sanitizer) = options.sanitizer {
        probe::sanitizer_reports(&toolchain, sanitizer)?;
    }
    if let Some(Observer::Checker(_)) = options.observer {
        toolchain.build_interposer()?;
    }
    let card =
        if options.real_hardware && options.soc.is_none() { Some(probe::soc_of_card(&toolchain)?) } else { None };

    let programs = collect(&options.source_dir, options.filter.as_deref())?;
    ensure!(!programs.is_empty(), "no program matches");
    let mut summary = Summary::default();
    let mut topics: BTreeMap<&str, Topic> = BTreeMap::new();
    let mut runs = Vec::new();
    for program in &programs {
        let planned = plan(program, options, card.as_deref());
        let topic = topics.entry(&program.topic).or_default();
        topic.programs += 1;
        topic.left += planned.len();
        if planned.is_empty() {
            topic.skipped += 1;
            summary.skipped += 1;
        }
        runs.extend(planned);
    }
    println!("conformance: compiling {} programs for {} runs", programs.len() - summary.skipped, runs.len());
    summary.failed += compile_all(&toolchain, &programs, &mut runs, &mut topics)?;
    execute_all(&toolchain, &runs, topics, &mut summary)?;
    println!(
        "conformance: {} passed, {} failed, {} programs skipped, {:.1} s",
        summary.passed,
        summary.failed,
        summary.skipped,
        started.elapsed().as_secs_f64()
    );
    Ok(summary)
}

/// Compiles every program that has a run. Removes the runs of programs that do not compile, prints the compiler's
/// output, and returns the number of such programs.
fn compile_all(
    toolchain: &build::Toolchain<'_>,
    programs: &[Program],
    runs: &mut Vec<ProgramRun<'_>>,
    topics: &mut BTreeMap<&str, Topic>,
) -> Result<usize> {
    let planned: Vec<&Program> = programs.iter().filter(|p| runs.iter().any(|r| std::ptr::eq(r.program, *p))).collect();
    let results = in_parallel(&planned, |program| toolchain.compile(program));
    let mut broken = BTreeMap::new();
    for (program, result) in planned.iter().zip(results) {
        if let Some(text) = result? {
            broken.insert(program.label(), text);
        }
    }
    for (label, text) in &broken {
        println!("{label}: does not compile\n{text}");
    }
    for run in runs.iter().filter(|run| broken.contains_key(&run.program.label())) {
        let topic = topics.get_mut(run.program.topic.as_str()).context("a run has no topic")?;
        topic.left -= 1;
        topic.failed += 1;
    }
    runs.retain(|run| !broken.contains_key(&run.program.label()));
    Ok(broken.len())
}

/// Executes the runs, prints failures, and prints a line for each topic when its last run has finished.
fn execute_all(
    toolchain: &build::Toolchain<'_>,
    runs: &[ProgramRun<'_>],
    topics: BTreeMap<&str, Topic>,
    summary: &mut Summary,
) -> Result<()> {
    let topics = Mutex::new(topics);
    let outcomes = in_parallel(runs, |run| {
        let outcome = run.execute(toolchain)?;
        let mut topics = topics.lock().expect("no run panics while holding the lock");
        let topic = topics.get_mut(run.program.topic.as_str()).context("a run has no topic")?;
        topic.record(&outcome);
        if let Some(report) = outcome.report() {
            println!("{}\n{report}", run.title());
        }
        if topic.left == 0 {
            println!("{}", topic.line(&run.program.topic));
        }
        Ok::<_, anyhow::Error>(outcome)
    });
    for outcome in outcomes {
        match outcome? {
            RunOutcome::Passed => summary.passed += 1,
            RunOutcome::Failed { .. } => summary.failed += 1,
        }
    }
    Ok(())
}

/// Returns the runs of one program. Empty if the program is skipped.
fn plan<'p>(program: &'p Program, options: &Options, card: Option<&str>) -> Vec<ProgramRun<'p>> {
    let directives = &program.directives;
    if options.real_hardware && (directives.softacl_only || directives.forms != [Form::Ep]) {
        return Vec::new();
    }
    if let (false, Some(feature)) = (options.real_hardware, &directives.requires_feature) {
        println!("{}: skipped, requires {feature}", program.label());
        return Vec::new();
    }
    if options.sanitizer.is_some() && directives.no_sanitizer {
        return Vec::new();
    }
    if matches!(options.sanitizer, Some(Sanitizer::Thread | Sanitizer::Valgrind)) && directives.only_address_sanitizer {
        return Vec::new();
    }
    if options.sanitizer == Some(Sanitizer::Valgrind) && directives.no_valgrind {
        return Vec::new();
    }
    let soc_filter = options.soc.as_deref().or(card);
    let socs = directives.socs.iter().filter(|soc| soc_filter.is_none_or(|filter| filter == soc.as_str()));
    let mut runs = Vec::new();
    for (index, soc) in socs.enumerate() {
        if options.real_hardware {
            runs.push(ProgramRun { program, soc: None, form: Form::Ep, schedule: None });
            continue;
        }
        // Products differ in data and schedules in code, so one product runs on all schedules, and only one runs under
        // observers and sanitizers.
        let schedules = match (index, options.observer, options.sanitizer) {
            (0, Some(Observer::Checker(seeds)), _) => directives.checked_schedules(seeds),
            (0, Some(Observer::Tracer), _) => directives.schedules(),
            (_, Some(_), _) => break,
            (0, None, None) => directives.schedules(),
            (0, None, Some(_)) | (_, None, None) => vec![None],
            (_, None, Some(_)) => break,
        };
        for form in &directives.forms {
            let run = |schedule: &Option<String>| ProgramRun {
                program,
                soc: Some(soc.clone()),
                form: *form,
                schedule: schedule.clone(),
            };
            runs.extend(schedules.iter().map(run));
        }
    }
    runs
}

/// Progress of one topic.
#[derive(Debug, Default)]
struct Topic {
    programs: usize,
    skipped: usize,
    left: usize,
    passed: usize,
    failed: usize,
}

impl Topic {
    fn record(&mut self, outcome: &RunOutcome) {
        self.left -= 1;
        match outcome {
            RunOutcome::Passed => self.passed += 1,
            RunOutcome::Failed { .. } => self.failed += 1,
        }
    }

    fn line(&self, name: &str) -> String {
        let verdict = if self.failed == 0 { "ok".to_string() } else { format!("{} FAILED", self.failed) };
        format!(
            "{name:14} {:2} programs, {:3} runs, {verdict}",
            self.programs - self.skipped,
            self.passed + self.failed
        )
    }
}
