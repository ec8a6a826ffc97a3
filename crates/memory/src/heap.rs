//! An address range and the allocations in it. Each device has a heap, and pinned memory has one.
//!
//! The look-up of an address is on the path of every copy and every batch entry, so it takes no lock: an index by page
//! gives the number of the record, and the record gives the bounds. The index is not cleared on free; an entry is stale
//! if the bounds do not contain the address.
//!
//! `index` and the bounds in `records` are written only under the lock of `state` and read without it. A record with
//! size 0 is dead. Queued copies may still use a freed range: it stays in `quarantine` until they are done, so that no
//! copy ever accesses another allocation.

use crate::committed_ranges::CommittedRanges;
use crate::extent::{Extent, PAGE};
use crate::region::{Access, Region, SparseArray};
use softacl_sync::allocation_record::AllocationRecord;
use softacl_sync::facade::{Mutex, lock};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Unused addresses after every allocation, so that an overrun does not reach the next allocation.
const GUARD: usize = PAGE;
/// Freed bytes that stay committed for later allocations. More are returned to the system.
const KEEP_COMMITTED: usize = 512 << 20;
/// Maximum number of allocations of a heap, plus one.
const RECORDS: u32 = 1 << 22;

/// Returns `true` if queued work can no longer access a freed range.
pub type Idle = Box<dyn Fn() -> bool + Send>;

/// Quarantined ranges that one allocation tests.
const QUARANTINE_CHECKS: usize = 8;
/// Maximum number of cached ranges: freed ranges that keep their record and their index entries, for the next
/// allocation of equal size.
const MAX_CACHED: usize = 16;

/// A freed range that is kept ready for an allocation of equal size.
#[derive(Debug, Clone, Copy)]
struct CachedRange {
    start: usize,
    span: usize,
    number: u32,
}

/// The part of a heap that its lock protects.
struct HeapState {
    /// Free ranges by start and by size, in bytes, multiples of `PAGE`.
    by_start: BTreeMap<usize, usize>,
    by_size: BTreeSet<(usize, usize)>,
    /// Freed ranges that queued work may still access.
    quarantine: VecDeque<(Extent, Idle)>,
    /// Cached ranges, newest last. They are not among the free ranges.
    cached: Vec<CachedRange>,
    /// Records that can be reused.
    vacant: Vec<u32>,
    /// The first record that was never used.
    next: u32,
    /// Ranges that a pool retains for later allocations: record and length by start.
    retained: BTreeMap<usize, (u32, usize)>,
    used: usize,
    peak: usize,
    /// Free ranges that may still be committed, without the cached ones.
    committed: CommittedRanges,
    /// Isolation unit: large allocations start at a multiple of it and are followed by an unused unit. 0 if none.
    unit: usize,
}

/// The allocations of one device, or of pinned memory.
pub struct Heap {
    /// First program address.
    base: usize,
    len: usize,
    capacity: usize,
    index: SparseArray<AtomicU32>,
    records: SparseArray<AllocationRecord>,
    state: Mutex<HeapState>,
    /// Bytes of the capacity that memory at other addresses uses.
    reserved: Arc<AtomicUsize>,
}

/// Capacity of a heap that is charged for memory at other addresses. Released on drop.
#[derive(Debug)]
pub struct CapacityReservation {
    bytes: usize,
    total: Arc<AtomicUsize>,
}

impl Drop for CapacityReservation {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// The bytes in use, their maximum so far, and the capacity of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub used: usize,
    pub peak: usize,
    pub capacity: usize,
}

impl Heap {
    /// A heap of `len` addresses from `base`, of which `capacity` bytes can be allocated.
    pub fn new(base: usize, len: usize, capacity: usize) -> io::Result<Heap> {
        let state = HeapState {
            by_start: BTreeMap::from([(base, len)]),
            by_size: BTreeSet::from([(len, base)]),
            quarantine: VecDeque::new(),
            cached: Vec::with_capacity(MAX_CACHED),
            vacant: Vec::new(),
            next: 1,
            retained: BTreeMap::new(),
            used: 0,
            peak: 0,
            committed: CommittedRanges::default(),
            unit: 0,
        };
        Ok(Heap {
            base,
            len,
            capacity,
            index: SparseArray::new(len / PAGE, Access::ReadWrite)?,
            records: SparseArray::new(RECORDS as usize, Access::Sparse)?,
            state: Mutex::new(state),
            reserved: Arc::default(),
        })
    }

    /// Places large allocations in separate units, so that an observer can protect a whole unit cheaply.
    #[inline]
    pub fn with_isolation_unit(self, unit: usize) -> Heap {
        lock(&self.state).unit = unit;
        self
    }

