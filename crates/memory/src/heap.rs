//! A heap: one address range with the allocations in it. Each device has one, pinned memory has one.
//!
//! Finding the allocation of an address is on the path of every copy and every batch entry, so it
//! takes no lock: an index by page gives the number of the record, the record gives the bounds. The
//! index is not cleared on free; bounds that do not match are how a stale entry shows.
//!
//! Who may touch what: `index` and the bounds in `records` are written only under `state` and read
//! by anyone. A record with size 0 is dead. Freed ranges may still be the target of queued copies:
//! they wait in `quarantine` until those copies are done, so that no copy ever reaches a neighbour.

use crate::committed_ranges::CommittedRanges;
use crate::extent::{Extent, PAGE};
use crate::region::{Access, Region, SparseArray};
use softacl_sync::allocation_record::AllocationRecord;
use softacl_sync::facade::{Mutex, lock};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Addresses behind every allocation that belong to nobody, so that one byte too far is not the
/// first byte of a neighbour.
const GUARD: usize = PAGE;
/// Freed memory that is kept committed for the next allocation before it goes back to the system.
const KEEP_COMMITTED: usize = 512 << 20;
/// Allocations that a heap can have at once.
const RECORDS: u32 = 1 << 22;

/// Says whether nothing can touch a freed range any more.
pub type Idle = Box<dyn Fn() -> bool + Send>;

/// Ranges in quarantine that one allocation looks at.
const LOOKED_AT: usize = 8;
/// Freed ranges that keep their record and their entries in the index, for the next allocation of
/// the same size.
const WARM: usize = 16;

/// A freed range that can be handed out again as it is.
#[derive(Debug, Clone, Copy)]
struct CachedRange {
    start: usize,
    span: usize,
    number: u32,
}

struct HeapState {
    /// Free ranges by start and by size, in bytes, multiples of `PAGE`.
    by_start: BTreeMap<usize, usize>,
    by_size: BTreeSet<(usize, usize)>,
    /// Freed ranges that queued work may still touch, and when that is over.
    quarantine: VecDeque<(Extent, Idle)>,
    /// Freed ranges that nothing touches, newest last; not among the free ranges.
    warm: Vec<CachedRange>,
    vacant: Vec<u32>,
    /// The first record that was never used.
    next: u32,
    /// Ranges that a pool keeps for its next allocation: record and bytes.
    retained: BTreeMap<usize, (u32, usize)>,
    used: usize,
    peak: usize,
    /// Free ranges that may still be committed; the warm ones are not among them.
    leftovers: CommittedRanges,
    /// Large allocations have units of this length to themselves, and one more behind them; 0: they do not.
    unit: usize,
}

pub struct Heap {
    /// Start of the addresses that the program sees.
    base: usize,
    len: usize,
    capacity: usize,
    index: SparseArray<AtomicU32>,
    records: SparseArray<AllocationRecord>,
    state: Mutex<HeapState>,
    /// Bytes of the capacity that are used at other addresses.
    aside: Arc<AtomicUsize>,
}

/// A part of the capacity of a heap that memory at other addresses uses, until this is dropped.
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

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub used: usize,
    pub peak: usize,
    pub capacity: usize,
}

impl Heap {
    pub fn new(base: usize, len: usize, capacity: usize) -> io::Result<Heap> {
        let state = HeapState {
            by_start: BTreeMap::from([(base, len)]),
            by_size: BTreeSet::from([(len, base)]),
            quarantine: VecDeque::new(),
            warm: Vec::with_capacity(WARM),
            vacant: Vec::new(),
            next: 1,
            retained: BTreeMap::new(),
            used: 0,
            peak: 0,
            leftovers: CommittedRanges::default(),
            unit: 0,
        };
        Ok(Heap {
            base,
            len,
            capacity,
            index: SparseArray::new(len / PAGE, Access::ReadWrite)?,
            records: SparseArray::new(RECORDS as usize, Access::Sparse)?,
            state: Mutex::new(state),
            aside: Arc::default(),
        })
    }

    /// The same heap, in which large allocations lie in units of their own: for an observer, to whom it is
    /// cheap to protect a whole unit.
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

    /// Bytes from `address` to the end of its allocation; 0 when there is none. The hint is the record
    /// in which it was found last: where that contains the address, the index need not be read.
    #[inline]
    pub fn bytes_to_end(&self, address: usize, hint: &AtomicU32) -> usize {
        let room = |number| match self.extent(number) {
            Some(extent) => extent.size.saturating_sub(address.wrapping_sub(extent.start)),
            None => 0,
        };
        let hinted = room(hint.load(Ordering::Relaxed));
        if hinted != 0 {
            return hinted;
        }
        let Some(number) = self.number(address) else { return 0 };
        hint.store(number, Ordering::Relaxed);
        room(number)
    }

    /// The record that the index names for an address.
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

