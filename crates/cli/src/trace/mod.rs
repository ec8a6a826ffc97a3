//! `softacl trace`: runs an unmodified program and draws what its threads and streams did, and when.
//!
//! The tracer itself lives in the library that the program loads. Every process leaves a trace in a directory
//! of ours; this command runs the program, joins the traces in one file and tells what is in it.

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

/// Run an unmodified program and draw its timeline.
///
/// The program runs as under `softacl run`. When it has ended, there is a trace of every call and of every task
/// of every stream, with the bytes that it moved and the arrows between them, and on standard error what it
/// comes to: how busy streams were, how fast copies went, which calls waited. The exit code is that of the
/// program (128 + N if signal N ended it).
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The trace: https://ui.perfetto.dev and chrome://tracing open it
    #[arg(long, short, value_name = "FILE", default_value = "trace.json")]
    output: PathBuf,
    /// Write a page with the timeline and the numbers, which needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the numbers as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// When queued work runs: threads, early, late or random:SEED
    #[arg(long)]
    schedule: Option<String>,
    #[command(flatten)]
    machine: MachineOptions,
}

const EXAMPLES: &str = "\
Examples:
  softacl trace -- ./app --my-flag                  writes trace.json, tells what is in it
  softacl trace -o kv.json -- python serve.py       a Python program, with all its processes
  softacl trace --html kv.html -- ./app             a page to look at without a viewer
  softacl trace --json - -- ./app | jq '.[0].calls[0]'    the call that took longest in all";

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let paths = [Some(&arguments.output), arguments.html.as_ref(), arguments.json.as_ref()];
    let paths: Vec<&Path> = paths.into_iter().flatten().map(PathBuf::as_path).collect();
    for (index, path) in paths.iter().enumerate() {
        ensure!(!paths[..index].contains(path), "two reports in one file: {}", path.display());
    }
    let trace = BufWriter::new(output::open(&arguments.output)?);
    let html = arguments.html.as_deref().map(output::open).transpose()?;
    let json = arguments.json.as_deref().map(output::open).transpose()?;

    let places = [Some(trace.get_ref()), html.as_ref(), json.as_ref()].into_iter().flatten().map(place);
    let places: Vec<_> = places.flatten().collect();
    let is_twice = |index: usize| places[..index].contains(&places[index]);
    ensure!(!(0..places.len()).any(is_twice), "two reports in one file: their names differ, but it is the same");

    let directory = output::directory("softacl-trace-")?;
    let mut command = arguments.machine.command()?;
    if let Some(schedule) = machine::schedule(arguments.schedule.as_deref())? {
        command.env("SOFTACL_SCHEDULE", schedule);
    }
    command.env("SOFTACL_TRACE", directory.path().join("%p.json")).env_remove("SOFTACL_CHECK");
    signals::install().context("could not take signals")?;
    let (_, status) = signals::run(&mut command).with_context(|| arguments.machine.spawn_error())?;

    let wrong = |path: &Path| format!("could not write {}", path.display());
    let (summaries, notes) = gather(directory.path(), trace).with_context(|| wrong(&arguments.output))?;
    output::eprint_line(text::render(&summaries, &notes, &arguments.output).trim_end());
    if let (Some(mut file), Some(path)) = (json, &arguments.json) {
        writeln!(file, "{}", serde_json::to_string(&summaries)?).with_context(|| wrong(path))?;
    }
    if let (Some(mut file), Some(path)) = (html, &arguments.html) {
        let program = arguments.machine.line().join(" ");
        file.write_all(page::render(&program, &summaries, &notes).as_bytes()).with_context(|| wrong(path))?;
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Joins what the processes have left: the numbers, and who has left nothing.
fn gather(directory: &Path, to: impl io::Write) -> Result<(Vec<Summary>, Vec<String>)> {
    let mut traces = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let process = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
        traces.extend(process.map(|process| (process, path)));
    }
    traces.sort_unstable();
    let (mut joiner, mut notes) = (TraceMerger::new(to)?, Vec::new());
    for (process, path) in traces {
        if !joiner.add(BufReader::new(File::open(path)?))? {
            notes.push(format!(
                "process {process} left no whole trace: it was killed, became another program, left with _exit, or still runs"
            ));
        }
    }
    Ok((joiner.finish()?, notes))
}

/// Which file it is, if it is an ordinary one: others, such as a terminal, take any number of reports.
fn place(file: &File) -> Option<(u64, u64)> {
    let status = file.metadata().ok().filter(|status| status.is_file())?;
    Some((status.dev(), status.ino()))
}
