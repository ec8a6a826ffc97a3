//! Writes the Trace Event Format, the JSON that Perfetto and chrome://tracing open.
//!
//! Each entry is one line. Threads of the program are threads of its process in the viewer; each device is a separate
//! process whose threads are streams. `trace` writes what is around the entries.

use crate::allocations::TransferSize;
use crate::timeline::{BlockingAccess, Call, Interval, StreamRow, Task, Timeline};
use crate::tracks::EPOCH_MODULUS;
use serde::Serialize;
use std::io;
use std::time::Duration;

/// Distance between the process ids of the program and of its devices. Linux process ids are smaller.
pub(crate) const DEVICE_PID_STRIDE: u64 = 1 << 22;
/// Offset of the thread ids of graph streams. They follow those of the program, which may reuse their stream ids.
pub(crate) const GRAPH_STREAM_TID_BASE: u32 = 1 << 20;

/// An entry of the file. `ph` is its kind: X for a slice, s and f for the ends of an arrow, b and e for those of a
/// range, i for a point in time, C for a counter, M for metadata such as names.
#[derive(Serialize)]
struct ChromeEvent<'a, A> {
    ph: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'static str,
    pid: u64,
    tid: u32,
    /// Start, in us. `dur` is in us, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    /// Scope of a point in time: t is its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<A>,
}

impl<'a, A> ChromeEvent<'a, A> {
    fn new(ph: &'static str, name: &'a str) -> ChromeEvent<'a, A> {
        ChromeEvent { ph, name, cat: "", pid: 0, tid: 0, ts: None, dur: None, id: None, bp: None, s: None, args: None }
    }
}

/// Arguments of a slice, which the viewer shows when it is selected.
#[derive(Serialize, Default)]
struct Details {
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<String>,
    #[serde(rename = "GB/s", skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    #[serde(rename = "queued, us", skip_serializing_if = "Option::is_none")]
    queued: Option<f64>,
    #[serde(rename = "waited for its stream, us", skip_serializing_if = "Option::is_none")]
    blocked: Option<f64>,
    #[serde(rename = "submitted by thread", skip_serializing_if = "Option::is_none")]
    submitter: Option<u32>,
    #[serde(rename = "run by thread", skip_serializing_if = "Option::is_none")]
    runner: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    /// Set if the task had not finished when the program ended or its stream dropped its tasks.
    #[serde(rename = "not finished", skip_serializing_if = "Option::is_none")]
    is_running: Option<bool>,
}

impl Details {
    /// Returns size, route and rate of a transfer. Empty if nothing was moved.
    fn of(transfer: TransferSize, is_done: bool, interval: Interval) -> Details {
        if transfer.entries == 0 {
            return Details::default();
        }
        // Bytes per ns are GB per s.
        let rate = (is_done && interval.ns() > 0)
            .then(|| (transfer.bytes as f64 / interval.ns() as f64 * 100.0).round() / 100.0);
        let (bytes, entries, route) = (Some(transfer.bytes), Some(transfer.entries), Some(transfer.route.to_string()));
        Details { bytes, entries, route, rate, ..Details::default() }
    }
}

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Position {
    sort_index: u64,
}

#[derive(Serialize)]
struct Bytes {
    bytes: u64,
}

/// A row: a process of the viewer and a thread in it.
#[derive(Clone, Copy)]
struct RowId {
    pid: u64,
    tid: u32,
}

