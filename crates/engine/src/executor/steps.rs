//! The stepped executor: one task at a time, where a schedule requires it.
//!
//! No worker makes decisions. Tasks run inside the calls of the program: after a submit, in a poll, in a wait. Helpers
//! copy parts of a very large copy while the call waits for them. The same program with the same seed therefore does
//! the same every time, and a schedule can be as adverse as the documented semantics allow.
//!
//! - `early`: everything as soon as it is ready.
//! - `late`: nothing until a wait needs it, and then only what that wait needs. A program that polls is deferred a
//!   bounded number of times.
//! - `random:SEED`: legal choices drawn from the seed; entries of a batch in random order.
//! - `replay:FILE`: the order of a file; `replay` decides.
//! - with a virtual clock: the order of its time; `timed` decides.
//!
//! A program may depend on progress without making calls, for example while it waits for a host function. The progress
//! thread detects that work is ready although no call was made for a while, and runs it.

use crate::executor::clock::VirtualClock;
use crate::executor::defer::DeferGuard;
use crate::executor::job::Job;
use crate::executor::run::{Limit, StopReason};
use crate::executor::stepper::Stepper;
use crate::executor::timed::{Functions, Stepped};
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::observer::BlockedOn;
use crate::schedule::Schedule;
use softacl_memory::bytes::{self, AccessFault, CachePolicy, Span};
use softacl_sync::facade::{Ordering, lock};
use softacl_sync::lane::Readiness;
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// Polls that find a stream busy before `late` runs it.
const MAX_DEFERRED_POLLS: u32 = 16;
/// Minimum length of a copy that is worth waking a helper, which takes as long as copying half a MiB or more.
const SHARE_MIN_LEN: usize = 4 << 20;
/// How often the progress thread checks for calls within the progress timeout.
const CHECKS_PER_TIMEOUT: u32 = 5;
/// Maximum number of streams that a wait is followed through.
const MAX_HOPS: usize = 4096;

impl Stepper {
    /// Puts a stream into the ready queue. The caller runs it, or hands it to the progress thread.
    pub(crate) fn enqueue_ready(&self, key: StreamKey) {
        if let Some(clock) = &self.clock {
            clock.enqueue_ready(key);
            self.changed();
            self.idle_wait.wake_all();
            return;
        }
        if self.replayed.is_some() {
            // An order is made from the streams that can run, not from those that were marked.
            lock(&self.choices).ready.clear();
            self.changed();
            return;
        }
        lock(&self.choices).ready.push(key);
        self.changed();
        self.idle_wait.wake_all();
    }

    /// Leaves ready work to the progress thread. Programs that never leave any have no such thread: even a parked
    /// thread makes every change of page protection more expensive, because it could be running on another core.
    pub(crate) fn hand_to_progress_thread(self: &Arc<Self>, machine: &Machine) {
        if self.progress_thread.is_empty() && self.has_ready_work() {
            self.progress_thread.ensure_started(1, |_| self.start_progress_thread(machine));
        }
    }

    fn has_ready_work(&self) -> bool {
        self.clock.as_ref().map_or_else(|| !lock(&self.choices).ready.is_empty(), VirtualClock::has_events)
    }

    /// Copies one range on this thread. Helpers take part if it is very large.
    pub(crate) fn copy(&self, machine: &Machine, span: Span, cache_policy: CachePolicy) -> Result<(), AccessFault> {
        if span.len < SHARE_MIN_LEN {
            // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
            return unsafe { bytes::copy_as(span, cache_policy) };
        }
        self.helpers.share(machine, Job::one(span, cache_policy))
    }

