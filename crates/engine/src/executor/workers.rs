//! The threaded driver: worker threads, and the threads that wait.
//!
//! There is no thread per stream. A stream with news stands once in `ready`; a worker takes it up
//! and runs it. A thread that waits runs the stream itself instead of waking anybody, and follows
//! event waits to the streams they depend on. Workers start with the first news, spin a little when
//! they run dry, then sleep.

use crate::executor::defer::DeferGuard;
use crate::executor::job::Job;
use crate::executor::run::{Limit, StopReason};
use crate::executor::worker_pool::{Shared, WorkerPool};
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::stream::Stream;
use crate::task::Task;
use crate::task::moves::Move;
use softacl_memory::bytes::AccessFault;
use softacl_sync::facade::{Ordering, lock, spin_loop, thread_local};
use softacl_sync::lane::Readiness;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Measured: waking a sleeping thread costs 20 to 50 us, so that is how long looking again is cheaper.
const SPIN_TIME: Duration = Duration::from_micros(40);
/// Looks between two looks at the clock.
const SPINS_PER_CLOCK_READ: usize = if cfg!(shuttle) { 2 } else { 64 };
/// Copies up to this length that are still being queued are left to ripen: a worker that takes them
/// one by one would fight the submitting thread for the lane's lock.
const COALESCE_MAX_LEN: usize = 2 << 10;
/// So many tasks are ripe.
const COALESCE_TASKS: u64 = 256;
/// How often a worker looks whether a queue grows, and how long it lets it grow.
const COALESCE_POLL: Duration = Duration::from_micros(3);
const COALESCE_MAX_WAIT: Duration = Duration::from_micros(100);
/// How often a thread that sleeps looks whether it should do more than that.
const PARK_RECHECK: Duration = Duration::from_millis(100);
/// How often a thread that waits alone looks again.
const RECHECK_WITHOUT_WORKERS: Duration = Duration::from_millis(1);
/// Streams that a waiting thread follows through event waits before it leaves it to the workers.
const MAX_DEPTH: usize = 64;

impl WorkerPool {
    /// A stream has news.
    pub(crate) fn enqueue_ready(&self, machine: &Machine, key: StreamKey) {
        if !self.start(machine) {
            return self.run_without_workers(machine, key);
        }
        // The queue has room for every handle and a stream stands in it once; should it be full all
        // the same, the announcing thread does the work, so that nothing is ever left lying.
        match self.shared.ready.push(key) {
            Ok(()) => self.shared.wait_queue.wake_one(),
            Err(key) => self.shared.run_ready_stream(machine, key, false),
        }
    }

    /// Wakes a worker before there is work, because waking takes as long as much work does.
    pub(crate) fn wake_early(&self, machine: &Machine) {
        if self.may_spin {
            self.start(machine);
            self.shared.wake_requested.store(true, Ordering::Release);
            self.shared.wait_queue.wake_one();
        }
    }

    /// Runs a job with whoever has time, and returns when it is done.
    pub(crate) fn share(&self, machine: &Machine, job: Job) -> Result<(), AccessFault> {
        self.start(machine);
        let job = Arc::new(job);
        for _ in 0..self.count {
            if self.shared.jobs.push(Arc::clone(&job)).is_ok() {
                self.shared.wait_queue.wake_one();
            }
        }
        self.shared.waiters.wake_all(|key| &machine.streams.slot(key).tasks.completion);
        job.run_to_completion()
    }

    pub(crate) fn wait(&self, machine: &Machine, point: StreamPoint, deadline: Option<Instant>) -> bool {
        let completion = &machine.streams.slot(point.stream).tasks.completion;
        if self.threads.is_empty() || machine.external_waits.lacks_poller() {
            return self.wait_without_workers(machine, point, deadline);
        }
        if deadline.is_some() {
            // A thread that must be back in time cannot start work of unknown length. What is done on the spot has its
            // number before it is done, and wakes nobody: whoever does it has the lane meanwhile.
            drop(lock(&machine.streams.slot(point.stream).tasks.lane));
            return completion.sleep_until(point.sequence, deadline);
        }
        loop {
            if completion.done() >= point.sequence {
                return true;
            }
            if machine.external_waits.lacks_poller() {
                return self.wait_without_workers(machine, point, None);
            }
            let Err(aim) = self.run_towards(machine, point) else { continue };
            if let Some(job) = self.shared.jobs.pop() {
                if job.run_unit() {
                    // There may be more of it: leave it to others too, and look at our own point first.
                    let _ = self.shared.jobs.push(job);
                }
                continue;
            }
            let aimed = &machine.streams.slot(aim.stream).tasks.completion;
            let seen = aimed.done();
            let is_met = || completion.done() >= point.sequence || aimed.done() != seen || !self.shared.jobs.is_empty();
            if !self.spin(is_met) {
                self.park(machine, point);
            }
        }
    }

    /// Sleeps until the point is reached or there is a job to help with. Looks up now and then: somebody
    /// has to when the thread that looks after waits for the outside could not be started.
    fn park(&self, machine: &Machine, point: StreamPoint) {
        let completion = &machine.streams.slot(point.stream).tasks.completion;
        self.shared.waiters.park(point.stream, || {
            completion.wait_or(point.sequence, Instant::now() + PARK_RECHECK, || !self.shared.jobs.is_empty());
        });
    }

    /// Runs what stands before a point, following event waits into other streams. The error is the
    /// point that somebody else is working on.
    fn run_towards(&self, machine: &Machine, point: StreamPoint) -> Result<(), StreamPoint> {
        let mut aim = point;
        for _ in 0..MAX_DEPTH {
            match machine.run(aim.stream, Limit::until(aim.sequence)) {
                StopReason::Limit | StopReason::Empty => return Ok(()),
                StopReason::Blocked(Readiness::After(earlier)) => aim = earlier,
                StopReason::Busy | StopReason::Blocked(_) => return Err(aim),
            }
        }
        Err(aim)
    }

