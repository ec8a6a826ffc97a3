//! `softacl bench`: how fast softacl is on this machine, through the C interface, against memcpy and
//! PoCL in the same run. Cases are data in `suite`; bars say what they should reach.

mod allocation;
mod call;
mod case;
mod ground;
mod instructions;
mod memory;
mod overlap;
mod pocl;
mod probe;
mod race;
mod report;
mod stage;
mod statistics;
mod suite;
mod transfer;

use crate::acl;
use anyhow::{Context, Result, bail, ensure};
use case::{Case, Work};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::{Machine, Report, Row, State, Table};
use stage::Stage;
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
    /// List the cases and their bars, and measure nothing
    #[arg(long)]
    list: bool,
    #[arg(long, hide = true, requires = "calls")]
    probe: Option<String>,
    #[arg(long, hide = true)]
    calls: Option<usize>,
}

const EXAMPLES: &str = "Examples:
  softacl bench                                    everything, about two minutes
  softacl bench --quick                            a first look, a few seconds
  softacl bench --filter batch,one-16m             some cases
  softacl bench --filter instructions              instruction counts, which a busy machine does not change";

pub fn main(arguments: &Arguments) -> Result<()> {
    if let (Some(probe), Some(calls)) = (&arguments.probe, arguments.calls) {
        return probe::main(probe, calls);
    }
    let chosen = chosen(arguments.filter.as_deref())?;
    if arguments.list {
        chosen.iter().for_each(|case| println!("{:<28} {}", case.key, case.title));
        return Ok(());
    }
    let to_output = arguments.json.as_deref() == Some(Path::new(STANDARD_OUTPUT));
    let report = measure(&chosen, arguments.quick, !to_output)?;
    match &arguments.json {
        Some(_) if to_output => println!("{}", serde_json::to_string_pretty(&report)?),
        Some(file) => fs::write(file, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("could not write {}", file.display()))?,
        None => {}
    }
    let failed: Vec<&str> =
        report.cases.iter().filter(|row| row.state == State::Failed).map(|row| row.key.as_str()).collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
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
fn measure(cases: &[&Case], quick: bool, print: bool) -> Result<Report> {
    acl::set_device(0)?;
    let stage = Stage::new(quick, progress(cases.len() as u64));
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
    stage.progress.finish_and_clear();
    let pocl = stage.pocl_in_use().map(|pocl| pocl.version.clone());
    let report =
        Report { softacl: env!("CARGO_PKG_VERSION").to_owned(), quick, machine: Machine::this(pocl), cases: rows };
    say(table.summary(&report));
    Ok(report)
}

fn run(case: &Case, stage: &Stage) -> Row {
    if let Some(reason) = case.needs.iter().find_map(|need| need.missing(stage)) {
        return Row::waived(case, reason);
    }
    let outcome = match &case.work {
        Work::Transfer(transfer) => transfer.run(stage),
        Work::Other(run) => run(stage),
        Work::Instructions(path) => path.run(stage),
        Work::Missing(reason) => return Row::waived(case, (*reason).to_owned()),
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
