//! Polling: how external waits end.
//!
//! Every change that the engine itself makes to memory or a notify polls the waits, which costs one load while no
//! stream waits. Other processes, and host code that writes device memory, give no notice. Therefore one thread polls
//! as well, while any stream is at an external wait. It also covers a change that races with the start of a wait, so
//! that neither side needs a fence.

use crate::executor::external_waits::{ExternalWaits, Shared};
use crate::keys::StreamKey;
use crate::machine::Machine;
use crate::observer::BlockedOn;
use crate::task::external_wait::{ExternalWait, WaitCondition};
use crate::task::{Control, Task};
use softacl_memory::shared::SharedCounters;
use softacl_sync::facade::{Ordering, lock, sleep_or_yield};
use softacl_sync::lane::Readiness;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bounds of the poll backoff. Chosen, not measured: a wake-up costs about as much as the shortest interval, and the
/// longest one is short compared to a wait that has already lasted long.
const MIN_POLL_INTERVAL: Duration = Duration::from_micros(100);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(1);

impl Machine {
    /// Returns `Ready` if a stream may pass a wait. Otherwise registers the stream, which is marked ready when that
    /// changes.
    pub(crate) fn check_external_wait(&self, stream: StreamKey, wait: &Arc<ExternalWait>) -> Readiness<StreamKey> {
        // On a virtual clock, a delay is the time that the task takes.
        let is_timed = matches!(wait.condition, WaitCondition::Delay) && self.clock().is_some();
        if wait.try_pass() || is_timed || self.is_stopped(self.streams.slot(stream)) {
            return Readiness::Ready;
        }
        wait.begin();
        self.external_waits.watch(self, stream, wait);
        if wait.try_pass() { Readiness::Ready } else { Readiness::Unknown }
    }

    /// Returns `Ready` if the limit of a blocked wait has expired. Otherwise registers the stream, which is marked ready
    /// when that happens, and returns why the wait is blocked.
    #[cold]
    pub(crate) fn check_limit(
        &self,
        stream: StreamKey,
        limit: &Arc<ExternalWait>,
        blocked: Readiness<StreamKey>,
    ) -> Readiness<StreamKey> {
        match self.check_external_wait(stream, limit) {
            Readiness::Ready => Readiness::Ready,
            _ => blocked,
        }
    }

    /// True if the external wait at the front of a stream has ended. A thread that waits for the stream tests this while
    /// it spins: it then continues earlier than a poll could make it.
    pub(crate) fn is_front_met(&self, stream: StreamKey) -> bool {
        if self.external_waits.shared.count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let lane = lock(&self.streams.slot(stream).tasks.lane);
        match lane.next() {
            Some((Task::Control(Control::Operation(pending)), _)) => pending.wait.is_met(),
            Some((Task::Control(Control::Await(wait)), _)) => wait.is_met(),
            _ => false,
        }
    }

    /// Rechecks external waits after memory or a notify changed.
    #[inline]
    pub(crate) fn poll_external_waits(&self) {
        if self.external_waits.shared.count.load(Ordering::Relaxed) != 0 {
            self.external_waits.shared.poll(self);
        }
    }
}

impl Machine {
    /// Waits on this thread for a record of another process. Returns `false` if `deadline` expires first. That process
    /// may wait for work of this one, which a schedule runs only in a wait such as this.
    pub(crate) fn wait_for_foreign_record(
        &self,
        counters: &SharedCounters,
        record: u64,
        deadline: Option<Instant>,
    ) -> bool {
        let mut blocked = None;
        while !counters.has_reached(record) {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return false;
            }
            if !self.step() {
                let name = counters.name();
                let on = BlockedOn::ForeignRecord { process: name.process, nonce: name.nonce };
                blocked.get_or_insert_with(|| self.block(on, deadline));
                self.poll_external_waits();
                sleep_or_yield(MIN_POLL_INTERVAL);
            }
        }
        true
    }
}

impl ExternalWaits {
    /// Registers a stream, so that it is marked ready when its wait may have ended. Starts the polling thread on first
    /// use.
    fn watch(&self, machine: &Machine, stream: StreamKey, wait: &Arc<ExternalWait>) {
        if wait.is_watched.swap(true, Ordering::AcqRel) {
            return;
        }
        {
            let mut waits = lock(&self.shared.waits);
            waits.push((stream, Arc::downgrade(wait)));
            self.shared.count.store(waits.len(), Ordering::Relaxed);
        }
        self.shared.wait_queue.wake_all();
        self.threads.ensure_started(1, |_| {
            let (shared, weak) = (Arc::clone(&self.shared), machine.weak());
            let run = move || {
                let mut pause = MIN_POLL_INTERVAL;
                loop {
                    let is_idle = || lock(&shared.waits).is_empty();
                    if is_idle() {
                        pause = MIN_POLL_INTERVAL;
                    }
                    shared.wait_queue.wait_until(None, || shared.stop.load(Ordering::Acquire) || !is_idle());
                    if shared.stop.load(Ordering::Acquire) {
                        return;
                    }
                    let Some(machine) = weak.upgrade() else { return };
                    let found = {
                        let _turn = machine.clock().map(|clock| lock(&clock.operations));
                        shared.poll(&machine)
                    };
                    drop(machine);
                    pause = if found { MIN_POLL_INTERVAL } else { MAX_POLL_INTERVAL.min(2 * pause) };
                    sleep_or_yield(pause);
                }
            };
            crate::thread::start("softacl-poll".to_owned(), run)
        });
    }

    /// True if streams are at external waits but no polling thread could be started. Waiting threads must then poll.
    #[inline]
    pub(crate) fn lacks_poller(&self) -> bool {
        self.shared.count.load(Ordering::Relaxed) != 0 && self.threads.is_empty()
    }
}

impl Shared {
    /// Marks the streams ready whose waits may have ended. Returns `false` if there are none.
    #[cold]
    fn poll(&self, machine: &Machine) -> bool {
        let mut ended = Vec::new();
        {
            let mut waits = lock(&self.waits);
            waits.retain(|(stream, wait)| {
                let Some(wait) = wait.upgrade() else { return false };
                let due = wait.is_met() || wait.is_late() || machine.is_stopped(machine.streams.slot(*stream));
                if due {
                    wait.is_watched.store(false, Ordering::Release);
                    ended.push(*stream);
                }
                !due
            });
            self.count.store(waits.len(), Ordering::Relaxed);
        }
        ended.iter().for_each(|stream| machine.mark_stream_ready(*stream));
        !ended.is_empty()
    }
}
