//! External waits: waits that no stream resolves. The sources are event records of other processes, values in device
//! memory, and notifies; fault rules add tasks that are slow or stuck.

use crate::graph::run::GraphRun;
use crate::keys::StreamPoint;
use crate::notify::{Compare, Counter};
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes;
use softacl_memory::shared::SharedCounters;
use softacl_sync::facade::{AtomicBool, Mutex, Ordering, fence, lock};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What must come true.
#[derive(Debug)]
pub(crate) enum WaitCondition {
    /// A record of another process.
    Record(Arc<SharedCounters>, u64),
    /// A value in memory that the engine reaches at `reach`.
    Value { backing: usize, value: u64, condition: ValueCondition },
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
    pub(crate) condition: WaitCondition,
    /// The task that gives the sign, where the program has queued it before the wait.
    pub(crate) after: Option<StreamPoint>,
    /// How long the stream may stand here.
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

    pub(crate) fn name(&self) -> &'static str {
        match self.condition {
            WaitCondition::Record(..) => "event wait",
            WaitCondition::Value { .. } => "value wait",
            WaitCondition::Notify { .. } => "notify wait",
            WaitCondition::Delay => "slow task",
            WaitCondition::Never(_) => "stuck task",
        }
    }

    /// Whether it waits for ever.
    pub(crate) fn is_stuck(&self) -> bool {
        matches!(self.condition, WaitCondition::Never(_))
    }

    /// The bytes that it looks at.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        matches!(self.condition, WaitCondition::Value { backing, .. } if backing < start + len && start < backing + size_of::<u64>())
    }

    /// What became of the wait.
    pub(crate) fn result(&self) -> Result<()> {
        match self.timeout {
            Some(timeout)
                if self.is_expired.swap(false, Ordering::AcqRel) && !matches!(self.condition, WaitCondition::Delay) =>
            {
                fail(Error::WaitTimeout(self.name(), timeout.as_secs()))
            }
            _ => Ok(()),
        }
    }

    /// Whether the stream may go on; takes the notify, which lets one stream pass for each record.
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
            // Whoever wrote a value wrote other things before it, which the tasks behind the wait read.
            fence(Ordering::Acquire);
            *lock(&self.deadline) = None;
        }
        met || expired
    }

    /// Whether it is worth while to list the stream. Changes nothing.
    pub(crate) fn is_met(&self) -> bool {
        match &self.condition {
            WaitCondition::Record(counters, record) => counters.has_reached(*record),
            WaitCondition::Value { backing, value, condition } => {
                // Memory that is gone will not change any more: the stream goes on.
                bytes::read(*backing).map_or(true, |found| condition.holds(u64::from_le_bytes(found), *value))
            }
            WaitCondition::Notify { counter, compare, .. } => compare.holds(counter.value()),
            WaitCondition::Never(Some(run)) => run.is_cancelled.load(Ordering::Acquire),
            WaitCondition::Delay | WaitCondition::Never(None) => false,
        }
    }

    pub(crate) fn is_late(&self) -> bool {
        lock(&self.deadline).is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The run that stood here is given up: the next one's time begins anew.
    pub(crate) fn rearm(&self) {
        *lock(&self.deadline) = None;
        self.is_expired.store(false, Ordering::Release);
    }

    /// The stream stands at the wait: its time runs.
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
    fn a_wait_with_a_timeout_passes_and_says_so_once() {
        let counter = Arc::new(Counter::default());
        let condition = WaitCondition::Notify { counter, compare: Compare::Equal(1), clears: true };
        let wait = ExternalWait::new(condition).within(Some(Duration::ZERO));
        assert!(!wait.try_pass(), "its time has not begun");
        wait.begin();
        assert!(wait.try_pass());
        assert_eq!(wait.result().unwrap_err().code(), 107019);
        assert!(wait.result().is_ok());
    }
}
