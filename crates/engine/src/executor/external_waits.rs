//! Waits for what no stream promises: records of other processes, values in device memory, notifies.
//!
//! Whoever changes such a thing through the engine makes us look again, which costs one load while
//! nobody waits. Other processes, and host code that writes device memory, say nothing; so one thread
//! looks as well, as long as a stream stands at such a wait. It also makes up for the change that comes
//! at the same moment as the wait, so that nobody pays for a fence.

use crate::bytes;
use crate::error::{Error, Result, fail};
use crate::graph::GraphRun;
use crate::machine::Machine;
use crate::memory::shared::SharedCounters;
use crate::notify::{Compare, Counter};
use crate::stream::lane::Readiness;
use crate::stream::wait_queue::WaitQueue;
use crate::stream::{StreamKey, StreamPoint};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, fence, lock, sleep_or_yield};
use crate::task::TaskKind;
use crate::thread::LazyThreads;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How often the thread looks at first, and at last. A choice: a wake-up costs about as much as the
/// first, and the last is small for somebody who has waited for long.
const MIN_POLL_INTERVAL: Duration = Duration::from_micros(100);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// What must come true.
#[derive(Debug)]
pub(crate) enum WaitCondition {
    /// A record of another process.
    Record(Arc<SharedCounters>, u64),
    /// A value in memory that the engine reaches at `reach`.
    Value { reach: usize, value: u64, condition: ValueCondition },
    /// Only the timeout ends it: a fault rule made a task slow.
    Delay,
    /// Nothing does: a fault rule made a task stand still. A step of a graph stands until its run is given up.
    Never(Option<Arc<GraphRun>>),
    /// A notify, or a counting one.
    Notify { counter: Arc<Counter>, compare: Compare, clears: bool },
}

/// How `aclrtValueWait` compares; x is the value in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueCondition {
    /// x >= value.
    AtLeast,
    /// x == value.
    Equal,
    /// x & value is not 0.
    And,
    /// !(x | value) is not 0.
    Nor,
}

impl ValueCondition {
    pub(crate) fn holds(self, found: u64, value: u64) -> bool {
        match self {
            ValueCondition::AtLeast => found >= value,
            ValueCondition::Equal => found == value,
            ValueCondition::And => found & value != 0,
            ValueCondition::Nor => !(found | value) != 0,
        }
    }
}

/// A wait of one stream for a sign. In a graph the same one serves every run.
#[derive(Debug)]
pub(crate) struct ExternalWait {
    sign: WaitCondition,
    /// The task that gives the sign, where the program has queued it before the wait.
    pub(crate) after: Option<StreamPoint>,
    /// How long the stream may stand here.
    timeout: Option<Duration>,
    deadline: Mutex<Option<Instant>>,
    is_expired: AtomicBool,
    is_watched: AtomicBool,
}

impl ExternalWait {
    pub(crate) fn new(sign: WaitCondition) -> ExternalWait {
        ExternalWait {
            sign,
            after: None,
            timeout: None,
            deadline: Mutex::new(None),
            is_expired: AtomicBool::new(false),
            is_watched: AtomicBool::new(false),
        }
    }

    pub(crate) fn after(self, after: Option<StreamPoint>) -> ExternalWait {
        ExternalWait { after, ..self }
    }

    pub(crate) fn within(self, timeout: Option<Duration>) -> ExternalWait {
        ExternalWait { timeout, ..self }
    }

    pub(crate) fn kind(&self) -> TaskKind {
        match self.sign {
            WaitCondition::Record(..) => TaskKind::EventWait,
            WaitCondition::Value { .. } => TaskKind::ValueWait,
            WaitCondition::Notify { .. } => TaskKind::NotifyWait,
            WaitCondition::Delay => TaskKind::Delay,
            WaitCondition::Never(_) => TaskKind::Stuck,
        }
    }

    /// Whether it waits for ever.
    pub(crate) fn is_stuck(&self) -> bool {
        matches!(self.sign, WaitCondition::Never(_))
    }

    /// The bytes that it looks at.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        matches!(self.sign, WaitCondition::Value { reach, .. } if reach < start + len && start < reach + size_of::<u64>())
    }

    /// What became of the wait.
    pub(crate) fn result(&self) -> Result<()> {
        match self.timeout {
            Some(timeout)
                if self.is_expired.swap(false, Ordering::AcqRel) && !matches!(self.sign, WaitCondition::Delay) =>
            {
                fail(Error::WaitTimeout(self.kind().name(), timeout.as_secs()))
            }
            _ => Ok(()),
        }
    }

    /// Whether the stream may go on; takes the notify, which lets one stream pass for each record.
    fn try_pass(&self) -> bool {
        let met = match &self.sign {
            WaitCondition::Notify { counter, compare, clears } => {
                let next = |found| if *clears { 0 } else { found };
                counter.update(|found| compare.holds(found).then(|| next(found)))
            }
            _ => self.is_met(),
        };
        let expired = !met && self.is_late();
        if expired {
            self.is_expired.store(true, Ordering::Release);
        }
        if met || expired {
            // Whoever wrote a value wrote other things before it, which the tasks behind the wait read.
            fence(Ordering::Acquire);
            *lock(&self.deadline) = None;
        }
        met || expired
    }

    /// Whether it is worth while to list the stream. Changes nothing.
    fn is_met(&self) -> bool {
        match &self.sign {
            WaitCondition::Record(counters, record) => counters.has_reached(*record),
            WaitCondition::Value { reach, value, condition } => {
                // Memory that is gone will not change any more: the stream goes on.
                bytes::read(*reach).map_or(true, |found| condition.holds(u64::from_le_bytes(found), *value))
            }
            WaitCondition::Notify { counter, compare, .. } => compare.holds(counter.value()),
            WaitCondition::Never(Some(run)) => run.is_cancelled.load(Ordering::Acquire),
            WaitCondition::Delay | WaitCondition::Never(None) => false,
        }
    }

    fn is_late(&self) -> bool {
        lock(&self.deadline).is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The run that stood here is given up: the next one's time begins anew.
    pub(crate) fn rearm(&self) {
        *lock(&self.deadline) = None;
        self.is_expired.store(false, Ordering::Release);
    }

    /// The stream stands at the wait: its time runs.
    fn begin(&self) {
        if let Some(timeout) = self.timeout {
            lock(&self.deadline).get_or_insert_with(|| Instant::now() + timeout);
        }
    }
}

