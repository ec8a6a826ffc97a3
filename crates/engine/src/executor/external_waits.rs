//! The external waits of a machine: the streams that have arrived at one, and the thread that polls them. How they are
//! polled is in `polling`.

use crate::keys::StreamKey;
use crate::task::external_wait::ExternalWait;
use crate::thread::LazyThreads;
use softacl_sync::facade::{AtomicBool, AtomicUsize, Mutex, Ordering};
use softacl_sync::wait_queue::WaitQueue;
use std::sync::{Arc, Weak};

/// All streams at an external wait, and their polling thread.
#[derive(Default)]
pub(crate) struct ExternalWaits {
    pub(crate) shared: Arc<Shared>,
    pub(crate) threads: LazyThreads,
}

/// What the polling thread shares with the machine. It must not keep the machine alive.
#[derive(Default)]
pub(crate) struct Shared {
    /// Streams that have arrived at a wait. Dropped waits are removed by the next poll.
    pub(crate) waits: Mutex<Vec<(StreamKey, Weak<ExternalWait>)>>,
    /// Number of waits. May lag behind.
    pub(crate) count: AtomicUsize,
    pub(crate) wait_queue: WaitQueue,
    pub(crate) stop: AtomicBool,
}

impl Drop for ExternalWaits {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.wait_queue.wake_all();
    }
}