    /// The live allocation that contains `address`.
    #[inline]
    pub fn find(&self, address: usize) -> Option<Extent> {
        let extent = self.extent(self.number(address)?)?;
        extent.contains(address).then_some(extent)
    }

    /// Bytes from `address` to the end of its allocation, or 0 if it has none. `hint` is the record of the previous
    /// look-up: if it contains the address, the index is not read.
    #[inline]
    pub fn bytes_to_end(&self, address: usize, hint: &AtomicU32) -> usize {
        let to_end = |number| match self.extent(number) {
            Some(extent) => extent.size.saturating_sub(address.wrapping_sub(extent.start)),
            None => 0,
        };
        let hinted = to_end(hint.load(Ordering::Relaxed));
        if hinted != 0 {
            return hinted;
        }
        let Some(number) = self.number(address) else { return 0 };
        hint.store(number, Ordering::Relaxed);
        to_end(number)
    }

    /// The record number in the index for an address.
    #[inline]
    fn number(&self, address: usize) -> Option<u32> {
        let offset = address.wrapping_sub(self.base);
        (offset < self.len).then(|| self.index.at(offset / PAGE).load(Ordering::Acquire))
    }

    /// The bounds in a record.
    #[inline]
    fn extent(&self, number: u32) -> Option<Extent> {
        self.record(number).bounds().map(|(start, size)| Extent { start, size })
    }

    /// Allocates `size` bytes. `None` if the capacity or the addresses are exhausted.
    pub fn allocate(&self, size: usize) -> Option<usize> {
        let span = size.checked_next_multiple_of(PAGE)?;
        let mut state = lock(&self.state);
        state.release_quarantined(QUARANTINE_CHECKS);
        if span > self.left(&state) {
            return None;
        }
        let CachedRange { start, number, .. } = match state.cached.iter().rposition(|cached| cached.span == span) {
            Some(index) => state.cached.remove(index),
            None => self.place(&mut state, span)?,
        };
        self.record(number).open(size);
        state.used += span;
        state.peak = state.peak.max(state.used + self.reserved.load(Ordering::Relaxed));
        Some(start)
    }

    /// Takes a free range and gives it a record, which stays dead.
    fn place(&self, state: &mut HeapState, span: usize) -> Option<CachedRange> {
        let (footprint, align) = state.footprint(span)?;
        // Every free range of this length contains an aligned one.
        let needed = footprint.checked_add(align - PAGE)?;
        if state.by_size.range((needed, 0)..).next().is_none() {
            state.trim_cached(0);
            let all = state.quarantine.len();
            state.release_quarantined(all);
        }
        if state.vacant.is_empty() && state.next == RECORDS {
            state.trim_cached(0);
        }
        let &(free, hole) = state.by_size.range((needed, 0)..).next()?;
        let number = match state.vacant.pop() {
            Some(number) => number,
            None if state.next < RECORDS => {
                state.next += 1;
                state.next - 1
            }
            None => return None,
        };
        let start = hole.next_multiple_of(align);
        state.take(hole, free);
        state.give(hole, start - hole);
        state.give(start + footprint, free - (start - hole) - footprint);
        state.committed.remove(start, span);
        self.record(number).place(start);
        for page in (start - self.base) / PAGE..(start - self.base + span) / PAGE {
            self.index.at(page).store(number, Ordering::Release);
        }
        Some(CachedRange { start, span, number })
    }

    /// Ends the allocation that starts at `start`. Its range is reused when the closure that `idle` returns holds, or
    /// immediately if `idle` returns `None`. Returns `false` if no allocation starts there.
    #[inline]
    pub fn free(&self, start: usize, idle: impl FnOnce(usize) -> Option<Idle>) -> bool {
        let mut state = lock(&self.state);
        let Some(number) = self.live_at(start) else { return false };
        self.end(&mut state, start, number, idle);
        true
    }

    /// Ends an allocation but keeps its range, which counts as used. Returns `false` if no allocation starts there.
    #[inline]
    pub fn retain(&self, start: usize) -> bool {
        let mut state = lock(&self.state);
        let Some(number) = self.live_at(start) else { return false };
        let span = self.record(number).close().next_multiple_of(PAGE);
        state.retained.insert(start, (number, span));
        true
    }

