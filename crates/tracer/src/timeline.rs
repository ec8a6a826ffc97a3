//! The timeline of a run: calls, blocking accesses and tasks, rebuilt from the logs of all threads.

use crate::allocations::TransferSize;
use crate::marks::Marks;
use crate::snapshot::{LogSnapshot, Texts};
pub(crate) use crate::trace_event::Interval;
use crate::trace_event::{TextId, TimedEvent, TraceEvent};
use softacl_engine::observer::StreamPosition;
use std::collections::BTreeMap;
use std::fmt;

/// The reconstructed run. Times are in ns since the log was created.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) threads: Vec<Thread>,
    pub(crate) calls: Vec<Call>,
    pub(crate) accesses: Vec<BlockingAccess>,
    /// By stream and sequence number.
    pub(crate) tasks: BTreeMap<(u32, u64), Task>,
    /// Time, device and bytes in use.
    pub(crate) memory: Vec<(u64, u32, u64)>,
    pub(crate) marks: Marks,
    /// Names of functions and tasks, and texts of marks.
    pub(crate) texts: Texts,
    pub(crate) process: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Trace events beyond the limit.
    pub(crate) dropped: u64,
    /// True if tasks may have started without being recorded.
    pub(crate) is_partial: bool,
}

#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) id: u32,
    pub(crate) name: String,
}

/// An API call.
#[derive(Debug)]
pub(crate) struct Call {
    /// Index into `Timeline::threads`.
    pub(crate) thread: usize,
    pub(crate) function: TextId,
    pub(crate) interval: Interval,
    pub(crate) code: i32,
    /// How long the call waited for its stream although it is asynchronous.
    pub(crate) blocked_ns: u64,
}

/// Memory accessed by the calling thread during a blocking call.
#[derive(Debug)]
pub(crate) struct BlockingAccess {
    pub(crate) thread: usize,
    pub(crate) name: TextId,
    pub(crate) transfer: TransferSize,
    pub(crate) interval: Interval,
    /// True if the access succeeded.
    pub(crate) is_done: bool,
}

/// A stream as a row of the trace. The stream id alone does not identify it: another device or a graph may reuse it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StreamRow {
    pub(crate) device: u32,
    /// True for an internal stream that runs the steps of graphs.
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
    pub(crate) name: TextId,
    pub(crate) row: StreamRow,
    pub(crate) transfer: TransferSize,
    pub(crate) submitted: u64,
    /// Index of the submitting thread.
    pub(crate) submitter: usize,
    /// Index of the thread that ran the task.
    pub(crate) runner: Option<usize>,
    pub(crate) started: Option<u64>,
    pub(crate) finished: Option<u64>,
    pub(crate) code: i32,
    /// True for a wait or the run of a graph, whose time is spent by other tasks.
    pub(crate) is_wait: bool,
    pub(crate) after: Option<StreamPosition>,
    /// When the task was dropped, before it could start.
    pub(crate) dropped: Option<u64>,
    /// How long the stream was stopped at this task, if it is a wait that never ended.
    pub(crate) open_wait: Option<Interval>,
}

impl Task {
    fn new(name: TextId, row: StreamRow, submitter: usize, submitted: u64) -> Task {
        Task {
            name,
            row,
            transfer: TransferSize::default(),
            submitted,
            submitter,
            runner: None,
            started: None,
            finished: None,
            code: 0,
            is_wait: false,
            after: None,
            dropped: None,
            open_wait: None,
        }
    }
    /// Returns when the task ran. A task that is still running when the program ends ends with the program.
    pub(crate) fn interval(&self, end: u64) -> Option<Interval> {
        let start = self.started?;
        Some(Interval { start, end: self.finished.unwrap_or(end).max(start) })
    }

    /// Returns the bar of the task on its row, where the task before it ended at `before`. A wait begins when the
    /// stream arrives at it, and one that never ended extends to `end`. `None` if the task never started.
    pub(crate) fn shown(&self, before: u64, end: u64) -> Option<Interval> {
        let mut interval = self.interval(end).or(self.open_wait)?;
        if self.is_wait {
            interval.start = self.submitted.max(before).min(interval.start);
        }
        Some(interval)
    }

    /// True if the task has finished without an error.
    pub(crate) fn is_done(&self) -> bool {
        self.finished.is_some() && self.code == 0
    }

