//! `softacl trace`: runs a program and records the timeline of its threads and streams.
//!
//! The tracer itself is part of the library that the program loads. Every process writes a log to a temporary
//! directory. This command runs the program, turns the logs into one trace and prints a summary. The log of a process
//! that was killed is as good as any other. A trace that was written before can be opened again, and compared.

mod convert;
mod diff;
mod gzip;
mod open;
mod page;
mod tables;
mod text;

use crate::machine::{self, MachineOptions};
use crate::output::{self, ReportFile};
use crate::signals;
use crate::timing::{self, ClockOptions};
use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use convert::Converted;
use softacl_tracer::{DEFAULT_EVENT_LIMIT, RECORD_BYTES, perfetto};
use std::io::{BufWriter, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tempfile::TempDir;

/// Run a program and record its timeline
///
/// Runs the program as `softacl run` does and records every API call and every task of every stream, with bytes and
/// dependencies. Prints a summary to stderr: stream utilization, copy rates, blocking calls. Exits with the program's
/// exit code (128 + N if signal N ended it).
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<TraceCommand>,
    /// Trace file, for https://ui.perfetto.dev or chrome://tracing; compressed if the name ends in .gz
    /// [default: trace.json]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the timeline as one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the trace in Perfetto's own format, which is smaller and opens faster
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Write the statistics as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Open a trace file or the log of a process instead of running a program
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "schedule", "limit", "duration", "ranges"])]
    open: Option<PathBuf>,
    /// Record at most this many trace events per process; a copy takes three [default: 16777216]
    #[arg(long, value_name = "EVENTS")]
    limit: Option<u64>,
    /// Stop recording this long after a process has started to use the API; the program continues
    #[arg(long, value_name = "TIME", value_parser = crate::units::parse_duration)]
    duration: Option<std::time::Duration>,
    /// Record only between softaclTraceRangeBegin and softaclTraceRangeEnd (softacl/softacl.h)
    #[arg(long)]
    ranges: bool,
    /// When queued tasks execute: threads, early, late or random:SEED [default: threads]
    #[arg(long)]
    schedule: Option<String>,
    /// Draw the timeline of a virtual clock with the published figures of the chip (docs/timing.md)
    #[arg(long)]
    timing: bool,
    #[command(flatten)]
    clock: ClockOptions,
    #[command(flatten)]
    machine: MachineOptions,
}

#[derive(Subcommand)]
enum TraceCommand {
    Diff(diff::Arguments),
}

const EXAMPLES: &str = "\
Examples:
  softacl trace -- ./app --my-flag                  write trace.json and print a summary
  softacl trace --html kv.html -- ./app             the timeline as a page, for any browser
  softacl trace -o kv.json -- python serve.py       a Python program, with all its processes
  softacl trace -o kv.json.gz -- ./app              a compressed trace, which Perfetto opens as it is
  softacl trace --perfetto kv.pftrace -- ./app      Perfetto's own format
  softacl trace --duration 10s -- ./server          only the first ten seconds
  softacl trace --open kv.json --html kv.html       a trace that was written before, as a page
  softacl trace diff before.json after.json         what became slower, and what faster
  softacl trace --json - -- ./app | jq '.[0].calls[0]'    the call with the largest total time";

