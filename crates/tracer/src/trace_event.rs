//! Trace events: what the tracer records, and when it happened.

use crate::allocations::TransferSize;
use softacl_engine::observer::StreamPosition;

/// Number of a text in the table of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct TextId(pub(crate) u32);

/// Something that happened. "Trace event", because an event is an `aclrtEvent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceEvent {
    Entered(TextId),
    /// The innermost open call returned this code.
    Exited(i32),
    Submitted {
        at: StreamPosition,
        name: TextId,
        device: u32,
        /// True for a step of a graph, on an internal stream.
        is_graph_step: bool,
    },
    /// Size and route of the preceding `Submitted` or `AccessStarted` of the thread.
    Transfer(TransferSize),
    /// The task is a wait: for another task, or an external wait.
    Waits(StreamPosition),
    /// The first task runs after the second one.
    After(StreamPosition, StreamPosition),
    Started(StreamPosition),
    Finished(StreamPosition),
    Failed(StreamPosition, i32),
    /// Every task up to this position that has not started was dropped.
    Dropped(StreamPosition),
    AccessStarted(TextId),
    /// True if the access succeeded.
    AccessFinished(bool),
    /// An asynchronous call waited for its stream, for this time in ns.
    Blocked(u64),
    /// Device, and bytes in use on it.
    Memory(u32, u64),
    /// The program marked this time.
    Marked(TextId),
    /// A range of the program begins.
    RangeOpened {
        range: u64,
        text: TextId,
        is_nested: bool,
    },
    RangeClosed(u64),
    /// The program gave a text to a task.
    Labeled(StreamPosition, TextId),
}

/// A trace event with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimedEvent {
    /// Time since the log was created.
    pub(crate) ns: u64,
    pub(crate) event: TraceEvent,
}

/// A span of time on the clock of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Interval {
    pub(crate) fn ns(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns the last ns of the interval.
    pub(crate) fn last(self) -> u64 {
        self.end.saturating_sub(1).max(self.start)
    }
}
