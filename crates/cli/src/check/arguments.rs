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
/// Exits with 2 if anything was proven, with 3 if nothing was checked, otherwise with the program's exit code (128 + N if
/// signal N ended it; 4 if the program itself exited with 2 or 3).
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// When queued tasks execute: late, early, random:SEED, replay:FILE (an order of --explore), or threads
    /// (nondeterministic) [default: $SOFTACL_SCHEDULE or late]
    #[arg(long)]
    pub(super) schedule: Option<String>,
    /// Run N times, with schedules random:1 to random:N, until a run fails
    ///
    /// A run fails if it has findings (see --fail-on) or if the program itself fails. Standard input is empty, and the
    /// program's output is shown only for the failing run.
    #[arg(long, value_name = "N", conflicts_with = "schedule", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seeds: Option<u64>,
    /// Run the program in every legal order of its tasks that can make a difference
    ///
    /// Orders differ if tasks, or a task and the host, use the same bytes or depend on each other. The program fails in
    /// an order if it exits with another code than 0, is ended by a signal, or does not end. Such an order is reduced
    /// to the decisions that matter, and written to a file for --schedule replay:FILE. Standard input is empty, and the
    /// program's output is shown only for the first failing run, or else for the first run.
    #[arg(long, conflicts_with_all = ["schedule", "seeds", "gdb"])]
    pub(super) explore: bool,
    /// With --explore: stop after N orders, then try some random ones
    #[arg(long, value_name = "N", requires = "explore", default_value = "10000",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) orders: u64,
    /// With --explore: stop after M minutes, then try some random orders
    #[arg(long, value_name = "M", requires = "explore")]
    pub(super) minutes: Option<f64>,
    /// With --explore: the program also fails in an order if its standard output differs from the first run
    #[arg(long, requires = "explore")]
    pub(super) compare_output: bool,
    /// Lowest severity that makes the exit code 2
    #[arg(long, value_name = "SEVERITY", default_value = "proven")]
    pub(super) fail_on: FailOn,
    /// Exit code of a run with findings
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..))]
    pub(super) error_exitcode: u8,
    /// Accept a program that never uses softacl: a note instead of exit code 3
    #[arg(long)]
    pub(super) allow_unchecked: bool,
    /// Stop the program after this time; it then reports who waits for whom
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) timeout: Option<u64>,
    /// What to do with a program that provably hangs (W1)
    #[arg(long, value_name = "ACTION", default_value = "end")]
    pub(super) on_hang: OnHang,
    /// Hide findings listed in FILE, one "ID LOCATION" per line, for example `H1 app.c:42`
    #[arg(long, value_name = "FILE")]
    pub(super) suppress: Vec<PathBuf>,
    /// Write the report as JSON
    ///
    /// In every report option, `-` is stdout; the program's standard output then goes to stderr (see --program-output).
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write the report as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub(super) sarif: Option<PathBuf>,
    /// Write the report as an HTML page with a timeline for each finding
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Write the report as Markdown, for the summary of a CI job [default with --format github: append to
    /// $GITHUB_STEP_SUMMARY]
    #[arg(long, value_name = "FILE")]
    pub(super) summary: Option<PathBuf>,
    /// Form of the report on stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,
    /// Leave the timelines out of the report files, which makes them small
    #[arg(long)]
    pub(super) no_timeline: bool,
    /// Run the program in gdb, which then ignores the signals of the checker
    ///
    /// Type `run` at the prompt. The report is printed when gdb ends.
    #[arg(long, conflicts_with = "seeds")]
    pub(super) gdb: bool,
    /// Write the program's standard output to FILE
    #[arg(long, value_name = "FILE")]
    pub(super) program_output: Option<PathBuf>,
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
  softacl check --explore -- ./app                  every order that can make a difference
  softacl check --html report.html -- ./app         with a timeline of streams and threads
  softacl check --sarif out.sarif --fail-on never -- ./app      SARIF for code scanning
  softacl check --format github -- ./app            annotations and a job summary on GitHub Actions
  softacl check --json - -- ./app | jq .findings    JSON on stdout, the program's output on stderr
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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Text
    Text,
    /// Text, and annotations of GitHub Actions
    Github,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OnHang {
    /// Report it and end the program
    End,
    /// Let it hang; the report is printed when the program is stopped
    Wait,
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
    if let Some(limit) = arguments.timeout {
        command.extend(["--timeout".into(), limit.to_string().into()]);
    }
    if arguments.on_hang == OnHang::Wait {
        command.extend(["--on-hang".into(), "wait".into()]);
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
const SET_BY_CHECK: [&str; 5] =
    ["SOFTACL_CHECK", "SOFTACL_CHECK_DIR", "SOFTACL_ON_HANG", "SOFTACL_SCHEDULE", "SOFTACL_TRACE"];
