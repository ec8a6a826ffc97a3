//! External waits: waits that no stream resolves. The sources are event records of other processes, values in device
//! memory, notifies, and operations that wait for others. Fault rules add tasks that are slow or stuck.

use crate::graph::run::GraphRun;
use crate::keys::StreamPoint;
use crate::notify::{Compare, Counter};
use crate::task::kind::TaskKind;
use crate::task::operation::OperationRun;
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes;
use softacl_memory::shared::SharedCounters;
use softacl_memory::use_lock::UseLock;
use softacl_sync::facade::{AtomicBool, Mutex, Ordering, fence, lock};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The condition that ends an external wait.
#[derive(Debug)]
pub(crate) enum WaitCondition {
    /// A record of another process is reached. The lock shows that process that it is awaited.
    Record { counters: Arc<SharedCounters>, record: u64, _use_lock: Option<UseLock> },
    /// The value with the backing address `backing` meets a condition.
    Value { backing: usize, value: u64, condition: ValueCondition },
    /// Only the timeout ends the wait: a fault rule made a task slow, or a loop of a graph pauses.
    Delay,
    /// Only the timeout ends the wait, and that is a failure: the limit of a wait for an event.
    Limit,
    /// Nothing ends the wait: a fault rule made a task stuck. A step of a graph is stuck until its run is canceled.
    Never(Option<Arc<GraphRun>>),
    /// A notify, plain or counting, compares as requested.
    Notify { counter: Arc<Counter>, compare: Compare, clears: bool },
    /// An operation can continue.
    Operation(OperationRun),
}

/// Comparison of `aclrtValueWait`, with x as the value in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueCondition {
    /// (int64_t)(x - value) >= 0: counters that wrap around stay comparable.
    AtLeast,
    /// x == value.
    Equal,
    /// x & value is not 0.
    And,
    /// !(x | value) is not 0.
    Nor,
}

impl ValueCondition {
    /// True if the value `found` in memory meets the condition.
    pub(crate) fn holds(self, found: u64, value: u64) -> bool {
        match self {
            ValueCondition::AtLeast => found.wrapping_sub(value) as i64 >= 0,
            ValueCondition::Equal => found == value,
            ValueCondition::And => found & value != 0,
            ValueCondition::Nor => !(found | value) != 0,
        }
    }
}

/// A wait of one stream for an external condition. In a graph, all runs share it.
#[derive(Debug)]
pub(crate) struct ExternalWait {
    pub(crate) condition: WaitCondition,
    /// The task that resolves the wait, if the program queued it before the wait.
    pub(crate) after: Option<StreamPoint>,
    /// How long the stream may wait.
    pub(crate) timeout: Option<Duration>,
    deadline: Mutex<Option<Instant>>,
    is_expired: AtomicBool,
    /// True while the stream is registered for polling.
    pub(crate) is_watched: AtomicBool,
}