    /// Runs what the schedule chooses after a submit.
    pub(crate) fn after_submit(self: &Arc<Self>, machine: &Machine) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match self.schedule {
            _ if DeferGuard::is_active() => {}
            Schedule::Early => while self.step_any(machine) {},
            Schedule::Random(_) => while self.coin() && self.step_any(machine) {},
            Schedule::Timed => self.clock.iter().for_each(|clock| self.catch_up(machine, clock)),
            Schedule::Late | Schedule::Threads | Schedule::Replay => {}
        }
        self.hand_to_progress_thread(machine);
    }

    /// Called when the program polls a point. May run a task, so that polling programs make progress.
    pub(crate) fn poll(self: &Arc<Self>, machine: &Machine, point: StreamPoint) {
        let stream = machine.streams.slot(point.stream);
        if let Some(replayed) = &self.replayed {
            self.replay_poll(machine, replayed, point);
            return;
        }
        if let Some(clock) = &self.clock {
            self.timed_poll(machine, clock);
            return;
        }
        if stream.tasks.completion.done() >= point.sequence {
            // Not counted as a call: the program may poll this point while it waits for something else.
            stream.polls.store(0, Ordering::Relaxed);
            return;
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        let polls = stream.polls.fetch_add(1, Ordering::Relaxed);
        match self.schedule {
            Schedule::Late if polls < MAX_DEFERRED_POLLS => {}
            Schedule::Late => {
                // What this stream waits for may in turn wait for another stream.
                if !self.step_towards(machine, point) {
                    self.step_any(machine);
                }
            }
            Schedule::Random(_) if polls < MAX_DEFERRED_POLLS => {
                if self.coin() {
                    self.step_any(machine);
                }
            }
            _ => {
                self.step_any(machine);
            }
        }
    }

    /// Waits until a stream reaches a point. Returns `false` if `deadline` expires first.
    pub(crate) fn wait(self: &Arc<Self>, machine: &Machine, point: StreamPoint, deadline: Option<Instant>) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if let Some(replayed) = self.replayed.as_ref().filter(|replayed| replayed.is_host()) {
            return self.replay_wait(machine, replayed, point, deadline);
        }
        if let Some(clock) = &self.clock {
            return self.timed_wait(machine, clock, point, deadline);
        }
        let completion = &machine.streams.slot(point.stream).tasks.completion;
        let mut blocked = None;
        loop {
            let seen = self.changes.load(Ordering::Acquire);
            if completion.done() >= point.sequence {
                return true;
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return false;
            }
            let progressed = match self.schedule {
                Schedule::Late => self.step_towards(machine, point),
                _ => self.step_any(machine),
            };
            if !progressed {
                let changed = || self.changes.load(Ordering::Acquire) != seen;
                let recheck = Instant::now() + self.progress_timeout;
                let until = deadline.map_or(recheck, |deadline| deadline.min(recheck));
                blocked.get_or_insert_with(|| machine.block(BlockedOn::Point(point.into()), deadline));
                if !self.waiters.wait_until(Some(until), changed) {
                    machine.poll_external_waits();
                    // A host function that holds this stream may wait for another stream.
                    self.step_any(machine);
                }
            }
        }
    }

    /// Puts batch entries into the order of the schedule.
    pub(crate) fn shuffle(&self, spans: &mut [Span]) {
        match self.schedule {
            Schedule::Random(_) => lock(&self.choices).random.shuffle(spans),
            Schedule::Late => spans.reverse(),
            Schedule::Early | Schedule::Threads | Schedule::Replay | Schedule::Timed => {}
        }
    }

    /// A random choice.
    fn coin(&self) -> bool {
        lock(&self.choices).random.bool()
    }

    /// Runs one task of a ready stream. Returns `false` if no stream is ready.
    pub(crate) fn step_any(&self, machine: &Machine) -> bool {
        if let Some(replayed) = &self.replayed {
            return self.replay_task(machine, replayed);
        }
        if let Some(clock) = &self.clock {
            return clock.step(machine, u64::MAX, Functions::HoldUp) == Stepped::Event;
        }
        loop {
            let mut choices = lock(&self.choices);
            if choices.ready.is_empty() {
                return false;
            }
            let index = match self.schedule {
                Schedule::Random(_) => {
                    let count = choices.ready.len();
                    choices.random.usize(..count)
                }
                _ => 0,
            };
            let key = choices.ready.remove(index);
            drop(choices);
            lock(&machine.streams.slot(key).tasks.lane).clear_ready();
            if machine.run(key, Limit::ONE) == StopReason::Limit {
                return true;
            }
        }
    }

    /// Runs one task that must run before `point` is reached. Returns `false` if none can run now.
    fn step_towards(&self, machine: &Machine, point: StreamPoint) -> bool {
        let mut stream = point.stream;
        // Bounded, because streams can wait for each other in a cycle.
        for _ in 0..MAX_HOPS {
            match machine.run(stream, Limit::ONE) {
                StopReason::Limit => return true,
                StopReason::Blocked(Readiness::After(earlier)) => stream = earlier.stream,
                // Another thread has emptied the stream: start again from the point.
                StopReason::Empty if stream != point.stream => stream = point.stream,
                // Any stream may resolve the wait.
                StopReason::Blocked(Readiness::Unknown) => return self.step_any(machine),
                StopReason::Empty | StopReason::Busy | StopReason::Blocked(Readiness::Ready) => return false,
            }
        }
        false
    }

    /// Starts the thread that runs ready work while the program makes no calls.
    fn start_progress_thread(self: &Arc<Self>, machine: &Machine) -> io::Result<()> {
        let (stepper, weak) = (Arc::clone(self), machine.weak());
        let run = move || {
            let stopped = || stepper.stop.load(Ordering::Acquire);
            let is_ready = || stepper.has_ready_work();
            // On a virtual clock, the program has computed for a while, and that takes little time or none.
            let patience = CHECKS_PER_TIMEOUT * if stepper.clock.is_some() { 4 } else { 1 };
            let seen = || (stepper.calls.load(Ordering::Relaxed), stepper.changes.load(Ordering::Acquire));
            let (mut before, mut quiet) = (seen(), patience);
            loop {
                // Parks without a timeout only after a while without calls, and wakes with the next one, even if its
                // work is done by then. Otherwise every call would have to wake this thread.
                if quiet >= patience && !is_ready() {
                    stepper.idle_wait.wait_until(None, || stopped() || seen() != before);
                    (before, quiet) = (seen(), 0);
                }
                stepper
                    .active_wait
                    .wait_until(Some(Instant::now() + stepper.progress_timeout / CHECKS_PER_TIMEOUT), stopped);
                if stopped() {
                    return;
                }
                let Some(machine) = weak.upgrade() else { return };
                let now = seen();
                quiet = if now == before { quiet + 1 } else { 0 };
                before = now;
                let is_wanted = machine.observer().is_some_and(|observer| observer.wants_progress());
                if (is_wanted || quiet >= patience) && is_ready() {
                    while stepper.step_any(&machine) {}
                    (before, quiet) = (seen(), 0);
                }
            }
        };
        crate::thread::start("softacl-progress".to_owned(), run)
    }
}
