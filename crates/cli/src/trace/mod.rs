//! `softacl trace`: runs a program and records the timeline of its threads and streams.
//!
//! The tracer itself is part of the library that the program loads. Every process writes a trace to a temporary
//! directory. This command runs the program, merges the traces into one file and prints a summary.

mod page;
mod tables;
mod text;

use crate::machine::{self, MachineOptions};
use crate::{output, signals};
use anyhow::{Context, Result, ensure};
use clap::Args;
use softacl_tracer::{Summary, TraceMerger};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a program and record its timeline
///
/// Runs the program as `softacl run` does and records every API call and every task of every stream, with bytes and
/// dependencies. Prints a summary to stderr: stream utilization, copy rates, blocking calls. Exits with the program's
/// exit code (128 + N if signal N ended it).
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Trace file, for https://ui.perfetto.dev or chrome://tracing
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
    #[command(flatten)]
    machine: MachineOptions,
}

const EXAMPLES: &str = "\
Examples:
  softacl trace -- ./app --my-flag                  write trace.json and print a summary
  softacl trace -o kv.json -- python serve.py       a Python program, with all its processes
  softacl trace --html kv.html -- ./app             a self-contained page
  softacl trace --json - -- ./app | jq '.[0].calls[0]'    the call with the largest total time";

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let paths = [Some(&arguments.output), arguments.html.as_ref(), arguments.json.as_ref()];
    let paths: Vec<&Path> = paths.into_iter().flatten().map(PathBuf::as_path).collect();
    for (index, path) in paths.iter().enumerate() {
        ensure!(!paths[..index].contains(path), "two reports in the same file: {}", path.display());
    }
    let trace = BufWriter::new(output::open(&arguments.output)?);
    let html = arguments.html.as_deref().map(output::open).transpose()?;
    let json = arguments.json.as_deref().map(output::open).transpose()?;

    let ids = [Some(trace.get_ref()), html.as_ref(), json.as_ref()].into_iter().flatten().map(file_id);
    let ids: Vec<_> = ids.flatten().collect();
    let is_duplicate = |index: usize| ids[..index].contains(&ids[index]);
    ensure!(!(0..ids.len()).any(is_duplicate), "two reports in the same file: their paths differ, but name one file");

    let directory = output::directory("softacl-trace-")?;
    let mut command = arguments.machine.command()?;
    if let Some(schedule) = machine::schedule(arguments.schedule.as_deref())? {
        command.env("SOFTACL_SCHEDULE", schedule);
    }
    command.env("SOFTACL_TRACE", directory.path().join("%p.json")).env_remove("SOFTACL_CHECK");
    signals::install().context("could not install signal handlers")?;
    let (_, status) = signals::run(&mut command).with_context(|| arguments.machine.spawn_error())?;

    let write_error = |path: &Path| format!("could not write {}", path.display());
    let (summaries, notes) = merge(directory.path(), trace).with_context(|| write_error(&arguments.output))?;
    output::eprint_line(text::render(&summaries, &notes, &arguments.output).trim_end());
    if let (Some(mut file), Some(path)) = (json, &arguments.json) {
        writeln!(file, "{}", serde_json::to_string(&summaries)?).with_context(|| write_error(path))?;
    }
    if let (Some(mut file), Some(path)) = (html, &arguments.html) {
        let program = arguments.machine.line().join(" ");
        file.write_all(page::render(&program, &summaries, &notes).as_bytes()).with_context(|| write_error(path))?;
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Merges the traces of all processes. Returns their summaries, and notes about processes without a complete trace.
fn merge(directory: &Path, to: impl io::Write) -> Result<(Vec<Summary>, Vec<String>)> {
    let mut traces = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let process = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
        traces.extend(process.map(|process| (process, path)));
    }
    traces.sort_unstable();
    let (mut merger, mut notes) = (TraceMerger::new(to)?, Vec::new());
    for (process, path) in traces {
        if !merger.add(BufReader::new(File::open(path)?))? {
            notes.push(format!(
                "process {process} left no complete trace: it was killed, replaced itself with another program (exec), \
                 called _exit, or is still running"
            ));
        }
    }
    Ok((merger.finish()?, notes))
}

/// Identifies a regular file. `None` for other files, such as a terminal, which accept any number of reports.
fn file_id(file: &File) -> Option<(u64, u64)> {
    let status = file.metadata().ok().filter(|status| status.is_file())?;
    Some((status.dev(), status.ino()))
}
