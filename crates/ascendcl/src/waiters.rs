//! Threads that wait for streams on behalf of futures: the runtime tells failures to those who wait, and to nobody else.
//!
//! There is at most one for each stream with tasks that wait for it, however many they are. A thread that has nothing
//! to do stays for a while, and ends when nothing comes.

use crate::stream::StreamInner;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::Duration;

struct WaiterPool {
    /// Streams that nobody waits for yet.
    streams: VecDeque<Arc<StreamInner>>,
    idle: usize,
}

static WATCHERS: Mutex<WaiterPool> = Mutex::new(WaiterPool { streams: VecDeque::new(), idle: 0 });
static WORK_AVAILABLE: Condvar = Condvar::new();

/// How long a thread stays without work: long enough for a loop of transfers that are awaited one by one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Has a thread wait for a stream until no task is listed there.
pub(crate) fn serve(lane: &Arc<StreamInner>) {
    let mut watchers = locked();
    watchers.streams.push_back(Arc::clone(lane));
    if watchers.streams.len() <= watchers.idle {
        WORK_AVAILABLE.notify_one();
        return;
    }
    drop(watchers);
    let started = thread::Builder::new().name("ascendcl".to_owned()).spawn(watch);
    if started.is_err() {
        // No thread is left in the system: then this one waits, which is slow and right.
        let mut watchers = locked();
        let place = watchers.streams.iter().position(|other| Arc::ptr_eq(other, lane));
        let taken = place.and_then(|place| watchers.streams.remove(place));
        drop(watchers);
        taken.into_iter().for_each(serve_stream);
    }
}

fn watch() {
    while let Some(lane) = next() {
        serve_stream(lane);
    }
}

fn next() -> Option<Arc<StreamInner>> {
    let mut watchers = locked();
    loop {
        if let Some(lane) = watchers.streams.pop_front() {
            return Some(lane);
        }
        watchers.idle += 1;
        let (back, waited) =
            WORK_AVAILABLE.wait_timeout(watchers, IDLE_TIMEOUT).unwrap_or_else(PoisonError::into_inner);
        watchers = back;
        watchers.idle -= 1;
        if waited.timed_out() && watchers.streams.is_empty() {
            return None;
        }
    }
}

fn serve_stream(lane: Arc<StreamInner>) {
    loop {
        let (wakers, is_all) = lane.next_woken();
        if is_all {
            // Before anybody is woken: a stream that the program drops then ends there and then.
            drop(lane);
            return wakers.into_iter().for_each(wake);
        }
        wakers.into_iter().for_each(wake);
    }
}

fn wake(waker: Waker) {
    // One that panics is the executor's affair, and must not keep others from being woken.
    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}

fn locked() -> MutexGuard<'static, WaiterPool> {
    WATCHERS.lock().unwrap_or_else(PoisonError::into_inner)
}