    /// Makes a retained range an allocation of `size` bytes, which must occupy as many pages. Returns `false` if the
    /// range is not retained.
    #[inline]
    pub fn revive(&self, start: usize, size: usize) -> bool {
        let mut state = lock(&self.state);
        let Some((number, span)) = state.retained.remove(&start) else { return false };
        debug_assert!(size.next_multiple_of(PAGE) == span);
        self.record(number).open(size);
        true
    }

    /// Releases a retained range. It is reused like a freed one.
    #[inline]
    pub fn discard(&self, start: usize, idle: impl FnOnce(usize) -> Option<Idle>) {
        let mut state = lock(&self.state);
        if let Some((number, span)) = state.retained.remove(&start) {
            state.release(start, span, number, idle(span));
        }
    }

    /// The record of the live allocation that starts at `start`.
    fn live_at(&self, start: usize) -> Option<u32> {
        let number = self.number(start)?;
        self.extent(number).is_some_and(|extent| extent.start == start && extent.size > 0).then_some(number)
    }

    /// Ends a live allocation.
    fn end(&self, state: &mut HeapState, start: usize, number: u32, idle: impl FnOnce(usize) -> Option<Idle>) {
        let span = self.record(number).close().next_multiple_of(PAGE);
        state.release(start, span, number, idle(span));
    }

    /// Ends every allocation and every retained range. Used by a device reset.
    pub fn clear(&self, idle: impl Fn(usize, usize) -> Option<Idle>) {
        let mut state = lock(&self.state);
        for number in 1..state.next {
            if let Some(Extent { start, size: 1.. }) = self.extent(number) {
                self.end(&mut state, start, number, |span| idle(start, span));
            }
        }
        for (start, (number, span)) in std::mem::take(&mut state.retained) {
            state.release(start, span, number, idle(start, span));
        }
    }

    /// Moves idle ranges from quarantine to the free list, oldest first, up to the first that is not idle. Returns
    /// `true` if one is left.
    pub fn release_quarantined(&self) -> bool {
        let mut state = lock(&self.state);
        while let Some((extent, idle)) = state.quarantine.pop_front() {
            if !idle() {
                state.quarantine.push_front((extent, idle));
                return true;
            }
            state.give_back(extent.start, extent.size);
        }
        false
    }

    /// Returns committed memory of free ranges to the system if it exceeds `KEEP_COMMITTED`. `backing` holds the bytes
    /// of the heap, at `shift` from the program addresses.
    pub fn trim(&self, backing: &Region, shift: isize) {
        let mut state = lock(&self.state);
        // As many as `allocate` tests, so that memory returns to the system even if the program frees more than it
        // allocates.
        state.release_quarantined(QUARANTINE_CHECKS);
        let cached: usize = state.cached.iter().map(|cached| cached.span).sum();
        if cached + state.committed.bytes() < KEEP_COMMITTED {
            return;
        }
        state.trim_cached(0);
        for (start, len) in state.committed.drain() {
            backing.decommit(start.wrapping_add_signed(shift), len);
        }
    }

    /// The bytes in use, including capacity that is charged for other addresses.
    #[inline]
    pub fn usage(&self) -> Usage {
        let state = lock(&self.state);
        let used = state.used + self.reserved.load(Ordering::Acquire);
        Usage { used, peak: state.peak.max(used), capacity: self.capacity }
    }

    /// Charges capacity for memory at other addresses. `None` if not enough is left.
    #[inline]
    pub fn reserve_capacity(&self, bytes: usize) -> Option<CapacityReservation> {
        let mut state = lock(&self.state);
        if bytes > self.left(&state) {
            return None;
        }
        let before = self.reserved.fetch_add(bytes, Ordering::AcqRel);
        state.peak = state.peak.max(state.used + before + bytes);
        Some(CapacityReservation { bytes, total: Arc::clone(&self.reserved) })
    }

    /// Capacity that is not in use.
    fn left(&self, state: &HeapState) -> usize {
        self.capacity.saturating_sub(state.used + self.reserved.load(Ordering::Acquire))
    }

    /// The first program address.
    #[inline]
    pub fn start(&self) -> usize {
        self.base
    }

    /// True if the address is in the heap, allocated or not.
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.len
    }

    /// All live allocations, sorted by address.
    #[inline]
    pub fn live(&self) -> Vec<Extent> {
        let state = lock(&self.state);
        let mut live: Vec<_> =
            (1..state.next).filter_map(|number| self.extent(number).filter(|extent| extent.size > 0)).collect();
        live.sort_unstable_by_key(|extent| extent.start);
        live
    }

    #[inline]
    fn record(&self, number: u32) -> &AllocationRecord {
        self.records.at(number as usize)
    }
}

