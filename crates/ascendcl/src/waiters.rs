//! Waiter threads, which wait for streams on behalf of futures, because the runtime reports failures only to a wait.
//!
//! A stream with awaited transfers has at most one waiter thread, for all of its tasks. An idle thread exits after
//! `IDLE_TIMEOUT`.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::Duration;

/// A queue of requests that a waiter thread serves: a stream with awaited transfers.
pub(crate) trait Awaited: Send + Sync {
    /// Waits for the last request. Returns the tasks to wake, and `true` if no request is left.
    fn wait_for_requests(&self) -> (Vec<Waker>, bool);
}

struct WaiterPool {
    /// Streams without a waiter thread.
    streams: VecDeque<Arc<dyn Awaited>>,
    /// Number of threads that wait for a stream to serve.
    idle: usize,
}

static POOL: Mutex<WaiterPool> = Mutex::new(WaiterPool { streams: VecDeque::new(), idle: 0 });
static WORK_AVAILABLE: Condvar = Condvar::new();

/// Time after which an idle thread exits: long enough for a loop that awaits transfers one by one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Assigns a thread to a stream, which waits for it until no task is registered there.
pub(crate) fn serve<S: Awaited + 'static>(stream: &Arc<S>) {
    let mut pool = lock_pool();
    pool.streams.push_back(Arc::<S>::clone(stream));
    if pool.streams.len() <= pool.idle {
        WORK_AVAILABLE.notify_one();
        return;
    }
    drop(pool);
    let spawned = thread::Builder::new().name("ascendcl".to_owned()).spawn(run_waiter);
    if spawned.is_err() {
        // The system cannot start another thread. This one waits instead: slow, but correct.
        let mut pool = lock_pool();
        let index = pool.streams.iter().position(|other| ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(stream)));
        let taken = index.and_then(|index| pool.streams.remove(index));
        drop(pool);
        taken.into_iter().for_each(serve_stream);
    }
}

/// Serves streams until the thread has been idle for `IDLE_TIMEOUT`.
fn run_waiter() {
    while let Some(stream) = next_stream() {
        serve_stream(stream);
    }
}

/// Waits for a stream to serve. Returns `None` after `IDLE_TIMEOUT`.
fn next_stream() -> Option<Arc<dyn Awaited>> {
    let mut pool = lock_pool();
    loop {
        if let Some(stream) = pool.streams.pop_front() {
            return Some(stream);
        }
        pool.idle += 1;
        let (guard, waited) = WORK_AVAILABLE.wait_timeout(pool, IDLE_TIMEOUT).unwrap_or_else(PoisonError::into_inner);
        pool = guard;
        pool.idle -= 1;
        if waited.timed_out() && pool.streams.is_empty() {
            return None;
        }
    }
}

/// Waits for a stream and wakes its tasks until no request is left.
fn serve_stream(stream: Arc<dyn Awaited>) {
    loop {
        let (wakers, is_last) = stream.wait_for_requests();
        if is_last {
            // Dropped before the tasks are woken, so that a stream that a woken task drops is destroyed immediately.
            drop(stream);
            return wakers.into_iter().for_each(wake);
        }
        wakers.into_iter().for_each(wake);
    }
}

fn wake(waker: Waker) {
    // A panicking waker must not prevent other tasks from being woken. The panic is the executor's to report.
    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}

fn lock_pool() -> MutexGuard<'static, WaiterPool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}
