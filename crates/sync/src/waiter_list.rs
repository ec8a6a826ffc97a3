//! Who sleeps for a stream: threads that would rather help with a job than sleep on.
//!
//! A thread lists its stream before it looks at the jobs for the last time; whoever makes a job does so before it
//! reads the list. So either the thread sees the job or it is called.

use crate::completion::Completion;
use crate::facade::{Mutex, lock};

pub struct WaiterList<K>(Mutex<Vec<K>>);

impl<K> Default for WaiterList<K> {
    fn default() -> Self {
        WaiterList(Mutex::new(Vec::new()))
    }
}

impl<K: Copy + PartialEq> WaiterList<K> {
    /// Sleeps until a task of the stream is finished, there is something to do, or the time is over.
    pub fn park(&self, stream: K, sleep: impl FnOnce()) {
        lock(&self.0).push(stream);
        sleep();
        let mut awaited = lock(&self.0);
        if let Some(index) = awaited.iter().position(|key| *key == stream) {
            awaited.swap_remove(index);
        }
    }

    /// There is something to do.
    pub fn wake_all<'a>(&self, completion: impl Fn(K) -> &'a Completion) {
        for stream in lock(&self.0).iter() {
            completion(*stream).wake_waiters();
        }
    }
}
