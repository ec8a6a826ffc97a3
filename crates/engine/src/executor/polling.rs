//! Waits for what no stream promises: records of other processes, values in device memory, notifies.
//!
//! Whoever changes such a thing through the engine makes us look again, which costs one load while
//! nobody waits. Other processes, and host code that writes device memory, say nothing; so one thread
//! looks as well, as long as a stream stands at such a wait. It also makes up for the change that comes
//! at the same moment as the wait, so that nobody pays for a fence.

use crate::executor::external_waits::{ExternalWaits, Shared};
use crate::keys::StreamKey;
use crate::machine::Machine;
use crate::task::external_wait::ExternalWait;
use softacl_memory::shared::SharedCounters;
use softacl_sync::facade::{Ordering, lock, sleep_or_yield};
use softacl_sync::lane::Readiness;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the thread looks at first, and at last. A choice: a wake-up costs about as much as the
/// first, and the last is small for somebody who has waited for long.
const MIN_POLL_INTERVAL: Duration = Duration::from_micros(100);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(1);

impl Machine {
    /// Whether a stream may pass a wait. If not, it is listed when that changes.
    pub(crate) fn check_external_wait(&self, stream: StreamKey, wait: &Arc<ExternalWait>) -> Readiness<StreamKey> {
        if wait.try_pass() || self.is_stopped(self.streams.slot(stream)) {
            return Readiness::Ready;
        }
        wait.begin();
        self.external_waits.watch(self, stream, wait);
        if wait.try_pass() { Readiness::Ready } else { Readiness::Unknown }
    }

    /// Memory or a notify was changed, which a stream may wait for.
    #[inline]
    pub(crate) fn poll_external_waits(&self) {
        if self.external_waits.shared.count.load(Ordering::Relaxed) != 0 {
            self.external_waits.shared.poll(self);
        }
    }
}

impl Machine {
    /// Waits on this thread for a record of another process; `false` when `deadline` came first. That process may wait for work
    /// of ours, which under a schedule runs when somebody waits, and this is such a wait.
    pub(crate) fn wait_for_foreign_record(
        &self,
        counters: &SharedCounters,
        record: u64,
        deadline: Option<Instant>,
    ) -> bool {
        while !counters.has_reached(record) {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return false;
            }
            if !self.step() {
                self.poll_external_waits();
                sleep_or_yield(MIN_POLL_INTERVAL);
            }
        }
        true
    }
}

impl ExternalWaits {
    /// Lists a stream when its wait may be over.
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
                    let found = shared.poll(&machine);
                    drop(machine);
                    pause = if found { MIN_POLL_INTERVAL } else { MAX_POLL_INTERVAL.min(2 * pause) };
                    sleep_or_yield(pause);
                }
            };
            crate::thread::start("softacl-poll".to_owned(), run)
        });
    }

    /// Whether streams stand at waits and no thread looks after them: who waits for them must.
    #[inline]
    pub(crate) fn lacks_poller(&self) -> bool {
        self.shared.count.load(Ordering::Relaxed) != 0 && self.threads.is_empty()
    }
}

impl Shared {
    /// Lists the streams whose waits may be over. `false`: there was none.
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
