//! Turns the logs that processes left into one trace, and keeps its tracks for the other reports.

use super::gzip::GzipWriter;
use crate::output::{self, ReportFile};
use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use softacl_tracer::{LogEnd, Summary, TraceWriter, Tracks};
use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes that are written at once.
pub const BUFFER: usize = 1 << 18;

/// A trace, ready for reports.
#[derive(Default)]
pub struct Converted {
    pub summaries: Vec<Summary>,
    /// About processes that did not end as usual.
    pub notes: Vec<String>,
    pub tracks: Tracks,
}

/// Writes the trace of all processes. The file keeps what it contains if no process left a log.
pub fn convert(directory: &Path, file: ReportFile, needs_tracks: bool) -> Result<Converted> {
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
    if logs.is_empty() {
        return Ok(Converted::default());
    }
    // Shown if it takes a while, and only on a terminal.
    let style = ProgressStyle::with_template("softacl trace: writing {msg}, {bytes} so far").expect("a valid template");
    let progress = ProgressBar::new_spinner().with_style(style).with_message(file.path().display().to_string());
    match output::shows_progress() {
        true => progress.enable_steady_tick(Duration::from_millis(500)),
        false => progress.set_draw_target(ProgressDrawTarget::hidden()),
    }
    let is_compressed = file.path().extension().is_some_and(|extension| extension == "gz");
    let mut converted = Converted::default();
    file.write(|file| {
        let file = progress.wrap_write(file);
        if is_compressed {
            let gzip =
                add_all(&logs, BufWriter::with_capacity(BUFFER, GzipWriter::new(file)), needs_tracks, &mut converted)?;
            gzip.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
        } else {
            add_all(&logs, BufWriter::with_capacity(BUFFER, file), needs_tracks, &mut converted).map(drop)
        }
    })?;
    progress.finish_and_clear();
    Ok(converted)
}

/// Writes the trace of these logs, and returns what it was written to.
pub fn add_all<W: io::Write>(
    logs: &[(u32, PathBuf)],
    to: W,
    needs_tracks: bool,
    converted: &mut Converted,
) -> io::Result<W> {
    let mut writer = TraceWriter::new(to)?;
    for (process, log) in logs {
        let tracks = needs_tracks.then_some(&mut converted.tracks);
        match writer.add(log, tracks)? {
            LogEnd::Exit => {}
            LogEnd::Cut => converted.notes.push(format!(
                "process {process} did not exit as usual: it was killed, replaced itself with another program (exec), \
                 called _exit, or is still running; its trace ends with its last call or task"
            )),
            LogEnd::Empty => converted.notes.push(format!("process {process} ended before it could record anything")),
        }
    }
    let (summaries, to) = writer.finish()?;
    converted.summaries = summaries;
    Ok(to)
}
