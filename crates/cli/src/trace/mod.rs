//! `softacl trace`: runs a program and records the timeline of its threads and streams.
//!
//! The tracer itself is part of the library that the program loads. Every process writes a log to a temporary
//! directory. This command runs the program, turns the logs into one trace and prints a summary. The log of a process
//! that was killed is as good as any other.

mod gzip;
mod page;
mod tables;
mod text;

use crate::machine::{self, MachineOptions};
use crate::timing::{self, ClockOptions};
use crate::{output, signals};
use anyhow::{Context, Result, ensure};
use clap::Args;
use gzip::GzipWriter;
use indicatif::{ProgressBar, ProgressStyle};
use softacl_tracer::{DEFAULT_EVENT_LIMIT, LogEnd, RECORD_BYTES, Summary, TraceWriter};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tempfile::TempDir;

/// Run a program and record its timeline
///
/// Runs the program as `softacl run` does and records every API call and every task of every stream, with bytes and
/// dependencies. Prints a summary to stderr: stream utilization, copy rates, blocking calls. Exits with the program's
/// exit code (128 + N if signal N ended it).
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Trace file, for https://ui.perfetto.dev or chrome://tracing; compressed if the name ends in .gz
    #[arg(long, short, value_name = "FILE", default_value = "trace.json")]
    output: PathBuf,
    /// Write a self-contained HTML page with timeline and statistics
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the statistics as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// When queued tasks execute: threads, early, late or random:SEED [default: threads]
    #[arg(long)]
    schedule: Option<String>,
    /// Draw the timeline of a virtual clock with the published figures of the chip (docs/timing.md)
    #[arg(long, conflicts_with = "schedule")]
    timing: bool,
    #[command(flatten)]
    clock: ClockOptions,
    #[command(flatten)]
    machine: MachineOptions,
}

const EXAMPLES: &str = "\
Examples:
  softacl trace -- ./app --my-flag                  write trace.json and print a summary
  softacl trace -o kv.json -- python serve.py       a Python program, with all its processes
  softacl trace -o kv.json.gz -- ./app              a compressed trace, which Perfetto opens as it is
  softacl trace --html kv.html -- ./app             a self-contained page
  softacl trace --json - -- ./app | jq '.[0].calls[0]'    the call with the largest total time";

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let paths = [Some(&arguments.output), arguments.html.as_ref(), arguments.json.as_ref()];
    let paths: Vec<&Path> = paths.into_iter().flatten().map(PathBuf::as_path).collect();
    for (index, path) in paths.iter().enumerate() {
        ensure!(!paths[..index].contains(path), "two reports in the same file: {}", path.display());
    }
    let trace = output::open(&arguments.output)?;
    let html = arguments.html.as_deref().map(output::open).transpose()?;
    let json = arguments.json.as_deref().map(output::open).transpose()?;

    let ids = [Some(&trace), html.as_ref(), json.as_ref()].into_iter().flatten().map(file_id);
    let ids: Vec<_> = ids.flatten().collect();
    let is_duplicate = |index: usize| ids[..index].contains(&ids[index]);
    ensure!(!(0..ids.len()).any(is_duplicate), "two reports in the same file: their paths differ, but name one file");

    let directory = log_directory()?;
    let mut command = arguments.machine.command()?;
    if let Some(schedule) = machine::schedule(arguments.schedule.as_deref())? {
        command.env("SOFTACL_SCHEDULE", schedule);
    }
    command.env("SOFTACL_TRACE", directory.path().join("%p.log")).env_remove("SOFTACL_CHECK");
    if arguments.timing {
        arguments.clock.chip(arguments.machine.soc())?;
        arguments.clock.apply(&mut command, "1", directory.path())?;
    }
    // The next program must be able to read a report on standard output.
    if paths.iter().any(|path| output::is_stdout(path)) {
        command.stdout(output::stderr()?);
    }
    signals::install().context("could not install signal handlers")?;
    let (_, status) = signals::run(&mut command).with_context(|| arguments.machine.spawn_error())?;

    let write_error = |path: &Path| format!("could not write {}", path.display());
    let (summaries, notes) =
        convert(directory.path(), trace, &arguments.output).with_context(|| write_error(&arguments.output))?;
    output::eprint_line(text::render(&summaries, &notes, &arguments.output).trim_end());
    if let (Some(mut file), Some(path)) = (json, &arguments.json) {
        writeln!(file, "{}", serde_json::to_string(&summaries)?).with_context(|| write_error(path))?;
    }
    if let (Some(mut file), Some(path)) = (html, &arguments.html) {
        let program = arguments.machine.line().join(" ");
        file.write_all(page::render(&program, &summaries, &notes).as_bytes()).with_context(|| write_error(path))?;
    }
    if arguments.timing {
        timing::print(&arguments.clock.reports(directory.path(), &timing::BATCH_SIZES)?);
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Writes the trace of all processes to `file`, whose name is `path`. Returns their summaries, and notes about
/// processes that did not end as usual.
fn convert(directory: &Path, file: File, path: &Path) -> Result<(Vec<Summary>, Vec<String>)> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(directory)? {
        let log = entry?.path();
        if log.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        let process = log.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
        logs.extend(process.map(|process| (process, log)));
    }
    logs.sort_unstable();
    // Shown if it takes a while, and only on a terminal.
    let style = ProgressStyle::with_template("softacl trace: writing {msg}, {bytes} so far").expect("a valid template");
    let progress = ProgressBar::new_spinner().with_style(style).with_message(path.display().to_string());
    progress.enable_steady_tick(Duration::from_millis(500));
    let file = progress.wrap_write(file);
    let is_compressed = path.extension().is_some_and(|extension| extension == "gz");
    let result = if is_compressed {
        let (summaries, notes, gzip) = write_all(&logs, BufWriter::with_capacity(BUFFER, GzipWriter::new(file)))?;
        gzip.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
        (summaries, notes)
    } else {
        let (summaries, notes, _) = write_all(&logs, BufWriter::with_capacity(BUFFER, file))?;
        (summaries, notes)
    };
    progress.finish_and_clear();
    Ok(result)
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
/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// Writes the trace of these logs. Returns the writer as well.
fn write_all<W: io::Write>(logs: &[(u32, PathBuf)], to: W) -> Result<(Vec<Summary>, Vec<String>, W)> {
    let (mut writer, mut notes) = (TraceWriter::new(to)?, Vec::new());
    for (process, log) in logs {
        match writer.add(log)? {
            LogEnd::Exit => {}
            LogEnd::Cut => notes.push(format!(
                "process {process} did not exit as usual: it was killed, replaced itself with another program (exec), \
                 called _exit, or is still running; its trace ends with its last call or task"
            )),
            LogEnd::Empty => notes.push(format!("process {process} ended before it could record anything")),
        }
    }
    let (summaries, to) = writer.finish()?;
    Ok((summaries, notes, to))
}

/// Identifies a regular file. `None` for other files, such as a terminal, which accept any number of reports.
fn file_id(file: &File) -> Option<(u64, u64)> {
    let status = file.metadata().ok().filter(|status| status.is_file())?;
    Some((status.dev(), status.ino()))
}
