//! Streams on which program threads are parked and can be woken to help with a job.
//!
//! No lost wake-ups: a thread registers its stream before it tests for jobs the last time; a job is published before
//! the list is read. Either the thread sees the job or it is woken.

use crate::completion::Completion;
use crate::facade::{Mutex, lock};

/// The streams with parked threads, one entry per thread.
pub struct WaiterList<K>(Mutex<Vec<K>>);

impl<K> Default for WaiterList<K> {
    fn default() -> Self {
        WaiterList(Mutex::new(Vec::new()))
    }
}

impl<K: Copy + PartialEq> WaiterList<K> {
    /// Registers `stream` while `wait` blocks on its completion.
    pub fn park(&self, stream: K, wait: impl FnOnce()) {
        lock(&self.0).push(stream);
        wait();
        let mut streams = lock(&self.0);
        if let Some(index) = streams.iter().position(|key| *key == stream) {
            streams.swap_remove(index);
        }
    }

    /// Wakes the waiters of every registered stream. Must be called after the job is published.
    pub fn wake_all<'a>(&self, completion: impl Fn(K) -> &'a Completion) {
        for stream in lock(&self.0).iter() {
            completion(*stream).wake_waiters();
        }
    }
}
