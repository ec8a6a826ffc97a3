//! A track: a lane behind its lock, and how far it has come. The concurrent heart of a stream.
//!
//! The protocol between a stream that finishes and one that wants to be told: the finisher publishes
//! completion first and collects watchers under the lane's lock afterwards; the watcher, under the
//! same lock, looks at completion before it registers. So either it sees that the task is done or
//! the finisher sees the watcher.

use crate::completion::Completion;
use crate::facade::{Mutex, lock};
use crate::lane::Lane;

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
    /// Publishes a finished task, lets go of the claim, and returns the watchers whose wait is over.
    pub fn finish(&self, sequence: u64) -> Vec<K> {
        self.completion.publish(sequence);
        let mut lane = lock(&self.lane);
        lane.release();
        self.complete_dropped(&mut lane)
    }

    /// Registers a watcher for a task. `false` when the task is already finished.
    pub fn watch(&self, sequence: u64, watcher: K) -> bool {
        let mut lane = lock(&self.lane);
        if self.completion.done() >= sequence {
            return false;
        }
        lane.add_watcher(sequence, watcher);
        true
    }

    /// Takes out everything that has not started, and returns the watchers whose wait is over.
    pub fn clear(&self) -> (Vec<T>, Vec<K>) {
        let mut lane = lock(&self.lane);
        let dropped = lane.clear();
        (dropped, self.complete_dropped(&mut lane))
    }

    /// Dropped tasks count as finished as soon as nothing runs in front of them.
    fn complete_dropped(&self, lane: &mut Lane<T, K>) -> Vec<K> {
        if !lane.is_claimed() && lane.dropped() > self.completion.done() {
            self.completion.publish(lane.dropped());
        }
        lane.take_watchers(self.completion.done())
    }
}
