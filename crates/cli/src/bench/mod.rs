//! `softacl bench`: measures softacl on this host through the C API, compared with memcpy and PoCL in the same run.
//! Cases and their targets are data in `suite`.

mod allocation;
pub mod c_api;
mod call;
mod case;
mod checked;
mod child;
mod compare;
mod fixture;
mod history;
mod instructions;
mod interleave;
mod kernel;
mod memory;
mod observed;
mod outcome;
mod overlap;
mod plot;
mod pocl;
mod probe;
mod report;
mod session;
mod statistics;
mod suite;
mod sweep;
mod transfer;

use crate::{output, runtime};
use anyhow::{Context, Result, bail, ensure};
use case::{Case, CaseBody};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::{BenchReport, HostInfo, Row, RowState, Table};
use session::Session;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use suite::SUITE;

/// Benchmark softacl through the C API against memcpy and PoCL, with target values.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Run only cases whose key contains one of these comma-separated strings
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Quick run (a few seconds): small sizes, few rounds, no instruction counts
    #[arg(long)]
    quick: bool,
    /// Write JSON to FILE in addition to the table (`-` for JSON on stdout instead)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure and plot bandwidth by size and cost per batch entry
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Compare with an earlier --json file, or compare two files without measuring. Exits with 1 on a significant
    /// regression
    #[arg(long, value_names = ["OLD.json", "NEW.json"], num_args = 1..=2)]
    compare: Vec<PathBuf>,
    /// Show how the medians of several --json files developed, without measuring; with --plot also as charts
    #[arg(long, value_name = "FILE.json", num_args = 2.., conflicts_with_all = ["compare", "json", "filter", "quick"])]
    history: Vec<PathBuf>,
    /// List the cases and their targets
    #[arg(long)]
    list: bool,
    #[arg(long, hide = true, requires = "calls")]
    probe: Option<String>,
    #[arg(long, hide = true)]
    calls: Option<usize>,
}

const EXAMPLES: &str = "Examples:
  softacl bench                                    all cases
  softacl bench --quick                            a first impression, in a few seconds
  softacl bench --filter batch,one-16m             some cases
  softacl bench --filter instructions              instruction counts, which do not depend on the host's load
  softacl bench --json before.json                 the table, and a file to compare with later
  softacl bench --compare before.json              ... measure again; exit code 1 on a regression
  softacl bench --compare before.json after.json   ... compare two files
  softacl bench --filter idle --plot bench.svg     one case, and the plots
  softacl bench --history mon.json tue.json wed.json --plot history.svg    how the medians developed

Lower is better for every metric. \"x\" is softacl's time divided by the reference's, per round; quartiles show the
spread. A \"pair\" is one uncontended mutex lock and unlock. A missed target does not change the exit code; wrong data
does. Cases whose requirements are not met are skipped with the reason.";

