//! A signal: an event that graphs and ordinary streams share. It is up or down when somebody looks,
//! unlike other events, whose waits are bound to a record when the wait is made.

use crate::facade::{AtomicBool, Mutex, Ordering, lock};

#[derive(Debug)]
pub struct GraphEvent<K> {
    is_set: AtomicBool,
    /// Streams whose front may be waiting, once per wait.
    watchers: Mutex<Vec<K>>,
}

impl<K> Default for GraphEvent<K> {
    fn default() -> Self {
        GraphEvent { is_set: AtomicBool::new(false), watchers: Mutex::new(Vec::new()) }
    }
}

impl<K: Copy + PartialEq> GraphEvent<K> {
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Sets the event. Returns the streams to mark ready.
    pub fn set(&self) -> Vec<K> {
        self.is_set.store(true, Ordering::Release);
        lock(&self.watchers).clone()
    }

    pub fn reset(&self) {
        self.is_set.store(false, Ordering::Release);
    }

    /// A wait is about to be queued.
    pub fn watch(&self, stream: K) {
        lock(&self.watchers).push(stream);
    }

    /// A wait has been passed or dropped.
    pub fn forget(&self, stream: K) {
        let mut watchers = lock(&self.watchers);
        if let Some(at) = watchers.iter().position(|other| *other == stream) {
            watchers.swap_remove(at);
        }
    }
}
