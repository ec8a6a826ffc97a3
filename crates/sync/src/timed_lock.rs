//! Bounded locking of observer state at process exit.
//!
//! The code that ends the process may have interrupted the thread that holds the lock, which then never releases it.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// Upper bound on how long a running thread holds an observer lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Locks a mutex and ignores poisoning. `None` if its holder does not release it within two seconds.
pub fn lock_with_timeout<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let start = Instant::now();
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(guard)) => return Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) if start.elapsed() > LOCK_TIMEOUT => return None,
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_that_is_never_released_times_out() {
        let mutex = Mutex::new(1);
        assert_eq!(lock_with_timeout(&mutex).as_deref(), Some(&1));
        let _held = mutex.lock();
        assert!(lock_with_timeout(&mutex).is_none());
    }
}
