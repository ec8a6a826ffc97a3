//! Facts of all threads, woven into calls, blocking copies and tasks.

use crate::allocations::TransferSize;
use crate::log::{LogSnapshot, TimedEvent, TraceEvent};
use softacl_engine::observer::StreamPosition;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) threads: Vec<Thread>,
    pub(crate) calls: Vec<Call>,
    pub(crate) acts: Vec<BlockingAccess>,
    /// By stream, in the order of their numbers.
    pub(crate) tasks: BTreeMap<(u32, u64), Task>,
    /// Time, device and bytes in use.
    pub(crate) memory: Vec<(u64, u32, u64)>,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) left_out: u64,
}

#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) id: u32,
    pub(crate) name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Interval {
    pub(crate) fn ns(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// A call of the interface.
#[derive(Debug)]
pub(crate) struct Call {
    /// Its place in the list of threads.
    pub(crate) thread: usize,
    pub(crate) function: &'static str,
    pub(crate) span: Interval,
    pub(crate) code: i32,
    /// How long it has waited although it is called asynchronous.
    pub(crate) paused: u64,
}

/// Memory that a thread has touched itself, in a call that blocks.
#[derive(Debug)]
pub(crate) struct BlockingAccess {
    pub(crate) thread: usize,
    pub(crate) name: &'static str,
    pub(crate) load: TransferSize,
    pub(crate) span: Interval,
    pub(crate) is_done: bool,
}

/// A stream as a row: its number may be used again, on another device or by a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamRow {
    pub(crate) device: u32,
    /// It runs steps of graphs, and no program sees it.
    pub(crate) is_graph_stream: bool,
    pub(crate) stream: u32,
}

impl fmt::Display for StreamRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.is_graph_stream { "graph stream" } else { "stream" }, self.stream)
    }
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) lane: StreamRow,
    pub(crate) load: TransferSize,
    pub(crate) submitted: u64,
    /// The thread that submitted it, and the one that ran it.
    pub(crate) submitter: usize,
    pub(crate) runner: Option<usize>,
    pub(crate) started: Option<u64>,
    pub(crate) finished: Option<u64>,
    pub(crate) code: i32,
    /// It is a wait, or the run of a graph: what it takes is the time of others.
    pub(crate) is_wait: bool,
    pub(crate) after: Option<StreamPosition>,
    /// When it was thrown away before it could start.
    pub(crate) dropped: Option<u64>,
    /// When its stream stood at it, if it is a wait that never ended.
    pub(crate) wait_start: Option<Interval>,
}

impl Task {
    /// When it ran. A task that is still running when the program ends has run until then.
    pub(crate) fn span(&self, end: u64) -> Option<Interval> {
        let start = self.started?;
        Some(Interval { start, end: self.finished.unwrap_or(end).max(start) })
    }

    /// Whether its bytes have arrived.
    pub(crate) fn is_done(&self) -> bool {
        self.finished.is_some() && self.code == 0
    }

    /// When it kept the stream busy with bytes or a function, not with waiting.
    pub(crate) fn busy(&self, end: u64) -> Option<Interval> {
        if self.is_wait { None } else { self.span(end) }
    }
}

impl Timeline {
    pub(crate) fn of(written: LogSnapshot) -> Timeline {
        let mut pages: Vec<_> = written.pages.into_iter().filter(|(_, records)| !records.is_empty()).collect();
        pages.sort_by_key(|(_, records)| records[0].ns);
        let times = || pages.iter().flat_map(|(_, records)| records.iter().map(|record| record.ns));
        let newest = times().max().unwrap_or(0);
        let mut story = Timeline {
            start: times().min().unwrap_or(0),
            // What came after the limit is not known: the story ends there.
            end: if written.left_out > 0 { newest } else { written.end.max(newest) },
            left_out: written.left_out,
            ..Timeline::default()
        };
        for (thread, (page, records)) in pages.iter().enumerate() {
            story.threads.push(Thread { id: page.thread, name: page.name.clone() });
            story.replay_thread(thread, records);
        }
        // A task is submitted before it starts, but by another thread, whose page may come later.
        for (thread, (_, records)) in pages.iter().enumerate() {
            records.iter().for_each(|record| story.apply_task_event(thread, *record));
        }
        pages.iter().flat_map(|(_, records)| records).for_each(|record| story.mark_dropped(*record));
        story.extend_open_waits();
        story.memory.sort_by_key(|(ns, ..)| *ns);
        story.calls.sort_by_key(|call| (call.span.start, std::cmp::Reverse(call.span.end)));
        story
    }

