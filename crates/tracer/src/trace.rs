//! A trace: the entries of one or several processes, with their summaries in the last line.

use crate::chrome;
use crate::snapshot::LogSnapshot;
use crate::summary::Summary;
use crate::timeline::Timeline;
use crate::tracks::Tracks;
use std::io;
use std::path::Path;

/// The first line of a trace.
pub(crate) const HEAD: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
/// Start of the last line. The summary, or a list of summaries, and a closing brace follow.
pub(crate) const TAIL: &str = "],\"softacl\":";

/// Writes the trace of one process.
pub(crate) fn write(snapshot: LogSnapshot, to: &mut impl io::Write) -> io::Result<Summary> {
    writeln!(to, "{HEAD}")?;
    let summary = write_entries(snapshot, to, None)?;
    writeln!(to, "\n{TAIL}{}}}", serde_json::to_string(&summary)?)?;
    Ok(summary)
}

fn write_entries(snapshot: LogSnapshot, to: &mut impl io::Write, tracks: Option<&mut Tracks>) -> io::Result<Summary> {
    let start_time = snapshot.start_time;
    let timeline = Timeline::of(snapshot);
    chrome::write_entries(&timeline, start_time, to)?;
    if let Some(tracks) = tracks {
        tracks.add(&timeline, start_time);
    }
    Ok(Summary::of(&timeline))
}

/// Writes one trace of the logs that several processes left.
pub struct TraceWriter<W> {
    to: W,
    summaries: Vec<Summary>,
}

/// How the process of a log ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogEnd {
    /// The process ran its exit handlers.
    Exit,
    /// The log ends with its last record: the process was killed, left without exit handlers, or still runs.
    Cut,
    /// The file contains no log.
    Empty,
}

impl<W: io::Write> TraceWriter<W> {
    pub fn new(mut to: W) -> io::Result<TraceWriter<W>> {
        write!(to, "{HEAD}")?;
        Ok(TraceWriter { to, summaries: Vec::new() })
    }

    /// Adds the process that left this log, to the trace and to the tracks.
    pub fn add(&mut self, log: &Path, tracks: Option<&mut Tracks>) -> io::Result<LogEnd> {
        let mut snapshot = match LogSnapshot::open(log) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(LogEnd::Empty),
            snapshot => snapshot?,
        };
        let end = if snapshot.end.is_some() { LogEnd::Exit } else { LogEnd::Cut };
        // Tasks of a process that still runs may start later.
        snapshot.is_partial |= end == LogEnd::Cut && Path::new("/proc").join(snapshot.process.to_string()).exists();
        writeln!(self.to, "{}", if self.summaries.is_empty() { "" } else { "," })?;
        self.summaries.push(write_entries(snapshot, &mut self.to, tracks)?);
        Ok(end)
    }

    /// Ends the trace and returns the summary of each process, and what it was written to.
    pub fn finish(mut self) -> io::Result<(Vec<Summary>, W)> {
        writeln!(self.to, "\n{TAIL}{}}}", serde_json::to_string(&self.summaries)?)?;
        self.to.flush()?;
        Ok((self.summaries, self.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tracer;
    use serde_json::Value;
    use std::fs::{self, File};

    #[test]
    fn logs_are_merged_however_their_process_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let log = |name: &str| {
            let file = File::options().read(true).write(true).create_new(true).open(path(name)).unwrap();
            Tracer::with_file(1000, file).unwrap()
        };
        log("ended").end();
        drop(log("killed"));
        fs::write(path("empty"), "").unwrap();
        fs::write(path("other"), "x".repeat(9000)).unwrap();
        let mut writer = TraceWriter::new(Vec::new()).unwrap();
        let ends = ["ended", "empty", "killed", "other"].map(|name| writer.add(&path(name), None).unwrap());
        assert_eq!(ends, [LogEnd::Exit, LogEnd::Empty, LogEnd::Cut, LogEnd::Empty]);
        let (summaries, text) = writer.finish().unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!((summaries.len(), value["softacl"].as_array().unwrap().len()), (2, 2));
        let mut one = Vec::new();
        Tracer::new(10).unwrap().write(&mut one).unwrap();
        let one: Value = serde_json::from_slice(&one).unwrap();
        let count = |value: &Value| value["traceEvents"].as_array().unwrap().len();
        assert_eq!(count(&value), 2 * count(&one));
        let (summaries, text) = TraceWriter::new(Vec::new()).unwrap().finish().unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!((summaries.len(), count(&value)), (0, 0));
    }
}
