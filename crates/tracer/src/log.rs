//! Trace events with their times, in one log per thread that only its thread writes.
//!
//! The number of stored events is limited. The first ones stay; events beyond the limit are dropped and counted.

use crate::append_log::AppendLog;
use crate::trace_event::{TimedEvent, TraceEvent};
use softacl_sync::timed_lock::lock_with_timeout;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Trace events of one thread.
#[derive(Debug)]
pub(crate) struct ThreadLog {
    pub(crate) thread: u32,
    pub(crate) name: String,
    records: AppendLog,
}

/// The logs of all threads, with a common limit.
#[derive(Debug)]
pub(crate) struct Log {
    id: u64,
    start: Instant,
    threads: Mutex<Vec<Arc<ThreadLog>>>,
    limit: u64,
    /// Trace events received, stored or not.
    received: AtomicU64,
    /// Trace events beyond the limit.
    dropped: AtomicU64,
}

/// Contents of all logs at one time.
#[derive(Debug)]
pub(crate) struct LogSnapshot {
    pub(crate) threads: Vec<(Arc<ThreadLog>, Vec<TimedEvent>)>,
    pub(crate) dropped: u64,
    /// When the snapshot was taken, in ns since the log was created.
    pub(crate) end: u64,
}

thread_local! {
    /// The logs of this thread, by the id of the `Log`. A process has one `Log`; tests have several.
    static THREAD_LOGS: RefCell<Vec<(u64, Arc<ThreadLog>)>> = const { RefCell::new(Vec::new()) };
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);
/// Upper bound on the memory per trace event until it is written to the file.
const BYTES_PER_EVENT: usize = 512;

impl Log {
    pub(crate) fn new(limit: u64) -> Log {
        Log {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            start: Instant::now(),
            threads: Mutex::default(),
            limit,
            received: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// Time since the log was created, in ns.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Stores trace events that belong together: all of them, or none if the limit is reached or memory is exhausted.
    pub(crate) fn write<const N: usize>(&self, events: [TraceEvent; N]) {
        let has_room = self.received.fetch_add(N as u64, Ordering::Relaxed) + N as u64 <= self.limit;
        let ns = self.now();
        let store = |log: &ThreadLog| events.into_iter().all(|event| log.records.push(TimedEvent { ns, event }));
        let is_stored = has_room && self.with_thread_log(store);
        if !is_stored {
            // Store nothing after the first gap: the timeline then ends early but has no holes.
            self.received.store(self.limit, Ordering::Relaxed);
            self.dropped.fetch_add(N as u64, Ordering::Relaxed);
        }
    }

    /// Calls `then` with the log of the current thread, which is created on first use.
    fn with_thread_log<R>(&self, then: impl FnOnce(&ThreadLog) -> R) -> R {
        let current = THREAD_LOGS.try_with(|logs| {
            let existing = logs.borrow().iter().find(|(id, _)| *id == self.id).map(|(_, log)| Arc::clone(log));
            existing.unwrap_or_else(|| {
                let log = self.open();
                logs.borrow_mut().push((self.id, Arc::clone(&log)));
                log
            })
        });
        // A thread that is ending has lost its thread-local storage, but its log is still in the list.
        then(&current.unwrap_or_else(|_| {
            let thread = thread_id();
            let found = lock(&self.threads).iter().rev().find(|log| log.thread == thread).cloned();
            found.unwrap_or_else(|| self.open())
        }))
    }

    fn open(&self) -> Arc<ThreadLog> {
        let log = Arc::new(ThreadLog { thread: thread_id(), name: thread_name(), records: AppendLog::new() });
        lock(&self.threads).push(Arc::clone(&log));
        log
    }

    /// Returns everything that is stored now. Running threads continue to write. `None` if memory is exhausted, or if
    /// a signal handler that never returns interrupted a thread while it created its log.
    pub(crate) fn read(&self) -> Option<LogSnapshot> {
        let end = self.now();
        let threads = lock_with_timeout(&self.threads)?.clone();
        let count: usize = threads.iter().map(|log| log.records.len()).sum();
        // Test for enough memory first: a failing small allocation later would abort the process.
        Vec::<u8>::new().try_reserve_exact(count * BYTES_PER_EVENT).ok()?;
        let read = |log: Arc<ThreadLog>| {
            let records = log.records.read();
            (log, records)
        };
        let threads = threads.into_iter().map(read).collect();
        Some(LogSnapshot { threads, dropped: self.dropped.load(Ordering::Relaxed), end })
    }
}

/// Locks a mutex and ignores poisoning: a panic cannot leave the list inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn thread_id() -> u32 {
    // SAFETY: has no conditions, and cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// Returns the system's name of the thread. The first thread of a process is the "main thread": the system names it
/// after the program.
fn thread_name() -> String {
    if thread_id() == std::process::id() {
        return "main thread".to_owned();
    }
    let mut name = [0u8; 16];
    // SAFETY: writes at most 16 bytes, with a zero at the end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    // The name is printed to terminals.
    String::from_utf8_lossy(&name[..end]).replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(snapshot: &LogSnapshot) -> Vec<Vec<TraceEvent>> {
        snapshot.threads.iter().map(|(_, records)| records.iter().map(|record| record.event).collect()).collect()
    }

    #[test]
    fn threads_log_separately_and_events_beyond_the_limit_are_dropped() {
        let log = Log::new(5);
        log.write([TraceEvent::Entered("a"), TraceEvent::Exited(0)]);
        std::thread::scope(|scope| {
            scope.spawn(|| log.write([TraceEvent::Entered("b")]));
        });
        log.write([TraceEvent::Entered("c"), TraceEvent::Exited(0)]);
        log.write([TraceEvent::Exited(1), TraceEvent::Exited(2)]);
        log.write([TraceEvent::Exited(3)]);
        let snapshot = log.read().unwrap();
        let exited = TraceEvent::Exited(0);
        assert_eq!(
            events(&snapshot),
            [vec![TraceEvent::Entered("a"), exited, TraceEvent::Entered("c"), exited], vec![TraceEvent::Entered("b")]]
        );
        assert_eq!(snapshot.dropped, 3);
        assert_ne!(snapshot.threads[0].0.thread, snapshot.threads[1].0.thread);
        let times: Vec<u64> = snapshot.threads[0].1.iter().map(|record| record.ns).collect();
        assert!(times.is_sorted() && *times.last().unwrap() <= snapshot.end);
    }
}