    /// Returns when the task kept its stream busy. `None` for waits and tasks that never started.
    pub(crate) fn busy(&self, end: u64) -> Option<Interval> {
        if self.is_wait { None } else { self.interval(end) }
    }
}

impl Timeline {
    /// Rebuilds a run.
    pub(crate) fn of(snapshot: LogSnapshot) -> Timeline {
        let mut logs = snapshot.threads;
        logs.retain(|log| !log.records.is_empty());
        logs.sort_by_key(|log| log.records[0].ns);
        let times = || logs.iter().flat_map(|log| log.records.iter().map(|record| record.ns));
        let newest = times().max().unwrap_or(0);
        let mut timeline = Timeline {
            texts: snapshot.texts,
            process: snapshot.process,
            start: times().min().unwrap_or(0),
            is_partial: snapshot.is_partial || snapshot.dropped > 0,
            // Nothing was recorded after the limit, so the timeline ends there.
            end: if snapshot.is_partial || snapshot.dropped > 0 {
                newest
            } else {
                snapshot.end.unwrap_or(0).max(newest)
            },
            dropped: snapshot.dropped,
            ..Timeline::default()
        };
        for (thread, log) in logs.iter().enumerate() {
            timeline.threads.push(Thread { id: log.id, name: log.name.clone() });
            timeline.replay_thread(thread, &log.records);
        }
        // A second pass: the thread that submitted a task may have a later log than the one that ran it.
        for (thread, log) in logs.iter().enumerate() {
            log.records.iter().for_each(|record| timeline.apply_task_event(thread, *record));
        }
        logs.iter().flat_map(|log| &log.records).for_each(|record| timeline.mark_dropped(*record));
        timeline.extend_open_waits();
        let records =
            logs.iter().enumerate().flat_map(|(thread, log)| log.records.iter().map(move |record| (thread, *record)));
        timeline.marks = Marks::of(records, Interval { start: timeline.start, end: timeline.end });
        timeline.memory.sort_by_key(|(ns, ..)| *ns);
        timeline.calls.sort_by_key(|call| (call.interval.start, std::cmp::Reverse(call.interval.end)));
        timeline
    }

    /// Rebuilds the nested calls, the blocking accesses and the submitted tasks of one thread.
    fn replay_thread(&mut self, thread: usize, records: &[TimedEvent]) {
        let mut open: Vec<Call> = Vec::new();
        let mut access: Option<BlockingAccess> = None;
        // The task or access that a `Transfer` belongs to.
        let mut newest: Option<StreamPosition> = None;
        for TimedEvent { ns, event } in records.iter().copied() {
            let interval = Interval { start: ns, end: self.end };
            match event {
                TraceEvent::Entered(function) => open.push(Call { thread, function, interval, code: 0, blocked_ns: 0 }),
                TraceEvent::Exited(code) => {
                    // The end of an access may be beyond the limit, that of its call never is: it completes a record.
                    self.accesses.extend(access.take().map(|access| access.until(ns, code == 0)));
                    self.calls.extend(open.pop().map(|call| call.until(ns, code)));
                }
                TraceEvent::Blocked(time) => {
                    if let Some(call) = open.last_mut() {
                        call.blocked_ns += time;
                    }
                }
                TraceEvent::AccessStarted(name) => {
                    newest = None;
                    let transfer = TransferSize::default();
                    access = Some(BlockingAccess { thread, name, transfer, interval, is_done: false })
                }
                TraceEvent::AccessFinished(is_done) => {
                    self.accesses.extend(access.take().map(|access| access.until(ns, is_done)));
                }
                TraceEvent::Memory(device, bytes) => self.memory.push((ns, device, bytes)),
                TraceEvent::Submitted { at, name, device, is_graph_step } => {
                    newest = Some(at);
                    let row = StreamRow { device, is_graph_stream: is_graph_step, stream: at.stream };
                    self.tasks.insert((at.stream, at.sequence), Task::new(name, row, thread, ns));
                }
                TraceEvent::Transfer(transfer) => match (newest, &mut access) {
                    (Some(at), _) => self.update(at, |task| task.transfer = transfer),
                    (None, Some(access)) => access.transfer = transfer,
                    (None, None) => {}
                },
                TraceEvent::Waits(_)
                | TraceEvent::After(..)
                | TraceEvent::Started(_)
                | TraceEvent::Finished(_)
                | TraceEvent::Failed(..)
                | TraceEvent::Dropped(_)
                | TraceEvent::Marked(_)
                | TraceEvent::RangeOpened { .. }
                | TraceEvent::RangeClosed(_)
                | TraceEvent::Labeled(..) => {}
            }
        }
        self.calls.append(&mut open);
        self.accesses.extend(access);
    }

