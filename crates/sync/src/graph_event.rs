//! An event that graphs and streams share.
//!
//! A wait passes if the event is set when the stream reaches the wait. Other events differ: their waits are bound to a
//! record when the wait is submitted.

use crate::facade::{AtomicBool, Mutex, Ordering, lock};

/// A flag and the streams that wait for it to be set.
#[derive(Debug)]
pub struct GraphEvent<K> {
    is_set: AtomicBool,
    /// Streams that may be blocked at a wait, one entry per wait.
    watchers: Mutex<Vec<K>>,
}

impl<K> Default for GraphEvent<K> {
    fn default() -> Self {
        GraphEvent { is_set: AtomicBool::new(false), watchers: Mutex::new(Vec::new()) }
    }
}

impl<K: Copy + PartialEq> GraphEvent<K> {
    #[inline]
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Sets the event. Returns the streams to mark ready.
    #[inline]
    pub fn set(&self) -> Vec<K> {
        self.is_set.store(true, Ordering::Release);
        lock(&self.watchers).clone()
    }

    #[inline]
    pub fn reset(&self) {
        self.is_set.store(false, Ordering::Release);
    }

    /// Registers a stream. Must be called before its wait is queued.
    #[inline]
    pub fn watch(&self, stream: K) {
        lock(&self.watchers).push(stream);
    }

    /// Removes one registration of a stream, after its wait passed or was dropped.
    #[inline]
    pub fn forget(&self, stream: K) {
        let mut watchers = lock(&self.watchers);
        if let Some(at) = watchers.iter().position(|other| *other == stream) {
            watchers.swap_remove(at);
        }
    }
}
