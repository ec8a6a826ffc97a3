//! Tracks: a trace as rows of slices, independent of the file that it comes from or goes to.
//!
//! A trace file, the log of a process and the memory of a tracer all become tracks, and the timeline page and the
//! Perfetto file are written from them. Times are in ns on one clock for all processes. Statistics are not here: they
//! are in `summary`.

use crate::timeline::{Interval, StreamRow, Task, Timeline};
use std::collections::HashMap;
use std::time::Duration;

/// Times count from the last multiple of this since the Unix epoch: all processes use the same origin, and a time in
/// us still fits a double with ns precision.
pub(crate) const EPOCH_MODULUS: Duration = Duration::from_secs(1_000_000);

/// The rows of one or several processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tracks {
    pub tracks: Vec<Track>,
    pub arrows: Vec<Arrow>,
    /// Points in time that the program marked.
    pub marks: Vec<MarkPoint>,
    pub memory: Vec<MemoryUse>,
    texts: TextTable,
}

/// One row: a thread, the ranges of a thread, or a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    pub process: u32,
    pub kind: TrackKind,
    /// The system's id of the thread, or the id of the stream.
    pub id: u32,
    pub name: String,
    /// Ordered by start; a slice comes before those inside it.
    pub slices: Vec<Slice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TrackKind {
    Thread,
    /// Ranges that a thread opened. They may overlap.
    Ranges,
    Stream {
        device: u32,
    },
    /// An internal stream that runs the steps of graphs.
    GraphStream {
        device: u32,
    },
}

impl TrackKind {
    /// The device of a stream.
    pub fn device(self) -> Option<u32> {
        match self {
            TrackKind::Stream { device } | TrackKind::GraphStream { device } => Some(device),
            TrackKind::Thread | TrackKind::Ranges => None,
        }
    }
}

/// Number of a text: see `Tracks::text`. The number 0 is the empty text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct TextNumber(pub u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SliceKind {
    #[default]
    Call,
    /// Memory accessed by the calling thread during a blocking call.
    Access,
    Task,
    /// A task whose time is spent by other tasks.
    Wait,
    Range,
}

/// A call, a task, or a range. What does not apply is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slice {
    pub start: u64,
    pub ns: u64,
    pub name: TextNumber,
    pub kind: SliceKind,
    /// Number of the task in its stream.
    pub task: u64,
    pub bytes: u64,
    pub entries: u32,
    /// Such as "host to device 0".
    pub route: TextNumber,
    pub submitted: u64,
    /// Ids of the threads that submitted and ran the task.
    pub submitter: u32,
    pub runner: u32,
    /// How long an asynchronous call waited for its stream.
    pub blocked_ns: u64,
    pub code: i32,
    /// True if the task had not finished when the trace ended.
    pub is_unfinished: bool,
}

/// The task at `to` runs after the task at `from`: an event was recorded and waited for, a graph was joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrow {
    pub from: ArrowEnd,
    pub to: ArrowEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrowEnd {
    /// Index into `Tracks::tracks`.
    pub track: usize,
    pub ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkPoint {
    pub track: usize,
    pub ns: u64,
    pub name: TextNumber,
}

/// Bytes in use on a device from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    pub process: u32,
    pub device: u32,
    pub ns: u64,
    pub bytes: u64,
}

/// Texts without repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextTable {
    texts: Vec<String>,
    numbers: HashMap<String, TextNumber>,
}

impl Default for TextTable {
    fn default() -> TextTable {
        TextTable { texts: vec![String::new()], numbers: HashMap::from([(String::new(), TextNumber(0))]) }
    }
}

impl Tracks {
    /// Returns a text by its number.
    pub fn text(&self, number: TextNumber) -> &str {
        &self.texts.texts[number.0 as usize]
    }

    /// Returns all texts, in the order of their numbers.
    pub fn texts(&self) -> &[String] {
        &self.texts.texts
    }

    /// Returns the number of a text, which is new if the text is.
    pub fn number(&mut self, text: &str) -> TextNumber {
        if let Some(number) = self.texts.numbers.get(text) {
            return *number;
        }
        let number = TextNumber(u32::try_from(self.texts.texts.len()).unwrap_or(u32::MAX));
        self.texts.texts.push(text.to_owned());
        self.texts.numbers.insert(text.to_owned(), number);
        number
    }

    /// Returns the first and the last time.
    pub fn bounds(&self) -> (u64, u64) {
        let slices = || self.tracks.iter().flat_map(|track| &track.slices);
        let points = || self.marks.iter().map(|mark| mark.ns).chain(self.memory.iter().map(|memory| memory.ns));
        let start = slices().map(|slice| slice.start).chain(points()).min().unwrap_or(0);
        let end = slices().map(|slice| slice.start + slice.ns).chain(points()).max().unwrap_or(start);
        (start, end)
    }

    /// Number of slices on all tracks.
    pub fn slice_count(&self) -> usize {
        self.tracks.iter().map(|track| track.slices.len()).sum()
    }

    /// Puts every track into its order. To be called when everything was added.
    pub(crate) fn sort(&mut self) {
        for track in &mut self.tracks {
            track.slices.sort_by_key(|slice| (slice.start, std::cmp::Reverse(slice.ns)));
        }
        self.memory.sort_by_key(|memory| memory.ns);
    }

