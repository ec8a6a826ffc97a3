//! The stepped driver: one task at a time, where a schedule wants it.
//!
//! No worker decides anything. Work happens inside the calls of the program: after a submit, in a
//! poll, in a wait; for a very large copy helpers take parts of it while the call waits for them. So the same program with the same seed does the same thing every time, and a
//! schedule can be as unkind as the documented semantics allow.
//!
//! - `early`: everything as soon as it may run.
//! - `late`: nothing until a wait needs it, and then only what that wait needs. A program that polls
//!   is put off a bounded number of times.
//! - `random:SEED`: legal choices drawn from the seed; entries of a batch in random order.
//!
//! A program may rely on progress without calling us (it waits for a host function, say). A
//! progress thread thread notices that nothing was called for a while although work is ready, and runs it.

use crate::executor::defer::DeferGuard;
use crate::executor::job::Job;
use crate::executor::run::{Limit, StopReason};
use crate::executor::stepper::Stepper;
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::schedule::Schedule;
use softacl_memory::bytes::{self, AccessFault, CachePolicy, Span};
use softacl_sync::facade::{Ordering, lock};
use softacl_sync::lane::Readiness;
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// Polls that find a stream busy before `late` gives way.
const MAX_DEFERRED_POLLS: u32 = 16;
/// Copies from this length on are worth the waking of a helper, which takes as long as half a MiB or more.
const SHARE_MIN_LEN: usize = 4 << 20;
/// How often the progress thread looks whether anything was called before it loses patience.
const CHECKS_PER_TIMEOUT: u32 = 5;
/// Streams that a wait is followed through.
const MAX_HOPS: usize = 4096;

impl Stepper {
    /// A stream has work. Whoever says so runs it, or entrusts it to the progress thread.
    pub(crate) fn enqueue_ready(&self, key: StreamKey) {
        lock(&self.choices).ready.push(key);
        self.changed();
        self.idle_wait.wake_all();
    }

    /// Work that stays behind is the progress thread's from now on. Where none ever does there is no such thread: one that
    /// only sleeps makes each change of page protection dearer, because it could be running elsewhere.
    pub(crate) fn hand_to_progress_thread(self: &Arc<Self>, machine: &Machine) {
        if self.progress_thread.is_empty() && !lock(&self.choices).ready.is_empty() {
            self.progress_thread.ensure_started(1, |_| self.start_progress_thread(machine));
        }
    }

    /// Copies one range on this thread, with helpers when it is very large.
    pub(crate) fn copy(&self, machine: &Machine, span: Span, cache_policy: CachePolicy) -> Result<(), AccessFault> {
        if span.len < SHARE_MIN_LEN {
            return bytes::copy_as(span, cache_policy);
        }
        self.helpers.share(machine, Job::one(span, cache_policy))
    }

    pub(crate) fn after_submit(self: &Arc<Self>, machine: &Machine) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        match self.schedule {
            _ if DeferGuard::is_active() => {}
            Schedule::Early => while self.step_any(machine) {},
            Schedule::Random(_) => while self.coin() && self.step_any(machine) {},
            Schedule::Late | Schedule::Threads => {}
        }
        self.hand_to_progress_thread(machine);
    }

    /// The program asks whether a stream has come to a point.
    pub(crate) fn poll(&self, machine: &Machine, point: StreamPoint) {
        let stream = machine.streams.slot(point.stream);
        if stream.tasks.completion.done() >= point.sequence {
            // Not counted as a call: the program may be waiting for something else by asking this.
            stream.polls.store(0, Ordering::Relaxed);
            return;
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        let polls = stream.polls.fetch_add(1, Ordering::Relaxed);
        match self.schedule {
            Schedule::Late if polls < MAX_DEFERRED_POLLS => {}
            Schedule::Late => {
                // What this stream waits for may itself wait for another one.
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

    pub(crate) fn wait(&self, machine: &Machine, point: StreamPoint, deadline: Option<Instant>) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let completion = &machine.streams.slot(point.stream).tasks.completion;
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
                if !self.waiters.wait_until(Some(until), changed) {
                    machine.poll_external_waits();
                    // A host function that holds this stream may wait for another one.
                    self.step_any(machine);
                }
            }
        }
    }

    /// Puts batch entries in the order of the schedule.
    pub(crate) fn shuffle(&self, spans: &mut [Span]) {
        match self.schedule {
            Schedule::Random(_) => lock(&self.choices).random.shuffle(spans),
            Schedule::Late => spans.reverse(),
            Schedule::Early | Schedule::Threads => {}
        }
    }

    fn coin(&self) -> bool {
        lock(&self.choices).random.bool()
    }

    /// Runs one task of some stream that has news. `false` when there is none.
    pub(crate) fn step_any(&self, machine: &Machine) -> bool {
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

    /// Runs one task that is needed to come to `point`. `false` when none can run now.
    fn step_towards(&self, machine: &Machine, point: StreamPoint) -> bool {
        let mut stream = point.stream;
        // Streams can wait for each other in a circle.
        for _ in 0..MAX_HOPS {
            match machine.run(stream, Limit::ONE) {
                StopReason::Limit => return true,
                StopReason::Blocked(Readiness::After(earlier)) => stream = earlier.stream,
                // A stream that is empty by now was finished by another thread: look again.
                StopReason::Empty if stream != point.stream => stream = point.stream,
                // Any stream may be the one that gives the sign.
                StopReason::Blocked(Readiness::Unknown) => return self.step_any(machine),
                StopReason::Empty | StopReason::Busy | StopReason::Blocked(Readiness::Ready) => return false,
            }
        }
        false
    }

    fn start_progress_thread(self: &Arc<Self>, machine: &Machine) -> io::Result<()> {
        let (stepper, weak) = (Arc::clone(self), machine.weak());
        let run = move || {
            let stopped = || stepper.stop.load(Ordering::Acquire);
            let is_ready = || !lock(&stepper.choices).ready.is_empty();
            let seen = || (stepper.calls.load(Ordering::Relaxed), stepper.changes.load(Ordering::Acquire));
            let (mut before, mut quiet) = (seen(), CHECKS_PER_TIMEOUT);
            loop {
                // Asleep for good only after a while without calls, and up with the next one, even if its work is
                // done by now: else every call would have to wake it.
                if quiet >= CHECKS_PER_TIMEOUT && !is_ready() {
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
                if quiet >= CHECKS_PER_TIMEOUT && is_ready() {
                    while stepper.step_any(&machine) {}
                    (before, quiet) = (seen(), 0);
                }
            }
        };
        crate::thread::start("softacl-progress".to_owned(), run)
    }
}