    fn spin(&self, is_met: impl Fn() -> bool) -> bool {
        self.may_spin && spin(is_met)
    }

    /// Does what is ready here and now: there is no worker, and the program may wait for it without a call.
    #[cold]
    fn run_without_workers(&self, machine: &Machine, key: StreamKey) {
        if let Err(key) = self.shared.ready.push(key) {
            return self.shared.run_ready_stream(machine, key, false);
        }
        self.drain_ready(machine);
    }

    /// What was announced under a lock can be done now, if there is nobody else to do it.
    pub(crate) fn run_deferred(&self, machine: &Machine) {
        if self.threads.is_empty() {
            self.drain_ready(machine);
        }
    }

    fn drain_ready(&self, machine: &Machine) {
        thread_local! {
            /// What becomes ready meanwhile is left to the loop that runs already.
            static IS_WORKING: Cell<bool> = const { Cell::new(false) };
        }
        if !DeferGuard::is_active() && !IS_WORKING.with(|is_working| is_working.replace(true)) {
            self.shared.run_pending(machine, false);
            IS_WORKING.with(|is_working| is_working.set(false));
        }
    }

    /// `false`: there is no worker.
    fn start(&self, machine: &Machine) -> bool {
        self.threads.ensure_started(self.count, |number| {
            let (shared, weak, may_spin) = (Arc::clone(&self.shared), machine.weak(), self.may_spin);
            crate::thread::start(format!("softacl-worker-{number}"), move || {
                if !may_spin {
                    crate::thread::yield_to_others();
                }
                while shared.next(may_spin) {
                    let Some(machine) = weak.upgrade() else { return };
                    shared.run_pending(&machine, may_spin);
                }
            })
        })
    }

    /// The program asks whether a stream has come to a point that it has not come to. Without a worker
    /// the asking is what makes it go.
    #[cold]
    pub(crate) fn poll(&self, machine: &Machine, point: StreamPoint) {
        if self.threads.is_empty() {
            machine.poll_external_waits();
            let _ = self.run_towards(machine, point);
        }
    }

    /// A wait with a deadline when there is no worker: does the work here, and is late when a task is long.
    #[cold]
    fn wait_without_workers(&self, machine: &Machine, point: StreamPoint, deadline: Option<Instant>) -> bool {
        let completion = &machine.streams.slot(point.stream).tasks.completion;
        loop {
            machine.poll_external_waits();
            let _ = self.run_towards(machine, point);
            let recheck = Instant::now() + RECHECK_WITHOUT_WORKERS;
            let until = deadline.map_or(recheck, |deadline| deadline.min(recheck));
            if completion.sleep_until(point.sequence, Some(until)) {
                return true;
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return false;
            }
        }
    }
}

impl Shared {
    fn has_work(&self) -> bool {
        !self.ready.is_empty()
            || !self.jobs.is_empty()
            || self.wake_requested.load(Ordering::Acquire)
            || self.stop.load(Ordering::Acquire)
    }

    /// Waits for something to do. `false`: the machine is gone.
    fn next(&self, may_spin: bool) -> bool {
        if !(may_spin && spin(|| self.has_work())) {
            self.wait_queue.wait_until(None, || self.has_work());
        }
        !self.stop.load(Ordering::Acquire)
    }

    /// Does what there is.
    fn run_pending(&self, machine: &Machine, may_spin: bool) {
        if self.wake_requested.load(Ordering::Relaxed) {
            self.wake_requested.store(false, Ordering::Relaxed);
        }
        loop {
            if let Some(job) = self.jobs.pop() {
                job.run_units();
            } else if let Some(key) = self.ready.pop() {
                self.run_ready_stream(machine, key, may_spin);
            } else {
                return;
            }
        }
    }

    /// Runs a part of a stream that has news. More of it goes to the end of the row, so that a small
    /// copy of another stream does not wait behind a long queue.
    fn run_ready_stream(&self, machine: &Machine, key: StreamKey, may_spin: bool) {
        let stream = machine.streams.slot(key);
        let mut lane = lock(&stream.tasks.lane);
        if may_spin && lane.ends(|task| matches!(task, Task::Move(Move::Copy(span)) if span.len <= COALESCE_MAX_LEN)) {
            drop(lane);
            coalesce_small_copies(stream);
            lane = lock(&stream.tasks.lane);
        }
        lane.clear_ready();
        drop(lane);
        while machine.advance(key, Limit::TURN) == StopReason::Limit {
            let is_ready = lock(&stream.tasks.lane).mark_ready();
            // Nobody needs to be woken: this worker comes back to it.
            if !is_ready || self.ready.push(key).is_ok() {
                return;
            }
        }
    }
}

/// Waits while a stream's queue of small copies grows, until it is worth a claim.
fn coalesce_small_copies(stream: &Stream) {
    if cfg!(shuttle) {
        return;
    }
    let start = Instant::now();
    let mut last_poll = start;
    let mut newest = stream.newest();
    while newest - stream.tasks.completion.done().min(newest) < COALESCE_TASKS {
        while last_poll.elapsed() < COALESCE_POLL {
            spin_loop();
        }
        last_poll = Instant::now();
        let grown = stream.newest();
        if grown == newest || last_poll - start > COALESCE_MAX_WAIT {
            return;
        }
        newest = grown;
    }
}

fn spin(is_met: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..SPINS_PER_CLOCK_READ {
            if is_met() {
                return true;
            }
            spin_loop();
        }
        if start.elapsed() > SPIN_TIME || cfg!(shuttle) {
            return false;
        }
    }
}
