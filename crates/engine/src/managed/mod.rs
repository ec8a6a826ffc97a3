//! Managed memory: one address for the host and a device, with hints about its use.
//!
//! The bytes are physical memory of a device that is mapped at program addresses and at backing addresses, so neither
//! side ever waits for a migration. The hints are stored and returned; there is nothing that they could speed up.

mod calls;

use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{Mutex, lock};
use std::collections::{BTreeMap, BTreeSet};

/// Where managed memory can be preferred, used or prefetched to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ManagedLocation {
    Device(u32),
    Host,
    /// A NUMA node of the host.
    HostNode(i32),
}

/// A hint about the use of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    ReadMostly(bool),
    PreferredLocation(Option<ManagedLocation>),
    AccessedBy(ManagedLocation),
    NotAccessedBy(ManagedLocation),
}

/// The hints that hold for all of a range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    pub is_read_mostly: bool,
    pub preferred: Option<ManagedLocation>,
    pub accessed_by: BTreeSet<ManagedLocation>,
    pub last_prefetch: Option<ManagedLocation>,
}

impl Hints {
    fn apply(&mut self, advice: Advice) {
        match advice {
            Advice::ReadMostly(is_read_mostly) => self.is_read_mostly = is_read_mostly,
            Advice::PreferredLocation(location) => self.preferred = location,
            Advice::AccessedBy(location) => {
                self.accessed_by.insert(location);
            }
            Advice::NotAccessedBy(location) => {
                self.accessed_by.remove(&location);
            }
        }
    }

    /// What holds for two neighboring ranges.
    fn common(&self, other: &Hints) -> Hints {
        Hints {
            is_read_mostly: self.is_read_mostly && other.is_read_mostly,
            preferred: self.preferred.filter(|location| other.preferred == Some(*location)),
            accessed_by: self.accessed_by.intersection(&other.accessed_by).copied().collect(),
            last_prefetch: self.last_prefetch.filter(|location| other.last_prefetch == Some(*location)),
        }
    }
}

/// An allocation: its size, and its hints by the offset where they begin. Each holds up to the next.
#[derive(Debug)]
struct Allocation {
    size: usize,
    hints: BTreeMap<usize, Hints>,
}

impl Allocation {
    /// Makes the hints at an offset separate from those before it.
    fn split(&mut self, offset: usize) {
        if offset < self.size {
            let (_, before) = self.hints.range(..=offset).next_back().expect("there are hints at offset 0");
            let before = before.clone();
            self.hints.entry(offset).or_insert(before);
        }
    }

    fn change(&mut self, offset: usize, len: usize, change: impl Fn(&mut Hints)) {
        self.split(offset);
        self.split(offset + len);
        self.hints.range_mut(offset..offset + len).for_each(|(_, hints)| change(hints));
    }

    fn common(&self, offset: usize, len: usize) -> Hints {
        let first = *self.hints.range(..=offset).next_back().expect("there are hints at offset 0").0;
        let mut all = self.hints.range(first..offset + len).map(|(_, hints)| hints);
        let start = all.next().cloned().unwrap_or_default();
        all.fold(start, |common, hints| common.common(hints))
    }
}

/// The managed memory of a machine, by start address.
#[derive(Default)]
pub(crate) struct ManagedMemory {
    allocations: Mutex<BTreeMap<usize, Allocation>>,
}

impl ManagedMemory {
    fn add(&self, start: usize, size: usize) {
        let hints = BTreeMap::from([(0, Hints::default())]);
        lock(&self.allocations).insert(start, Allocation { size, hints });
    }

    /// Forgets an allocation. Returns `false` if none starts there.
    pub(crate) fn remove(&self, start: usize) -> bool {
        lock(&self.allocations).remove(&start).is_some()
    }

    /// Returns `true` if an address is in managed memory.
    fn contains(&self, address: usize) -> bool {
        self.with_range(address, 1, |_, _| ()).is_ok()
    }

    fn change(&self, address: usize, len: usize, change: impl Fn(&mut Hints)) -> Result<()> {
        self.with_range(address, len, |allocation, offset| allocation.change(offset, len, change))
    }

    fn common(&self, address: usize, len: usize) -> Result<Hints> {
        self.with_range(address, len, |allocation, offset| allocation.common(offset, len))
    }

    /// Runs `run` with the allocation that contains a range, and the offset of the range.
    fn with_range<T>(&self, address: usize, len: usize, run: impl FnOnce(&mut Allocation, usize) -> T) -> Result<T> {
        let mut allocations = lock(&self.allocations);
        let found = allocations.range_mut(..=address).next_back();
        match found {
            Some((start, allocation)) if len > 0 && allocation.size.checked_sub(address - start) >= Some(len) => {
                Ok(run(allocation, address - start))
            }
            _ => fail(Error::Parameter(format!("the {len} bytes at {address:#x} are not in one managed allocation"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_hold_for_a_range_if_they_hold_for_all_of_it() {
        let memory = ManagedMemory::default();
        memory.add(1000, 100);
        memory.change(1010, 20, |hints| hints.apply(Advice::ReadMostly(true))).unwrap();
        memory.change(1020, 20, |hints| hints.apply(Advice::AccessedBy(ManagedLocation::Host))).unwrap();
        let holds = |start, len| {
            let hints = memory.common(start, len).unwrap();
            (hints.is_read_mostly, hints.accessed_by.len())
        };
        assert_eq!(holds(1000, 10), (false, 0));
        assert_eq!(holds(1010, 10), (true, 0));
        assert_eq!(holds(1010, 20), (true, 0));
        assert_eq!(holds(1020, 10), (true, 1));
        assert_eq!(holds(1025, 15), (false, 1));
        assert_eq!(holds(1000, 100), (false, 0));
    }

    #[test]
    fn range_must_be_inside_one_allocation() {
        let memory = ManagedMemory::default();
        memory.add(1000, 100);
        for (start, len) in [(999, 1), (1000, 0), (1000, 101), (1099, 2), (1100, 1), (2000, usize::MAX)] {
            assert_eq!(memory.common(start, len).unwrap_err().code(), 107000, "{start} {len}");
        }
        assert!(memory.contains(1099) && !memory.contains(1100));
        assert!(memory.remove(1000) && !memory.remove(1000));
    }
}
