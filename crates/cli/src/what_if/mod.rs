//! `softacl what-if`: runs a program on several chips and compares what it would take there.
//!
//! The program runs once per chip, because it may behave differently there. Batch sizes are replays of its log.

mod change;
mod plot;
mod variant;

use crate::machine::MachineOptions;
use crate::timing::{ClockOptions, logs, text};
use crate::{output, signals};
use anyhow::{Context, Result, ensure};
use change::Change;
use clap::Args;
use softacl_timing::Log;
use softacl_timing::report::{BatchLine, Range, Report, report};
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use variant::Variant;

/// Compare what a program would take on several chips, and with copies joined to batches
///
/// Runs the program once per chip on a virtual clock with the published figures of the chip (docs/timing.md), and
/// prints a table. Every time has an interval, from those of the figures. The output of the program goes to stderr.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Batch sizes to try, as a comma list
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_values_t = crate::timing::BATCH_SIZES)]
    batch: Vec<u32>,
    /// Also compare with another figure, such as d2h_bandwidth=100GB/s; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = change::parse)]
    set: Vec<Change>,
    /// Write the comparison as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a picture of the comparison
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    clock: ClockOptions,
    #[command(flatten)]
    machine: MachineOptions,
}

const EXAMPLES: &str = "\
Examples:
  softacl what-if --soc Ascend910B,Ascend910C -- ./app            two chips
  softacl what-if --soc Ascend910C --batch 16,64,256 -- ./app     what batches would save
  softacl what-if --set d2h_bandwidth=100GB/s -- ./app            what a faster link would save
  softacl what-if --kernel decode=350us --svg kv.svg -- ./app     a picture, with the time of a kernel";

pub fn main(arguments: &Arguments) -> Result<()> {
    let machines = arguments.machine.by_soc();
    ensure!(arguments.batch.iter().all(|size| *size > 1), "--batch: a batch has at least 2 entries");
    let svg = arguments.svg.as_deref().map(output::open).transpose()?;
    signals::install().context("could not install signal handlers")?;
    let (mut reports, mut variants) = (Vec::new(), Vec::new());
    for machine in &machines {
        arguments.clock.chip(machine.soc())?;
        let log = run(arguments, machine)?;
        let chip = arguments.clock.chip(Some(&log.soc))?;
        let as_it_is = report(&log, &chip, &log.soc, &arguments.batch);
        variants.extend(of_batches(&as_it_is));
        for change in &arguments.set {
            let changed = report(&log, &change.applied(&chip), &log.soc, &[]);
            let set = Some(change.text.clone());
            variants.push(Variant { set, saves_ns: Some(as_it_is.saved_by(&changed)), ..plain(&changed) });
        }
        reports.push(as_it_is);
    }
    if let (Some(mut file), Some(path)) = (svg, &arguments.svg) {
        let title = arguments.machine.line().join(" ");
        file.write_all(plot::render(&title, &variants).as_bytes())
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    if let Some(path) = &arguments.json {
        output::write_json(path, &serde_json::json!({ "variants": variants, "reports": reports }))?;
        if output::is_stdout(path) {
            return Ok(());
        }
    }
    output::print(table(&variants, &reports)?)
}

/// Runs the program on one chip. If it has several processes, returns the log of the one that did most.
fn run(arguments: &Arguments, machine: &MachineOptions) -> Result<Log> {
    let directory = output::directory("softacl-what-if-")?;
    let mut command = machine.command()?;
    arguments.clock.apply(&mut command, "1", directory.path())?;
    command.stdout(output::stderr()?);
    let (_, status) = signals::run(&mut command).with_context(|| machine.spawn_error())?;
    let name = machine.soc().unwrap_or("the default chip");
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ensure!(code == 0, "the program ended with code {code} on {name}");
    let log = logs(directory.path())?.into_iter().map(|(_, log)| log).max_by_key(|log| log.steps.len());
    log.with_context(|| format!("the program did not use the runtime on {name}"))
}

/// The row of a program as it is.
fn plain(report: &Report) -> Variant {
    let kernels: Vec<Range> =
        report.engines.iter().filter(|line| line.engine.starts_with("cores")).map(|line| line.busy_ns).collect();
    let sum = |of: fn(&Range) -> f64| kernels.iter().map(of).sum();
    let kernels_ns =
        Range { expected: sum(|range| range.expected), low: sum(|range| range.low), high: sum(|range| range.high) };
    Variant {
        soc: report.soc.clone(),
        batch: None,
        set: None,
        total_ns: report.total_ns,
        kernels_ns,
        copying_ns: report.copying_ns,
        overlap: Some(report.overlap),
        saves_ns: None,
        limit: report.critical_path.first().map_or_else(String::new, |line| line.what.clone()),
    }
}

/// The rows of a program as it is, and with its copies joined to batches.
fn of_batches(report: &Report) -> Vec<Variant> {
    let plain = plain(report);
    let batch = |line: &BatchLine| Variant {
        batch: Some(line.entries),
        total_ns: line.total_ns,
        overlap: None,
        saves_ns: Some(line.saves_ns),
        limit: String::new(),
        ..plain.clone()
    };
    let batches: Vec<Variant> = report.batches.iter().map(batch).collect();
    std::iter::once(plain.clone()).chain(batches).collect()
}

fn table(variants: &[Variant], reports: &[Report]) -> Result<String> {
    let mut text = String::new();
    writeln!(
        text,
        "{:<16} {:<24} {:<30} {:<30} {:<30} {:<18} limited by",
        "chip", "variant", "total [low, high]", "kernels", "copies", "behind kernels"
    )?;
    for variant in variants {
        let limit = match variant.saves_ns {
            Some(saved) => format!("saves {}", text::saving(saved)),
            None => variant.limit.clone(),
        };
        writeln!(
            text,
            "{:<16} {:<24} {:<30} {:<30} {:<30} {:<18} {limit}",
            variant.soc,
            variant.name(),
            text::time(variant.total_ns),
            text::time(variant.kernels_ns),
            text::time(variant.copying_ns),
            variant.overlap.map_or_else(String::new, text::share),
        )?;
    }
    for report in reports {
        for line in &report.unknown {
            writeln!(text, "not known: {line}; they count as no time")?;
        }
        if !report.kernels_without_time.is_empty() {
            let names = report.kernels_without_time.join(", ");
            writeln!(text, "{}: kernels without a time: {names}; give it with --kernel NAME=TIME", report.soc)?;
        }
    }
    Ok(text)
}
