//! The trace as a file: the JSON of the Trace Event Format, which Perfetto and chrome://tracing open.
//!
//! One event is one line, so that traces of several processes are joined without reading them as JSON. The
//! last line is the summary. Threads of the program are threads of its process; each device is a process of
//! its own whose threads are streams.

use crate::allocations::TransferSize;
use crate::summary::Summary;
use crate::timeline::{BlockingAccess, Call, Interval, StreamRow, Task, Timeline};
use serde::Serialize;
use std::io;
use std::time::Duration;

/// The first line of a file.
pub(crate) const HEAD: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
/// How the last line begins. The summary follows, and a brace.
pub(crate) const TAIL: &str = "],\"softacl\":";
/// Process ids of Linux are smaller.
const PROCESSES: u64 = 1 << 22;
/// Streams of graphs come behind those of the program, which may get their numbers.
const INNER: u32 = 1 << 20;
/// Times count from the last multiple of this: two processes agree, and a number with nanoseconds still fits a
/// double.
const ERA: Duration = Duration::from_secs(1_000_000);

/// A line. `ph` is its kind: X a slice, s and f the ends of an arrow, C a number over time, M a name.
#[derive(Serialize)]
struct Event<'a, A> {
    ph: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'static str,
    pid: u64,
    tid: u32,
    /// Times are in us.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<A>,
}

impl<'a, A> Event<'a, A> {
    fn new(ph: &'static str, name: &'a str) -> Event<'a, A> {
        Event { ph, name, cat: "", pid: 0, tid: 0, ts: None, dur: None, id: None, bp: None, args: None }
    }
}

/// What a slice tells when it is clicked.
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
    paused: Option<f64>,
    #[serde(rename = "submitted by thread", skip_serializing_if = "Option::is_none")]
    submitter: Option<u32>,
    #[serde(rename = "run by thread", skip_serializing_if = "Option::is_none")]
    runner: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    /// When the program ended, or when its stream was emptied.
    #[serde(rename = "not finished", skip_serializing_if = "Option::is_none")]
    is_running: Option<bool>,
}

impl Details {
    /// What was moved, if anything.
    fn of(load: TransferSize, is_done: bool, span: Interval) -> Details {
        if load.entries == 0 {
            return Details::default();
        }
        // Bytes in a ns are GB in a second.
        let rate = (is_done && span.ns() > 0).then(|| (load.bytes as f64 / span.ns() as f64 * 100.0).round() / 100.0);
        let (bytes, entries, route) = (Some(load.bytes), Some(load.entries), Some(load.route.to_string()));
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

pub(crate) fn write(story: &Timeline, summary: &Summary, began: Duration, to: &mut impl io::Write) -> io::Result<()> {
    let zero = u64::try_from(began.as_nanos() % ERA.as_nanos()).unwrap_or(0);
    let mut page = ChromeWriter { to, process: summary.process.into(), zero };
    writeln!(page.to, "{HEAD}")?;
    page.names(story)?;
    for call in &story.calls {
        page.call(story, call)?;
    }
    for act in &story.acts {
        page.act(story, act)?;
    }
    let mut reached = None;
    for ((stream, sequence), task) in &story.tasks {
        // A wait begins when the stream comes to it.
        let before = reached.filter(|(last, _)| last == stream).map_or(0, |(_, end)| end);
        if let Some(end) = page.task(story, *stream, *sequence, task, before)? {
            reached = Some((*stream, end));
        }
    }
    for (ns, device, bytes) in &story.memory {
        let (pid, ts, args) = (page.device(*device), Some(page.micros(*ns)), Some(Bytes { bytes: *bytes }));
        page.line(&Event { pid, ts, args, ..Event::new("C", "memory in use") })?;
    }
    // A list may not end with a comma.
    let args = Some(Position { sort_index: 0 });
    let end = Event { pid: page.process, args, ..Event::new("M", "process_sort_index") };
    writeln!(page.to, "{}", serde_json::to_string(&end)?)?;
    writeln!(page.to, "{TAIL}{}}}", serde_json::to_string(summary)?)
}

struct ChromeWriter<'a, W> {
    to: &'a mut W,
    process: u64,
    /// The beginning of the log, in ns.
    zero: u64,
}

impl<W: io::Write> ChromeWriter<'_, W> {
    fn thread(&self, story: &Timeline, index: usize) -> RowId {
        RowId { pid: self.process, tid: story.threads[index].id }
    }

    /// The process that stands for a device.
    fn device(&self, device: u32) -> u64 {
        self.process + PROCESSES * (1 + u64::from(device))
    }

    fn row(&self, lane: StreamRow) -> RowId {
        RowId { pid: self.device(lane.device), tid: lane.stream + if lane.is_graph_stream { INNER } else { 0 } }
    }

    fn micros(&self, ns: u64) -> f64 {
        micros(self.zero + ns)
    }

