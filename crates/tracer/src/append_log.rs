//! Lock-free append-only list of fixed-size records.
//!
//! Its memory comes from `mmap`, not from the program's allocator. A signal handler that ends the process may
//! interrupt a thread in here and never return; the allocator would then stay inconsistent, with its lock held.
//! Readers see every completed record, even if a writer stopped in the middle of another one.

use crate::trace_event::TimedEvent;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Slots of the first chunk, which fill one page. Each further chunk has twice as many slots as the previous one.
const FIRST_CHUNK_SLOTS: usize = 64;
const MAX_CHUNKS: usize = 25;

/// Room for one record. Zeroed memory, as `mmap` returns it, is an empty slot.
#[repr(C)]
struct Slot {
    record: MaybeUninit<TimedEvent>,
    is_written: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct AppendLog {
    chunks: [AtomicPtr<Slot>; MAX_CHUNKS],
    /// Reserved slots, written or not.
    len: AtomicUsize,
}

impl AppendLog {
    pub(crate) fn new() -> AppendLog {
        AppendLog { chunks: [const { AtomicPtr::new(ptr::null_mut()) }; MAX_CHUNKS], len: AtomicUsize::new(0) }
    }

    /// Appends a record. Returns `false`, dropping the record, if the system has no memory for it.
    pub(crate) fn push(&self, record: TimedEvent) -> bool {
        let (chunk, index) = locate(self.len.fetch_add(1, Ordering::Relaxed));
        let Some(slots) = self.chunks.get(chunk).and_then(|start| open(start, FIRST_CHUNK_SLOTS << chunk)) else {
            return false;
        };
        // SAFETY: the chunk has this slot, and `fetch_add` returned its index only once; readers wait for the flag.
        unsafe {
            let slot = slots.add(index).as_ptr();
            (&raw mut (*slot).record).write(MaybeUninit::new(record));
            (*slot).is_written.store(true, Ordering::Release);
        }
        true
    }

    /// Upper bound on the number of records that `read` returns.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Returns the records that are complete now.
    pub(crate) fn read(&self) -> Vec<TimedEvent> {
        (0..self.len()).filter_map(|index| self.get(index)).collect()
    }

    fn get(&self, index: usize) -> Option<TimedEvent> {
        let (chunk, index) = locate(index);
        let slots = NonNull::new(self.chunks.get(chunk)?.load(Ordering::Acquire))?;
        // SAFETY: the chunk has this slot, and lives as long as the list. A slot whose flag is set is never written
        // again.
        unsafe {
            let slot = slots.add(index).as_ptr();
            (*slot).is_written.load(Ordering::Acquire).then(|| (*slot).record.assume_init())
        }
    }
}

impl Drop for AppendLog {
    fn drop(&mut self) {
        for (chunk, start) in self.chunks.iter_mut().enumerate() {
            if let Some(slots) = NonNull::new(*start.get_mut()) {
                unmap(slots, FIRST_CHUNK_SLOTS << chunk);
            }
        }
    }
}

/// Returns the chunk of a record and its slot in that chunk.
fn locate(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST_CHUNK_SLOTS + 1).ilog2() as usize;
    (chunk, index - FIRST_CHUNK_SLOTS * ((1 << chunk) - 1))
}

/// Returns the slots of a chunk. Maps the chunk on first use.
fn open(start: &AtomicPtr<Slot>, len: usize) -> Option<NonNull<Slot>> {
    if let existing @ Some(_) = NonNull::new(start.load(Ordering::Acquire)) {
        return existing;
    }
    let fresh = map(len)?;
    let installed = start.compare_exchange(ptr::null_mut(), fresh.as_ptr(), Ordering::AcqRel, Ordering::Acquire);
    match installed {
        Ok(_) => Some(fresh),
        // A signal handler on this thread installed the chunk first.
        Err(other) => {
            unmap(fresh, len);
            NonNull::new(other)
        }
    }
}

fn map(len: usize) -> Option<NonNull<Slot>> {
    let bytes = len.checked_mul(size_of::<Slot>())?;
    let (protection, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new memory at an address that the system chooses.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, kind, -1, 0) };
    (start != libc::MAP_FAILED).then(|| NonNull::new(start.cast()))?
}

/// Unmaps an unused chunk of `len` slots.
fn unmap(slots: NonNull<Slot>, len: usize) {
    // SAFETY: `map` returned this range, and no other pointer to it remains.
    unsafe { libc::munmap(slots.as_ptr().cast(), len * size_of::<Slot>()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_event::TraceEvent;

    fn times(log: &AppendLog) -> Vec<u64> {
        log.read().iter().map(|record| record.ns).collect()
    }

    fn record(ns: u64) -> TimedEvent {
        TimedEvent { ns, event: TraceEvent::Exited(0) }
    }

    #[test]
    fn slot_has_the_documented_size() {
        assert_eq!((size_of::<Slot>(), size_of::<Slot>() * FIRST_CHUNK_SLOTS), (64, 4096));
    }

    #[test]
    fn records_are_stored_in_chunks_that_double() {
        assert_eq!(
            [0, 63, 64, 191, 192, 447, 448].map(locate),
            [(0, 0), (0, 63), (1, 0), (1, 127), (2, 0), (2, 255), (3, 0)]
        );
        let log = AppendLog::new();
        assert!(times(&log).is_empty());
        assert!((0..5000).all(|ns| log.push(record(ns))));
        assert_eq!(times(&log), Vec::from_iter(0..5000));
    }

    #[test]
    fn reserved_but_unwritten_slots_are_skipped() {
        let log = AppendLog::new();
        log.push(record(1));
        log.len.fetch_add(1, Ordering::Relaxed);
        log.push(record(3));
        assert_eq!((log.len(), times(&log)), (3, vec![1, 3]));
    }

    #[test]
    fn concurrent_writers_lose_nothing_and_readers_see_whole_records() {
        let log = AppendLog::new();
        std::thread::scope(|scope| {
            for writer in 0..3 {
                let log = &log;
                scope.spawn(move || (0..500).for_each(|n| assert!(log.push(record(writer * 1000 + n)))));
            }
            assert!(times(&log).iter().all(|ns| ns % 1000 < 500));
        });
        let mut all = times(&log);
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter((0..3).flat_map(|writer| (0..500).map(move |n| writer * 1000 + n))));
    }
}
