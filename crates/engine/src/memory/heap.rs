//! A heap: one address range with the allocations in it. Each device has one, pinned memory has one.
//!
//! Finding the allocation of an address is on the path of every copy and every batch entry, so it
//! takes no lock: an index by page gives the number of the record, the record gives the bounds. The
//! index is not cleared on free; bounds that do not match are how a stale entry shows.
//!
//! Who may touch what: `index` and the bounds in `records` are written only under `state` and read
//! by anyone. A record with size 0 is dead. Freed ranges may still be the target of queued copies:
//! they wait in `quarantine` until those copies are done, so that no copy ever reaches a neighbour.

use super::region::{Index, Region};
use crate::sync::lock;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// Allocations start on pages of this size. The interface promises 64 bytes; a page costs only
/// addresses and keeps the index small.
pub(crate) const PAGE: usize = 4096;
/// Addresses behind every allocation that belong to nobody, so that one byte too far is not the
/// first byte of a neighbour.
const GUARD: usize = PAGE;
/// Freed memory that is kept committed for the next allocation before it goes back to the system.
const KEEP_COMMITTED: usize = 512 << 20;
const CHUNK: usize = 1024;
const CHUNKS: usize = 4096;

#[derive(Default)]
struct Record {
    start: AtomicUsize,
    size: AtomicUsize,
}

/// The bounds of a live allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: usize,
    pub(crate) size: usize,
}

impl Extent {
    #[inline]
    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.size
    }
}

/// Says whether nothing can touch a freed range any more.
pub(crate) type Idle = Box<dyn Fn() -> bool + Send>;

/// Ranges in quarantine that one allocation looks at.
const LOOKED_AT: usize = 8;

struct State {
    /// Free ranges by start and by size, in bytes, multiples of `PAGE`.
    by_start: BTreeMap<usize, usize>,
    by_size: BTreeSet<(usize, usize)>,
    /// Freed ranges that queued work may still touch, and when that is over.
    quarantine: VecDeque<(Extent, Idle)>,
    vacant: Vec<u32>,
    next: u32,
    /// Allocations that are live, by start: for release and for leak reports.
    live: BTreeMap<usize, u32>,
    /// Ranges that a pool keeps for its next allocation: record and bytes.
    parked: BTreeMap<usize, (u32, usize)>,
    used: usize,
    peak: usize,
    /// Freed bytes that may still be committed.
    stale: usize,
    /// End of everything that was ever handed out.
    high: usize,
}

pub(crate) struct Heap {
    /// Start of the addresses that the program sees.
    base: usize,
    len: usize,
    capacity: usize,
    index: Index,
    records: Box<[OnceLock<Box<[Record]>>]>,
    state: Mutex<State>,
}

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub used: usize,
    pub peak: usize,
    pub capacity: usize,
}

impl Heap {
    pub(crate) fn new(base: usize, len: usize, capacity: usize) -> io::Result<Heap> {
        let state = State {
            by_start: BTreeMap::from([(base, len)]),
            by_size: BTreeSet::from([(len, base)]),
            quarantine: VecDeque::new(),
            vacant: Vec::new(),
            next: 1,
            live: BTreeMap::new(),
            parked: BTreeMap::new(),
            used: 0,
            peak: 0,
            stale: 0,
            high: base,
        };
        Ok(Heap {
            base,
            len,
            capacity,
            index: Index::new(len / PAGE)?,
            records: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            state: Mutex::new(state),
        })
    }

    /// The live allocation that contains `address`.
    #[inline]
    pub(crate) fn find(&self, address: usize) -> Option<Extent> {
        let offset = address.wrapping_sub(self.base);
        if offset >= self.len {
            return None;
        }
        let number = self.index.at(offset / PAGE).load(Ordering::Acquire) as usize;
        let record = &self.records[number / CHUNK].get()?[number % CHUNK];
        let size = record.size.load(Ordering::Acquire);
        let extent = Extent { start: record.start.load(Ordering::Acquire), size };
        extent.contains(address).then_some(extent)
    }

    /// Allocates; `None` when the capacity or the addresses are used up.
    pub(crate) fn allocate(&self, size: usize) -> Option<usize> {
        let span = size.checked_next_multiple_of(PAGE)?;
        let mut state = lock(&self.state);
        state.settle(LOOKED_AT);
        if span > self.capacity - state.used.min(self.capacity) {
            return None;
        }
        let needed = span.checked_add(GUARD)?;
        if state.by_size.range((needed, 0)..).next().is_none() {
            let all = state.quarantine.len();
            state.settle(all);
        }
        let &(room, start) = state.by_size.range((needed, 0)..).next()?;
        state.take(start, room, span + GUARD);
        let number = match state.vacant.pop() {
            Some(number) => number,
            None if (state.next as usize) < CHUNK * CHUNKS => {
                state.next += 1;
                state.next - 1
            }
            None => {
                state.give(start, span + GUARD);
                return None;
            }
        };
        let record = self.record(number);
        record.start.store(start, Ordering::Release);
        for page in (start - self.base) / PAGE..(start - self.base + span) / PAGE {
            self.index.at(page).store(number, Ordering::Release);
        }
        record.size.store(size, Ordering::Release);
        state.live.insert(start, number);
        state.used += span;
        state.peak = state.peak.max(state.used);
        state.stale = state.stale.saturating_sub(span);
        state.high = state.high.max(start + span);
        Some(start)
    }

