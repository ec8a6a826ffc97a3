//! An eventcount: threads park until a condition holds.
//!
//! A wake costs one fence and one load while no thread waits, which is the common case. The waking thread makes the
//! condition true *before* it calls `wake_all` or `wake_one`; a waiter tests the condition after it has registered. The
//! two fences guarantee that at least one of them sees the other.

use crate::facade::{AtomicU32, Condvar, Mutex, Ordering, fence, lock};
#[cfg(not(loom))]
use std::time::Instant;

/// Threads that wait for conditions.
pub struct WaitQueue {
    waiters: AtomicU32,
    mutex: Mutex<()>,
    condvar: Condvar,
}

impl Default for WaitQueue {
    fn default() -> Self {
        WaitQueue { waiters: AtomicU32::new(0), mutex: Mutex::new(()), condvar: Condvar::new() }
    }
}

impl WaitQueue {
    /// Wakes every waiter, so that it tests its condition again.
    #[inline]
    pub fn wake_all(&self) {
        fence(Ordering::SeqCst);
        if self.waiters.load(Ordering::Relaxed) != 0 {
            drop(lock(&self.mutex));
            self.condvar.notify_all();
        }
    }

    /// Wakes one waiter. For queues whose waiters are interchangeable.
    #[inline]
    pub fn wake_one(&self) {
        fence(Ordering::SeqCst);
        if self.waiters.load(Ordering::Relaxed) != 0 {
            drop(lock(&self.mutex));
            self.condvar.notify_one();
        }
    }

    /// Waits until `condition` holds.
    #[cfg(loom)]
    #[inline]
    pub fn wait(&self, condition: impl Fn() -> bool) {
        self.waiters.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut guard = lock(&self.mutex);
        while !condition() {
            guard = self.condvar.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(guard);
        self.waiters.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits until `condition` holds. Returns `false` if `deadline` passes first.
    #[cfg(not(loom))]
    pub fn wait_until(&self, deadline: Option<Instant>, condition: impl Fn() -> bool) -> bool {
        self.waiters.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut guard = lock(&self.mutex);
        let mut met = condition();
        while !met {
            guard = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.condvar.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner),
                Some(left) if left.is_zero() => break,
                Some(left) => {
                    self.condvar.wait_timeout(guard, left).unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
            };
            met = condition();
        }
        drop(guard);
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        met
    }
}
