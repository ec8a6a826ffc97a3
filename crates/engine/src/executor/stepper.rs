//! State of the stepped executor: ready streams, the random choices, and the queues of its waiting threads. How it
//! steps is in `steps`.

use crate::executor::clock::{Timing, VirtualClock};
use crate::executor::decisions::{Decisions, Replay};
use crate::executor::worker_pool::WorkerPool;
use crate::keys::StreamKey;
use crate::schedule::Schedule;
use crate::thread::LazyThreads;
use softacl_sync::facade::{AtomicBool, AtomicU64, Mutex, Ordering};
use softacl_sync::wait_queue::WaitQueue;
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::Duration;

/// The stepped executor.
pub(crate) struct Stepper {
    pub(crate) schedule: Schedule,
    /// Time without a call after which the progress thread runs ready work.
    pub(crate) progress_timeout: Duration,
    pub(crate) choices: Mutex<Choices>,
    pub(crate) waiters: WaitQueue,
    /// Where the progress thread is parked while the program is idle. Waking it for every call would cost more than the
    /// call.
    pub(crate) idle_wait: WaitQueue,
    /// Where the progress thread waits while the program makes calls. Woken only by `stop`.
    pub(crate) active_wait: WaitQueue,
    pub(crate) helpers: WorkerPool,
    /// Counts everything that may let a waiting thread continue.
    pub(crate) changes: AtomicU64,
    /// Counts the calls of the program that reach this executor.
    pub(crate) calls: AtomicU64,
    pub(crate) progress_thread: LazyThreads,
    pub(crate) stop: AtomicBool,
    /// The order that is replayed, if any.
    pub(crate) replayed: Option<Replayed>,
    /// The virtual clock that decides, if any.
    pub(crate) clock: Option<VirtualClock>,
}

/// State of a replayed order.
pub(crate) struct Replayed {
    pub(crate) decisions: Mutex<Decisions>,
    /// Held by the thread that runs tasks: the host, or the progress thread.
    pub(crate) turn: Mutex<()>,
    /// The thread of the program that makes calls. The order controls no other.
    pub(crate) host: OnceLock<ThreadId>,
}

/// What the schedule chooses from.
pub(crate) struct Choices {
    pub(crate) random: fastrand::Rng,
    /// The ready queue: streams that no thread has taken yet.
    pub(crate) ready: Vec<StreamKey>,
}

impl Stepper {
    pub(crate) fn new(
        schedule: Schedule,
        progress_timeout: Duration,
        cores: usize,
        replay: Option<&Arc<Replay>>,
        timing: Option<(&Timing, &str)>,
    ) -> Stepper {
        let seed = match schedule {
            Schedule::Random(seed) => seed,
            _ => 0,
        };
        Stepper {
            schedule,
            progress_timeout,
            choices: Mutex::new(Choices { random: fastrand::Rng::with_seed(seed), ready: Vec::new() }),
            waiters: WaitQueue::default(),
            idle_wait: WaitQueue::default(),
            active_wait: WaitQueue::default(),
            helpers: WorkerPool::new(cores),
            changes: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            progress_thread: LazyThreads::default(),
            stop: AtomicBool::new(false),
            replayed: replay.map(|replay| Replayed {
                decisions: Mutex::new(Decisions::new(Arc::clone(replay))),
                turn: Mutex::new(()),
                host: OnceLock::new(),
            }),
            clock: timing.map(|(timing, soc)| VirtualClock::new(timing.clone(), soc)),
        }
    }

    /// Wakes every thread that may wait for progress.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
        self.waiters.wake_all();
    }

    /// Ends the progress thread. Called when the machine is dropped.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.changed();
        self.idle_wait.wake_all();
        self.active_wait.wake_all();
    }
}
