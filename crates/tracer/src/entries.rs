//! Reads a trace file back: the entries that `chrome` wrote, one per line, and the summaries of the last line.
//!
//! Only traces of softacl are read. Other programs write this format too, but their traces have other rows.

use crate::chrome::{DEVICE_PID_STRIDE, GRAPH_STREAM_TID_BASE};
use crate::summary::Summary;
use crate::trace::{HEAD, TAIL};
use crate::tracks::{Arrow, ArrowEnd, MarkPoint, MemoryUse, Slice, SliceKind, Track, TrackKind, Tracks};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead};

/// An entry: see `ChromeEvent`, which has the same fields.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    ph: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(default)]
    pid: u64,
    #[serde(default)]
    tid: u32,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(borrow, default)]
    args: Option<Arguments<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Arguments<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    task: u64,
    bytes: u64,
    entries: u32,
    #[serde(borrow)]
    route: Option<Cow<'a, str>>,
    #[serde(rename = "waited for its stream, us")]
    blocked: f64,
    #[serde(rename = "submitted by thread")]
    submitter: u32,
    #[serde(rename = "run by thread")]
    runner: u32,
    code: i32,
    #[serde(rename = "not finished")]
    is_unfinished: bool,
}

/// Reads a trace file.
pub fn read(mut from: impl BufRead) -> io::Result<(Tracks, Vec<Summary>)> {
    let (mut line, mut reader) = (String::new(), Reader::default());
    from.read_line(&mut line)?;
    if line.trim_end() != HEAD {
        return Err(invalid("this is not a trace of softacl"));
    }
    loop {
        line.clear();
        if from.read_line(&mut line)? == 0 {
            return Err(invalid("the trace is cut: its last line is missing"));
        }
        let text = line.trim_end();
        if let Some(summaries) = text.strip_prefix(TAIL) {
            let summaries = summaries.strip_suffix('}').unwrap_or(summaries);
            reader.tracks.sort();
            return Ok((reader.tracks, one_or_several(summaries)?));
        }
        let entry = text.strip_suffix(',').unwrap_or(text);
        if !entry.is_empty() {
            reader.add(&serde_json::from_str(entry)?);
        }
    }
}

