//! A list of records that only grows, and that nobody ever waits for.
//!
//! Its memory comes from the system, not from the program's allocator: a thread may be interrupted in here for good,
//! by a signal handler that ends the process, and the allocator would then be left halfway, with its lock held.
//! Whoever reads sees what is there, also when the writer stopped in the middle of a record.

use crate::log::TimedEvent;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// The first chunk has so many places, a page of them; each further one twice as many as the one before.
const FIRST: usize = 64;
const CHUNKS: usize = 25;

/// Room for a record. All zero, as the system gives memory, is an empty one.
#[repr(C)]
struct Slot {
    record: MaybeUninit<TimedEvent>,
    is_written: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct AppendLog {
    chunks: [AtomicPtr<Slot>; CHUNKS],
    /// Places that were given out, written or not.
    len: AtomicUsize,
}

impl AppendLog {
    pub(crate) fn new() -> AppendLog {
        AppendLog { chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS], len: AtomicUsize::new(0) }
    }

    /// `false`: there is no memory for it.
    pub(crate) fn push(&self, record: TimedEvent) -> bool {
        let (chunk, index) = locate(self.len.fetch_add(1, Ordering::Relaxed));
        let Some(places) = self.chunks.get(chunk).and_then(|slot| open(slot, FIRST << chunk)) else { return false };
        // SAFETY: the chunk has this place, and the index was given to nobody else; readers wait for the flag.
        unsafe {
            let place = places.add(index).as_ptr();
            (&raw mut (*place).record).write(MaybeUninit::new(record));
            (*place).is_written.store(true, Ordering::Release);
        }
        true
    }

    /// As many as there may be.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// What was written up to now.
    pub(crate) fn read(&self) -> Vec<TimedEvent> {
        (0..self.len()).filter_map(|index| self.get(index)).collect()
    }

    fn get(&self, index: usize) -> Option<TimedEvent> {
        let (chunk, index) = locate(index);
        let places = NonNull::new(self.chunks.get(chunk)?.load(Ordering::Acquire))?;
        // SAFETY: the chunk has this place, and lives as long as the list. What has the flag is never written again.
        unsafe {
            let place = places.add(index).as_ptr();
            (*place).is_written.load(Ordering::Acquire).then(|| (*place).record.assume_init())
        }
    }
}

impl Drop for AppendLog {
    fn drop(&mut self) {
        for (chunk, slot) in self.chunks.iter_mut().enumerate() {
            if let Some(places) = NonNull::new(*slot.get_mut()) {
                unmap(places, FIRST << chunk);
            }
        }
    }
}

/// The chunk of a record, and its place there.
fn locate(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST + 1).ilog2() as usize;
    (chunk, index - FIRST * ((1 << chunk) - 1))
}

/// The places of a chunk, which is made when the first of them is needed.
fn open(slot: &AtomicPtr<Slot>, len: usize) -> Option<NonNull<Slot>> {
    if let known @ Some(_) = NonNull::new(slot.load(Ordering::Acquire)) {
        return known;
    }
    let fresh = map(len)?;
    let made = slot.compare_exchange(ptr::null_mut(), fresh.as_ptr(), Ordering::AcqRel, Ordering::Acquire);
    match made {
        Ok(_) => Some(fresh),
        // A signal handler on this thread came first.
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

/// Gives back a chunk of `len` places that nobody uses.
fn unmap(places: NonNull<Slot>, len: usize) {
    // SAFETY: the bounds are those that `map` asked for, and nobody has a pointer to it any more.
    unsafe { libc::munmap(places.as_ptr().cast(), len * size_of::<Slot>()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::TraceEvent;

    fn numbers(records: &AppendLog) -> Vec<u64> {
        records.read().iter().map(|record| record.ns).collect()
    }

    fn record(ns: u64) -> TimedEvent {
        TimedEvent { ns, fact: TraceEvent::Left(0) }
    }

    #[test]
    fn a_record_is_as_large_as_the_documents_say() {
        assert_eq!((size_of::<Slot>(), size_of::<Slot>() * FIRST), (64, 4096));
    }

    #[test]
    fn records_have_places_in_chunks_that_double() {
        assert_eq!(
            [0, 63, 64, 191, 192, 447, 448].map(locate),
            [(0, 0), (0, 63), (1, 0), (1, 127), (2, 0), (2, 255), (3, 0)]
        );
        let records = AppendLog::new();
        assert!(numbers(&records).is_empty());
        assert!((0..5000).all(|ns| records.push(record(ns))));
        assert_eq!(numbers(&records), Vec::from_iter(0..5000));
    }

    #[test]
    fn what_was_begun_and_never_written_is_not_read() {
        let records = AppendLog::new();
        records.push(record(1));
        records.len.fetch_add(1, Ordering::Relaxed);
        records.push(record(3));
        assert_eq!((records.len(), numbers(&records)), (3, vec![1, 3]));
    }

    #[test]
    fn writers_at_once_lose_nothing_and_readers_see_whole_records() {
        let records = AppendLog::new();
        std::thread::scope(|scope| {
            for writer in 0..3 {
                let records = &records;
                scope.spawn(move || (0..500).for_each(|n| assert!(records.push(record(writer * 1000 + n)))));
            }
            assert!(numbers(&records).iter().all(|ns| ns % 1000 < 500));
        });
        let mut all = numbers(&records);
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter((0..3).flat_map(|writer| (0..500).map(move |n| writer * 1000 + n))));
    }
}
