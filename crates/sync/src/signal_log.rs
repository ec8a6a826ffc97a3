//! A log that signal handlers write and one thread at a time reads. Writing takes no lock and allocates nothing: the
//! handler may have interrupted any code, also the allocator or the reader.
//!
//! Slots are handed out in order. The reader stops at a slot that is still being written, and starts again at the first
//! slot when it has read all of them.

use crate::facade::{AtomicBool, AtomicUsize, Ordering};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

pub struct SignalLog<T> {
    values: Box<[UnsafeCell<MaybeUninit<T>>]>,
    /// Whether the value of a slot is complete.
    is_written: Box<[AtomicBool]>,
    /// Number of slots that were handed out. May exceed the number of slots.
    next: AtomicUsize,
    /// Number of slots that were read. Only the reader uses it.
    taken: AtomicUsize,
}

// SAFETY: a slot is written by the one thread that it was handed out to, and read after `is_written` was set.
unsafe impl<T: Send> Sync for SignalLog<T> {}
// SAFETY: the log owns its values.
unsafe impl<T: Send> Send for SignalLog<T> {}

impl<T> SignalLog<T> {
    /// Unused slots take no memory.
    pub fn new(slots: usize) -> SignalLog<T> {
        let values = Box::<[UnsafeCell<MaybeUninit<T>>]>::new_uninit_slice(slots);
        SignalLog {
            // SAFETY: uninitialized memory is a valid `UnsafeCell<MaybeUninit<T>>`.
            values: unsafe { values.assume_init() },
            is_written: (0..slots).map(|_| AtomicBool::new(false)).collect(),
            next: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    /// Adds a value, which `write` initializes in place. Returns `false` if the log is full. Can be called in a signal
    /// handler.
    pub fn push_with(&self, write: impl FnOnce(&mut MaybeUninit<T>)) -> bool {
        // Acquires what the reader did with the slot before it was handed out again.
        let slot = self.next.fetch_add(1, Ordering::Acquire);
        let Some(value) = self.values.get(slot) else { return false };
        // SAFETY: the slot was handed out to this thread alone, and the reader waits for `is_written`.
        write(unsafe { &mut *value.get() });
        self.is_written[slot].store(true, Ordering::Release);
        true
    }

    /// Adds a value. Returns `false` if the log is full. Can be called in a signal handler.
    pub fn push(&self, value: T) -> bool {
        self.push_with(|slot| {
            slot.write(value);
        })
    }

    /// Takes the values in order. Called by one thread at a time.
    pub fn drain(&self, mut take: impl FnMut(T)) {
        let mut at = self.taken.load(Ordering::Relaxed);
        loop {
            let end = self.next.load(Ordering::Acquire);
            while at < end.min(self.values.len()) && self.is_written[at].load(Ordering::Acquire) {
                // SAFETY: the value is complete, and `is_written` is cleared before the slot is handed out again.
                let value = unsafe { (*self.values[at].get()).assume_init_read() };
                self.is_written[at].store(false, Ordering::Relaxed);
                at += 1;
                take(value);
            }
            self.taken.store(at, Ordering::Relaxed);
            if at == 0 || at < end.min(self.values.len()) {
                return;
            }
            // All slots were read. Fails if a handler took another one in the meantime.
            if self.next.compare_exchange(end, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                self.taken.store(0, Ordering::Relaxed);
                return;
            }
        }
    }
}

impl<T> Drop for SignalLog<T> {
    fn drop(&mut self) {
        self.drain(drop);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn full_log_refuses_and_starts_again() {
        let log = SignalLog::new(2);
        for round in 0..3 {
            assert!(log.push(round) && log.push(round + 10) && !log.push(round + 20));
            let mut taken = Vec::new();
            log.drain(|value| taken.push(value));
            assert_eq!(taken, [round, round + 10]);
        }
        log.drain(|_| panic!("the log is empty"));
    }
}