const DEFAULT_OUTPUT: &str = "trace.json";

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(TraceCommand::Diff(arguments)) = &arguments.command {
        return diff::main(arguments).map(|()| ExitCode::SUCCESS);
    }
    if let Some(file) = &arguments.open {
        ensure!(arguments.machine.program.is_empty(), "--open shows a trace; it does not run a program");
        let mut reports = Reports::open(arguments, None)?;
        let converted = open::read(file).with_context(|| format!("could not read {}", file.display()))?;
        output::eprint_summary(text::render(&converted.summaries, &converted.notes, &[]).trim_end());
        reports.write(&file.display().to_string(), &converted)?;
        return Ok(ExitCode::SUCCESS);
    }
    let output = arguments.output.clone().unwrap_or_else(|| DEFAULT_OUTPUT.into());
    let mut reports = Reports::open(arguments, Some(&output))?;
    let directory = log_directory()?;
    let status = run(arguments, &reports, &directory)?;
    let trace = reports.trace.take().expect("the trace was opened");
    let needs_tracks = reports.html.is_some() || reports.perfetto.is_some();
    let converted = convert::convert(directory.path(), trace, needs_tracks)
        .with_context(|| format!("could not write {}", output.display()))?;
    let mut written = reports.write(&arguments.machine.line().join(" "), &converted)?;
    if !converted.summaries.is_empty() {
        written.insert(0, output);
    }
    output::eprint_summary(text::render(&converted.summaries, &converted.notes, &written).trim_end());
    if arguments.timing {
        timing::print(&arguments.clock.reports(directory.path(), &timing::BATCH_SIZES)?);
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Runs the program. Its processes leave their logs in the directory.
fn run(arguments: &Arguments, reports: &Reports, directory: &TempDir) -> Result<std::process::ExitStatus> {
    let mut command = arguments.machine.command()?;
    if let Some(schedule) = machine::schedule(arguments.schedule.as_deref())? {
        command.env("SOFTACL_SCHEDULE", schedule);
    }
    command.env("SOFTACL_TRACE", directory.path().join("%p.log")).env_remove("SOFTACL_CHECK");
    if arguments.timing {
        ensure!(arguments.schedule.is_none(), timing::NO_SCHEDULE);
        arguments.clock.chip(arguments.machine.soc())?;
        arguments.clock.apply(&mut command, "1", directory.path())?;
    }
    if let Some(limit) = arguments.limit {
        ensure!((1..=1_000_000_000).contains(&limit), "--limit: {limit} is not a number from 1 to 1000000000");
        command.env("SOFTACL_TRACE_LIMIT", limit.to_string());
    }
    if let Some(duration) = arguments.duration {
        command.env("SOFTACL_TRACE_DURATION_MS", duration.as_millis().max(1).to_string());
    }
    if arguments.ranges {
        command.env("SOFTACL_TRACE_RANGES", "1");
    }
    // The next program must be able to read a report on standard output.
    if reports.all().any(ReportFile::is_stdout) {
        command.stdout(output::stderr()?);
    }
    signals::install().context("could not install signal handlers")?;
    let (_, status) = signals::run(&mut command).with_context(|| arguments.machine.spawn_error())?;
    Ok(status)
}

/// The files to write. They are opened before the program runs, so that a wrong path does not waste the run, and keep
/// what they contain until there is something to write.
struct Reports {
    trace: Option<ReportFile>,
    html: Option<ReportFile>,
    perfetto: Option<ReportFile>,
    json: Option<ReportFile>,
}

impl Reports {
    fn open(arguments: &Arguments, trace: Option<&Path>) -> Result<Reports> {
        let open = |path: Option<&Path>| path.map(ReportFile::open).transpose();
        let paths = [trace, arguments.html.as_deref(), arguments.perfetto.as_deref(), arguments.json.as_deref()];
        for (index, path) in paths.iter().enumerate().filter_map(|(index, path)| Some((index, (*path)?))) {
            ensure!(!paths[..index].contains(&Some(path)), "two reports in the same file: {}", path.display());
        }
        let [trace, html, perfetto, json] = paths;
        let reports = Reports { trace: open(trace)?, html: open(html)?, perfetto: open(perfetto)?, json: open(json)? };
        let ids: Vec<_> = reports.all().filter_map(ReportFile::id).collect();
        let is_duplicate = |index: usize| ids[..index].contains(&ids[index]);
        ensure!(
            !(0..ids.len()).any(is_duplicate),
            "two reports in the same file: their paths differ, but name one file"
        );
        Ok(reports)
    }

    fn all(&self) -> impl Iterator<Item = &ReportFile> {
        [&self.trace, &self.html, &self.perfetto, &self.json].into_iter().flatten()
    }

    /// Writes everything but the trace file. Returns the files that people open.
    fn write(&mut self, program: &str, converted: &Converted) -> Result<Vec<PathBuf>> {
        let Converted { summaries, notes, tracks } = converted;
        let mut written = Vec::new();
        if let Some(file) = self.json.take() {
            file.write(|to| writeln!(to, "{}", serde_json::to_string(summaries)?))?;
        }
        if let Some(file) = self.html.take() {
            written.push(file.path().to_owned());
            file.write(|to| page::write(program, summaries, notes, tracks, to))?;
        }
        if let Some(file) = self.perfetto.take().filter(|_| !summaries.is_empty()) {
            written.push(file.path().to_owned());
            file.write(|to| {
                let mut buffer = BufWriter::with_capacity(convert::BUFFER, to);
                perfetto::write(tracks, &mut buffer)?;
                buffer.flush()
            })?;
        }
        Ok(written)
    }
}

/// Creates a directory for the logs: in memory if they fit there with room to spare, because pages of a disk file cost
/// the program more time, else where temporary files are.
fn log_directory() -> Result<TempDir> {
    const MEMORY: &str = "/dev/shm";
    const LOG_BYTES: u64 = DEFAULT_EVENT_LIMIT * RECORD_BYTES;
    match output::free_bytes(Path::new(MEMORY)) {
        Some(free) if free >= 4 * LOG_BYTES => output::directory_in(Path::new(MEMORY), PREFIX),
        _ => output::directory(PREFIX),
    }
}

const PREFIX: &str = "softacl-trace-";