fn one_or_several(text: &str) -> io::Result<Vec<Summary>> {
    match text.starts_with('[') {
        true => Ok(serde_json::from_str(text)?),
        false => Ok(vec![serde_json::from_str(text)?]),
    }
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[derive(Default)]
struct Reader {
    tracks: Tracks,
    rows: HashMap<(u32, TrackKind, u32), usize>,
    /// The task that the next arrows belong to: its track and its index there.
    task: Option<(usize, usize)>,
    /// The first end of an arrow, or of a range.
    open: Option<ArrowEnd>,
}

impl Reader {
    fn add(&mut self, entry: &Entry<'_>) {
        let end = |track| ArrowEnd { track, ns: nanos(entry.ts) };
        match (&*entry.ph, &*entry.cat) {
            ("M", _) if entry.name == "thread_name" => {
                let track = self.track(entry, false);
                let name = entry.args.as_ref().and_then(|arguments| arguments.name.as_deref());
                self.tracks.tracks[track].name = name.unwrap_or_default().to_owned();
            }
            ("X", _) => self.slice(entry),
            ("s", "submit") => {
                if let Some((track, slice)) = self.task {
                    self.tracks.tracks[track].slices[slice].submitted = nanos(entry.ts);
                }
            }
            ("s", "after") => self.open = Some(end(self.track(entry, false))),
            ("f", "after") => {
                let to = end(self.track(entry, false));
                self.tracks.arrows.extend(self.open.take().map(|from| Arrow { from, to }));
            }
            ("b", _) => self.open = Some(end(self.track(entry, true))),
            ("e", _) => {
                let Some(ArrowEnd { track, ns: start }) = self.open.take() else { return };
                let name = self.tracks.number(&entry.name);
                let ns = nanos(entry.ts).saturating_sub(start);
                let slice = Slice { start, ns, name, kind: SliceKind::Range, ..Slice::default() };
                self.tracks.tracks[track].slices.push(slice);
            }
            ("i", _) => {
                let (track, name) = (self.track(entry, false), self.tracks.number(&entry.name));
                self.tracks.marks.push(MarkPoint { track, ns: nanos(entry.ts), name });
            }
            ("C", _) => {
                let (process, Some(device)) = owner(entry.pid) else { return };
                let bytes = entry.args.as_ref().map_or(0, |arguments| arguments.bytes);
                self.tracks.memory.push(MemoryUse { process, device, ns: nanos(entry.ts), bytes });
            }
            _ => {}
        }
    }

    fn slice(&mut self, entry: &Entry<'_>) {
        let track = self.track(entry, false);
        let name = self.tracks.number(&entry.name);
        let kind = match &*entry.cat {
            "task" => SliceKind::Task,
            "wait" => SliceKind::Wait,
            "copy" => SliceKind::Access,
            _ => SliceKind::Call,
        };
        let mut slice = Slice { start: nanos(entry.ts), ns: nanos(entry.dur), name, kind, ..Slice::default() };
        if let Some(arguments) = &entry.args {
            let Arguments { task, bytes, entries, submitter, runner, code, is_unfinished, .. } = *arguments;
            let route = self.tracks.number(arguments.route.as_deref().unwrap_or_default());
            let blocked_ns = nanos(arguments.blocked);
            slice = Slice { task, bytes, entries, route, submitter, runner, blocked_ns, code, is_unfinished, ..slice };
        }
        let slices = &mut self.tracks.tracks[track].slices;
        slices.push(slice);
        self.task = Some((track, slices.len() - 1));
    }

    /// Returns the track of an entry, which is new if this is its first.
    fn track(&mut self, entry: &Entry<'_>, is_range: bool) -> usize {
        let (process, device) = owner(entry.pid);
        let (kind, id) = match (device, entry.tid.checked_sub(GRAPH_STREAM_TID_BASE)) {
            (None, _) if is_range => (TrackKind::Ranges, entry.tid),
            (None, _) => (TrackKind::Thread, entry.tid),
            (Some(device), None) => (TrackKind::Stream { device }, entry.tid),
            (Some(device), Some(id)) => (TrackKind::GraphStream { device }, id),
        };
        let tracks = &mut self.tracks.tracks;
        *self.rows.entry((process, kind, id)).or_insert_with(|| {
            let same = |track: &&Track| is_range && track.id == id && track.kind == TrackKind::Thread;
            let name = tracks.iter().find(same).map_or_else(|| id.to_string(), |thread| thread.name.clone());
            tracks.push(Track { process, kind, id, name, slices: Vec::new() });
            tracks.len() - 1
        })
    }
}

/// Returns the process of a process id in the file, and its device if it stands for one.
fn owner(pid: u64) -> (u32, Option<u32>) {
    let device = (pid / DEVICE_PID_STRIDE).checked_sub(1);
    ((pid % DEVICE_PID_STRIDE) as u32, device.and_then(|device| u32::try_from(device).ok()))
}

fn nanos(micros: f64) -> u64 {
    (micros * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tracer;

    #[test]
    fn other_files_are_refused() {
        let error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error(""), "this is not a trace of softacl");
        assert_eq!(error("{\"traceEvents\":[]}\n"), "this is not a trace of softacl");
        let mut file = Vec::new();
        Tracer::new(10).unwrap().write(&mut file).unwrap();
        assert!(read(&*file).is_ok());
        let cut = String::from_utf8(file).unwrap().replace("],\"softacl\"", "{}");
        let cut = cut.split_inclusive('\n').take(2).collect::<String>();
        assert!(read(cut.as_bytes()).unwrap_err().to_string().contains("the trace is cut"));
    }

    #[test]
    fn process_ids_of_devices_name_their_process() {
        assert_eq!(owner(77), (77, None));
        assert_eq!(owner(77 + DEVICE_PID_STRIDE), (77, Some(0)));
        assert_eq!(owner(77 + 3 * DEVICE_PID_STRIDE), (77, Some(2)));
    }
}
