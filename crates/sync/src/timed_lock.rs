//! Locks of observers at the end of a process: whoever ends it may have interrupted the thread that holds one, for good.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// No thread that still runs holds a lock of an observer for so long.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Takes a lock for the last time. `None`: it is not given back.
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
    fn a_lock_that_is_held_for_good_is_not_waited_for() {
        let mutex = Mutex::new(1);
        assert_eq!(lock_with_timeout(&mutex).as_deref(), Some(&1));
        let _held = mutex.lock();
        assert!(lock_with_timeout(&mutex).is_none());
    }
}