    /// Allocates; `None` when the capacity or the addresses are used up.
    pub fn allocate(&self, size: usize) -> Option<usize> {
        let span = size.checked_next_multiple_of(PAGE)?;
        let mut state = lock(&self.state);
        state.release_quarantined(LOOKED_AT);
        if span > self.left(&state) {
            return None;
        }
        let CachedRange { start, number, .. } = match state.warm.iter().rposition(|warm| warm.span == span) {
            Some(index) => state.warm.remove(index),
            None => self.place(&mut state, span)?,
        };
        self.record(number).open(size);
        state.used += span;
        state.peak = state.peak.max(state.used + self.aside.load(Ordering::Relaxed));
        Some(start)
    }

    /// Finds room and gives it a record, which stays dead.
    fn place(&self, state: &mut HeapState, span: usize) -> Option<CachedRange> {
        let (footprint, align) = state.footprint(span)?;
        // Every room of this size has an aligned place in it.
        let needed = footprint.checked_add(align - PAGE)?;
        if state.by_size.range((needed, 0)..).next().is_none() {
            state.trim_cached(0);
            let all = state.quarantine.len();
            state.release_quarantined(all);
        }
        if state.vacant.is_empty() && state.next == RECORDS {
            state.trim_cached(0);
        }
        let &(room, hole) = state.by_size.range((needed, 0)..).next()?;
        let number = match state.vacant.pop() {
            Some(number) => number,
            None if state.next < RECORDS => {
                state.next += 1;
                state.next - 1
            }
            None => return None,
        };
        let start = hole.next_multiple_of(align);
        state.take(hole, room);
        state.give(hole, start - hole);
        state.give(start + footprint, room - (start - hole) - footprint);
        state.leftovers.remove(start, span);
        self.record(number).place(start);
        for page in (start - self.base) / PAGE..(start - self.base + span) / PAGE {
            self.index.at(page).store(number, Ordering::Release);
        }
        Some(CachedRange { start, span, number })
    }

    /// Ends the allocation that starts at `start`. Its range is reused once `idle` says that nothing
    /// queued can touch it any more; `None` when that is already so. `false`: no such allocation.
    pub fn free(&self, start: usize, idle: impl FnOnce(usize) -> Option<Idle>) -> bool {
        let mut state = lock(&self.state);
        let Some(number) = self.live_at(start) else { return false };
        self.end(&mut state, start, number, idle);
        true
    }

    /// Ends an allocation but keeps its range, which counts as used. `false`: no such allocation.
    pub fn retain(&self, start: usize) -> bool {
        let mut state = lock(&self.state);
        let Some(number) = self.live_at(start) else { return false };
        let span = self.record(number).close().next_multiple_of(PAGE);
        state.retained.insert(start, (number, span));
        true
    }

    /// Makes a parked range an allocation of `size` bytes, which must fit it. `false`: it is not parked.
    pub fn revive(&self, start: usize, size: usize) -> bool {
        let mut state = lock(&self.state);
        let Some((number, span)) = state.retained.remove(&start) else { return false };
        debug_assert!(size.next_multiple_of(PAGE) == span);
        self.record(number).open(size);
        true
    }

    /// Lets go of a parked range. It is reused like a freed one.
    pub fn discard(&self, start: usize, idle: impl FnOnce(usize) -> Option<Idle>) {
        let mut state = lock(&self.state);
        if let Some((number, span)) = state.retained.remove(&start) {
            state.release(start, span, number, idle(span));
        }
    }

    /// The record of the live allocation that starts there.
    fn live_at(&self, start: usize) -> Option<u32> {
        let number = self.number(start)?;
        self.extent(number).is_some_and(|extent| extent.start == start && extent.size > 0).then_some(number)
    }

    /// Ends a live allocation.
    fn end(&self, state: &mut HeapState, start: usize, number: u32, idle: impl FnOnce(usize) -> Option<Idle>) {
        let span = self.record(number).close().next_multiple_of(PAGE);
        state.release(start, span, number, idle(span));
    }

    /// Ends every allocation, as a device reset does.
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

    /// Moves ranges out of the quarantine, the oldest first, until one has to stay. `true`: one has.
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

    /// Returns committed memory of free ranges to the system when much has piled up. `backing`
    /// holds the bytes of the heap at `shift` from its addresses.
    pub fn trim(&self, backing: &Region, shift: isize) {
        let mut state = lock(&self.state);
        // As many as an allocation: a program that frees more than it allocates gets it back, too.
        state.release_quarantined(LOOKED_AT);
        let warm: usize = state.warm.iter().map(|warm| warm.span).sum();
        if warm + state.leftovers.bytes() < KEEP_COMMITTED {
            return;
        }
        state.trim_cached(0);
        for (start, len) in state.leftovers.drain() {
            backing.decommit(start.wrapping_add_signed(shift), len);
        }
    }

