//! The log of waits: the waits of each stream, and what released them. Plain data; how it is filled is in `waits`.

use crate::ledger::Conflict;
use crate::operation::Operation;
use crate::signals::Signals;
use softacl_engine::observer::StreamPosition;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Maximum number of conflicts that are kept until a wait is released.
pub(crate) const MAX_DEFERRED: usize = 4096;
/// Number of newest records that are remembered of each event, for messages.
const MAX_RECORDS: usize = 64;

/// A wait of a stream that the host clock may not include.
#[derive(Debug)]
pub(crate) struct WaitRecord {
    pub(crate) at: StreamPosition,
    pub(crate) operation: Arc<Operation>,
    pub(crate) event: Option<u32>,
    /// The tasks that release it, as far as known.
    pub(crate) released_by: Vec<StreamPosition>,
    /// The cell satisfied the wait already.
    pub(crate) is_stale: bool,
    /// The wait timed out or was stopped, so it orders nothing.
    pub(crate) is_abandoned: bool,
}

/// Records of one event.
#[derive(Debug, Default)]
struct EventRecords {
    count: u64,
    /// The newest ones, with their numbers.
    newest: VecDeque<(StreamPosition, u64)>,
}

#[derive(Debug, Default)]
pub(crate) struct Waits {
    pub(crate) signals: Signals,
    pub(crate) by_stream: BTreeMap<u32, VecDeque<WaitRecord>>,
    records: BTreeMap<u32, EventRecords>,
    /// Conflicts of tasks behind waits that nothing has released.
    pub(crate) deferred: Vec<(Arc<Operation>, Conflict)>,
    /// Waits of unknown origin that the host clock may not include.
    pub(crate) unknown: Vec<StreamPosition>,
}

impl Waits {
    pub(crate) fn add_record(&mut self, event: u32, at: StreamPosition) {
        let records = self.records.entry(event).or_default();
        records.count += 1;
        records.newest.push_back((at, records.count));
        if records.newest.len() > MAX_RECORDS {
            records.newest.pop_front();
        }
    }

    /// A new event has the id.
    pub(crate) fn event_created(&mut self, event: u32) {
        self.records.remove(&event);
    }

    pub(crate) fn record_text(&self, event: u32, at: StreamPosition) -> String {
        let records = self.records.get(&event).into_iter().flat_map(|records| &records.newest);
        let number = records.into_iter().find(|(record, _)| *record == at).map(|(_, number)| *number);
        number.map_or_else(|| "a record".to_owned(), |number| format!("record {number}"))
    }

    /// A wait was released.
    pub(crate) fn released(&mut self, at: StreamPosition, after: &[StreamPosition]) {
        let wait = self.by_stream.get_mut(&at.stream).and_then(|all| all.iter_mut().find(|wait| wait.at == at));
        if let Some(wait) = wait {
            wait.released_by = after.to_vec();
        }
    }
}