    /// Adds a process. `start_time` is the time of the log's creation since the Unix epoch.
    pub(crate) fn add(&mut self, timeline: &Timeline, start_time: Duration) {
        let zero = u64::try_from(start_time.as_nanos() % EPOCH_MODULUS.as_nanos()).unwrap_or(0);
        let mut process = ProcessTracks { timeline, zero, first: self.tracks.len(), streams: HashMap::new(), to: self };
        process.add_tracks();
        process.add_threads();
        process.add_tasks();
        self.sort();
    }
}

/// Adds the slices of one process.
struct ProcessTracks<'a> {
    timeline: &'a Timeline,
    zero: u64,
    /// Index of the track of the first thread. Those of the other threads follow, then those of their ranges.
    first: usize,
    streams: HashMap<StreamRow, usize>,
    to: &'a mut Tracks,
}

impl ProcessTracks<'_> {
    fn add_tracks(&mut self) {
        let process = self.timeline.process;
        let track = |kind, id, name| Track { process, kind, id, name, slices: Vec::new() };
        for kind in [TrackKind::Thread, TrackKind::Ranges] {
            let threads = self.timeline.threads.iter();
            self.to.tracks.extend(threads.map(|thread| track(kind, thread.id, thread.name.clone())));
        }
        for row in self.timeline.stream_rows().into_keys() {
            let kind = match row.is_graph_stream {
                true => TrackKind::GraphStream { device: row.device },
                false => TrackKind::Stream { device: row.device },
            };
            self.streams.insert(row, self.to.tracks.len());
            self.to.tracks.push(track(kind, row.stream, row.to_string()));
        }
    }

    fn slice(&self, interval: Interval, name: TextNumber, kind: SliceKind) -> Slice {
        Slice { start: self.zero + interval.start, ns: interval.ns(), name, kind, ..Slice::default() }
    }

    fn add_threads(&mut self) {
        for call in &self.timeline.calls {
            let name = self.to.number(self.timeline.text(call.function));
            let slice = self.slice(call.interval, name, SliceKind::Call);
            let slice = Slice { code: call.code, blocked_ns: call.blocked_ns, ..slice };
            self.to.tracks[self.first + call.thread].slices.push(slice);
        }
        for access in &self.timeline.accesses {
            let name = self.to.number(&access.transfer.title(self.timeline.text(access.name)));
            let route = self.to.number(&access.transfer.route.to_string());
            let (bytes, entries) = (access.transfer.bytes, access.transfer.entries);
            let slice = Slice { bytes, entries, route, ..self.slice(access.interval, name, SliceKind::Access) };
            self.to.tracks[self.first + access.thread].slices.push(slice);
        }
        for point in &self.timeline.marks.points {
            let name = self.to.number(self.timeline.text(point.text));
            self.to.marks.push(MarkPoint { track: self.first + point.thread, ns: self.zero + point.ns, name });
        }
        let ranges = self.first + self.timeline.threads.len();
        for range in &self.timeline.marks.ranges {
            let name = self.to.number(self.timeline.text(range.text));
            let slice = self.slice(range.interval, name, SliceKind::Range);
            self.to.tracks[ranges + range.thread].slices.push(slice);
        }
        for (ns, device, bytes) in &self.timeline.memory {
            let (process, ns) = (self.timeline.process, self.zero + ns);
            self.to.memory.push(MemoryUse { process, device: *device, ns, bytes: *bytes });
        }
    }

    fn add_tasks(&mut self) {
        let mut reached = None;
        for ((stream, sequence), task) in &self.timeline.tasks {
            // A wait begins when the stream arrives at it.
            let before = reached.filter(|(last, _)| last == stream).map_or(0, |(_, end)| end);
            let Some(interval) = task.shown(before, self.timeline.end) else { continue };
            reached = Some((*stream, interval.end));
            let track = self.streams[&task.row];
            let slice = self.task(*stream, *sequence, task, interval);
            self.to.tracks[track].slices.push(slice);
            if let Some(at) = task.after
                && let Some(earlier) = self.timeline.tasks.get(&(at.stream, at.sequence))
                && let Some(from) = earlier.interval(self.timeline.end)
            {
                let from_ns = self.zero + from.last();
                let to = ArrowEnd { track, ns: (self.zero + interval.last()).max(from_ns) };
                self.to.arrows.push(Arrow { from: ArrowEnd { track: self.streams[&earlier.row], ns: from_ns }, to });
            }
        }
    }

    fn task(&mut self, stream: u32, sequence: u64, task: &Task, interval: Interval) -> Slice {
        let name = self.timeline.text(task.name);
        let title = match self.timeline.marks.label(stream, sequence) {
            Some(label) => format!("{name}: {}", self.timeline.text(label)),
            None => task.transfer.title(name),
        };
        let name = self.to.number(&title);
        let route = self.to.number(&task.transfer.route.to_string());
        let kind = if task.is_wait { SliceKind::Wait } else { SliceKind::Task };
        let thread = |index: usize| self.timeline.threads[index].id;
        Slice {
            task: sequence,
            bytes: task.transfer.bytes,
            entries: task.transfer.entries,
            route,
            submitted: self.zero + task.submitted,
            submitter: thread(task.submitter),
            runner: task.runner.map_or(0, thread),
            code: task.code,
            is_unfinished: task.finished.is_none(),
            ..self.slice(interval, name, kind)
        }
    }
}
