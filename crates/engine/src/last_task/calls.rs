//! Asking for the newest task of a thread, and recording it.

use crate::caller::Caller;
use crate::last_task::LAST;
use crate::machine::Machine;
use crate::slow_path::Reason;
use crate::stream::Stream;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::lock;
use std::cell::Cell;

impl Caller<'_> {
    /// Number, in its stream, of the newest task that this thread has queued.
    ///
    /// For tasks from before the first question, the answer is known only if one stream of the context has tasks.
    pub fn last_task(&self) -> Result<u64> {
        let (_, context) = self.context()?;
        self.machine.record_last_tasks();
        let last = LAST.with(Cell::get);
        if last != 0 {
            return Ok(last);
        }
        let streams = lock(&context.state).streams.clone();
        let mut used = streams.into_iter().map(|key| self.machine.streams.slot(key)).filter(|stream| stream.is_used());
        match (used.next(), used.next()) {
            (Some(only), None) => Ok(only.newest()),
            (None, _) => fail(Error::Parameter("this thread has not queued a task".to_owned())),
            (Some(_), Some(_)) => fail(Error::Feature(
                "tasks of threads are recorded from now on; ask once before the first task to know every id".to_owned(),
            )),
        }
    }
}

impl Machine {
    /// Makes submits record the newest task of their thread.
    fn record_last_tasks(&self) {
        let mut guards = lock(&self.last_tasks.guards);
        if guards.is_empty() {
            guards.extend(self.devices.iter().map(|device| self.reasons.hold_for(&device.reasons, Reason::LastTask)));
        }
    }

    /// Records a task of this thread, if threads ask for their tasks.
    pub(crate) fn record_last_task(&self, stream: &Stream, sequence: u64) {
        if self.devices[stream.device() as usize].reasons.has(Reason::LastTask) {
            LAST.with(|last| last.set(sequence));
        }
    }
}
