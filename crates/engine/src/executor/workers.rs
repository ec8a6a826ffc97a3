//! The threaded executor: worker threads, and waiting threads that execute tasks.
//!
//! There is no thread per stream. A ready stream is in the ready queue once; a worker takes it and runs it. A waiting
//! thread runs the stream itself instead of waking a worker, and follows event waits to the streams they depend on.
//! Workers are started with the first ready stream. Without work they spin briefly, then park.

use crate::executor::defer::DeferGuard;
use crate::executor::job::Job;
use crate::executor::run::{Limit, StopReason};
use crate::executor::worker_pool::{Shared, WorkerPool};
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::observer::BlockedOn;
use crate::stream::Stream;
use crate::task::Task;
use crate::task::moves::Move;
use softacl_memory::bytes::AccessFault;
use softacl_sync::facade::{Ordering, lock, spin_loop, thread_local};
use softacl_sync::lane::Readiness;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a thread spins before it parks. Measured: waking a parked thread costs 20 to 50 us, so spinning is cheaper
/// up to about that time.
const SPIN_TIME: Duration = Duration::from_micros(40);
/// Tests of the condition between two reads of the clock.
const SPINS_PER_CLOCK_READ: usize = if cfg!(shuttle) { 2 } else { 64 };
/// Longest copy that waits for more copies while the queue grows. A worker that took such copies one by one would
/// compete with the submitting thread for the lane lock.
const COALESCE_MAX_LEN: usize = 2 << 10;
/// Queue length at which a worker stops waiting for more small copies.
const COALESCE_TASKS: u64 = 256;
/// How often a worker checks whether a queue grows, and how long it lets it grow.
const COALESCE_POLL: Duration = Duration::from_micros(3);
const COALESCE_MAX_WAIT: Duration = Duration::from_micros(100);
/// How often a parked waiter rechecks external waits.
const PARK_RECHECK: Duration = Duration::from_millis(100);
/// How often a waiting thread rechecks if no worker could be started.
const RECHECK_WITHOUT_WORKERS: Duration = Duration::from_millis(1);
/// Maximum number of streams that a waiting thread follows through event waits before it leaves the rest to the
/// workers.
const MAX_DEPTH: usize = 64;

impl WorkerPool {
    /// Puts a stream into the ready queue and wakes a worker.
    pub(crate) fn enqueue_ready(&self, machine: &Machine, key: StreamKey) {
        if !self.start(machine) {
            return self.run_without_workers(machine, key);
        }
        // The queue has room for every handle, and a stream is in it once. If it is full nevertheless, this thread does
        // the work, so that no stream is lost.
        match self.shared.ready.push(key) {
            Ok(()) => self.shared.wait_queue.wake_one(),
            Err(key) => self.shared.run_ready_stream(machine, key, false),
        }
    }

    /// Wakes a worker before its work is queued, because waking takes as long as a lot of work does.
    pub(crate) fn wake_early(&self, machine: &Machine) {
        if self.may_spin {
            self.start(machine);
            self.shared.wake_requested.store(true, Ordering::Release);
            self.shared.wait_queue.wake_one();
        }
    }

    /// Runs a job together with idle threads. Returns when it is done.
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

