//! The threaded driver: worker threads, and the threads that wait.
//!
//! There is no thread per stream. A stream with news stands once in `ready`; a worker takes it up
//! and runs it. A thread that waits runs the stream itself instead of waking anybody, and follows
//! event waits to the streams they depend on. Workers start with the first news, spin a little when
//! they run dry, then sleep.

use super::job::Job;
use super::{Limit, Stop};
use crate::bytes::Fault;
use crate::machine::Machine;
use crate::stream::bell::Bell;
use crate::stream::lane::Readiness;
use crate::stream::{StreamKey, StreamPoint};
use crate::sync::lock;
use crossbeam_queue::ArrayQueue;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// Streams that can have news at once: as many as handles.
const READY: usize = 1 << 16;
const JOBS: usize = 256;
/// Measured: waking a sleeping thread costs 20 to 50 us, so that is how long looking again is cheaper.
const SPIN: Duration = Duration::from_micros(40);
/// A worker leaves a stream after so many tasks, so that others get their turn.
const TURN: usize = 256;
/// Streams that a waiting thread follows through event waits before it leaves it to the workers.
const MAX_DEPTH: usize = 64;

pub(crate) struct Workers {
    shared: Arc<Shared>,
    count: usize,
    may_spin: bool,
    start: Once,
}

struct Shared {
    ready: ArrayQueue<StreamKey>,
    jobs: ArrayQueue<Arc<Job>>,
    bell: Bell,
    stop: AtomicBool,
}

impl Workers {
    pub(crate) fn new(cores: usize) -> Workers {
        Workers {
            shared: Arc::new(Shared {
                ready: ArrayQueue::new(READY),
                jobs: ArrayQueue::new(JOBS),
                bell: Bell::default(),
                stop: AtomicBool::new(false),
            }),
            count: cores.saturating_sub(1).clamp(1, 8),
            may_spin: cores > 1,
            start: Once::new(),
        }
    }

    /// A stream has news.
    pub(crate) fn announce(&self, machine: &Machine, key: StreamKey) {
        self.start(machine);
        // The queue has room for every handle and a stream stands in it once; should it be full all
        // the same, the announcing thread does the work, so that nothing is ever left lying.
        match self.shared.ready.push(key) {
            Ok(()) => self.shared.bell.ring_one(),
            Err(key) => take_up(machine, key),
        }
    }

    /// Runs a job with whoever has time, and returns when it is done.
    pub(crate) fn share(&self, machine: &Machine, job: Job) -> Result<(), Fault> {
        self.start(machine);
        let job = Arc::new(job);
        for _ in 0..self.count {
            if self.shared.jobs.push(Arc::clone(&job)).is_ok() {
                self.shared.bell.ring_one();
            }
        }
        job.complete()
    }

    pub(crate) fn wait(&self, machine: &Machine, point: StreamPoint, deadline: Option<Instant>, depth: usize) -> bool {
        let completion = &machine.streams.slot(point.stream).track.completion;
        loop {
            if completion.done() >= point.sequence {
                return true;
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return false;
            }
            let limit = Limit { until: point.sequence, tasks: usize::MAX, deadline };
            match machine.run(point.stream, limit) {
                Stop::Limit | Stop::Empty => {}
                Stop::Blocked(Readiness::After(earlier)) if depth < MAX_DEPTH => {
                    if !self.wait(machine, earlier, deadline, depth + 1) {
                        return false;
                    }
                }
                Stop::Busy | Stop::Blocked(_) => {
                    if let Some(job) = self.shared.jobs.pop() {
                        job.help();
                        continue;
                    }
                    if !self.spin(|| completion.done() >= point.sequence || !self.shared.jobs.is_empty()) {
                        return completion.sleep_until(point.sequence, deadline);
                    }
                }
            }
        }
    }

    fn spin(&self, met: impl Fn() -> bool) -> bool {
        self.may_spin && spin(met)
    }

    fn start(&self, machine: &Machine) {
        self.start.call_once(|| {
            for number in 0..self.count {
                let (shared, weak, may_spin) = (Arc::clone(&self.shared), machine.weak(), self.may_spin);
                let run = move || {
                    while shared.next(may_spin) {
                        let Some(machine) = weak.upgrade() else { return };
                        shared.work(&machine);
                    }
                };
                // Without a worker the waiting threads still do all the work, only later.
                let spawned = std::thread::Builder::new().name(format!("softacl-{number}")).spawn(run);
                if let Err(error) = spawned {
                    eprintln!("softacl: could not start worker thread {number}: {error}");
                }
            }
        });
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.bell.ring();
    }
}

impl Shared {
    fn has_news(&self) -> bool {
        !self.ready.is_empty() || !self.jobs.is_empty() || self.stop.load(Ordering::Acquire)
    }

    /// Waits for something to do. `false`: the machine is gone.
    fn next(&self, may_spin: bool) -> bool {
        if !(may_spin && spin(|| self.has_news())) {
            self.bell.sleep_until(None, || self.has_news());
        }
        !self.stop.load(Ordering::Acquire)
    }

    /// Does what there is.
    fn work(&self, machine: &Machine) {
        loop {
            if let Some(job) = self.jobs.pop() {
                job.help();
            } else if let Some(key) = self.ready.pop() {
                take_up(machine, key);
            } else {
                return;
            }
        }
    }
}

fn take_up(machine: &Machine, key: StreamKey) {
    lock(&machine.streams.slot(key).track.lane).unlist();
    machine.run(key, Limit { until: u64::MAX, tasks: TURN, deadline: None });
}

fn spin(met: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..64 {
            if met() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > SPIN {
            return false;
        }
    }
}
