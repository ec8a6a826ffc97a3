//! `softacl bench`: how fast softacl is on this machine, through the C interface, against memcpy and
//! PoCL in the same run. Cases are data in `suite`; bars say what they should reach.

mod allocation;
mod call;
mod case;
mod checked;
mod child;
mod compare;
mod fixture;
mod instructions;
mod interleave;
mod memory;
mod overlap;
mod plot;
mod pocl;
mod report;
mod session;
mod statistics;
mod suite;
mod sweep;
mod transfer;

use crate::acl;
use anyhow::{Context, Result, bail, ensure};
use case::{Case, CaseBody};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::{BenchReport, HostInfo, Row, RowState, Table};
use session::Session;
use std::fs;
use std::path::{Path, PathBuf};
use suite::SUITE;

const STANDARD_OUTPUT: &str = "-";

/// Measure softacl through the C interface against memcpy and PoCL, with bars to reach.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Only cases whose key contains one of these texts, separated by commas
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// A few seconds in all: small sizes, few rounds, no instruction counts
    #[arg(long)]
    quick: bool,
    /// Print JSON instead of the table, or write it to a file beside the table
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STANDARD_OUTPUT)]
    json: Option<PathBuf>,
    /// Draw bandwidth over size and cost per batch entry, measured for this
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Compare with an earlier run: a file of --json. With a second file nothing is measured, and the two
    /// are compared. The exit code is 1 when something got slower beyond the spread
    #[arg(long, value_names = ["OLD.json", "NEW.json"], num_args = 1..=2)]
    compare: Vec<PathBuf>,
    /// List the cases and their bars, and measure nothing
    #[arg(long)]
    list: bool,
    #[arg(long, hide = true, requires = "calls")]
    probe: Option<String>,
    #[arg(long, hide = true)]
    calls: Option<usize>,
}

const EXAMPLES: &str = "Examples:
  softacl bench                                    everything
  softacl bench --quick                            a first look, a few seconds
  softacl bench --filter batch,one-16m             some cases
  softacl bench --filter instructions              instruction counts, which a busy machine does not change
  softacl bench --json before.json                 the table, and a file to compare with later
  softacl bench --compare before.json              ... measure again; exit code 1 when something got slower
  softacl bench --compare before.json after.json   ... compare two files
  softacl bench --filter idle --plot bench.svg     one case, and the plots

Reading the table: every quantity is better when it is smaller. \"x\" is the time of softacl over that of the
reference, taken round by round in turns; the quartiles show the spread. A \"pair\" is one lock and unlock of a free
mutex. A bar that is not reached does not change the exit code; wrong bytes do. A case whose needs are not met here
is waived with the reason. HIP-CPU is not measured.";

pub fn main(arguments: &Arguments) -> Result<()> {
    if let (Some(probe), Some(calls)) = (&arguments.probe, arguments.calls) {
        return child::main(probe, calls);
    }
    let chosen = chosen(arguments.filter.as_deref())?;
    if arguments.list {
        chosen.iter().for_each(|case| println!("{:<28} {}", case.key, case.title));
        return Ok(());
    }
    let old = arguments.compare.first().map(|file| read(file)).transpose()?;
    if let (Some(old), Some(new)) = (&old, arguments.compare.get(1)) {
        return judge(old, &read(new)?, true);
    }
    let to_output = arguments.json.as_deref() == Some(Path::new(STANDARD_OUTPUT));
    let report = measure(&chosen, arguments, !to_output)?;
    match &arguments.json {
        Some(_) if to_output => println!("{}", serde_json::to_string_pretty(&report)?),
        Some(file) => write(file, serde_json::to_string_pretty(&report)? + "\n")?,
        None => {}
    }
    if let Some(file) = &arguments.plot {
        let HostInfo { processor, cores, .. } = &report.machine;
        let caption =
            format!("softacl {} on {processor}, {cores} cores. Medians; the bands are quartiles.", report.softacl);
        write(file, plot::svg(&report.sweeps, &caption))?;
    }
    let failed: Vec<&str> =
        report.cases.iter().filter(|row| row.state == RowState::Failed).map(|row| row.key.as_str()).collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    old.map_or(Ok(()), |old| judge(&old, &report, !to_output))
}

fn read(file: &Path) -> Result<BenchReport> {
    let text = fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not a report of softacl bench --json", file.display()))
}

fn write(file: &Path, text: String) -> Result<()> {
    fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
}

/// Prints what changed; an error when something got slower.
fn judge(old: &BenchReport, new: &BenchReport, print: bool) -> Result<()> {
    ensure!(old.quick == new.quick, "a quick run and a full one measure different sizes: they cannot be compared");
    let changes = compare::compare(old, new);
    ensure!(!changes.is_empty(), "the two runs have no quantity in common");
    if print {
        println!("{}", compare::table(&changes, &Table::new()));
    }
    if old.machine.processor != new.machine.processor || old.machine.cores != new.machine.cores {
        eprintln!("softacl: the two runs were made on different machines");
    }
    let worse = compare::regressions(&changes);
    ensure!(worse == 0, "{worse} of {} quantities got worse beyond the spread", changes.len());
    Ok(())
}

fn chosen(filter: Option<&str>) -> Result<Vec<&'static Case>> {
    let parts: Vec<&str> = filter.unwrap_or_default().split(',').map(str::trim).collect();
    let chosen: Vec<&Case> = SUITE.iter().filter(|case| parts.iter().any(|part| case.key.contains(part))).collect();
    if chosen.is_empty() {
        bail!("no case matches; `softacl bench --list` names them");
    }
    Ok(chosen)
}

/// Runs the cases and prints each row as soon as it is there.
fn measure(cases: &[&Case], arguments: &Arguments, print: bool) -> Result<BenchReport> {
    acl::set_device(0)?;
    let quick = arguments.quick;
    let pictures = if arguments.plot.is_some() { sweep::steps(quick) } else { 0 };
    let stage = Session::new(quick, progress((cases.len() + pictures) as u64));
    let table = Table::new();
    let say = |text: String| stage.progress.suspend(|| print.then(|| println!("{text}")));
    say(table.heading());
    let mut rows = Vec::new();
    for case in cases {
        stage.progress.set_message(case.key);
        let row = run(case, &stage);
        say(table.row(&row));
        rows.push(row);
        stage.progress.inc(1);
    }
    let sweeps = if arguments.plot.is_some() { sweep::run(&stage)? } else { Vec::new() };
    stage.progress.finish_and_clear();
    let pocl = stage.pocl_in_use().map(|pocl| pocl.version.clone());
    let report = BenchReport {
        softacl: env!("CARGO_PKG_VERSION").to_owned(),
        quick,
        machine: HostInfo::this(pocl),
        cases: rows,
        sweeps,
    };
    say(table.summary(&report));
    Ok(report)
}

fn run(case: &Case, stage: &Session) -> Row {
    if let Some(reason) = case.needs.iter().find_map(|need| need.missing(stage)) {
        return Row::waived(case, reason);
    }
    let outcome = match &case.work {
        CaseBody::Transfer(transfer) => transfer.run(stage),
        CaseBody::Other(run) => run(stage),
        CaseBody::Instructions(path) => path.run(stage),
    };
    match outcome {
        Ok(outcome) => Row::measured(case, outcome),
        Err(error) => Row::failed(case, &error),
    }
}

/// On standard error, and only when that is a terminal.
fn progress(cases: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(cases), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
