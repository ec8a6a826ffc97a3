//! Operations: what streams and host threads did, recorded for the report.

use crate::backtrace::{RawBacktrace, SymbolCache};
use crate::call;
use crate::finding;
use crate::interposer;
use softacl_engine::observer::{Mode, StreamPosition, Touch};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names of memory accesses by host code outside of API calls.
pub(crate) const HOST_READ: &str = "read by the host";
pub(crate) const HOST_WRITE: &str = "write by the host";
/// Not an access: from here on, changes of a page are found by comparing.
pub(crate) const LEFT_OPEN: &str = "page left unprotected";

/// A graph launch. The internal streams of its tasks are invisible to the program; the launch is not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    /// The task that waits for the graph on a stream of the program. `None` if the call waits.
    pub(crate) join: Option<StreamPosition>,
}

/// A recorded operation. Times are filled in as they become known.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Position in the global order of operations.
    pub(crate) sequence: u64,
    pub(crate) name: &'static str,
    /// The name of the kernel, if the operation is one.
    pub(crate) label: Option<Box<str>>,
    pub(crate) function: Option<&'static str>,
    pub(crate) at: Option<StreamPosition>,
    /// The captured call that the task repeats.
    pub(crate) captured_by: Option<Arc<Operation>>,
    /// The graph launch that the task belongs to.
    pub(crate) launch: Option<Launch>,
    pub(crate) thread: u32,
    pub(crate) touches: Box<[Touch]>,
    pub(crate) backtrace: RawBacktrace,
    pub(crate) submitted: f64,
    /// Clock value of the submitting thread, from the interposer.
    pub(crate) moment: u64,
    /// Sequence number of the entry into the API call.
    pub(crate) entered: u64,
    started: Time,
    finished: Time,
    waited: Time,
}

/// A time in microseconds that is set at most once.
#[derive(Debug, Default)]
struct Time(AtomicU64);

impl Time {
    fn set(&self, time: f64) {
        // Zero means unset. The first microsecond of the run is rounded up.
        let _ = self.0.compare_exchange(0, time.max(1e-3).to_bits(), Ordering::Relaxed, Ordering::Relaxed);
    }

    fn get(&self) -> Option<f64> {
        Some(f64::from_bits(self.0.load(Ordering::Relaxed))).filter(|time| *time > 0.0)
    }
}

impl Operation {
    #[expect(clippy::too_many_arguments, reason = "a record with this many fields")]
    pub(crate) fn new(
        sequence: u64,
        name: &'static str,
        function: Option<&'static str>,
        at: Option<StreamPosition>,
        thread: u32,
        touches: &[Touch],
        backtrace: RawBacktrace,
        submitted: f64,
    ) -> Operation {
        Operation {
            sequence,
            name,
            label: None,
            function,
            at,
            captured_by: None,
            launch: None,
            thread,
            touches: touches.into(),
            backtrace,
            submitted,
            moment: interposer::now(),
            entered: call::entered(),
            started: Time::default(),
            finished: Time::default(),
            waited: Time::default(),
        }
    }

    /// This operation with the ranges that became known later. The result has not started.
    pub(crate) fn with_touches(&self, touches: &[Touch]) -> Operation {
        Operation {
            label: self.label.clone(),
            captured_by: self.captured_by.clone(),
            touches: touches.into(),
            backtrace: self.backtrace.clone(),
            started: Time::default(),
            finished: Time::default(),
            waited: Time::default(),
            ..*self
        }
    }

    #[cfg(test)]
    pub(crate) fn for_test(sequence: u64) -> Operation {
        Operation::new(sequence, "copy", None, None, 0, &[], RawBacktrace::default(), 0.0)
    }

    pub(crate) fn start(&self, time: f64) {
        self.started.set(time);
    }

    pub(crate) fn has_started(&self) -> bool {
        self.started.get().is_some()
    }

    /// True if this operation started before another one was submitted.
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

    /// The task from the view of the program: a task of a graph is part of the task that launched the graph.
    pub(crate) fn visible_task(&self) -> Option<StreamPosition> {
        self.launch.map_or(self.at, |launch| launch.join)
    }

