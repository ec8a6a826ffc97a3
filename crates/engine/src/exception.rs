//! Failures of tasks, one by one, for programs that asked to be told of each.
//!
//! A stream remembers only its first failure until a wait returns it. Here they all are, until the
//! interface takes them; nothing is kept while nobody asks.

use crate::keys::StreamPoint;
use crate::machine::Machine;
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
pub(crate) struct Exceptions {
    is_wanted: AtomicBool,
    waiting: Mutex<Vec<Exception>>,
}

impl Machine {
    /// Whether failures of tasks are kept from now on.
    pub fn set_exception_capture(&self, wanted: bool) {
        self.exceptions.is_wanted.store(wanted, Ordering::Relaxed);
    }

    /// The failures since the last time, in the order in which they happened.
    pub fn take_exceptions(&self) -> Vec<Exception> {
        std::mem::take(&mut *lock(&self.exceptions.waiting))
    }

    pub(crate) fn record_exception(&self, at: StreamPoint, code: i32) {
        if !self.exceptions.is_wanted.load(Ordering::Relaxed) {
            return;
        }
        let mut waiting = lock(&self.exceptions.waiting);
        if waiting.len() < MAX_EXCEPTIONS {
            let device = self.streams.slot(at.stream).device();
            waiting.push(Exception { task: at.sequence, stream: at.stream.index() as u32, device, code });
        }
    }
}