    pub fn usage(&self) -> Usage {
        let state = lock(&self.state);
        let used = state.used + self.aside.load(Ordering::Acquire);
        Usage { used, peak: state.peak.max(used), capacity: self.capacity }
    }

    /// Uses a part of the capacity at other addresses; `None` when there is not so much left.
    pub fn reserve_capacity(&self, bytes: usize) -> Option<CapacityReservation> {
        let mut state = lock(&self.state);
        if bytes > self.left(&state) {
            return None;
        }
        let before = self.aside.fetch_add(bytes, Ordering::AcqRel);
        state.peak = state.peak.max(state.used + before + bytes);
        Some(CapacityReservation { bytes, total: Arc::clone(&self.aside) })
    }

    fn left(&self, state: &HeapState) -> usize {
        self.capacity.saturating_sub(state.used + self.aside.load(Ordering::Acquire))
    }

    pub fn start(&self) -> usize {
        self.base
    }

    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.len
    }

    /// Live allocations by address, for reports.
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
    /// Gives up a record and its range.
    fn release(&mut self, start: usize, span: usize, number: u32, idle: Option<Idle>) {
        self.used -= span;
        match idle {
            Some(idle) => {
                self.vacant.push(number);
                self.quarantine.push_back((Extent { start, size: span }, idle));
            }
            None => {
                self.trim_cached(WARM - 1);
                self.warm.push(CachedRange { start, span, number });
            }
        }
    }

    /// Moves ranges that nothing can touch any more from the quarantine to the free ranges. Looks at
    /// the oldest `most`; those that must wait go to the end, so that all get their turn.
    fn release_quarantined(&mut self, most: usize) {
        for _ in 0..most.min(self.quarantine.len()) {
            let Some((extent, idle)) = self.quarantine.pop_front() else { return };
            if idle() {
                self.give_back(extent.start, extent.size);
            } else {
                self.quarantine.push_back((extent, idle));
            }
        }
    }

    /// Moves the oldest warm ranges to the free ranges, until so many are left.
    fn trim_cached(&mut self, left: usize) {
        for _ in left..self.warm.len() {
            let CachedRange { start, span, number } = self.warm.remove(0);
            self.vacant.push(number);
            self.give_back(start, span);
        }
    }

    /// What an allocation takes of the addresses, and where it may start.
    fn footprint(&self, span: usize) -> Option<(usize, usize)> {
        match self.unit {
            0 => Some((span.checked_add(GUARD)?, PAGE)),
            unit if span < unit / 2 => Some((span + GUARD, PAGE)),
            unit => Some((span.checked_next_multiple_of(unit)?.checked_add(unit)?, unit)),
        }
    }

    fn take(&mut self, start: usize, room: usize) {
        self.by_size.remove(&(room, start));
        self.by_start.remove(&start);
    }

    /// Makes the range of an allocation free.
    fn give_back(&mut self, start: usize, span: usize) {
        let (footprint, _) = self.footprint(span).expect("it was taken once");
        self.leftovers.add(start, span);
        self.give(start, footprint);
    }

    fn give(&mut self, mut start: usize, mut len: usize) {
        if len == 0 {
            return;
        }
        if let Some((&before, &room)) = self.by_start.range(..start).next_back()
            && before + room == start
        {
            self.by_start.remove(&before);
            self.by_size.remove(&(room, before));
            (start, len) = (before, len + room);
        }
        if let Some(room) = self.by_start.remove(&(start + len)) {
            self.by_size.remove(&(room, start + len));
            len += room;
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
    fn interior_addresses_find_their_allocation_and_others_do_not() {
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
    fn neighbours_do_not_touch() {
        let heap = heap();
        let a = heap.allocate(PAGE).unwrap();
        let b = heap.allocate(PAGE).unwrap();
        assert_eq!((heap.find(a + PAGE), heap.find(b - 1)), (None, None));
    }

    #[test]
    fn the_capacity_is_a_limit_and_comes_back() {
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
    fn capacity_used_elsewhere_counts_until_it_comes_back() {
        let heap = heap();
        let aside = heap.reserve_capacity(30 * PAGE).unwrap();
        assert_eq!((heap.allocate(3 * PAGE), heap.usage().used), (None, 30 * PAGE));
        assert!(heap.allocate(2 * PAGE).is_some() && heap.reserve_capacity(1).is_none());
        drop(aside);
        assert_eq!(heap.usage(), Usage { used: 2 * PAGE, peak: 32 * PAGE, capacity: 32 * PAGE });
    }

    #[test]
    fn large_allocations_have_units_of_their_own() {
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
        assert_eq!(state.by_start, BTreeMap::from([(0x10_0000 + PAGE, len)]), "the rooms are whole again");
    }

    #[test]
    fn a_parked_range_is_used_but_no_allocation() {
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
    fn a_freed_range_is_handed_out_again_for_the_same_size_and_given_up_for_others() {
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
    fn a_range_in_quarantine_is_not_handed_out() {
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
