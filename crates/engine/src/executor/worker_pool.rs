//! State of the threaded executor: the ready queue, the jobs, and the parked threads. How workers use it is in
//! `workers`.

use crate::executor::job::Job;
use crate::keys::StreamKey;
use crate::thread::LazyThreads;
use crossbeam_queue::ArrayQueue;
use softacl_sync::facade::{AtomicBool, Ordering};
use softacl_sync::wait_queue::WaitQueue;
use softacl_sync::waiter_list::WaiterList;
use std::sync::Arc;

/// Maximum number of ready streams: one per handle.
const MAX_READY: usize = 1 << 16;
/// Maximum number of references to jobs in the queue.
const MAX_JOBS: usize = 256;

/// The threaded executor.
pub(crate) struct WorkerPool {
    pub(crate) shared: Arc<Shared>,
    pub(crate) count: usize,
    pub(crate) may_spin: bool,
    pub(crate) threads: LazyThreads,
}

/// What the workers share with the machine. It must not keep the machine alive.
pub(crate) struct Shared {
    pub(crate) ready: ArrayQueue<StreamKey>,
    pub(crate) jobs: ArrayQueue<Arc<Job>>,
    /// Streams that parked threads of the program wait for. Those threads are woken to help with a job.
    pub(crate) waiters: WaiterList<StreamKey>,
    /// Set when work is about to be queued, so that workers do not park.
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