    fn line<A: Serialize>(&mut self, event: &Event<'_, A>) -> io::Result<()> {
        serde_json::to_writer(&mut *self.to, event)?;
        self.to.write_all(b",\n")
    }

    fn name<A: Serialize>(&mut self, kind: &str, RowId { pid, tid }: RowId, args: A) -> io::Result<()> {
        self.line(&Event { pid, tid, args: Some(args), ..Event::new("M", kind) })
    }

    fn names(&mut self, story: &Timeline) -> io::Result<()> {
        let own = RowId { pid: self.process, tid: 0 };
        self.name("process_name", own, Name { name: &format!("program, process {}", self.process) })?;
        for (index, thread) in story.threads.iter().enumerate() {
            self.name("thread_name", self.thread(story, index), Name { name: &thread.name })?;
        }
        for lane in story.lanes().into_keys() {
            let (device, row) = (lane.device, self.row(lane));
            self.name("process_name", row, Name { name: &format!("device {device}, process {}", self.process) })?;
            self.name("process_sort_index", row, Position { sort_index: 1 + u64::from(device) })?;
            self.name("thread_name", row, Name { name: &lane.to_string() })?;
            self.name("thread_sort_index", row, Position { sort_index: row.tid.into() })?;
        }
        Ok(())
    }

    fn slice(
        &mut self,
        name: &str,
        cat: &'static str,
        RowId { pid, tid }: RowId,
        span: Interval,
        args: Option<Details>,
    ) -> io::Result<()> {
        let (ts, dur) = (Some(self.micros(span.start)), Some(micros(span.ns())));
        self.line(&Event { cat, pid, tid, ts, dur, args, ..Event::new("X", name) })
    }

    fn call(&mut self, story: &Timeline, call: &Call) -> io::Result<()> {
        let details = (call.code != 0 || call.paused > 0).then(|| Details {
            code: Some(call.code).filter(|code| *code != 0),
            paused: Some(micros(call.paused)).filter(|time| *time > 0.0),
            ..Details::default()
        });
        self.slice(call.function, "call", self.thread(story, call.thread), call.span, details)
    }

    fn act(&mut self, story: &Timeline, act: &BlockingAccess) -> io::Result<()> {
        let details = Some(Details::of(act.load, act.is_done, act.span));
        self.slice(&title(act.name, act.load), "copy", self.thread(story, act.thread), act.span, details)
    }

    /// Writes a task and the arrows to it. Returns when it was over.
    fn task(
        &mut self,
        story: &Timeline,
        stream: u32,
        sequence: u64,
        task: &Task,
        before: u64,
    ) -> io::Result<Option<u64>> {
        let Some(mut span) = task.span(story.end).or(task.wait_start) else { return Ok(None) };
        if task.is_wait {
            span.start = task.submitted.max(before).min(span.start);
        }
        let row = self.row(task.lane);
        let submitter = self.thread(story, task.submitter);
        let started = task.started.unwrap_or(span.start);
        let details = Details {
            task: Some(sequence),
            queued: Some(micros(started.saturating_sub(task.submitted))),
            submitter: Some(submitter.tid),
            runner: task.runner.map(|thread| story.threads[thread].id),
            code: Some(task.code).filter(|code| *code != 0),
            is_running: task.finished.is_none().then_some(true),
            ..Details::of(task.load, task.is_done(), span)
        };
        let kind = if task.is_wait { "wait" } else { "task" };
        self.slice(&title(task.name, task.load), kind, row, span, Some(details))?;
        let id = format!("{}.{stream}.{sequence}", self.process);
        self.arrow("submit", &id, (submitter, task.submitted), (row, started))?;
        if let Some(at) = task.after
            && let Some(earlier) = story.tasks.get(&(at.stream, at.sequence))
            && let Some(their) = earlier.span(story.end)
        {
            let from = self.row(earlier.lane);
            self.arrow("after", &id, (from, their.last()), (row, span.last().max(their.last())))?;
        }
        Ok(Some(span.end))
    }

    /// An arrow from one slice to another.
    fn arrow(&mut self, name: &'static str, id: &str, from: (RowId, u64), to: (RowId, u64)) -> io::Result<()> {
        for (ph, bp, (RowId { pid, tid }, ns)) in [("s", None, from), ("f", Some("e"), to)] {
            let (ts, id) = (Some(self.micros(ns)), Some(id));
            self.line(&Event::<()> { cat: name, pid, tid, ts, id, bp, ..Event::new(ph, name) })?;
        }
        Ok(())
    }
}

impl Interval {
    /// The last moment that belongs to it.
    fn last(self) -> u64 {
        self.end.saturating_sub(1).max(self.start)
    }
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

fn title(name: &str, load: TransferSize) -> String {
    load.route.short().map_or_else(|| name.to_owned(), |route| format!("{name} {route}"))
}