impl HeapState {
    /// Releases a record and its range: to quarantine, or to the cache if `idle` is `None`.
    fn release(&mut self, start: usize, span: usize, number: u32, idle: Option<Idle>) {
        self.used -= span;
        match idle {
            Some(idle) => {
                self.vacant.push(number);
                self.quarantine.push_back((Extent { start, size: span }, idle));
            }
            None => {
                self.trim_cached(MAX_CACHED - 1);
                self.cached.push(CachedRange { start, span, number });
            }
        }
    }

    /// Moves idle ranges from quarantine to the free list. Tests the oldest `max_checks`; those that are not idle move
    /// to the end of the queue, so that every range is tested in turn.
    fn release_quarantined(&mut self, max_checks: usize) {
        for _ in 0..max_checks.min(self.quarantine.len()) {
            let Some((extent, idle)) = self.quarantine.pop_front() else { return };
            if idle() {
                self.give_back(extent.start, extent.size);
            } else {
                self.quarantine.push_back((extent, idle));
            }
        }
    }

    /// Moves the oldest cached ranges to the free list, until `keep` are left.
    fn trim_cached(&mut self, keep: usize) {
        for _ in keep..self.cached.len() {
            let CachedRange { start, span, number } = self.cached.remove(0);
            self.vacant.push(number);
            self.give_back(start, span);
        }
    }

    /// The number of addresses that an allocation occupies, and its alignment.
    fn footprint(&self, span: usize) -> Option<(usize, usize)> {
        match self.unit {
            0 => Some((span.checked_add(GUARD)?, PAGE)),
            unit if span < unit / 2 => Some((span + GUARD, PAGE)),
            unit => Some((span.checked_next_multiple_of(unit)?.checked_add(unit)?, unit)),
        }
    }

    /// Removes a free range.
    fn take(&mut self, start: usize, len: usize) {
        self.by_size.remove(&(len, start));
        self.by_start.remove(&start);
    }

    /// Returns the range of an allocation to the free list.
    fn give_back(&mut self, start: usize, span: usize) {
        let (footprint, _) = self.footprint(span).expect("it was computed when the range was allocated");
        self.committed.add(start, span);
        self.give(start, footprint);
    }

