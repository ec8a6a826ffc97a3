//! `softacl check`: runs an unmodified program under the checker and tells what it proved.
//!
//! The checker itself lives in the library that the program loads. Every process leaves a report in a
//! directory of ours; this command runs the program, gathers the reports and presents them.

mod gather;
mod relay;
mod series;
mod witness;

use crate::machine::{self, Machine};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use softacl_checker::finding::Severity;
use softacl_checker::report::suppression::Suppressions;
use softacl_checker::report::{Outcome, html, json, quote, sarif, text};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run an unmodified program and prove misuse of asynchronous copies.
///
/// The program runs as under `softacl run`, with every copy as late as the rules allow, and with a
/// checker that watches both ends of every copy. What it proves is told on standard error when the
/// program has ended: what is wrong, where, and what to change. The exit code is 2 when something
/// was proven, and otherwise that of the program (128 + N if signal N ended it).
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// When queued work runs: late, early or random:SEED [default: $SOFTACL_SCHEDULE, else late]
    #[arg(long)]
    schedule: Option<String>,
    /// Run N times, on the schedules random:1 to random:N, and stop at the first finding
    ///
    /// A run that fails by itself stops the series too. The runs read nothing from standard input;
    /// the output of the program is shown for the run that is reported.
    #[arg(long, value_name = "N", conflicts_with = "schedule", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// Which findings make the exit code 2
    #[arg(long, value_name = "SEVERITY", default_value = "proven")]
    fail_on: FailOn,
    /// Tell advice at full length, and all of it
    #[arg(long, short)]
    verbose: bool,
    /// Do not tell the findings that this file names; a line is an id and a place, such as `H1 app.c:42`
    #[arg(long, value_name = "FILE")]
    suppress: Vec<PathBuf>,
    /// Write the report as one JSON object
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the report as a page with a drawing of each finding
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    machine: Machine,
    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "PROGRAM", help_heading = "The program")]
    program: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  softacl check -- ./app --my-flag                  one run; finds every missing wait that matters
  softacl check -- python app.py                    a Python program
  softacl check -- pytest tests                     a test suite, with all its processes
  softacl check --seeds 50 -- ./app                 50 legal orders, until one goes wrong
  softacl check --schedule random:17 -- ./app       ... and that one again, exactly
  softacl check --html report.html -- ./app         with a timeline of streams and threads
  softacl check --sarif out.sarif --fail-on never -- ./app      for a code host
  softacl check --suppress known.txt -- ./app       without what is known already

A file for --suppress:
  # id  place: a file, a line of a file, a function, or * for everywhere
  H1    staging.c:42
  P1    load_weights
  L4    *

softacl explain H1 says what a finding means, with a buggy and a fixed program.";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// What was proven
    Proven,
    /// Advice as well
    Advice,
    /// Nothing: the exit code is the program's
    Never,
}

/// The exit code of a run with findings.
const FOUND: u8 = 2;

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let suppressions = suppressions(&arguments.suppress)?;
    relay::install().context("could not take signals")?;
    let outcome = match arguments.seeds {
        Some(count) => series::run(arguments, count, &suppressions)?,
        None => single(arguments, &suppressions)?,
    };
    tell(&outcome, arguments.verbose);
    let files = [
        (&arguments.json, json::render as fn(&Outcome) -> String),
        (&arguments.sarif, sarif::render),
        (&arguments.html, html::render),
    ];
    for (path, render) in files {
        if let Some(path) = path {
            fs::write(path, render(&outcome)).with_context(|| format!("could not write {}", path.display()))?;
        }
    }
    let own = outcome.exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(if fails(&outcome, arguments.fail_on) { FOUND } else { own }))
}

fn single(arguments: &Arguments, suppressions: &Suppressions) -> Result<Outcome> {
    let from_environment = || env::var("SOFTACL_SCHEDULE").ok().filter(|text| !text.is_empty());
    let schedule = arguments.schedule.clone().or_else(from_environment).unwrap_or_else(|| "late".to_owned());
    machine::schedule(&schedule)?;
    let mut outcome = fresh(arguments, &schedule);
    gather::run(arguments, &schedule, suppressions, &mut outcome, |_| Ok(()))?;
    Ok(outcome)
}

/// An outcome that knows the command, before anything was found.
fn fresh(arguments: &Arguments, schedule: &str) -> Outcome {
    Outcome {
        program: words(&arguments.program),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        schedule: schedule.to_owned(),
        seed: seed(schedule),
        repeat: repeat(arguments, &["--schedule", schedule]),
        ..Outcome::default()
    }
}

fn seed(schedule: &str) -> Option<u64> {
    schedule.strip_prefix("random:")?.parse().ok()
}

fn words(program: &[OsString]) -> Vec<String> {
    program.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The command that does this again.
fn repeat(arguments: &Arguments, schedule: &[&str]) -> String {
    let mut command: Vec<String> = ["softacl", "check"].iter().chain(schedule).map(|word| (*word).to_owned()).collect();
    for path in &arguments.suppress {
        command.extend(["--suppress".to_owned(), path.display().to_string()]);
    }
    command.extend(arguments.machine.words());
    command.push("--".to_owned());
    command.extend(words(&arguments.program));
    command.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

fn suppressions(paths: &[PathBuf]) -> Result<Suppressions> {
    let mut all = Suppressions::default();
    for path in paths {
        let text =
            fs::read_to_string(path).with_context(|| format!("--suppress: could not read {}", path.display()))?;
        all.extend(Suppressions::parse(&text).with_context(|| format!("--suppress {}", path.display()))?);
    }
    Ok(all)
}

fn fails(outcome: &Outcome, fail_on: FailOn) -> bool {
    match fail_on {
        FailOn::Proven => outcome.count(Severity::Proven) > 0,
        FailOn::Advice => !outcome.cases.is_empty(),
        FailOn::Never => false,
    }
}

fn tell(outcome: &Outcome, verbose: bool) {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let dumb = set("TERM").is_some_and(|term| term == "dumb");
    let colour = io::stderr().is_terminal() && set("NO_COLOR").is_none() && !dumb;
    let text = text::render(outcome, text::Options { colour, verbose });
    // Nobody may be left to read it; the exit code still tells.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A directory that goes when it is dropped.
fn directory() -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("softacl-check-").tempdir().context("could not make a temporary directory")
}

fn show(path: &Path, to: &mut impl Write) -> Result<()> {
    let mut file = fs::File::open(path)?;
    io::copy(&mut file, to)?;
    to.flush()?;
    Ok(())
}
