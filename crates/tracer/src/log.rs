//! Facts with their times, written down by the thread that tells them.
//!
//! Each thread has a page of its own that only it writes. What is kept has a limit; the first facts stay, and how
//! many came after them is counted.

use crate::allocations::TransferSize;
use crate::append_log::AppendLog;
use softacl_engine::observer::StreamPosition;
use softacl_sync::timed_lock::lock_with_timeout;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceEvent {
    Entered(&'static str),
    /// The call is over, with this code.
    Left(i32),
    Submitted {
        at: StreamPosition,
        name: &'static str,
        device: u32,
        /// It is a step of a graph, on a stream that no program sees.
        is_step: bool,
    },
    /// What the task that was submitted just now moves.
    Moves(TransferSize),
    /// The task only waits: for others, or for a sign.
    Waits(StreamPosition),
    /// The task comes after another one.
    After(StreamPosition, StreamPosition),
    Started(StreamPosition),
    Finished(StreamPosition),
    Failed(StreamPosition, i32),
    /// Everything up to here that has not started never will.
    Dropped(StreamPosition),
    Acting(&'static str, TransferSize),
    /// Whether it went well.
    Acted(bool),
    /// An asynchronous call has waited for so many ns.
    Blocked(u64),
    /// Bytes in use on a device.
    Memory(u32, u64),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TimedEvent {
    /// Since the log began.
    pub(crate) ns: u64,
    pub(crate) fact: TraceEvent,
}

/// The log of a thread.
#[derive(Debug)]
pub(crate) struct ThreadLog {
    pub(crate) thread: u32,
    pub(crate) name: String,
    records: AppendLog,
}

#[derive(Debug)]
pub(crate) struct Log {
    number: u64,
    start: Instant,
    pages: Mutex<Vec<Arc<ThreadLog>>>,
    limit: u64,
    /// Facts that were told, kept or not.
    received: AtomicU64,
    dropped: AtomicU64,
}

/// What was written down.
#[derive(Debug)]
pub(crate) struct LogSnapshot {
    pub(crate) pages: Vec<(Arc<ThreadLog>, Vec<TimedEvent>)>,
    pub(crate) left_out: u64,
    pub(crate) end: u64,
}

thread_local! {
    /// The pages of this thread, by the number of the log. There is one log in a process, and more in tests.
    static PAGES: RefCell<Vec<(u64, Arc<ThreadLog>)>> = const { RefCell::new(Vec::new()) };
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);
/// What a fact takes until it is a line of a file, on the safe side.
const NEEDED: usize = 512;

impl Log {
    pub(crate) fn new(limit: u64) -> Log {
        Log {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            start: Instant::now(),
            pages: Mutex::default(),
            limit,
            received: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn write<const N: usize>(&self, facts: [TraceEvent; N]) {
        // All of them or none: they belong together.
        let is_kept = self.received.fetch_add(N as u64, Ordering::Relaxed) + N as u64 <= self.limit;
        let ns = self.now();
        let is_written =
            is_kept && self.with_page(|page| facts.into_iter().all(|fact| page.records.push(TimedEvent { ns, fact })));
        if !is_written {
            // Nothing more after the first gap: a story has an end, not holes.
            self.received.store(self.limit, Ordering::Relaxed);
            self.dropped.fetch_add(N as u64, Ordering::Relaxed);
        }
    }

    fn with_page<R>(&self, then: impl FnOnce(&ThreadLog) -> R) -> R {
        let own = PAGES.try_with(|pages| {
            let known =
                pages.borrow().iter().find(|(number, _)| *number == self.number).map(|(_, page)| Arc::clone(page));
            known.unwrap_or_else(|| {
                let page = self.open();
                pages.borrow_mut().push((self.number, Arc::clone(&page)));
                page
            })
        });
        // A thread that is about to end has no thread-local memory any more, but its page is still there.
        then(&own.unwrap_or_else(|_| {
            let thread = thread_id();
            let found = lock(&self.pages).iter().rev().find(|page| page.thread == thread).cloned();
            found.unwrap_or_else(|| self.open())
        }))
    }

    fn open(&self) -> Arc<ThreadLog> {
        let page = Arc::new(ThreadLog { thread: thread_id(), name: thread_name(), records: AppendLog::new() });
        lock(&self.pages).push(Arc::clone(&page));
        page
    }

    /// Everything up to now. Threads that go on write further. `None`: there is no memory for it, or a thread was
    /// interrupted for good while it opened its page.
    pub(crate) fn read(&self) -> Option<LogSnapshot> {
        let end = self.now();
        let pages = lock_with_timeout(&self.pages)?.clone();
        let count: usize = pages.iter().map(|page| page.records.len()).sum();
        // Whoever allocates a little at a time is ended when there is no more.
        Vec::<u8>::new().try_reserve_exact(count * NEEDED).ok()?;
        let read = |page: Arc<ThreadLog>| {
            let records = page.records.read();
            (page, records)
        };
        let pages = pages.into_iter().map(read).collect();
        Some(LogSnapshot { pages, left_out: self.dropped.load(Ordering::Relaxed), end })
    }
}

/// A panic of another thread leaves a list that is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn thread_id() -> u32 {
    // SAFETY: has no conditions, and cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// The name that the thread has for the system; the first thread of a process has that of the program.
fn thread_name() -> String {
    if thread_id() == std::process::id() {
        return "main thread".to_owned();
    }
    let mut name = [0u8; 16];
    // SAFETY: writes at most 16 bytes, with a zero at the end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    // It goes to terminals.
    String::from_utf8_lossy(&name[..end]).replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(written: &LogSnapshot) -> Vec<Vec<TraceEvent>> {
        written.pages.iter().map(|(_, records)| records.iter().map(|record| record.fact).collect()).collect()
    }

    #[test]
    fn each_thread_has_a_page_and_the_first_facts_stay() {
        let log = Log::new(5);
        log.write([TraceEvent::Entered("a"), TraceEvent::Left(0)]);
        std::thread::scope(|scope| {
            scope.spawn(|| log.write([TraceEvent::Entered("b")]));
        });
        log.write([TraceEvent::Entered("c"), TraceEvent::Left(0)]);
        log.write([TraceEvent::Left(1), TraceEvent::Left(2)]);
        log.write([TraceEvent::Left(3)]);
        let written = log.read().unwrap();
        let left = TraceEvent::Left(0);
        assert_eq!(
            facts(&written),
            [vec![TraceEvent::Entered("a"), left, TraceEvent::Entered("c"), left], vec![TraceEvent::Entered("b")]]
        );
        assert_eq!(written.left_out, 3);
        assert_ne!(written.pages[0].0.thread, written.pages[1].0.thread);
        let times: Vec<u64> = written.pages[0].1.iter().map(|record| record.ns).collect();
        assert!(times.is_sorted() && *times.last().unwrap() <= written.end);
    }
}