    /// Ends the allocation that starts at `start`. Its range is reused once `idle` says that nothing
    /// queued can touch it any more; `None` when that is already so. `false`: no such allocation.
    pub(crate) fn free(&self, start: usize, idle: impl FnOnce(usize) -> Option<Idle>) -> bool {
        let mut state = lock(&self.state);
        let Some(number) = state.live.remove(&start) else { return false };
        let record = self.record(number);
        let extent = Extent { start, size: record.size.swap(0, Ordering::AcqRel).next_multiple_of(PAGE) };
        state.end(number, extent, idle(extent.size));
        true
    }

    /// Ends an allocation but keeps its range, which counts as used. `false`: no such allocation.
    pub(crate) fn park(&self, start: usize) -> bool {
        let mut state = lock(&self.state);
        let Some(number) = state.live.remove(&start) else { return false };
        let span = self.record(number).size.swap(0, Ordering::AcqRel).next_multiple_of(PAGE);
        state.parked.insert(start, (number, span));
        true
    }

    /// Makes a parked range an allocation of `size` bytes, which must fit it. `false`: it is not parked.
    pub(crate) fn wake(&self, start: usize, size: usize) -> bool {
        let mut state = lock(&self.state);
        let Some((number, span)) = state.parked.remove(&start) else { return false };
        debug_assert!(size.next_multiple_of(PAGE) == span);
        self.record(number).size.store(size, Ordering::Release);
        state.live.insert(start, number);
        true
    }

    /// Lets go of a parked range. Its range is reused as that of a free.
    pub(crate) fn discard(&self, start: usize, idle: impl FnOnce(usize) -> Option<Idle>) {
        let mut state = lock(&self.state);
        if let Some((number, span)) = state.parked.remove(&start) {
            state.end(number, Extent { start, size: span }, idle(span));
        }
    }

    /// Ends every allocation, as a device reset does.
    pub(crate) fn clear(&self, idle: impl Fn(usize, usize) -> Option<Idle>) {
        let mut state = lock(&self.state);
        let live = std::mem::take(&mut state.live);
        for (start, number) in live {
            let size = self.record(number).size.swap(0, Ordering::AcqRel).next_multiple_of(PAGE);
            state.end(number, Extent { start, size }, idle(start, size));
        }
        for (start, (number, size)) in std::mem::take(&mut state.parked) {
            state.end(number, Extent { start, size }, idle(start, size));
        }
    }

    /// Returns committed memory of free ranges to the system when much has piled up. `backing`
    /// holds the bytes of the heap at `shift` from its addresses.
    pub(crate) fn trim(&self, backing: &Region, shift: isize) {
        let mut state = lock(&self.state);
        if state.stale < KEEP_COMMITTED {
            return;
        }
        state.stale = 0;
        for (&start, &len) in &state.by_start {
            let end = (start + len).min(state.high);
            if start < end {
                backing.release(start.wrapping_add_signed(shift), end - start);
            }
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        let state = lock(&self.state);
        Usage { used: state.used, peak: state.peak, capacity: self.capacity }
    }

    pub(crate) fn start(&self) -> usize {
        self.base
    }

    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.len
    }

    /// Live allocations, for reports.
    pub(crate) fn live(&self) -> Vec<Extent> {
        let state = lock(&self.state);
        let size = |number: &u32| self.record(*number).size.load(Ordering::Acquire);
        state.live.iter().map(|(&start, number)| Extent { start, size: size(number) }).collect()
    }

    fn record(&self, number: u32) -> &Record {
        let number = number as usize;
        let chunk = self.records[number / CHUNK].get_or_init(|| (0..CHUNK).map(|_| Record::default()).collect());
        &chunk[number % CHUNK]
    }
}

impl State {
    /// Gives up a record and its range.
    fn end(&mut self, number: u32, extent: Extent, idle: Option<Idle>) {
        self.vacant.push(number);
        self.used -= extent.size;
        self.stale += extent.size;
        match idle {
            Some(idle) => self.quarantine.push_back((extent, idle)),
            None => self.give(extent.start, extent.size + GUARD),
        }
    }

    /// Moves ranges that nothing can touch any more from the quarantine to the free ranges. Looks at
    /// the oldest `most`; those that must wait go to the end, so that all get their turn.
    fn settle(&mut self, most: usize) {
        for _ in 0..most.min(self.quarantine.len()) {
            let Some((extent, idle)) = self.quarantine.pop_front() else { return };
            if idle() {
                self.give(extent.start, extent.size + GUARD);
            } else {
                self.quarantine.push_back((extent, idle));
            }
        }
    }

    fn take(&mut self, start: usize, room: usize, span: usize) {
        self.by_size.remove(&(room, start));
        self.by_start.remove(&start);
        if room > span {
            self.by_start.insert(start + span, room - span);
            self.by_size.insert((room - span, start + span));
        }
    }

    fn give(&mut self, mut start: usize, mut len: usize) {
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
    fn a_parked_range_is_used_but_no_allocation() {
        let heap = heap();
        let start = heap.allocate(5000).unwrap();
        assert!(heap.park(start) && !heap.park(start));
        assert_eq!((heap.find(start), heap.usage().used, heap.live().len()), (None, 2 * PAGE, 0));
        assert!(!heap.free(start, |_| None));
        assert!(heap.wake(start, 6000) && !heap.wake(start, 6000));
        assert_eq!(heap.find(start + 5999), Some(Extent { start, size: 6000 }));
        assert!(heap.park(start));
        heap.discard(start, |_| None);
        heap.discard(start, |_| None);
        assert_eq!(heap.usage().used, 0);
        let again = heap.allocate(32 * PAGE).unwrap();
        assert!(heap.park(again));
        heap.clear(|_, _| None);
        assert!(heap.allocate(32 * PAGE).is_some());
    }

    #[test]
    fn a_range_in_quarantine_is_not_handed_out() {
        use std::sync::Arc;
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
