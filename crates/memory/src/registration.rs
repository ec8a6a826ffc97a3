//! Host ranges that the program registered. They count as pinned memory.
//!
//! A look-up takes a read lock once per request, not once per batch entry, and only while at least one range is
//! registered.

use crate::extent::Extent;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{RwLock, RwLockReadGuard};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// All registered ranges.
#[derive(Default)]
pub struct Registrations {
    ranges: RwLock<Ranges>,
    count: AtomicUsize,
    /// Set when the first range is registered. Queued work may use a range after it is unregistered.
    was_used: AtomicBool,
}

/// Size by start, and whether the range is mapped for devices.
type Ranges = BTreeMap<usize, (usize, bool)>;

/// The registered ranges, locked for the duration of one request.
pub struct Registered<'a>(Option<RwLockReadGuard<'a, Ranges>>);

impl Registrations {
    /// Registers a range, which must not overlap a registered one.
    pub fn insert(&self, start: usize, size: usize, mapped: bool) -> Result<()> {
        let mut ranges = self.ranges.write().unwrap_or_else(PoisonError::into_inner);
        let Some(end) = start.checked_add(size) else {
            return fail(Error::Parameter(format!("the range of {size} bytes at {start:#x} wraps around")));
        };
        let before = ranges.range(..end).next_back();
        if before.is_some_and(|(&other, &(len, _))| other + len > start) {
            return fail(Error::AlreadyRegistered { start, size });
        }
        ranges.insert(start, (size, mapped));
        self.was_used.store(true, Ordering::Release);
        self.count.store(ranges.len(), Ordering::Release);
        Ok(())
    }

    /// Unregisters the range that starts at `start`.
    #[inline]
    pub fn remove(&self, start: usize) -> Result<()> {
        let mut ranges = self.ranges.write().unwrap_or_else(PoisonError::into_inner);
        ranges.remove(&start).ok_or(Error::NotRegistered(start))?;
        self.count.store(ranges.len(), Ordering::Release);
        Ok(())
    }

    /// True if a range was ever registered.
    #[inline]
    pub fn was_used(&self) -> bool {
        self.was_used.load(Ordering::Acquire)
    }

    /// True if `address` is in a range that is mapped for devices.
    #[inline]
    pub fn mapped(&self, address: usize) -> bool {
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        ranges.range(..=address).next_back().is_some_and(|(&start, &(size, mapped))| mapped && address - start < size)
    }

    /// Locks the ranges for look-ups.
    #[inline]
    pub fn hold(&self) -> Registered<'_> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Registered(None);
        }
        Registered(Some(self.ranges.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Registered<'_> {
    /// The registered range that contains `address`.
    #[inline]
    pub fn find(&self, address: usize) -> Option<Extent> {
        let (&start, &(size, _)) = self.0.as_ref()?.range(..=address).next_back()?;
        let extent = Extent { start, size };
        extent.contains(address).then_some(extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ascendcl_sys::{
        ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, ACL_ERROR_RT_PARAM_INVALID,
    };

    #[test]
    fn overlapping_ranges_are_rejected_and_addresses_are_found() {
        let all = Registrations::default();
        all.insert(0x1000, 0x1000, true).unwrap();
        assert_eq!(all.insert(0x1fff, 1, true).unwrap_err().code(), ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        assert_eq!(all.insert(0x800, 0x801, true).unwrap_err().code(), ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        all.insert(0x2000, 0x10, false).unwrap();
        assert_eq!(all.insert(usize::MAX, 2, false).unwrap_err().code(), ACL_ERROR_RT_PARAM_INVALID);
        assert_eq!(all.hold().find(0x1fff), Some(Extent { start: 0x1000, size: 0x1000 }));
        assert_eq!(all.hold().find(0x2010), None);
        assert!(all.mapped(0x1800) && !all.mapped(0x2000));
        all.remove(0x1000).unwrap();
        assert_eq!(all.remove(0x1000).unwrap_err().code(), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED);
        assert_eq!(all.hold().find(0x1000), None);
    }
}
