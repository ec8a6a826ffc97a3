//! Notifies: numbers that tasks of streams change and wait for. A plain notify is 0 or 1, a counting one has 32 bits.
//! The host cannot wait for them.
//!
//! A record stays until a wait consumes it, so each record lets one wait pass. This distinguishes a notify from an
//! event.

pub(crate) mod calls;

use crate::keys::StreamPoint;
use softacl_memory::shared::SharedCounters;
use softacl_memory::use_lock::UseLock;
use softacl_sync::facade::{Mutex, lock};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A notify of the API.
#[derive(Default)]
pub struct Notify {
    pub(crate) state: Mutex<NotifyState>,
}

#[derive(Default)]
pub(crate) struct NotifyState {
    pub(crate) counter: Arc<Counter>,
    pub(crate) is_counting: bool,
    /// The device whose limit counts the notify.
    pub(crate) counted_on: Option<u32>,
    /// True if the notify was opened by a key of another process.
    pub(crate) is_imported: bool,
    /// For observers: the record that no wait was queued for, and the waits that no record was queued for.
    pub(crate) record: Option<StreamPoint>,
    pub(crate) waits: VecDeque<StreamPoint>,
}

/// The number of a notify. It is private to this process until it is shared.
#[derive(Debug)]
pub(crate) struct Counter {
    /// Unique for the lifetime of the process.
    pub(crate) id: u64,
    storage: Mutex<CounterStorage>,
    /// Shows the creator that a queued record of this process uses the number.
    _use_lock: Option<UseLock>,
}

impl Default for Counter {
    fn default() -> Self {
        Counter::new(CounterStorage::default())
    }
}

#[derive(Debug)]
enum CounterStorage {
    Private(u32),
    Shared(Arc<SharedCounters>),
}

impl Default for CounterStorage {
    fn default() -> Self {
        CounterStorage::Private(0)
    }
}

impl Counter {
    fn new(storage: CounterStorage) -> Counter {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Counter { id: NEXT.fetch_add(1, Ordering::Relaxed), storage: Mutex::new(storage), _use_lock: None }
    }

    /// The counter of another process.
    pub(crate) fn imported(shared: Arc<SharedCounters>) -> Counter {
        Counter::new(CounterStorage::Shared(shared))
    }

    /// A counter of this number that shows its use, for one queued record. `None` if the number is private.
    pub(crate) fn in_use(&self) -> Option<Counter> {
        let CounterStorage::Shared(shared) = &*lock(&self.storage) else { return None };
        let storage = Mutex::new(CounterStorage::Shared(Arc::clone(shared)));
        Some(Counter { id: self.id, storage, _use_lock: shared.hold_use() })
    }

    /// Other processes with queued records, as far as they show it.
    pub(crate) fn users(&self) -> Vec<u32> {
        match &*lock(&self.storage) {
            CounterStorage::Shared(shared) => shared.users(),
            CounterStorage::Private(_) => Vec::new(),
        }
    }

    /// True if another process may change the number.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(&*lock(&self.storage), CounterStorage::Shared(_))
    }

    /// Replaces the number by what `change` returns, in one step. Returns `false` if `change` returns `None`.
    pub(crate) fn update(&self, change: impl Fn(u32) -> Option<u32>) -> bool {
        match &mut *lock(&self.storage) {
            CounterStorage::Shared(shared) => shared.update(change),
            CounterStorage::Private(value) => match change(*value) {
                Some(next) => {
                    *value = next;
                    true
                }
                None => false,
            },
        }
    }

    pub(crate) fn value(&self) -> u32 {
        match &*lock(&self.storage) {
            CounterStorage::Private(value) => *value,
            CounterStorage::Shared(shared) => shared.value(),
        }
    }

    /// Moves the number to memory that other processes can open.
    pub(crate) fn share(&self) -> io::Result<Arc<SharedCounters>> {
        let mut storage = lock(&self.storage);
        if let CounterStorage::Shared(shared) = &*storage {
            return Ok(Arc::clone(shared));
        }
        let shared = Arc::new(SharedCounters::create()?);
        if let CounterStorage::Private(value) = *storage {
            shared.update(|_| Some(value));
        }
        *storage = CounterStorage::Shared(Arc::clone(&shared));
        Ok(shared)
    }
}

/// What a record does to the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterOp {
    Set(u32),
    Add(u32),
    Or(u32),
    And(u32),
}

impl CounterOp {
    pub(crate) fn apply(self, value: u32) -> u32 {
        match self {
            CounterOp::Set(operand) => operand,
            CounterOp::Add(operand) => value.wrapping_add(operand),
            CounterOp::Or(operand) => value | operand,
            CounterOp::And(operand) => value & operand,
        }
    }
}

/// The condition of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    Less(u32),
    Equal(u32),
    Greater(u32),
    AtLeast(u32),
    /// True if all bits of the mask are set.
    AllBits(u32),
}

impl Compare {
    pub(crate) fn holds(self, value: u32) -> bool {
        match self {
            Compare::Less(than) => value < than,
            Compare::Equal(to) => value == to,
            Compare::Greater(than) => value > than,
            Compare::AtLeast(least) => value >= least,
            Compare::AllBits(mask) => value & mask == mask,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_keeps_its_value_when_shared() {
        let counter = Counter::default();
        assert!(counter.update(|value| Some(CounterOp::Add(5).apply(value))));
        assert!(!counter.update(|_| None));
        let shared = counter.share().unwrap();
        assert_eq!((counter.value(), shared.value()), (5, 5));
        let other = Counter::imported(Arc::new(SharedCounters::open(shared.name()).unwrap()));
        assert!(other.update(|value| (value == 5).then_some(6)));
        assert_eq!(counter.value(), 6);
    }

    #[test]
    fn counter_operations_and_comparisons_match_their_names() {
        let changed = |change: CounterOp| change.apply(0b0110);
        assert_eq!(changed(CounterOp::Set(9)), 9);
        assert_eq!(changed(CounterOp::Add(u32::MAX)), 5);
        assert_eq!((changed(CounterOp::Or(0b1001)), changed(CounterOp::And(0b0011))), (0b1111, 0b0010));
        assert!(Compare::Less(7).holds(6) && !Compare::Less(6).holds(6));
        assert!(Compare::Greater(5).holds(6) && !Compare::Greater(6).holds(6));
        assert!(Compare::AtLeast(6).holds(6) && Compare::AllBits(0b0110).holds(0b0111));
        assert!(!Compare::AllBits(0b0110).holds(0b0101));
    }
}