    /// True if both operations belong to the same graph launch.
    pub(crate) fn shares_launch(&self, other: &Operation) -> bool {
        self.launch.is_some() && other.launch.is_some() && (self.thread, self.entered) == (other.thread, other.entered)
    }

    /// True if a call of the program submitted the task. Later steps of a graph run are submitted by any thread that
    /// runs tasks.
    pub(crate) fn is_submitted_by_call(&self) -> bool {
        self.function.is_some_and(|name| self.launch.is_none() || name.starts_with("aclmdlRIExecute"))
    }

    /// Describes the stream or thread, for messages.
    pub(crate) fn actor_text(&self) -> String {
        match (self.visible_task(), self.launch.is_some()) {
            (Some(StreamPosition { stream, sequence }), false) => format!("task {sequence} of stream {stream}"),
            (Some(StreamPosition { stream, sequence }), true) => {
                format!("the graph launched as task {sequence} of stream {stream}")
            }
            (None, false) => format!("host thread {}", self.thread),
            (None, true) => format!("the graph that host thread {} runs", self.thread),
        }
    }

    /// Number of bytes written, or read if it writes nothing.
    pub(crate) fn bytes(&self) -> usize {
        let written: usize = self.touches.iter().filter(|touch| touch.mode == Mode::Write).map(|touch| touch.len).sum();
        if written > 0 { written } else { self.touches.iter().map(|touch| touch.len).sum() }
    }

    /// Describes the operation, for messages.
    pub(crate) fn describe(&self) -> String {
        let entries = self.touches.iter().filter(|touch| touch.mode == Mode::Write).count();
        // Only the first byte of a host access is known.
        let is_bare = self.touches.is_empty() || [HOST_READ, HOST_WRITE].contains(&self.name);
        let name = match &self.label {
            Some(label) => format!("{} {label}", self.name),
            None => self.name.to_owned(),
        };
        match (is_bare, entries) {
            (true, _) => name,
            (false, 0..=1) => format!("{name} of {} bytes", self.bytes()),
            (false, _) => format!("{name} of {} bytes in {entries} pieces", self.bytes()),
        }
    }

    /// Converts to the form of the report, with symbolized locations.
    pub(crate) fn to_reported(
        &self,
        ranges: Vec<finding::Bytes>,
        names: &mut SymbolCache,
    ) -> finding::ReportedOperation {
        finding::ReportedOperation { ranges, place: self.place(names), ..self.to_reported_without_place() }
    }

    /// The symbolized location.
    pub(crate) fn place(&self, names: &mut SymbolCache) -> finding::Backtrace {
        self.backtrace.resolve(self.function, names)
    }

    /// The form of the report, without ranges and location.
    pub(crate) fn to_reported_without_place(&self) -> finding::ReportedOperation {
        finding::ReportedOperation {
            number: self.sequence,
            what: if self.launch.is_some() { format!("{}, in a graph run", self.describe()) } else { self.describe() },
            function: self.function.map(str::to_owned),
            actor: match self.visible_task() {
                Some(StreamPosition { stream, sequence }) => finding::Actor::Stream { stream, sequence },
                None => finding::Actor::Thread { thread: self.thread },
            },
            thread: self.thread,
            ranges: Vec::new(),
            place: finding::Backtrace::default(),
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
    fn graph_task_is_described_as_its_launching_task() {
        let mut task = Operation::for_test(1);
        task.at = Some(StreamPosition { stream: 3, sequence: 2 });
        assert_eq!(task.actor_text(), "task 2 of stream 3");
        task.launch = Some(Launch { join: Some(StreamPosition { stream: 1, sequence: 7 }) });
        assert_eq!(task.actor_text(), "the graph launched as task 7 of stream 1");
        assert_eq!(
            task.to_reported(Vec::new(), &mut SymbolCache::default()).actor,
            finding::Actor::Stream { stream: 1, sequence: 7 }
        );
        task.launch = Some(Launch { join: None });
        assert_eq!(task.actor_text(), "the graph that host thread 0 runs");
        assert_eq!(
            task.to_reported(Vec::new(), &mut SymbolCache::default()).actor,
            finding::Actor::Thread { thread: 0 }
        );
    }
}
