//! An operation: something that a stream or a host thread did, as it is kept until the report.

use crate::backtrace::{RawBacktrace, SymbolCache};
use crate::finding;
use crate::interposer;
use softacl_engine::observer::{Mode, StreamPosition, Touch};
use std::sync::atomic::{AtomicU64, Ordering};

/// The next number. Operations that get a larger one were begun later.
pub(crate) fn next_sequence() -> u64 {
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    NUMBERS.fetch_add(1, Ordering::SeqCst)
}

/// Names of what host code does to memory by itself.
pub(crate) const HOST_READ: &str = "read by the host";
pub(crate) const HOST_WRITE: &str = "write by the host";

/// The launch of a graph. The program does not see the streams of its tasks, but it knows the launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    /// The task that waits for the end on a stream of the program; without one a call waits.
    pub(crate) join: Option<StreamPosition>,
}

#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) number: u64,
    pub(crate) name: &'static str,
    pub(crate) function: Option<&'static str>,
    pub(crate) at: Option<StreamPosition>,
    /// The launch of the graph that the task belongs to.
    pub(crate) launch: Option<Launch>,
    pub(crate) thread: u32,
    pub(crate) touches: Box<[Touch]>,
    pub(crate) spot: RawBacktrace,
    pub(crate) submitted: f64,
    /// The moment of the thread that did it, for the interposer.
    pub(crate) moment: u64,
    /// Drawn when the thread entered the call that did it.
    pub(crate) entered: u64,
    started: Time,
    finished: Time,
    waited: Time,
}

/// A moment in microseconds that comes to be known.
#[derive(Debug, Default)]
struct Time(AtomicU64);

impl Time {
    fn set(&self, time: f64) {
        // Zero is "not yet"; nothing happens before the first microsecond is over.
        let _ = self.0.compare_exchange(0, time.max(1e-3).to_bits(), Ordering::Relaxed, Ordering::Relaxed);
    }

    fn get(&self) -> Option<f64> {
        Some(f64::from_bits(self.0.load(Ordering::Relaxed))).filter(|time| *time > 0.0)
    }
}

impl Operation {
    #[expect(clippy::too_many_arguments, reason = "a record with as many fields")]
    pub(crate) fn new(
        number: u64,
        name: &'static str,
        function: Option<&'static str>,
        at: Option<StreamPosition>,
        thread: u32,
        touches: &[Touch],
        spot: RawBacktrace,
        submitted: f64,
    ) -> Operation {
        Operation {
            number,
            name,
            function,
            at,
            launch: None,
            thread,
            touches: touches.into(),
            spot,
            submitted,
            moment: interposer::now(),
            entered: crate::state::entered(),
            started: Time::default(),
            finished: Time::default(),
            waited: Time::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn for_test(number: u64) -> Operation {
        Operation::new(number, "copy", None, None, 0, &[], RawBacktrace::default(), 0.0)
    }

    pub(crate) fn start(&self, time: f64) {
        self.started.set(time);
    }

    pub(crate) fn has_started(&self) -> bool {
        self.started.get().is_some()
    }

    /// Whether it ran before another operation.
    pub(crate) fn started_before(&self, other: &Operation) -> bool {
        self.started.get().is_some_and(|started| started < other.submitted)
    }

    pub(crate) fn has_finished(&self) -> bool {
        self.finished.get().is_some()
    }

    pub(crate) fn finish(&self, time: f64) {
        self.finished.set(time);
    }

    pub(crate) fn wait(&self, time: f64) {
        self.waited.set(time);
    }

    /// The task as the program sees it: one of a graph is part of the task that runs the graph.
    pub(crate) fn visible_task(&self) -> Option<StreamPosition> {
        self.launch.map_or(self.at, |launch| launch.join)
    }

    /// Whether one launch of a graph has submitted both.
    pub(crate) fn shares_launch(&self, other: &Operation) -> bool {
        self.launch.is_some() && other.launch.is_some() && (self.thread, self.entered) == (other.thread, other.entered)
    }

    /// Who does it, in words.
    pub(crate) fn who(&self) -> String {
        match (self.visible_task(), self.launch.is_some()) {
            (Some(StreamPosition { stream, sequence }), false) => format!("task {sequence} of stream {stream}"),
            (Some(StreamPosition { stream, sequence }), true) => {
                format!("the graph launched as task {sequence} of stream {stream}")
            }
            (None, false) => format!("host thread {}", self.thread),
            (None, true) => format!("the graph that host thread {} runs", self.thread),
        }
    }

    /// Bytes that it moves.
    pub(crate) fn bytes(&self) -> usize {
        let written: usize = self.touches.iter().filter(|touch| touch.mode == Mode::Write).map(|touch| touch.len).sum();
        if written > 0 { written } else { self.touches.iter().map(|touch| touch.len).sum() }
    }

    pub(crate) fn what(&self) -> String {
        let entries = self.touches.iter().filter(|touch| touch.mode == Mode::Write).count();
        // Of a touch by the host only the first byte is known.
        let is_bare = self.touches.is_empty() || [HOST_READ, HOST_WRITE].contains(&self.name);
        match (is_bare, entries) {
            (true, _) => self.name.to_owned(),
            (false, 0..=1) => format!("{} of {} bytes", self.name, self.bytes()),
            (false, _) => format!("{} of {} bytes in {entries} pieces", self.name, self.bytes()),
        }
    }

    /// As the report shows it, with the ranges that matter.
    pub(crate) fn shown(&self, ranges: Vec<finding::Bytes>, names: &mut SymbolCache) -> finding::ReportedOperation {
        finding::ReportedOperation {
            number: self.number,
            what: if self.launch.is_some() { format!("{}, in a run of a graph", self.what()) } else { self.what() },
            function: self.function.map(str::to_owned),
            actor: match self.visible_task() {
                Some(StreamPosition { stream, sequence }) => finding::Actor::Stream { stream, sequence },
                None => finding::Actor::Thread { thread: self.thread },
            },
            thread: self.thread,
            ranges,
            place: self.spot.resolve(self.function, names),
            submitted: self.submitted,
            started: self.started.get(),
            finished: self.finished.get(),
            waited: self.waited.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_of_a_graph_is_told_as_the_task_that_the_program_launched() {
        let mut task = Operation::for_test(1);
        task.at = Some(StreamPosition { stream: 3, sequence: 2 });
        assert_eq!(task.who(), "task 2 of stream 3");
        task.launch = Some(Launch { join: Some(StreamPosition { stream: 1, sequence: 7 }) });
        assert_eq!(task.who(), "the graph launched as task 7 of stream 1");
        assert_eq!(
            task.shown(Vec::new(), &mut SymbolCache::default()).actor,
            finding::Actor::Stream { stream: 1, sequence: 7 }
        );
        task.launch = Some(Launch { join: None });
        assert_eq!(task.who(), "the graph that host thread 0 runs");
        assert_eq!(task.shown(Vec::new(), &mut SymbolCache::default()).actor, finding::Actor::Thread { thread: 0 });
    }
}