pub fn main(arguments: &Arguments) -> Result<()> {
    if let (Some(probe), Some(calls)) = (&arguments.probe, arguments.calls) {
        return child::main(probe, calls);
    }
    let chosen = chosen(arguments.filter.as_deref())?;
    if arguments.list {
        chosen.iter().for_each(|case| println!("{:<28} {}{}", case.key, case.title, report::targets(case)));
        return Ok(());
    }
    if !arguments.history.is_empty() {
        return show_history(&arguments.history, arguments.plot.as_deref());
    }
    let old = arguments.compare.first().map(|file| read(file)).transpose()?;
    if let (Some(old), Some(new)) = (&old, arguments.compare.get(1)) {
        return report_differences(old, &read(new)?, true);
    }
    let to_output = arguments.json.as_deref().is_some_and(output::is_stdout);
    let report = measure(&chosen, arguments, !to_output)?;
    if let Some(file) = &arguments.json {
        output::write_json(file, &report)?;
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
    old.map_or(Ok(()), |old| report_differences(&old, &report, !to_output))
}

/// Shows the medians of several runs.
fn show_history(files: &[PathBuf], plot: Option<&Path>) -> Result<()> {
    let runs = files.iter().map(|file| read(file)).collect::<Result<Vec<_>>>()?;
    let is_quick = |run: &BenchReport| run.quick;
    ensure!(
        runs.iter().all(is_quick) || !runs.iter().any(is_quick),
        "a quick run and a full run measure different sizes and cannot be compared"
    );
    if let Some(file) = plot {
        write(file, history::svg(files, &runs))?;
    }
    output::print(output::fit(&history::table(files, &runs), output::width(io::stdout())))
}

fn read(file: &Path) -> Result<BenchReport> {
    let text = fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is not a report written by softacl bench --json", file.display()))
}

fn write(file: &Path, text: String) -> Result<()> {
    fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
}

/// Prints the differences between two runs. Fails on a significant regression.
fn report_differences(old: &BenchReport, new: &BenchReport, print: bool) -> Result<()> {
    ensure!(old.quick == new.quick, "a quick run and a full run measure different sizes and cannot be compared");
    let differences = compare::compare(old, new);
    ensure!(!differences.is_empty(), "the two runs have no metric in common");
    if print {
        println!("{}", compare::table(&differences, &Table::new()));
    }
    if old.machine.processor != new.machine.processor || old.machine.cores != new.machine.cores {
        eprintln!("softacl: the two runs were made on different hosts");
    }
    let worse = compare::regressions(&differences);
    ensure!(worse == 0, "{worse} of {} metrics regressed significantly", differences.len());
    Ok(())
}

fn chosen(filter: Option<&str>) -> Result<Vec<&'static Case>> {
    let parts: Vec<&str> = filter.unwrap_or_default().split(',').map(str::trim).collect();
    let chosen: Vec<&Case> = SUITE.iter().filter(|case| parts.iter().any(|part| case.key.contains(part))).collect();
    if chosen.is_empty() {
        bail!("no case matches the filter; run `softacl bench --list` for their names");
    }
    Ok(chosen)
}

/// Runs the cases and prints each row as soon as it is complete.
fn measure(cases: &[&Case], arguments: &Arguments, print: bool) -> Result<BenchReport> {
    let context = runtime::device()?;
    let quick = arguments.quick;
    let sweep_steps = if arguments.plot.is_some() { sweep::steps(quick) } else { 0 };
    let session = Session::new(context, quick, progress((cases.len() + sweep_steps) as u64));
    let table = Table::new();
    let print_line = |text: String| session.progress.suspend(|| print.then(|| println!("{text}")));
    print_line(table.heading());
    let mut rows = Vec::new();
    for case in cases {
        session.progress.set_message(case.key);
        let row = run(case, &session);
        print_line(table.row(&row));
        rows.push(row);
        session.progress.inc(1);
    }
    let sweeps = if arguments.plot.is_some() { sweep::run(&session)? } else { Vec::new() };
    session.progress.finish_and_clear();
    let pocl = session.pocl_in_use().map(|pocl| pocl.version.clone());
    let report = BenchReport {
        softacl: env!("CARGO_PKG_VERSION").to_owned(),
        quick,
        machine: HostInfo::this(pocl),
        cases: rows,
        sweeps,
    };
    print_line(table.summary(&report));
    Ok(report)
}

fn run(case: &Case, session: &Session) -> Row {
    if let Some(reason) = case.needs.iter().find_map(|need| need.missing(session)) {
        return Row::skipped(case, reason);
    }
    let outcome = match &case.body {
        CaseBody::Transfer(transfer) => transfer.run(session),
        CaseBody::Other(run) => run(session),
        CaseBody::Instructions(path) => path.run(session),
    };
    match outcome {
        Ok(outcome) => Row::measured(case, outcome),
        Err(error) => Row::failed(case, &error),
    }
}

/// Creates a progress bar on stderr, which is visible only if that is a terminal and silence was not asked for.
fn progress(cases: u64) -> ProgressBar {
    let target = if output::shows_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(cases), target);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
