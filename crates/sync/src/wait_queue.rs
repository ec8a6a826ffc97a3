//! A bell: threads sleep until a condition holds, and whoever makes it hold rings.
//!
//! Ringing costs one fence and one load while nobody sleeps, which is the common case. The caller
//! of `ring` has made the condition true *before* it rings; the sleeper looks at the condition after
//! it has announced itself. The two fences make sure that at least one of them sees the other.

use crate::facade::{AtomicU32, Condvar, Mutex, Ordering, fence, lock};
#[cfg(not(loom))]
use std::time::Instant;

pub struct WaitQueue {
    sleepers: AtomicU32,
    gate: Mutex<()>,
    wake: Condvar,
}

impl Default for WaitQueue {
    fn default() -> Self {
        WaitQueue { sleepers: AtomicU32::new(0), gate: Mutex::new(()), wake: Condvar::new() }
    }
}

impl WaitQueue {
    /// Wakes every sleeper, so that it looks at its condition again.
    #[inline]
    pub fn wake_all(&self) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            drop(lock(&self.gate));
            self.wake.notify_all();
        }
    }

    /// Wakes one sleeper; for sleepers that are all alike.
    #[inline]
    pub fn wake_one(&self) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            drop(lock(&self.gate));
            self.wake.notify_one();
        }
    }

    /// Sleeps until `condition` holds.
    #[cfg(loom)]
    pub fn sleep(&self, condition: impl Fn() -> bool) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut gate = lock(&self.gate);
        while !condition() {
            gate = self.wake.wait(gate).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(gate);
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sleeps until `condition` holds; `false` when `deadline` came first.
    #[cfg(not(loom))]
    pub fn wait_until(&self, deadline: Option<Instant>, condition: impl Fn() -> bool) -> bool {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut gate = lock(&self.gate);
        let mut met = condition();
        while !met {
            gate = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.wake.wait(gate).unwrap_or_else(std::sync::PoisonError::into_inner),
                Some(left) if left.is_zero() => break,
                Some(left) => self.wake.wait_timeout(gate, left).unwrap_or_else(std::sync::PoisonError::into_inner).0,
            };
            met = condition();
        }
        drop(gate);
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        met
    }
}