    /// What one thread did, one thing inside the other.
    fn replay_thread(&mut self, thread: usize, records: &[TimedEvent]) {
        let mut open: Vec<Call> = Vec::new();
        let mut act: Option<BlockingAccess> = None;
        let mut newest: Option<StreamPosition> = None;
        for TimedEvent { ns, fact } in records.iter().copied() {
            let span = Interval { start: ns, end: self.end };
            match fact {
                TraceEvent::Entered(function) => open.push(Call { thread, function, span, code: 0, paused: 0 }),
                TraceEvent::Left(code) => self.calls.extend(open.pop().map(|call| call.until(ns, code))),
                TraceEvent::Blocked(time) => {
                    if let Some(call) = open.last_mut() {
                        call.paused += time;
                    }
                }
                TraceEvent::Acting(name, load) => {
                    act = Some(BlockingAccess { thread, name, load, span, is_done: false })
                }
                TraceEvent::Acted(is_done) => {
                    let over =
                        |act: BlockingAccess| BlockingAccess { span: Interval { end: ns, ..act.span }, is_done, ..act };
                    self.acts.extend(act.take().map(over));
                }
                TraceEvent::Memory(device, bytes) => self.memory.push((ns, device, bytes)),
                TraceEvent::Submitted { at, name, device, is_step } => {
                    newest = Some(at);
                    let task = Task {
                        name,
                        lane: StreamRow { device, is_graph_stream: is_step, stream: at.stream },
                        load: TransferSize::default(),
                        submitted: ns,
                        submitter: thread,
                        runner: None,
                        started: None,
                        finished: None,
                        code: 0,
                        is_wait: false,
                        after: None,
                        dropped: None,
                        wait_start: None,
                    };
                    self.tasks.insert((at.stream, at.sequence), task);
                }
                TraceEvent::Moves(load) => {
                    if let Some(at) = newest {
                        self.change(at, |task| task.load = load);
                    }
                }
                TraceEvent::Waits(_)
                | TraceEvent::After(..)
                | TraceEvent::Started(_)
                | TraceEvent::Finished(_)
                | TraceEvent::Failed(..)
                | TraceEvent::Dropped(_) => {}
            }
        }
        self.calls.append(&mut open);
        self.acts.extend(act);
    }

    fn apply_task_event(&mut self, thread: usize, TimedEvent { ns, fact }: TimedEvent) {
        match fact {
            TraceEvent::Waits(at) => self.change(at, |task| task.is_wait = true),
            TraceEvent::After(at, after) => self.change(at, |task| task.after = Some(after)),
            TraceEvent::Started(at) => self.change(at, |task| (task.started, task.runner) = (Some(ns), Some(thread))),
            TraceEvent::Finished(at) => self.change(at, |task| task.finished = Some(ns)),
            TraceEvent::Failed(at, code) => self.change(at, |task| task.code = code),
            _ => {}
        }
    }

    /// What had not started when its stream was emptied never did.
    fn mark_dropped(&mut self, TimedEvent { ns, fact }: TimedEvent) {
        let TraceEvent::Dropped(at) = fact else { return };
        for (_, task) in self.tasks.range_mut((at.stream, 0)..=(at.stream, at.sequence)) {
            if task.started.is_none() && task.submitted <= ns {
                task.dropped.get_or_insert(ns);
            }
        }
    }

    /// A stream that stood at a wait until the end, or until somebody emptied it, is shown standing there.
    fn extend_open_waits(&mut self) {
        let (mut current, mut reached, mut held) = (None, 0, None);
        for ((stream, _), task) in &mut self.tasks {
            if current != Some(*stream) {
                (current, reached, held) = (Some(*stream), 0, None);
            }
            if let Some(start) = task.started {
                reached = task.finished.unwrap_or(start);
                held = task.finished.is_none().then_some(self.end);
            } else if held.is_none_or(|until| task.submitted >= until) {
                let start = task.submitted.max(reached);
                let end = task.dropped.unwrap_or(self.end).max(start);
                task.wait_start = task.is_wait.then_some(Interval { start, end });
                held = Some(end);
            }
        }
    }

    /// Tasks whose submit was left out are not told of.
    fn change(&mut self, at: StreamPosition, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.tasks.get_mut(&(at.stream, at.sequence)) {
            change(task);
        }
    }

    /// The streams that had tasks, and what they had.
    pub(crate) fn lanes(&self) -> BTreeMap<StreamRow, Vec<&Task>> {
        let mut lanes: BTreeMap<StreamRow, Vec<&Task>> = BTreeMap::new();
        for task in self.tasks.values() {
            lanes.entry(task.lane).or_default().push(task);
        }
        lanes
    }
}

impl Call {
    fn until(self, end: u64, code: i32) -> Call {
        Call { span: Interval { end, ..self.span }, code, ..self }
    }
}