impl ExternalWait {
    pub(crate) fn new(condition: WaitCondition) -> ExternalWait {
        ExternalWait {
            condition,
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

    /// Kind of the task.
    pub(crate) fn kind(&self) -> TaskKind {
        match self.condition {
            WaitCondition::Record { .. } | WaitCondition::Limit => TaskKind::EventWait,
            WaitCondition::Value { .. } => TaskKind::ValueWait,
            WaitCondition::Notify { .. } => TaskKind::NotifyWait,
            WaitCondition::Operation(_) => TaskKind::Kernel,
            WaitCondition::Delay => TaskKind::Delay,
            WaitCondition::Never(_) => TaskKind::Stuck,
        }
    }

    /// The limit of a wait for an event.
    pub(crate) fn limit(timeout: Duration) -> Arc<ExternalWait> {
        Arc::new(ExternalWait::new(WaitCondition::Limit).within(Some(timeout)))
    }

    /// True if a fault rule queued the wait before the task that it delays.
    pub(crate) fn is_injected(&self) -> bool {
        matches!(self.condition, WaitCondition::Delay | WaitCondition::Never(_))
    }

    /// True if nothing but a cancellation ends the wait.
    pub(crate) fn is_stuck(&self) -> bool {
        matches!(self.condition, WaitCondition::Never(_))
    }

    /// True if the wait reads one of the `len` bytes with the backing address `start`.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        let WaitCondition::Value { backing, .. } = self.condition else { return false };
        backing < start + len && start < backing + size_of::<u64>()
    }

    /// The result of a wait that was passed: an error if it timed out.
    pub(crate) fn result(&self) -> Result<()> {
        match self.timeout {
            Some(timeout)
                if self.is_expired.swap(false, Ordering::AcqRel) && !matches!(self.condition, WaitCondition::Delay) =>
            {
                fail(Error::WaitTimeout(self.kind().name(), timeout.as_secs()))
            }
            _ => Ok(()),
        }
    }

    /// Returns `true` if the stream may continue. Consumes the notify, so that each record lets one stream pass.
    pub(crate) fn try_pass(&self) -> bool {
        let met = match &self.condition {
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
            // The thread that wrote the value wrote other data before it, which the tasks after the wait read.
            fence(Ordering::Acquire);
            *lock(&self.deadline) = None;
        }
        met || expired
    }

    /// True if the condition holds. Consumes nothing.
    pub(crate) fn is_met(&self) -> bool {
        match &self.condition {
            WaitCondition::Record { counters, record, .. } => counters.has_reached(*record),
            WaitCondition::Value { backing, value, condition } => {
                // Unmapped memory does not change anymore, so the stream continues.
                // SAFETY: the cell is in device memory that a `Caller` named, resolved and bounded when the task was made.
                unsafe { bytes::read(*backing) }
                    .map_or(true, |found| condition.holds(u64::from_le_bytes(found), *value))
            }
            WaitCondition::Notify { counter, compare, .. } => compare.holds(counter.value()),
            WaitCondition::Operation(run) => run.is_ready(),
            WaitCondition::Never(Some(run)) => run.is_canceled.load(Ordering::Acquire),
            WaitCondition::Delay | WaitCondition::Limit | WaitCondition::Never(None) => false,
        }
    }

    /// True if the timeout has expired.
    pub(crate) fn is_late(&self) -> bool {
        lock(&self.deadline).is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Forgets the deadline of a canceled run.
    pub(crate) fn rearm(&self) {
        *lock(&self.deadline) = None;
        self.is_expired.store(false, Ordering::Release);
    }

    /// Starts the timeout when the stream arrives at the wait.
    pub(crate) fn begin(&self) {
        if let Some(timeout) = self.timeout {
            lock(&self.deadline).get_or_insert_with(|| Instant::now() + timeout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_conditions_match_their_names() {
        use ValueCondition::{And, AtLeast, Equal, Nor};
        assert!(AtLeast.holds(7, 7) && AtLeast.holds(8, 7) && !AtLeast.holds(6, 7));
        // The difference counts, so a value that wrapped around is larger than one just below the wrap.
        assert!(AtLeast.holds(3, u64::MAX) && !AtLeast.holds(u64::MAX, 7));
        assert!(AtLeast.holds(7 + i64::MAX as u64, 7) && !AtLeast.holds(8 + i64::MAX as u64, 7));
        assert!(Equal.holds(7, 7) && !Equal.holds(8, 7));
        assert!(And.holds(6, 4) && !And.holds(3, 4));
        assert!(Nor.holds(1, 2) && !Nor.holds(0xf0f0_f0f0_f0f0_f0f0, 0x0f0f_0f0f_0f0f_0f0f));
    }

    #[test]
    fn notify_record_lets_exactly_one_wait_pass() {
        let counter = Arc::new(Counter::default());
        let wait = || {
            let condition =
                WaitCondition::Notify { counter: Arc::clone(&counter), compare: Compare::Equal(1), clears: true };
            ExternalWait::new(condition)
        };
        let (first, second) = (wait(), wait());
        assert!(!first.try_pass());
        counter.update(|_| Some(1));
        assert!(first.is_met() && second.is_met());
        assert!(second.try_pass() && !first.try_pass());
    }

    #[test]
    fn expired_wait_passes_and_fails_once() {
        let counter = Arc::new(Counter::default());
        let condition = WaitCondition::Notify { counter, compare: Compare::Equal(1), clears: true };
        let wait = ExternalWait::new(condition).within(Some(Duration::ZERO));
        assert!(!wait.try_pass(), "the timeout has not started");
        wait.begin();
        assert!(wait.try_pass());
        assert_eq!(wait.result().unwrap_err().code(), 107020);
        assert!(wait.result().is_ok());
    }
}
