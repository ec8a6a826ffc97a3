//! Runs: one launch of a graph, from its submit to its end.

use crate::keys::{StreamKey, StreamPoint};
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{AtomicBool, Mutex, lock};
use std::sync::OnceLock;

/// One run of a graph.
#[derive(Debug)]
pub(crate) struct GraphRun {
    /// The end of branch 0. Set when everything is queued.
    pub(crate) end: OnceLock<StreamPoint>,
    streams: Vec<StreamKey>,
    /// True if the remaining steps of the run must do nothing.
    pub(crate) is_canceled: AtomicBool,
    /// True while branches of a graph that was built may have tasks of this run. No other run has tasks there then.
    pub(crate) is_flowing: AtomicBool,
    /// The first failure among its tasks.
    failure: Mutex<Option<Error>>,
}

impl GraphRun {
    pub(crate) fn new(streams: Vec<StreamKey>) -> GraphRun {
        GraphRun {
            end: OnceLock::new(),
            streams,
            is_canceled: AtomicBool::new(false),
            is_flowing: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// Records a failure. The first one is kept.
    pub(crate) fn fail(&self, error: Error) {
        lock(&self.failure).get_or_insert(error);
    }

    /// The streams of its branches.
    pub(crate) fn streams(&self) -> &[StreamKey] {
        &self.streams
    }

    /// The result of a finished run.
    pub(crate) fn result(&self) -> Result<()> {
        lock(&self.failure).take().map_or(Ok(()), fail)
    }
}
