//! The arguments of `softacl check`, and the command line that repeats a run.

use crate::machine::MachineOptions;
use ascendcl_capi::VARIABLES;
use clap::{Args, ValueEnum};
use softacl_checker::report::quote;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

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
    pub(super) schedule: Option<String>,
    /// Run N times, with schedules random:1 to random:N, until a run fails
    ///
    /// A run fails if it has findings (see --fail-on) or if the program itself fails. Standard input is empty, and the
    /// program's output is shown only for the failing run.
    #[arg(long, value_name = "N", conflicts_with = "schedule", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seeds: Option<u64>,
    /// Lowest severity that makes the exit code 2
    #[arg(long, value_name = "SEVERITY", default_value = "proven")]
    pub(super) fail_on: FailOn,
    /// Show all advice, in full
    #[arg(long, short)]
    pub(super) verbose: bool,
    /// Hide findings listed in FILE, one "ID LOCATION" per line, for example `H1 app.c:42`
    #[arg(long, value_name = "FILE")]
    pub(super) suppress: Vec<PathBuf>,
    /// Write the report as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write the report as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub(super) sarif: Option<PathBuf>,
    /// Write the report as an HTML page with a timeline for each finding
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    #[command(flatten)]
    pub(super) machine: MachineOptions,
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
pub(super) enum FailOn {
    /// Proven findings
    Proven,
    /// Proven findings and advice
    Advice,
    /// Never; exit with the program's code
    Never,
}

/// Returns the command that repeats the run, including the variables that softacl reads.
pub(super) fn repro_command(arguments: &Arguments, schedule: &[&str]) -> String {
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
