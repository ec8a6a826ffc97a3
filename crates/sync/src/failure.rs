//! A pending failure: the first one is stored until it is taken. Without a failure, a test costs one load.

use crate::facade::{AtomicBool, Mutex, Ordering, lock};

/// Stores the first failure until it is taken; later ones are dropped.
pub struct FirstFailure<E> {
    /// Set after the failure is stored. While it is clear, a failure is at most about to be stored.
    is_set: AtomicBool,
    failure: Mutex<Option<E>>,
}

impl<E> Default for FirstFailure<E> {
    fn default() -> Self {
        FirstFailure { is_set: AtomicBool::new(false), failure: Mutex::new(None) }
    }
}

impl<E: Clone> FirstFailure<E> {
    /// Drops the failure, if one is pending.
    #[inline]
    pub fn clear(&self) {
        let mut failure = lock(&self.failure);
        self.is_set.store(false, Ordering::Relaxed);
        *failure = None;
    }

    /// Stores a failure, unless one is pending.
    #[inline]
    pub fn record(&self, error: E) {
        lock(&self.failure).get_or_insert(error);
        self.is_set.store(true, Ordering::Release);
    }

    /// True if a failure is pending.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Returns a copy of the pending failure without clearing it.
    #[inline]
    pub fn peek(&self) -> Option<E> {
        lock(&self.failure).clone()
    }

    /// Removes and returns the pending failure.
    #[inline]
    pub fn take(&self) -> Option<E> {
        if !self.is_set() {
            return None;
        }
        let mut failure = lock(&self.failure);
        self.is_set.store(false, Ordering::Relaxed);
        failure.take()
    }
}