/// Writes the entries of one process, separated by commas. `start_time` is the time of the log's creation since the
/// Unix epoch.
pub(crate) fn write_entries(timeline: &Timeline, start_time: Duration, to: &mut impl io::Write) -> io::Result<()> {
    let zero = u64::try_from(start_time.as_nanos() % EPOCH_MODULUS.as_nanos()).unwrap_or(0);
    let mut writer = ChromeWriter { to, process: timeline.process.into(), zero };
    writer.names(timeline)?;
    for call in &timeline.calls {
        writer.call(timeline, call)?;
    }
    for access in &timeline.accesses {
        writer.access(timeline, access)?;
    }
    let mut reached = None;
    for ((stream, sequence), task) in &timeline.tasks {
        // A wait begins when the stream arrives at it.
        let before = reached.filter(|(last, _)| last == stream).map_or(0, |(_, end)| end);
        if let Some(end) = writer.task(timeline, *stream, *sequence, task, before)? {
            reached = Some((*stream, end));
        }
    }
    writer.marks(timeline)?;
    for (ns, device, bytes) in &timeline.memory {
        let (pid, ts, args) = (writer.device(*device), Some(writer.micros(*ns)), Some(Bytes { bytes: *bytes }));
        writer.line(&ChromeEvent { pid, ts, args, ..ChromeEvent::new("C", "memory in use") })?;
    }
    // The last entry of a JSON array has no comma.
    let args = Some(Position { sort_index: 0 });
    let end = ChromeEvent { pid: writer.process, args, ..ChromeEvent::new("M", "process_sort_index") };
    write!(writer.to, "{}", serde_json::to_string(&end)?)
}

struct ChromeWriter<'a, W> {
    to: &'a mut W,
    process: u64,
    /// Time at which the log was created, in ns since the last multiple of `EPOCH_MODULUS`.
    zero: u64,
}