    /// Waits until a stream reaches a point, and runs tasks until then. Returns `false` if `deadline` expires first.
    pub(crate) fn wait(&self, machine: &Machine, point: StreamPoint, deadline: Option<Instant>) -> bool {
        let completion = &machine.streams.slot(point.stream).tasks.completion;
        if self.threads.is_empty() || machine.external_waits.lacks_poller() {
            return self.wait_without_workers(machine, point, deadline);
        }
        if deadline.is_some() {
            // A thread with a deadline must not start work of unknown length. An inline copy has its number before it
            // is done and wakes no waiter, but its thread holds the lane lock until then. Taking the lock once
            // therefore waits for it.
            drop(lock(&machine.streams.slot(point.stream).tasks.lane));
            let _blocked = machine.block(BlockedOn::Point(point.into()), deadline);
            return completion.sleep_until(point.sequence, deadline);
        }
        let mut blocked = None;
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
                    // The job may have more units. Offer it to other threads too, and check the point of this wait
                    // first.
                    let _ = self.shared.jobs.push(job);
                }
                continue;
            }
            let aimed = &machine.streams.slot(aim.stream).tasks.completion;
            let seen = aimed.done();
            let is_met = || {
                completion.done() >= point.sequence
                    || aimed.done() != seen
                    || !self.shared.jobs.is_empty()
                    || machine.is_front_met(aim.stream)
            };
            if !self.spin(is_met) {
                blocked.get_or_insert_with(|| machine.block(BlockedOn::Point(point.into()), None));
                self.park(machine, point);
            }
        }
    }

    /// Parks until the point is reached or a job needs help. Wakes periodically, because external waits must be
    /// rechecked if their polling thread could not be started.
    fn park(&self, machine: &Machine, point: StreamPoint) {
        let completion = &machine.streams.slot(point.stream).tasks.completion;
        self.shared.waiters.park(point.stream, || {
            completion.wait_or(point.sequence, Instant::now() + PARK_RECHECK, || !self.shared.jobs.is_empty());
        });
    }

    /// Runs what must run before a point, following event waits into other streams. The error is the point that another
    /// thread is working on.
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

    /// Runs ready work on the calling thread. Used when no worker thread could be started, because the program may
    /// depend on progress without calling again.
    #[cold]
    fn run_without_workers(&self, machine: &Machine, key: StreamKey) {
        if let Err(key) = self.shared.ready.push(key) {
            return self.shared.run_ready_stream(machine, key, false);
        }
        self.drain_ready(machine);
    }

    /// Runs what was queued while a `DeferGuard` was active, if there are no workers to do it.
    pub(crate) fn run_deferred(&self, machine: &Machine) {
        if self.threads.is_empty() {
            self.drain_ready(machine);
        }
    }

    /// Runs ready work on this thread, unless this thread is already doing so or defers it.
    fn drain_ready(&self, machine: &Machine) {
        thread_local! {
            /// Set while this thread runs ready work. What becomes ready in that time is left to the running loop.
            static IS_WORKING: Cell<bool> = const { Cell::new(false) };
        }
        if !DeferGuard::is_active() && !IS_WORKING.with(|is_working| is_working.replace(true)) {
            self.shared.run_pending(machine, false);
            IS_WORKING.with(|is_working| is_working.set(false));
        }
    }

    /// Starts the workers on first use. Returns `false` if no worker is running.
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

    /// Called when the program polls a point that is not reached. Without workers, polling is what makes progress.
    #[cold]
    pub(crate) fn poll(&self, machine: &Machine, point: StreamPoint) {
        if self.threads.is_empty() {
            machine.poll_external_waits();
            let _ = self.run_towards(machine, point);
        }
    }

    /// Waits with the work done on this thread, because no worker is running. Returns late if a task takes longer than
    /// the deadline.
    #[cold]
    fn wait_without_workers(&self, machine: &Machine, point: StreamPoint, deadline: Option<Instant>) -> bool {
        let completion = &machine.streams.slot(point.stream).tasks.completion;
        let mut blocked = None;
        loop {
            machine.poll_external_waits();
            let _ = self.run_towards(machine, point);
            if completion.done() >= point.sequence {
                return true;
            }
            blocked.get_or_insert_with(|| machine.block(BlockedOn::Point(point.into()), deadline));
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
    /// True if a stream is ready, a job is queued, a wake-up was requested, or the machine ends.
    fn has_work(&self) -> bool {
        !self.ready.is_empty()
            || !self.jobs.is_empty()
            || self.wake_requested.load(Ordering::Acquire)
            || self.stop.load(Ordering::Acquire)
    }

    /// Waits for work. Returns `false` if the machine has ended.
    fn next(&self, may_spin: bool) -> bool {
        if !(may_spin && spin(|| self.has_work())) {
            self.wait_queue.wait_until(None, || self.has_work());
        }
        !self.stop.load(Ordering::Acquire)
    }

    /// Runs queued jobs and ready streams until both queues are empty.
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

    /// Runs one turn of a ready stream. The rest goes to the end of the ready queue, so that a small copy of another
    /// stream does not wait behind a long queue.
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
            // No wake-up: this worker returns to the queue.
            if !is_ready || self.ready.push(key).is_ok() {
                return;
            }
        }
    }
}

/// Lets a queue of small copies grow before claiming it.
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

/// Tests a condition for at most `SPIN_TIME`. Returns `false` if it was never met.
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
