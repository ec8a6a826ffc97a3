//! `softacl check`: runs a program under the checker and reports the findings.
//!
//! The checker itself is part of the library that the program loads. Every process writes a report to a temporary
//! directory. This command runs the program, collects the reports and renders them.

mod collect;
mod interposer;
mod seeds;

use crate::machine::{self, MachineOptions};
use crate::{output, signals};
use anyhow::{Context, Result, ensure};
use ascendcl_capi::VARIABLES;
use clap::{Args, ValueEnum};
use softacl_checker::finding::Severity;
use softacl_checker::report::suppression::Suppressions;
use softacl_checker::report::{Outcome, html, json, quote, sarif, text};
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a program and detect misuse of asynchronous copies
///
/// Runs the program as `softacl run` does, delays every copy as long as the semantics allow, and watches the source and
/// destination of every copy. Prints a report to stderr when the program ends: what is wrong, where, and how to fix it.
/// Exits with 2 if anything was proven, otherwise with the program's exit code (128 + N if signal N ended it).
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// When queued tasks execute: late, early, random:SEED, or threads (nondeterministic) [default: $SOFTACL_SCHEDULE
    /// or late]
    #[arg(long)]
    schedule: Option<String>,
    /// Run N times, with schedules random:1 to random:N, until a run fails
    ///
    /// A run fails if it has findings (see --fail-on) or if the program itself fails. Standard input is empty, and the
    /// program's output is shown only for the failing run.
    #[arg(long, value_name = "N", conflicts_with = "schedule", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// Lowest severity that makes the exit code 2
    #[arg(long, value_name = "SEVERITY", default_value = "proven")]
    fail_on: FailOn,
    /// Show all advice, in full
    #[arg(long, short)]
    verbose: bool,
    /// Hide findings listed in FILE, one "ID LOCATION" per line, for example `H1 app.c:42`
    #[arg(long, value_name = "FILE")]
    suppress: Vec<PathBuf>,
    /// Write the report as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the report as an HTML page with a timeline for each finding
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineOptions,
}

const EXAMPLES: &str = "\
Examples:
  softacl check -- ./app --my-flag                  check one run
  softacl check -- python app.py                    a Python program
  softacl check -- pytest tests                     a test suite, with all its processes
  softacl check --seeds 50 -- ./app                 50 random legal orders, stop at the first failure
  softacl check --schedule random:17 -- ./app       ... repeat that order
  softacl check --html report.html -- ./app         with a timeline of streams and threads
  softacl check --sarif out.sarif --fail-on never -- ./app      SARIF for code scanning
  softacl check --suppress known.txt -- ./app       hide known findings

Suppression file:
  # ID  LOCATION, which is a file, file:line, a function, or *
  H1    staging.c:42
  P1    load_weights
  L4    *

Run `softacl explain H1` for the meaning of a finding, with a buggy and a fixed example.";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Proven findings
    Proven,
    /// Proven findings and advice
    Advice,
    /// Never; exit with the program's code
    Never,
}

/// Prefix of temporary report directories.
const PREFIX: &str = "softacl-check-";

/// The exit code of a run with findings.
const EXIT_FINDINGS: u8 = 2;

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let suppressions = suppressions(&arguments.suppress)?;
    let files = files(arguments)?;
    signals::install().context("could not install signal handlers")?;
    let outcome = match arguments.seeds {
        Some(count) => seeds::run(arguments, count, &suppressions)?,
        None => single(arguments, &suppressions)?,
    };
    print_report(&outcome, arguments.verbose);
    let mut is_written = true;
    for (path, mut file, render) in files {
        if let Err(error) = file.write_all(render(&outcome).as_bytes()) {
            output::eprint_line(format_args!("softacl: could not write {}: {error}", path.display()));
            is_written = false;
        }
    }
    let program_code = outcome.exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(match (fails(&outcome, arguments.fail_on), is_written) {
        (true, _) => EXIT_FINDINGS,
        (false, true) => program_code,
        (false, false) => 1,
    }))
}

