//! A signal: an event that graphs and ordinary streams share. It is up or down when somebody looks,
//! unlike other events, whose waits are bound to a record when the wait is made.

#[cfg(not(loom))]
use crate::stream::StreamKey;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};

#[cfg(loom)]
type StreamKey = u32;

#[derive(Debug, Default)]
pub(crate) struct GraphEvent {
    is_set: AtomicBool,
    /// Streams whose front may be waiting, once per wait.
    watchers: Mutex<Vec<StreamKey>>,
}

impl GraphEvent {
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Sets the event. Returns the streams to mark ready.
    pub(crate) fn set(&self) -> Vec<StreamKey> {
        self.is_set.store(true, Ordering::Release);
        lock(&self.watchers).clone()
    }

    pub(crate) fn reset(&self) {
        self.is_set.store(false, Ordering::Release);
    }

    /// A wait is about to be queued.
    pub(crate) fn watch(&self, stream: StreamKey) {
        lock(&self.watchers).push(stream);
    }

    /// A wait has been passed or dropped.
    pub(crate) fn forget(&self, stream: StreamKey) {
        let mut watchers = lock(&self.watchers);
        if let Some(at) = watchers.iter().position(|other| *other == stream) {
            watchers.swap_remove(at);
        }
    }
}