    /// Applies what happened to a task after its submit.
    fn apply_task_event(&mut self, thread: usize, TimedEvent { ns, event }: TimedEvent) {
        match event {
            TraceEvent::Waits(at) => self.update(at, |task| task.is_wait = true),
            TraceEvent::After(at, after) => self.update(at, |task| task.after = Some(after)),
            TraceEvent::Started(at) => self.update(at, |task| (task.started, task.runner) = (Some(ns), Some(thread))),
            TraceEvent::Finished(at) => self.update(at, |task| task.finished = Some(ns)),
            TraceEvent::Failed(at, code) => self.update(at, |task| task.code = code),
            _ => {}
        }
    }

    /// Marks the tasks that had not started when their stream dropped its tasks.
    fn mark_dropped(&mut self, TimedEvent { ns, event }: TimedEvent) {
        let TraceEvent::Dropped(at) = event else { return };
        for (_, task) in self.tasks.range_mut((at.stream, 0)..=(at.stream, at.sequence)) {
            if task.started.is_none() && task.submitted <= ns {
                task.dropped.get_or_insert(ns);
            }
        }
    }

    /// Sets `open_wait` of waits at which a stream was stopped until the end of the program or until it dropped its
    /// tasks.
    fn extend_open_waits(&mut self) {
        let (mut current, mut reached, mut busy_until) = (None, 0, None);
        for ((stream, _), task) in &mut self.tasks {
            if current != Some(*stream) {
                (current, reached, busy_until) = (Some(*stream), 0, None);
            }
            if let Some(start) = task.started {
                reached = task.finished.unwrap_or(start);
                busy_until = task.finished.is_none().then_some(self.end);
            } else if busy_until.is_none_or(|until| task.submitted >= until) {
                let start = task.submitted.max(reached);
                let end = task.dropped.unwrap_or(self.end).max(start);
                task.open_wait = task.is_wait.then_some(Interval { start, end });
                busy_until = Some(end);
            }
        }
    }

    /// Changes a task. Ignores tasks whose submit was dropped from the log.
    fn update(&mut self, at: StreamPosition, apply: impl FnOnce(&mut Task)) {
        if let Some(task) = self.tasks.get_mut(&(at.stream, at.sequence)) {
            apply(task);
        }
    }

    /// Returns a name or the text of a mark.
    pub(crate) fn text(&self, text: TextId) -> &str {
        self.texts.get(text)
    }

    /// Returns the streams that had tasks, with their tasks in order.
    pub(crate) fn stream_rows(&self) -> BTreeMap<StreamRow, Vec<&Task>> {
        let mut rows: BTreeMap<StreamRow, Vec<&Task>> = BTreeMap::new();
        for task in self.tasks.values() {
            rows.entry(task.row).or_default().push(task);
        }
        rows
    }
}

impl Call {
    /// Returns the call as ended at `end` with `code`.
    fn until(self, end: u64, code: i32) -> Call {
        Call { interval: Interval { end, ..self.interval }, code, ..self }
    }
}

impl BlockingAccess {
    /// Returns the access as ended at `end`.
    fn until(self, end: u64, is_done: bool) -> BlockingAccess {
        BlockingAccess { interval: Interval { end, ..self.interval }, is_done, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;

    #[test]
    fn access_whose_end_is_beyond_the_limit_ends_with_its_call() {
        let log = Log::new(2, None).unwrap();
        log.enter(TextId(0));
        log.write([TraceEvent::AccessStarted(TextId(1))]);
        assert!(log.write([TraceEvent::AccessFinished(true)]).is_none(), "the limit is reached");
        log.exit(0);
        let mut snapshot = log.read().unwrap();
        snapshot.threads[0].records.push(TimedEvent { ns: u64::MAX, event: TraceEvent::Marked(TextId(2)) });
        let timeline = Timeline::of(snapshot);
        let ([call], [access]) = (timeline.calls.as_slice(), timeline.accesses.as_slice()) else {
            panic!("{timeline:?}");
        };
        assert_eq!((access.interval.end, access.is_done), (call.interval.end, true));
    }
}