/// Renders an outcome as the contents of a file.
type Render = fn(&Outcome) -> String;

/// Opens the report files before the program runs, so that a wrong path does not waste the run.
fn files(arguments: &Arguments) -> Result<Vec<(&Path, File, Render)>> {
    let wanted: [(&Option<PathBuf>, Render); 3] =
        [(&arguments.json, json::render), (&arguments.sarif, sarif::render), (&arguments.html, html::render)];
    let wanted: Vec<(&Path, Render)> =
        wanted.into_iter().filter_map(|(path, render)| Some((path.as_deref()?, render))).collect();
    for (index, (path, _)) in wanted.iter().enumerate() {
        ensure!(
            wanted[..index].iter().all(|(other, _)| other != path),
            "two reports in the same file: {}",
            path.display()
        );
    }
    wanted
        .into_iter()
        .map(|(path, render)| {
            let file = output::open(path)?;
            Ok((path, file, render))
        })
        .collect()
}

fn single(arguments: &Arguments, suppressions: &Suppressions) -> Result<Outcome> {
    let schedule = machine::schedule(arguments.schedule.as_deref())?.unwrap_or_else(|| "late".to_owned());
    let mut outcome = new_outcome(arguments, &schedule);
    collect::run(arguments, &schedule, suppressions, &mut outcome, |_| Ok(()))?;
    Ok(outcome)
}

/// Creates an outcome that describes the command and has no findings.
fn new_outcome(arguments: &Arguments, schedule: &str) -> Outcome {
    Outcome {
        program: arguments.machine.line(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        schedule: schedule.to_owned(),
        seed: seed(schedule),
        repeat: repro_command(arguments, &["--schedule", schedule]),
        ..Outcome::default()
    }
}

fn seed(schedule: &str) -> Option<u64> {
    schedule.strip_prefix("random:")?.parse().ok()
}

/// Returns the command that repeats the run, including the variables that softacl reads.
fn repro_command(arguments: &Arguments, schedule: &[&str]) -> String {
    let is_read = |name: &str| VARIABLES.iter().any(|variable| variable.name == name) && !SET_BY_CHECK.contains(&name);
    let variables = env::vars_os().filter(|(name, value)| !value.is_empty() && name.to_str().is_some_and(is_read));
    // Quote only the value: the shell does not treat a quoted name as an assignment.
    let variables = variables.map(|(name, value)| format!("{}={}", name.display(), quote(&value)));
    let mut command: Vec<OsString> = ["softacl", "check"].iter().chain(schedule).map(OsString::from).collect();
    if arguments.fail_on != FailOn::Proven
        && let Some(value) = arguments.fail_on.to_possible_value()
    {
        command.extend(["--fail-on".into(), value.get_name().into()]);
    }
    for path in &arguments.suppress {
        command.extend(["--suppress".into(), path.into()]);
    }
    command.extend(arguments.machine.to_arguments().into_iter().map(OsString::from));
    command.push("--".into());
    command.extend_from_slice(&arguments.machine.program);
    variables.chain(command.iter().map(quote)).collect::<Vec<_>>().join(" ")
}

/// Variables that `softacl check` sets for the program.
const SET_BY_CHECK: [&str; 4] = ["SOFTACL_CHECK", "SOFTACL_CHECK_DIR", "SOFTACL_SCHEDULE", "SOFTACL_TRACE"];

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

fn print_report(outcome: &Outcome, verbose: bool) {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let dumb = set("TERM").is_some_and(|term| term == "dumb");
    let color = io::stderr().is_terminal() && set("NO_COLOR").is_none() && !dumb;
    let text = text::render(outcome, text::Options { color, verbose });
    // Ignore write errors; the exit code carries the result.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Copies a file to a stream.
fn show(path: &Path, to: &mut impl Write) -> Result<()> {
    let mut file = fs::File::open(path)?;
    io::copy(&mut file, to)?;
    to.flush()?;
    Ok(())
}
