//! The first failure of something, until somebody asks for it. Those who find none pay one load.

use crate::facade::{AtomicBool, Mutex, Ordering, lock};

pub struct FirstFailure<E> {
    /// Set after the failure is in place; when it is clear, a failure is at most on its way.
    is_set: AtomicBool,
    failure: Mutex<Option<E>>,
}

impl<E> Default for FirstFailure<E> {
    fn default() -> Self {
        FirstFailure { is_set: AtomicBool::new(false), failure: Mutex::new(None) }
    }
}

impl<E: Clone> FirstFailure<E> {
    pub fn clear(&self) {
        let mut failure = lock(&self.failure);
        self.is_set.store(false, Ordering::Relaxed);
        *failure = None;
    }

    /// Remembers a failure, unless there is an earlier one.
    pub fn record(&self, error: E) {
        lock(&self.failure).get_or_insert(error);
        self.is_set.store(true, Ordering::Release);
    }

    #[inline]
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// A copy; it stays.
    pub fn peek(&self) -> Option<E> {
        lock(&self.failure).clone()
    }

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
