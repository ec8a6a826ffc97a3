//! Facts with their times, written down by the thread that tells them.
//!
//! Each thread has a log of its own, so that threads do not wait for each other. What is kept has a limit;
//! the first facts stay, and how many came after them is counted.

use crate::book::Load;
use softacl_engine::probe::Moment;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    Entered(&'static str),
    Left,
    /// The call that the thread is in failed with this code.
    Refused(i32),
    Submitted {
        at: Moment,
        name: &'static str,
        device: u32,
    },
    /// What the task that was submitted just now moves.
    Moves(Load),
    /// The task only waits: for others, or for a sign.
    Waits(Moment),
    /// The task comes after another one.
    After(Moment, Moment),
    Started(Moment),
    Finished(Moment),
    Failed(Moment, i32),
    /// Everything up to here that has not started never will.
    Dropped(Moment),
    /// Streams that run the steps of a graph.
    Lane(u32),
    Acting(&'static str, Load),
    Acted,
    /// An asynchronous call has waited for so many ns.
    Paused(u64),
    /// Bytes in use on a device.
    Memory(u32, u64),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    /// Since the log began.
    pub(crate) ns: u64,
    pub(crate) fact: Fact,
}

/// The log of a thread.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) thread: u32,
    pub(crate) name: String,
    records: Mutex<Vec<Record>>,
}

#[derive(Debug)]
pub(crate) struct Log {
    number: u64,
    start: Instant,
    pages: Mutex<Vec<Arc<Page>>>,
    limit: u64,
    /// Facts that were told, kept or not.
    told: AtomicU64,
}

/// What was written down.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) pages: Vec<(Arc<Page>, Vec<Record>)>,
    pub(crate) left_out: u64,
    pub(crate) end: u64,
}

thread_local! {
    /// The pages of this thread, by the number of the log. There is one log in a process, and more in tests.
    static PAGES: RefCell<Vec<(u64, Arc<Page>)>> = const { RefCell::new(Vec::new()) };
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl Log {
    pub(crate) fn new(limit: u64) -> Log {
        Log {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            start: Instant::now(),
            pages: Mutex::default(),
            limit,
            told: AtomicU64::new(0),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn write<const N: usize>(&self, facts: [Fact; N]) {
        // All of them or none: they belong together.
        if self.told.fetch_add(N as u64, Ordering::Relaxed) + N as u64 > self.limit {
            return;
        }
        let page = self.page();
        let mut records = lock(&page.records);
        let ns = self.now();
        records.extend(facts.map(|fact| Record { ns, fact }));
    }

    fn page(&self) -> Arc<Page> {
        let mine = |pages: &RefCell<Vec<(u64, Arc<Page>)>>| {
            let mut pages = pages.borrow_mut();
            if let Some((_, page)) = pages.iter().find(|(number, _)| *number == self.number) {
                return Arc::clone(page);
            }
            let page = self.open();
            pages.push((self.number, Arc::clone(&page)));
            page
        };
        // A thread that is about to end may have no thread-local memory any more.
        PAGES.try_with(mine).unwrap_or_else(|_| self.open())
    }

    fn open(&self) -> Arc<Page> {
        let page = Arc::new(Page { thread: thread_id(), name: thread_name(), records: Mutex::default() });
        lock(&self.pages).push(Arc::clone(&page));
        page
    }

    /// Everything up to now. Threads that go on write further.
    pub(crate) fn read(&self) -> Written {
        let end = self.now();
        let copy = |page: &Arc<Page>| (Arc::clone(page), lock(&page.records).clone());
        let pages = lock(&self.pages).iter().map(copy).collect();
        Written { pages, left_out: self.told.load(Ordering::Relaxed).saturating_sub(self.limit), end }
    }
}

/// A panic of another thread leaves a log that is whole.
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
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_as_large_as_the_documents_say() {
        assert_eq!(size_of::<Record>(), 56);
    }

    #[test]
    fn each_thread_has_a_page_and_the_first_facts_stay() {
        let log = Log::new(5);
        log.write([Fact::Entered("a"), Fact::Left]);
        std::thread::scope(|scope| {
            scope.spawn(|| log.write([Fact::Entered("b")]));
        });
        log.write([Fact::Entered("c"), Fact::Left]);
        log.write([Fact::Left, Fact::Left]);
        let written = log.read();
        let facts: Vec<Vec<Fact>> =
            written.pages.iter().map(|(_, records)| records.iter().map(|record| record.fact).collect()).collect();
        assert_eq!(facts[0], [Fact::Entered("a"), Fact::Left, Fact::Entered("c"), Fact::Left]);
        assert_eq!(facts[1], [Fact::Entered("b")]);
        assert_eq!(written.left_out, 2);
        assert_ne!(written.pages[0].0.thread, written.pages[1].0.thread);
        let times: Vec<u64> = written.pages[0].1.iter().map(|record| record.ns).collect();
        assert!(times.is_sorted() && *times.last().unwrap() <= written.end);
    }
}
