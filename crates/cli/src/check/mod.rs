//! `softacl check`: runs an unmodified program under the checker and tells what it proved.
//!
//! The checker itself lives in the library that the program loads. Every process leaves a report in a
//! directory of ours; this command runs the program, gathers the reports and presents them.

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

/// Run an unmodified program and prove misuse of asynchronous copies.
///
/// The program runs as under `softacl run`, with every copy as late as the rules allow, and with a
/// checker that watches both ends of every copy. What it proves is told on standard error when the
/// program has ended: what is wrong, where, and what to change. The exit code is 2 when something
/// was proven, and otherwise that of the program (128 + N if signal N ended it).
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// When queued work runs: late, early, random:SEED, or threads, which is never twice the same [default:
    /// $SOFTACL_SCHEDULE, else late]
    #[arg(long)]
    schedule: Option<String>,
    /// Run N times, on the schedules random:1 to random:N, and stop at the first finding that fails the run
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
    /// Write the report as one JSON object; `-` is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the report as a page with a drawing of each finding
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineOptions,
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

/// How directories for reports begin.
const PREFIX: &str = "softacl-check-";

/// The exit code of a run with findings.
const EXIT_FINDINGS: u8 = 2;

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let suppressions = suppressions(&arguments.suppress)?;
    let files = files(arguments)?;
    signals::install().context("could not take signals")?;
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
    let own = outcome.exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(match (fails(&outcome, arguments.fail_on), is_written) {
        (true, _) => EXIT_FINDINGS,
        (false, true) => own,
        (false, false) => 1,
    }))
}

/// How a report becomes the text of a file.
type Render = fn(&Outcome) -> String;

/// The files that reports go to, opened before the program runs: a wrong name must not cost the run.
fn files(arguments: &Arguments) -> Result<Vec<(&Path, File, Render)>> {
    let wanted: [(&Option<PathBuf>, Render); 3] =
        [(&arguments.json, json::render), (&arguments.sarif, sarif::render), (&arguments.html, html::render)];
    let wanted: Vec<(&Path, Render)> =
        wanted.into_iter().filter_map(|(path, render)| Some((path.as_deref()?, render))).collect();
    for (index, (path, _)) in wanted.iter().enumerate() {
        ensure!(wanted[..index].iter().all(|(other, _)| other != path), "two reports in one file: {}", path.display());
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
    let mut outcome = fresh(arguments, &schedule);
    collect::run(arguments, &schedule, suppressions, &mut outcome, |_| Ok(()))?;
    Ok(outcome)
}

/// An outcome that knows the command, before anything was found.
fn fresh(arguments: &Arguments, schedule: &str) -> Outcome {
    Outcome {
        program: arguments.machine.line(),
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

/// The command that does this again, with the variables that it read.
fn repeat(arguments: &Arguments, schedule: &[&str]) -> String {
    let is_read = |name: &str| VARIABLES.iter().any(|variable| variable.name == name) && !OURS.contains(&name);
    let variables = env::vars_os().filter(|(name, value)| !value.is_empty() && name.to_str().is_some_and(is_read));
    // Only the value is quoted: in quotes it would be no assignment.
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

/// Variables that this command sets itself.
const OURS: [&str; 4] = ["SOFTACL_CHECK", "SOFTACL_CHECK_DIR", "SOFTACL_SCHEDULE", "SOFTACL_TRACE"];

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
    let colour = io::stderr().is_terminal() && set("NO_COLOR").is_none() && !dumb;
    let text = text::render(outcome, text::Options { color: colour, verbose });
    // Nobody may be left to read it; the exit code still tells.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn show(path: &Path, to: &mut impl Write) -> Result<()> {
    let mut file = fs::File::open(path)?;
    io::copy(&mut file, to)?;
    to.flush()?;
    Ok(())
}