    /// Adds a free range and merges it with its neighbors.
    fn give(&mut self, mut start: usize, mut len: usize) {
        if len == 0 {
            return;
        }
        if let Some((&before, &size)) = self.by_start.range(..start).next_back()
            && before + size == start
        {
            self.by_start.remove(&before);
            self.by_size.remove(&(size, before));
            (start, len) = (before, len + size);
        }
        if let Some(size) = self.by_start.remove(&(start + len)) {
            self.by_size.remove(&(size, start + len));
            len += size;
        }
        self.by_start.insert(start, len);
        self.by_size.insert((len, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap() -> Heap {
        Heap::new(0x10_0000, 128 * PAGE, 32 * PAGE).unwrap()
    }

    #[test]
    fn only_addresses_inside_an_allocation_are_found() {
        let heap = heap();
        let a = heap.allocate(5000).unwrap();
        let b = heap.allocate(1).unwrap();
        assert_eq!(heap.find(a + 4999), Some(Extent { start: a, size: 5000 }));
        assert_eq!(heap.find(a + 5000), None);
        assert_eq!(heap.find(b), Some(Extent { start: b, size: 1 }));
        assert_eq!(heap.find(b + 1), None);
        assert_eq!(heap.find(0), None);
        assert!(heap.free(a, |_| None));
        assert_eq!(heap.find(a), None);
        assert!(!heap.free(a, |_| None));
        assert!(!heap.free(b + 1, |_| None));
    }

    #[test]
    fn neighboring_allocations_are_separated() {
        let heap = heap();
        let a = heap.allocate(PAGE).unwrap();
        let b = heap.allocate(PAGE).unwrap();
        assert_eq!((heap.find(a + PAGE), heap.find(b - 1)), (None, None));
    }

    #[test]
    fn capacity_is_enforced_and_returned_on_free() {
        let heap = heap();
        assert_eq!(heap.allocate(33 * PAGE), None);
        assert_eq!(heap.allocate(usize::MAX), None);
        let all: Vec<_> = (0..32).map(|_| heap.allocate(PAGE).unwrap()).collect();
        assert_eq!(heap.allocate(1), None);
        all.iter().step_by(2).chain(all.iter().skip(1).step_by(2)).for_each(|a| {
            assert!(heap.free(*a, |_| None));
        });
        assert_eq!(heap.usage(), Usage { used: 0, peak: 32 * PAGE, capacity: 32 * PAGE });
        assert!(heap.allocate(32 * PAGE).is_some());
    }

    #[test]
    fn reserved_capacity_counts_until_it_is_dropped() {
        let heap = heap();
        let reservation = heap.reserve_capacity(30 * PAGE).unwrap();
        assert_eq!((heap.allocate(3 * PAGE), heap.usage().used), (None, 30 * PAGE));
        assert!(heap.allocate(2 * PAGE).is_some() && heap.reserve_capacity(1).is_none());
        drop(reservation);
        assert_eq!(heap.usage(), Usage { used: 2 * PAGE, peak: 32 * PAGE, capacity: 32 * PAGE });
    }

    #[test]
    fn large_allocations_get_separate_units() {
        const UNIT: usize = 16 * PAGE;
        let len = 128 * PAGE;
        let heap = Heap::new(0x10_0000 + PAGE, len, len).unwrap().with_isolation_unit(UNIT);
        let small = heap.allocate(PAGE).unwrap();
        let large: Vec<usize> = std::iter::from_fn(|| heap.allocate(UNIT / 2)).collect();
        assert!(large.len() >= 2);
        let other = heap.allocate(1).unwrap();
        for start in &large {
            assert_eq!(start % UNIT, 0);
            for outside in large.iter().filter(|known| *known != start).chain([&small, &other]) {
                assert!(!(start - PAGE..start + UNIT + PAGE).contains(outside));
            }
        }
        for start in large.into_iter().chain([small, other]) {
            assert!(heap.free(start, |_| None));
        }
        let mut state = lock(&heap.state);
        state.trim_cached(0);
        assert_eq!(state.by_start, BTreeMap::from([(0x10_0000 + PAGE, len)]), "the free ranges are merged");
    }

    #[test]
    fn retained_range_is_used_but_not_an_allocation() {
        let heap = heap();
        let start = heap.allocate(5000).unwrap();
        assert!(heap.retain(start) && !heap.retain(start));
        assert_eq!((heap.find(start), heap.usage().used, heap.live().len()), (None, 2 * PAGE, 0));
        assert!(!heap.free(start, |_| None));
        assert!(heap.revive(start, 6000) && !heap.revive(start, 6000));
        assert_eq!(heap.find(start + 5999), Some(Extent { start, size: 6000 }));
        assert!(heap.retain(start));
        heap.discard(start, |_| None);
        heap.discard(start, |_| None);
        assert_eq!(heap.usage().used, 0);
        let again = heap.allocate(32 * PAGE).unwrap();
        assert!(heap.retain(again));
        heap.clear(|_, _| None);
        assert!(heap.allocate(32 * PAGE).is_some());
    }

    #[test]
    fn freed_range_is_reused_for_equal_size_and_merged_for_others() {
        let heap = Heap::new(0x10_0000, 6 * PAGE, 6 * PAGE).unwrap();
        let a = heap.allocate(2 * PAGE).unwrap();
        let b = heap.allocate(PAGE).unwrap();
        let hint = AtomicU32::default();
        assert_eq!((heap.bytes_to_end(a + 1, &hint), heap.bytes_to_end(a + 1, &hint)), (2 * PAGE - 1, 2 * PAGE - 1));
        assert!(heap.free(a, |_| None) && heap.free(b, |_| None));
        assert_eq!((heap.bytes_to_end(a + 1, &hint), heap.find(b)), (0, None));
        assert_eq!(heap.allocate(2 * PAGE - 7), Some(a));
        assert_eq!(heap.bytes_to_end(a, &hint), 2 * PAGE - 7);
        assert_eq!(heap.live(), [Extent { start: a, size: 2 * PAGE - 7 }]);
        assert!(heap.free(a, |_| None));
        assert_eq!(heap.allocate(5 * PAGE), Some(a));
        assert_eq!(heap.find(a + 4 * PAGE), Some(Extent { start: a, size: 5 * PAGE }));
    }

    #[test]
    fn freed_range_in_quarantine_is_not_reused() {
        use std::sync::atomic::AtomicBool;
        let heap = Heap::new(0x10_0000, 5 * PAGE, 5 * PAGE).unwrap();
        let start = heap.allocate(4 * PAGE).unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let idle = Arc::clone(&done);
        assert!(heap.free(start, |_| Some(Box::new(move || idle.load(Ordering::Relaxed)))));
        assert_eq!(heap.usage().used, 0);
        assert_eq!(heap.allocate(PAGE), None);
        done.store(true, Ordering::Relaxed);
        assert_eq!(heap.allocate(PAGE), Some(start));
    }
}
