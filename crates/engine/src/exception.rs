//! Failures of tasks, one by one, for programs that asked to be told of each.
//!
//! A stream remembers only its first failure until a wait returns it. Here they all are, until the
//! interface takes them; nothing is kept while nobody asks.

use crate::keys::StreamPoint;
use softacl_sync::facade::{AtomicBool, Mutex, Ordering, lock};

/// A task that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exception {
    pub task: u64,
    pub stream: u32,
    pub device: u32,
    pub code: i32,
}

/// Failures that are kept until they are told; later ones are not.
const MAX_EXCEPTIONS: usize = 1024;

#[derive(Default)]
pub struct Exceptions {
    is_enabled: AtomicBool,
    pending: Mutex<Vec<Exception>>,
}

impl Exceptions {
    /// Switches the recording of failed tasks on or off.
    pub fn set_capture(&self, enabled: bool) {
        self.is_enabled.store(enabled, Ordering::Relaxed);
    }

    /// Returns the failures since the last call, in the order in which they happened.
    pub fn take(&self) -> Vec<Exception> {
        std::mem::take(&mut *lock(&self.pending))
    }

    /// Records a failed task of a stream of `device`, if the program asked for that.
    pub(crate) fn record(&self, at: StreamPoint, device: u32, code: i32) {
        if !self.is_enabled.load(Ordering::Relaxed) {
            return;
        }
        let mut pending = lock(&self.pending);
        if pending.len() < MAX_EXCEPTIONS {
            pending.push(Exception { task: at.sequence, stream: at.stream.index() as u32, device, code });
        }
    }
}
