//! The state of the threaded executor: the ready queue, the jobs, and who is parked.
//!
//! What workers do with it is in `workers`.

use crate::executor::job::Job;
use crate::keys::StreamKey;
use crate::thread::LazyThreads;
use crossbeam_queue::ArrayQueue;
use softacl_sync::facade::{AtomicBool, Ordering};
use softacl_sync::wait_queue::WaitQueue;
use softacl_sync::waiter_list::WaiterList;
use std::sync::Arc;

/// Streams that can be ready at once: as many as handles.
const MAX_READY: usize = 1 << 16;
const MAX_JOBS: usize = 256;

pub(crate) struct WorkerPool {
    pub(crate) shared: Arc<Shared>,
    pub(crate) count: usize,
    pub(crate) may_spin: bool,
    pub(crate) threads: LazyThreads,
}

pub(crate) struct Shared {
    pub(crate) ready: ArrayQueue<StreamKey>,
    pub(crate) jobs: ArrayQueue<Arc<Job>>,
    /// Streams that threads of the program sleep for: they help with a job that comes up meanwhile.
    pub(crate) waiters: WaiterList<StreamKey>,
    /// Work is about to come: whoever sleeps had better not.
    pub(crate) wake_requested: AtomicBool,
    pub(crate) wait_queue: WaitQueue,
    pub(crate) stop: AtomicBool,
}

impl WorkerPool {
    pub(crate) fn new(cores: usize) -> WorkerPool {
        WorkerPool {
            shared: Arc::new(Shared {
                ready: ArrayQueue::new(MAX_READY),
                jobs: ArrayQueue::new(MAX_JOBS),
                waiters: WaiterList::default(),
                wake_requested: AtomicBool::new(false),
                wait_queue: WaitQueue::default(),
                stop: AtomicBool::new(false),
            }),
            count: cores.saturating_sub(1).clamp(1, 8),
            may_spin: cores > 1,
            threads: LazyThreads::default(),
        }
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.wait_queue.wake_all();
    }
}
