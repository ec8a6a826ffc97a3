//! Exceptions: failed tasks, recorded one by one for programs that enable it.
//!
//! A stream keeps only its first failure until a wait returns it. This list has all of them until the C API takes them.
//! Nothing is recorded while recording is disabled.

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

/// Maximum number of exceptions that are kept. Later ones are dropped.
const MAX_EXCEPTIONS: usize = 1024;

/// Failed tasks that the C API has not taken yet.
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

    /// Records a failed task of a stream of `device`, if recording is enabled.
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