impl<W: io::Write> ChromeWriter<'_, W> {
    fn thread(&self, timeline: &Timeline, index: usize) -> RowId {
        RowId { pid: self.process, tid: timeline.threads[index].id }
    }

    /// Returns the process id that stands for a device.
    fn device(&self, device: u32) -> u64 {
        self.process + DEVICE_PID_STRIDE * (1 + u64::from(device))
    }

    fn row(&self, stream: StreamRow) -> RowId {
        let base = if stream.is_graph_stream { GRAPH_STREAM_TID_BASE } else { 0 };
        RowId { pid: self.device(stream.device), tid: base + stream.stream }
    }

    fn micros(&self, ns: u64) -> f64 {
        micros(self.zero + ns)
    }

    fn line<A: Serialize>(&mut self, event: &ChromeEvent<'_, A>) -> io::Result<()> {
        serde_json::to_writer(&mut *self.to, event)?;
        self.to.write_all(b",\n")
    }

    fn name<A: Serialize>(&mut self, kind: &str, RowId { pid, tid }: RowId, args: A) -> io::Result<()> {
        self.line(&ChromeEvent { pid, tid, args: Some(args), ..ChromeEvent::new("M", kind) })
    }

    fn names(&mut self, timeline: &Timeline) -> io::Result<()> {
        let program = RowId { pid: self.process, tid: 0 };
        self.name("process_name", program, Name { name: &format!("program, process {}", self.process) })?;
        for (index, thread) in timeline.threads.iter().enumerate() {
            self.name("thread_name", self.thread(timeline, index), Name { name: &thread.name })?;
        }
        for stream in timeline.stream_rows().into_keys() {
            let (device, row) = (stream.device, self.row(stream));
            self.name("process_name", row, Name { name: &format!("device {device}, process {}", self.process) })?;
            self.name("process_sort_index", row, Position { sort_index: 1 + u64::from(device) })?;
            self.name("thread_name", row, Name { name: &stream.to_string() })?;
            self.name("thread_sort_index", row, Position { sort_index: row.tid.into() })?;
        }
        Ok(())
    }

    fn slice(
        &mut self,
        name: &str,
        cat: &'static str,
        RowId { pid, tid }: RowId,
        interval: Interval,
        args: Option<Details>,
    ) -> io::Result<()> {
        let (ts, dur) = (Some(self.micros(interval.start)), Some(micros(interval.ns())));
        self.line(&ChromeEvent { cat, pid, tid, ts, dur, args, ..ChromeEvent::new("X", name) })
    }

    fn call(&mut self, timeline: &Timeline, call: &Call) -> io::Result<()> {
        let details = (call.code != 0 || call.blocked_ns > 0).then(|| Details {
            code: Some(call.code).filter(|code| *code != 0),
            blocked: Some(micros(call.blocked_ns)).filter(|time| *time > 0.0),
            ..Details::default()
        });
        self.slice(timeline.text(call.function), "call", self.thread(timeline, call.thread), call.interval, details)
    }

    fn access(&mut self, timeline: &Timeline, access: &BlockingAccess) -> io::Result<()> {
        let details = Some(Details::of(access.transfer, access.is_done, access.interval));
        let row = self.thread(timeline, access.thread);
        self.slice(&access.transfer.title(timeline.text(access.name)), "copy", row, access.interval, details)
    }

    /// Writes a task and the arrows to it. `before` is the end of the previous task. Returns the end of this one, or
    /// `None` if nothing was written because it never started.
    fn task(
        &mut self,
        timeline: &Timeline,
        stream: u32,
        sequence: u64,
        task: &Task,
        before: u64,
    ) -> io::Result<Option<u64>> {
        let Some(interval) = task.shown(before, timeline.end) else { return Ok(None) };
        let row = self.row(task.row);
        let submitter = self.thread(timeline, task.submitter);
        let started = task.started.unwrap_or(interval.start);
        let details = Details {
            task: Some(sequence),
            queued: Some(micros(started.saturating_sub(task.submitted))),
            submitter: Some(submitter.tid),
            runner: task.runner.map(|thread| timeline.threads[thread].id),
            code: Some(task.code).filter(|code| *code != 0),
            is_running: task.finished.is_none().then_some(true),
            ..Details::of(task.transfer, task.is_done(), interval)
        };
        let kind = if task.is_wait { "wait" } else { "task" };
        let label = timeline.marks.label(stream, sequence);
        let name = timeline.text(task.name);
        let with_label = |label| format!("{name}: {}", timeline.text(label));
        let title = label.map_or_else(|| task.transfer.title(name), with_label);
        self.slice(&title, kind, row, interval, Some(details))?;
        let id = format!("{}.{stream}.{sequence}", self.process);
        self.arrow("submit", &id, (submitter, task.submitted), (row, started))?;
        if let Some(at) = task.after
            && let Some(earlier) = timeline.tasks.get(&(at.stream, at.sequence))
            && let Some(earlier_interval) = earlier.interval(timeline.end)
        {
            let from = self.row(earlier.row);
            self.arrow(
                "after",
                &id,
                (from, earlier_interval.last()),
                (row, interval.last().max(earlier_interval.last())),
            )?;
        }
        Ok(Some(interval.end))
    }

    /// Writes points and ranges of the program. Nested ranges of a thread share a track.
    fn marks(&mut self, timeline: &Timeline) -> io::Result<()> {
        for point in &timeline.marks.points {
            let RowId { pid, tid } = self.thread(timeline, point.thread);
            let (ts, name) = (Some(self.micros(point.ns)), timeline.text(point.text));
            self.line(&ChromeEvent::<()> { cat: "mark", pid, tid, ts, s: Some("t"), ..ChromeEvent::new("i", name) })?;
        }
        for range in &timeline.marks.ranges {
            let RowId { pid, tid } = self.thread(timeline, range.thread);
            let track = if range.is_nested { format!("{pid}.{tid}") } else { format!("{pid}.range {}", range.number) };
            let name = timeline.text(range.text);
            for (ph, ns) in [("b", range.interval.start), ("e", range.interval.end)] {
                let (ts, id) = (Some(self.micros(ns)), Some(track.as_str()));
                self.line(&ChromeEvent::<()> { cat: "range", pid, tid, ts, id, ..ChromeEvent::new(ph, name) })?;
            }
        }
        Ok(())
    }

    /// Writes an arrow from one slice to another.
    fn arrow(&mut self, name: &'static str, id: &str, from: (RowId, u64), to: (RowId, u64)) -> io::Result<()> {
        for (ph, bp, (RowId { pid, tid }, ns)) in [("s", None, from), ("f", Some("e"), to)] {
            let (ts, id) = (Some(self.micros(ns)), Some(id));
            self.line(&ChromeEvent::<()> { cat: name, pid, tid, ts, id, bp, ..ChromeEvent::new(ph, name) })?;
        }
        Ok(())
    }
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
