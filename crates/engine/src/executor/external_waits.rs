//! Streams that stand at an external wait, and the thread that polls them. What polling does is in `polling`.

use crate::keys::StreamKey;
use crate::task::external_wait::ExternalWait;
use crate::thread::LazyThreads;
use softacl_sync::facade::{AtomicBool, AtomicUsize, Mutex, Ordering};
use softacl_sync::wait_queue::WaitQueue;
use std::sync::{Arc, Weak};

#[derive(Default)]
pub(crate) struct ExternalWaits {
    pub(crate) shared: Arc<Shared>,
    pub(crate) threads: LazyThreads,
}

#[derive(Default)]
pub(crate) struct Shared {
    /// Streams that stand at a wait. A wait that was dropped is not there any more.
    pub(crate) waits: Mutex<Vec<(StreamKey, Weak<ExternalWait>)>>,
    /// How many there are; may lag behind.
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
