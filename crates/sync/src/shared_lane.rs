//! A lane behind its mutex, with its completion counter: the concurrent core of a stream.
//!
//! No lost wake-ups: the finishing thread publishes completion, then collects watchers under the lane lock; a watcher
//! checks completion under that lock before it registers. One of the two always sees the other.

use crate::completion::Completion;
use crate::facade::{Mutex, lock};
use crate::lane::Lane;

/// A lane that several threads submit to, execute and watch.
pub struct SharedLane<T, K> {
    pub lane: Mutex<Lane<T, K>>,
    pub completion: Completion,
}

impl<T, K> Default for SharedLane<T, K> {
    fn default() -> Self {
        SharedLane { lane: Mutex::new(Lane::default()), completion: Completion::default() }
    }
}

impl<T, K: Copy + PartialEq> SharedLane<T, K> {
    /// Publishes a finished task and releases the claim. Returns the watchers whose point is reached.
    #[inline]
    pub fn finish(&self, sequence: u64) -> Vec<K> {
        self.completion.publish(sequence);
        let mut lane = lock(&self.lane);
        lane.release();
        self.complete_dropped(&mut lane)
    }

    /// Registers a watcher for a task. Returns `false` if the task is already finished.
    #[inline]
    pub fn watch(&self, sequence: u64, watcher: K) -> bool {
        let mut lane = lock(&self.lane);
        if self.completion.done() >= sequence {
            return false;
        }
        lane.add_watcher(sequence, watcher);
        true
    }

    /// Removes the tasks that have not started. Returns them, and the watchers whose point is reached.
    #[inline]
    pub fn clear(&self) -> (Vec<T>, Vec<K>) {
        let mut lane = lock(&self.lane);
        let dropped = lane.clear();
        (dropped, self.complete_dropped(&mut lane))
    }

    /// Publishes dropped tasks as finished once nothing runs before them. Returns the watchers whose point is reached.
    fn complete_dropped(&self, lane: &mut Lane<T, K>) -> Vec<K> {
        if !lane.is_claimed() && lane.dropped() > self.completion.done() {
            self.completion.publish(lane.dropped());
        }
        lane.take_watchers(self.completion.done())
    }
}
