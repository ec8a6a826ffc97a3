//! Wakers for tests: one that counts its calls, one that owns a value, and one that panics.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Counts its calls. A test can wait for them.
#[derive(Default)]
pub struct Count {
    calls: AtomicUsize,
    lock: Mutex<()>,
    called: Condvar,
}

impl Count {
    pub fn waker(self: &Arc<Count>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Acquire)
    }

    pub fn wait_for(&self, calls: usize) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.calls() < calls {
            lock = self.called.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.calls.fetch_add(1, Ordering::Release);
        self.called.notify_all();
    }
}

/// Owns a value, which is dropped with the waker.
pub struct Holds<T>(pub Mutex<Option<T>>);

impl<T: Send + 'static> Wake for Holds<T> {
    fn wake(self: Arc<Self>) {}
}

/// Panics when it is called.
pub struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("expected panic of a waker");
    }
}
