//! Events: a record is a point of a stream, and an event keeps its newest record.
//!
//! A wait binds to the record made before it in call order. Recording again gives the event a new generation; waits
//! that are bound to the old record are not affected.
//!
//! Lock order: the state of an event may be taken while the lane of a stream is locked, never the other way round.

pub(crate) mod calls;
mod ipc;
mod records;

use crate::graph::CapturedRecord;
use crate::keys::{EventKey, GraphEvent, StreamPoint};
use crate::task::Waited;
use softacl_errors::Error;
use softacl_memory::shared::SharedCounters;
use softacl_sync::facade::{AtomicU32, Mutex};
use std::sync::{Arc, OnceLock};

pub const EVENT_SYNC: u32 = 0x1;
pub const EVENT_CAPTURE_STREAM_PROGRESS: u32 = 0x2;
pub const EVENT_TIME_LINE: u32 = 0x8;
pub const EVENT_DEVICE_USE_ONLY: u32 = 0x10;
pub const EVENT_EXTERNAL: u32 = 0x20;
pub const EVENT_IPC: u32 = 0x40;

/// Which of the three creating calls made the event. They differ before the first record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EventKind {
    /// Created without flags: timing and waits.
    #[default]
    Plain,
    /// Created with explicit flags.
    Flagged(u32),
    /// Created by an `Ex` call. Reusable, needs no reset.
    Extended(u32),
}

impl EventKind {
    pub(crate) fn flags(self) -> u32 {
        match self {
            EventKind::Plain => EVENT_SYNC | EVENT_TIME_LINE,
            EventKind::Flagged(flags) | EventKind::Extended(flags) => flags,
        }
    }

    pub(crate) fn is_extended(self) -> bool {
        matches!(self, EventKind::Extended(_))
    }

    /// True if streams may wait for the event.
    pub(crate) fn can_order(self) -> bool {
        self.flags() & (EVENT_SYNC | EVENT_EXTERNAL | EVENT_IPC | EVENT_DEVICE_USE_ONLY) != 0
            || matches!(self, EventKind::Extended(flags) if flags & EVENT_CAPTURE_STREAM_PROGRESS != 0)
    }

    /// True if the event records time stamps.
    pub(crate) fn has_time(self) -> bool {
        self.flags() & EVENT_TIME_LINE != 0
    }

    /// True if other processes may open the event.
    pub(crate) fn is_shared(self) -> bool {
        self.flags() & EVENT_IPC != 0
    }

    /// True if the host may query the event or wait for it.
    pub(crate) fn is_host_visible(self) -> bool {
        self.flags() & EVENT_EXTERNAL == 0
    }

    /// True if graphs share the event with streams outside them.
    pub(crate) fn is_external(self) -> bool {
        self.flags() & EVENT_EXTERNAL != 0
    }

    /// True if the event counts toward the limit of its device from its creation.
    pub(crate) fn is_counted(self) -> bool {
        matches!(self, EventKind::Flagged(flags) if flags & EVENT_SYNC != 0)
    }
}

/// An event of the API.
#[derive(Default)]
pub struct Event {
    pub(crate) state: Mutex<EventState>,
    /// Number of queued wait tasks that have not run yet.
    pub(crate) waits: AtomicU32,
}

#[derive(Default)]
pub(crate) struct EventState {
    pub(crate) key: Option<EventKey>,
    pub(crate) kind: EventKind,
    pub(crate) device: u32,
    pub(crate) record: Option<StreamPoint>,
    /// Counts records, so that a late record does not overwrite the time stamp of a newer one.
    pub(crate) generation: u64,
    /// When the newest record was reached, in nanoseconds since the machine was created.
    pub(crate) reached_ns: Option<u64>,
    /// The newest record, if it was captured: it belongs to a graph.
    pub(crate) captured: Option<CapturedRecord>,
    /// Present for an event that graphs share.
    pub(crate) graph_event: Option<Arc<GraphEvent>>,
    /// Records of all processes, for an event that other processes can open.
    pub(crate) shared: Option<Arc<SharedCounters>>,
    /// The newest of those records that this process made, and its point.
    pub(crate) own_record: Option<(u64, StreamPoint)>,
    /// Points of waits for the next record, and the cells that receive it.
    pub(crate) waiting_for_next: Vec<(StreamPoint, Arc<OnceLock<StreamPoint>>)>,
}

impl EventState {
    /// What a stream waits for at the event: its newest record, or the next one for an event that says so. `None` if
    /// there is nothing to wait for. `wait` is the point of the wait.
    pub(crate) fn awaited(&mut self, wait: StreamPoint) -> Option<Waited> {
        match (self.record, self.kind) {
            (Some(point), _) => Some(Waited::Point(point)),
            (None, EventKind::Flagged(_)) => {
                let cell = Arc::new(OnceLock::new());
                self.waiting_for_next.push((wait, Arc::clone(&cell)));
                Some(Waited::Next(cell))
            }
            (None, EventKind::Plain | EventKind::Extended(_)) => None,
        }
    }
}

/// The error of a wait for an event of `aclrtCreateEvent` that has no record.
pub(crate) fn never_recorded() -> Error {
    Error::Parameter("the event was never recorded: record it before a stream waits for it".to_owned())
}