#[derive(Default)]
pub(crate) struct ExternalWaits {
    shared: Arc<Shared>,
    crew: LazyThreads,
}

#[derive(Default)]
struct Shared {
    /// Streams that stand at a wait. A wait that was dropped is not there any more.
    waits: Mutex<Vec<(StreamKey, Weak<ExternalWait>)>>,
    /// How many there are; may lag behind.
    count: AtomicUsize,
    bell: WaitQueue,
    stop: AtomicBool,
}

impl Machine {
    /// Whether a stream may pass a wait. If not, it is listed when that changes.
    pub(crate) fn check_external_wait(&self, stream: StreamKey, vigil: &Arc<ExternalWait>) -> Readiness<StreamKey> {
        if vigil.try_pass() || self.is_stopped(self.streams.slot(stream)) {
            return Readiness::Ready;
        }
        vigil.begin();
        self.outside.watch(self, stream, vigil);
        if vigil.try_pass() { Readiness::Ready } else { Readiness::Unknown }
    }

    /// Memory or a notify was changed, which a stream may wait for.
    #[inline]
    pub(crate) fn poll_external_waits(&self) {
        if self.outside.shared.count.load(Ordering::Relaxed) != 0 {
            self.outside.shared.poll(self);
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
    fn watch(&self, machine: &Machine, stream: StreamKey, vigil: &Arc<ExternalWait>) {
        if vigil.is_watched.swap(true, Ordering::AcqRel) {
            return;
        }
        {
            let mut waits = lock(&self.shared.waits);
            waits.push((stream, Arc::downgrade(vigil)));
            self.shared.count.store(waits.len(), Ordering::Relaxed);
        }
        self.shared.bell.wake_all();
        self.crew.ensure_started(1, |_| {
            let (shared, weak) = (Arc::clone(&self.shared), machine.weak());
            let run = move || {
                let mut pause = MIN_POLL_INTERVAL;
                loop {
                    let is_idle = || lock(&shared.waits).is_empty();
                    if is_idle() {
                        pause = MIN_POLL_INTERVAL;
                    }
                    shared.bell.wait_until(None, || shared.stop.load(Ordering::Acquire) || !is_idle());
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
        self.shared.count.load(Ordering::Relaxed) != 0 && self.crew.is_empty()
    }
}

impl Shared {
    /// Lists the streams whose waits may be over. `false`: there was none.
    #[cold]
    fn poll(&self, machine: &Machine) -> bool {
        let mut over = Vec::new();
        {
            let mut waits = lock(&self.waits);
            waits.retain(|(stream, vigil)| {
                let Some(vigil) = vigil.upgrade() else { return false };
                let due = vigil.is_met() || vigil.is_late() || machine.is_stopped(machine.streams.slot(*stream));
                if due {
                    vigil.is_watched.store(false, Ordering::Release);
                    over.push(*stream);
                }
                !due
            });
            self.count.store(waits.len(), Ordering::Relaxed);
        }
        over.iter().for_each(|stream| machine.mark_stream_ready(*stream));
        !over.is_empty()
    }
}

impl Drop for ExternalWaits {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.bell.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_as_named() {
        use ValueCondition::{And, AtLeast, Equal, Nor};
        assert!(AtLeast.holds(7, 7) && AtLeast.holds(u64::MAX, 7) && !AtLeast.holds(6, 7));
        assert!(Equal.holds(7, 7) && !Equal.holds(8, 7));
        assert!(And.holds(6, 4) && !And.holds(3, 4));
        assert!(Nor.holds(1, 2) && !Nor.holds(0xf0f0_f0f0_f0f0_f0f0, 0x0f0f_0f0f_0f0f_0f0f));
    }

    #[test]
    fn a_notify_lets_one_wait_pass() {
        let counter = Arc::new(Counter::default());
        let wait = || {
            let sign =
                WaitCondition::Notify { counter: Arc::clone(&counter), compare: Compare::Equal(1), clears: true };
            ExternalWait::new(sign)
        };
        let (first, second) = (wait(), wait());
        assert!(!first.try_pass());
        counter.update(|_| Some(1));
        assert!(first.is_met() && second.is_met());
        assert!(second.try_pass() && !first.try_pass());
    }

    #[test]
    fn a_wait_with_a_timeout_passes_and_says_so_once() {
        let counter = Arc::new(Counter::default());
        let sign = WaitCondition::Notify { counter, compare: Compare::Equal(1), clears: true };
        let vigil = ExternalWait::new(sign).within(Some(Duration::ZERO));
        assert!(!vigil.try_pass(), "its time has not begun");
        vigil.begin();
        assert!(vigil.try_pass());
        assert_eq!(vigil.result().unwrap_err().code(), 107019);
        assert!(vigil.result().is_ok());
    }
}
