//! The log: trace events with their times, in blocks that only one thread writes.
//!
//! Writing takes no lock and touches no memory that other threads write. The number of records is limited. The first
//! ones stay; events beyond the limit are dropped and counted. A log in a file is complete at any time, also if the
//! process is killed.

use crate::allocations::TransferSize;
use crate::block::{self, ALIGNMENT, Block, Blocks, Writer};
use crate::log_head::LogHead;
use crate::record::{MAX_TEXT, Slot, TEXT_BYTES};
use crate::snapshot::LogSnapshot;
use crate::trace_event::{TextId, TimedEvent, TraceEvent};
use softacl_engine::observer::StreamPosition;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Slots of the first block of a thread, which with its head fill 16 KiB. Each further block is twice as long, up to
/// 1 MiB.
const FIRST_BLOCK_SLOTS: usize = 510;
const MAX_BLOCK_SLOTS: usize = 32_766;
/// The logs of all threads, with a common limit.
#[derive(Debug)]
pub(crate) struct Log {
    id: u64,
    start: Instant,
    head: &'static LogHead,
    blocks: Blocks,
    limit: u64,
    /// Slots of all blocks.
    granted: AtomicU64,
    /// Set with the first dropped event. Nothing is stored after it: the timeline then ends early but has no holes.
    is_full: AtomicBool,
    /// Set while the program does not want to be recorded.
    is_paused: AtomicBool,
    /// Nothing is recorded from this time on.
    until: AtomicU64,
    next_text: AtomicU32,
    /// Where times come from, if not from the clock of the host.
    clock: Option<fn() -> u64>,
}

thread_local! {
    /// The log that this thread wrote last, by its id, and the block.
    static CURRENT: Cell<(u64, *const Block)> = const { Cell::new((0, ptr::null())) };
    /// Number of this thread, or 0.
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// Calls of a thread that can be open at the same time, with one record each. Deeper ones have two.
const MAX_OPEN_CALLS: usize = 8;

/// Records of a thread that their ends complete.
struct OpenRecords {
    /// The log of the records, by its id.
    log: Cell<u64>,
    /// Number of open calls.
    depth: Cell<usize>,
    /// Records of open calls, outermost first. Null if the record was dropped.
    calls: [Cell<*const Slot>; MAX_OPEN_CALLS],
    /// The task that the thread started last.
    task: Cell<(StreamPosition, *const Slot)>,
}

const NO_TASK: (StreamPosition, *const Slot) = (StreamPosition { stream: 0, sequence: 0 }, ptr::null());

thread_local! {
    static OPEN: OpenRecords = const {
        OpenRecords {
            log: Cell::new(0),
            depth: Cell::new(0),
            calls: [const { Cell::new(ptr::null()) }; MAX_OPEN_CALLS],
            task: Cell::new(NO_TASK),
        }
    };
}

impl OpenRecords {
    /// Forgets the records of another log.
    fn select(&self, log: u64) {
        if self.log.replace(log) != log {
            self.depth.set(0);
            self.task.set(NO_TASK);
        }
    }
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);
static NEXT_THREAD: AtomicU64 = AtomicU64::new(1);

impl Log {
    /// Creates a log of at most `limit` records, in private memory or in an empty file.
    pub(crate) fn new(limit: u64, file: Option<File>) -> io::Result<Log> {
        let head = block::map(file.as_ref(), 0, ALIGNMENT)?.cast::<LogHead>();
        // SAFETY: zeroed memory, which is valid for words. It is one page and stays mapped until the process ends.
        let head: &'static LogHead = unsafe { head.as_ref() };
        let start_time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        head.begin(std::process::id(), start_time);
        Ok(Log {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            start: Instant::now(),
            head,
            blocks: Blocks::new(file, ALIGNMENT),
            limit,
            granted: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            is_paused: AtomicBool::new(false),
            until: AtomicU64::new(u64::MAX),
            next_text: AtomicU32::new(0),
            clock: None,
        })
    }

    /// Takes times from a virtual clock, in ns since the start of the program.
    pub(crate) fn set_clock(&mut self, clock: fn() -> u64) {
        self.clock = Some(clock);
    }

    /// Time since the log was created, in ns, or the time of its virtual clock.
    pub(crate) fn now(&self) -> u64 {
        if let Some(clock) = self.clock {
            return clock();
        }
        let elapsed = self.start.elapsed();
        elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
    }

    /// Stores trace events that belong together: all of them, or none if the limit is reached or memory is exhausted.
    #[inline]
    pub(crate) fn write<const N: usize>(&self, events: [TraceEvent; N]) -> Option<&Slot> {
        let ns = self.now();
        if self.is_silent(ns) {
            return None;
        }
        self.append(ns, events)
    }

    /// Stores trace events even if nothing else is recorded at this time.
    fn append<const N: usize>(&self, ns: u64, events: [TraceEvent; N]) -> Option<&Slot> {
        let slots = self.reserve(N);
        match slots {
            Some(slots) => slots.iter().zip(events).for_each(|(slot, event)| slot.write(TimedEvent { ns, event })),
            None => self.drop_events(N as u64),
        }
        slots?.first()
    }

    /// Counts events beyond the limit. Events that were not to be recorded are not counted.
    fn drop_events(&self, count: u64) {
        if self.is_full.load(Ordering::Relaxed) {
            self.head.dropped.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Stops or continues recording. What has begun is still recorded to its end.
    pub(crate) fn set_paused(&self, is_paused: bool) {
        self.head.is_partial.store(1, Ordering::Relaxed);
        self.is_paused.store(is_paused, Ordering::Relaxed);
    }

    /// Records nothing from this time on, in ns since the log was created.
    pub(crate) fn stop_at(&self, ns: u64) {
        self.until.store(ns, Ordering::Relaxed);
    }

    #[inline]
    fn is_silent(&self, ns: u64) -> bool {
        if ns < self.until.load(Ordering::Relaxed) {
            return self.is_paused.load(Ordering::Relaxed);
        }
        self.head.is_partial.store(1, Ordering::Relaxed);
        true
    }

    /// Stores that the thread entered a function.
    pub(crate) fn enter(&self, function: TextId) {
        let record = self.write([TraceEvent::Entered(function)]).map_or(ptr::null(), ptr::from_ref);
        OPEN.with(|open| {
            open.select(self.id);
            let depth = open.depth.get();
            if let Some(call) = open.calls.get(depth) {
                call.set(record);
            }
            open.depth.set(depth + 1);
        });
    }

    /// Stores that the thread leaves the function that it entered last.
    pub(crate) fn exit(&self, code: i32) {
        let record = OPEN.with(|open| {
            open.select(self.id);
            let depth = open.depth.get().checked_sub(1)?;
            open.depth.set(depth);
            open.calls.get(depth).map(Cell::get)
        });
        match record {
            None => _ = self.write([TraceEvent::Exited(code)]),
            Some(dropped) if dropped.is_null() => self.drop_events(1),
            // SAFETY: a record of this log, which is mapped while the log exists.
            Some(record) => unsafe { &*record }.complete_call(self.now(), code),
        }
    }

    /// Stores that a task starts on this thread.
    pub(crate) fn start(&self, at: StreamPosition) {
        let record = self.write([TraceEvent::Started(at)]).map_or(ptr::null(), ptr::from_ref);
        OPEN.with(|open| {
            open.select(self.id);
            open.task.set((at, record));
        });
    }

    /// Stores that a task ended, on this thread or another than that on which it started.
    pub(crate) fn finish(&self, at: StreamPosition) {
        let (started, record) = OPEN.with(|open| {
            open.select(self.id);
            open.task.replace(NO_TASK)
        });
        if record.is_null() || started != at {
            // A task that began while it was recorded ends, whenever that is.
            self.append(self.now(), [TraceEvent::Finished(at)]);
        } else {
            // SAFETY: a record of this log, which is mapped while the log exists.
            unsafe { &*record }.complete_task(self.now());
        }
    }

    /// Stores a submitted task and what it transfers.
    pub(crate) fn submit(&self, submitted: TraceEvent, transfer: TransferSize) {
        let ns = self.now();
        if self.is_silent(ns) {
            return;
        }
        match self.reserve(1) {
            None => self.drop_events(2),
            Some([slot]) if slot.write_copy(ns, submitted, transfer) => {}
            // The slot stays empty.
            Some(_) => _ = self.write([submitted, TraceEvent::Transfer(transfer)]),
        }
    }

    /// Stores a text and returns its number. A text that does not fit is left out.
    pub(crate) fn write_text(&self, text: &str) -> TextId {
        let number = TextId(self.next_text.fetch_add(1, Ordering::Relaxed));
        let text = &text.as_bytes()[..text.floor_char_boundary(MAX_TEXT)];
        if let Some(slots) = self.reserve(text.len().div_ceil(TEXT_BYTES)) {
            for (part, slot) in slots.iter().enumerate() {
                slot.write_text(number, &text[part * TEXT_BYTES..]);
            }
        }
        number
    }

    /// Records that the process ends in an orderly way.
    pub(crate) fn end(&self) {
        self.head.end.store(self.now(), Ordering::Release);
    }

    /// Reads everything written until now. `None` if there is too little memory for it.
    pub(crate) fn read(&self) -> Option<LogSnapshot> {
        let end = self.now();
        let mut blocks: Vec<&Block> = self.blocks.iter().collect();
        blocks.reverse();
        let snapshot = LogSnapshot::read(self.head, &blocks)?;
        Some(LogSnapshot { end: Some(end), ..snapshot })
    }

    #[inline]
    fn reserve(&self, count: usize) -> Option<&[Slot]> {
        if self.is_full.load(Ordering::Relaxed) {
            return None;
        }
        let (id, block) = CURRENT.get();
        if id == self.id {
            // SAFETY: a block of this log, which is mapped while the log exists.
            if let reserved @ Some(_) = unsafe { &*block }.reserve(count) {
                return reserved;
            }
        }
        self.extend(count)
    }

    /// Reserves slots in a new block of the calling thread.
    #[cold]
    fn extend(&self, count: usize) -> Option<&[Slot]> {
        let (id, block) = CURRENT.get();
        // SAFETY: as in `reserve`.
        let before = if id == self.id { unsafe { &*block }.slots().len() } else { 0 };
        let next = (2 * before + 2).clamp(FIRST_BLOCK_SLOTS, MAX_BLOCK_SLOTS).max(count);
        let reserved = self.add_block(next).and_then(|block| block.reserve(count));
        if reserved.is_none() {
            self.is_full.store(true, Ordering::Relaxed);
        }
        reserved
    }

    fn add_block(&self, slots: usize) -> Option<&Block> {
        let before = self.granted.fetch_add(slots as u64, Ordering::Relaxed);
        let rest = usize::try_from(self.limit.saturating_sub(before)).unwrap_or(usize::MAX);
        let block = (rest > 0).then(|| self.blocks.add(slots.min(rest), writer()))??;
        CURRENT.set((self.id, block));
        Some(block)
    }
}

/// Describes the calling thread.
fn writer() -> Writer {
    if THREAD.get() == 0 {
        THREAD.set(NEXT_THREAD.fetch_add(1, Ordering::Relaxed));
    }
    let mut name = [0u8; 16];
    // SAFETY: writes at most 16 bytes, with a zero at the end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    // SAFETY: has no conditions, and cannot fail.
    let thread_id = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    Writer { thread: THREAD.get(), thread_id, name }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTERED: TraceEvent = TraceEvent::Entered(TextId(0));

    fn events(snapshot: &LogSnapshot) -> Vec<Vec<TraceEvent>> {
        snapshot.threads.iter().map(|thread| thread.records.iter().map(|record| record.event).collect()).collect()
    }

    #[test]
    fn threads_log_separately() {
        let log = Log::new(10_000, None).unwrap();
        log.write([ENTERED, TraceEvent::Exited(0)]);
        std::thread::scope(|scope| {
            scope.spawn(|| _ = log.write([TraceEvent::Exited(1)]));
        });
        log.write([TraceEvent::Exited(2)]);
        let snapshot = log.read().unwrap();
        assert_eq!(
            events(&snapshot),
            [vec![ENTERED, TraceEvent::Exited(0), TraceEvent::Exited(2)], vec![TraceEvent::Exited(1)]]
        );
        assert_eq!(snapshot.dropped, 0);
        assert_ne!(snapshot.threads[0].id, snapshot.threads[1].id);
        let times: Vec<u64> = snapshot.threads[0].records.iter().map(|record| record.ns).collect();
        assert!(times.is_sorted() && *times.last().unwrap() <= snapshot.end.unwrap());
    }

    #[test]
    fn paused_log_records_only_the_ends_of_what_has_begun() {
        let log = Log::new(10_000, None).unwrap();
        let task = |sequence| StreamPosition { stream: 1, sequence };
        log.enter(TextId(0));
        log.start(task(1));
        log.set_paused(true);
        log.exit(7);
        log.finish(task(1));
        log.finish(task(2));
        log.enter(TextId(1));
        log.exit(0);
        log.start(task(3));
        log.set_paused(false);
        log.stop_at(0);
        log.write([ENTERED]);
        let snapshot = log.read().unwrap();
        let [events] = &events(&snapshot)[..] else { panic!("{snapshot:?}") };
        let mut expected = vec![
            ENTERED,
            TraceEvent::Exited(7),
            TraceEvent::Started(task(1)),
            TraceEvent::Finished(task(1)),
            TraceEvent::Finished(task(2)),
        ];
        expected.retain(|event| !events.contains(event));
        assert_eq!((expected, events.len()), (vec![], 5), "{events:?}");
        assert_eq!((snapshot.dropped, snapshot.is_partial), (0, true));
    }

    #[test]
    fn events_beyond_the_limit_are_dropped() {
        let log = Log::new(5, None).unwrap();
        log.write([ENTERED, ENTERED]);
        log.write([TraceEvent::Exited(0), TraceEvent::Exited(1)]);
        // Two do not fit, so the one after them is not stored either.
        log.write([ENTERED, ENTERED]);
        log.write([ENTERED]);
        let snapshot = log.read().unwrap();
        assert_eq!(events(&snapshot), [vec![ENTERED, ENTERED, TraceEvent::Exited(0), TraceEvent::Exited(1)]]);
        assert_eq!(snapshot.dropped, 3);
    }

    #[test]
    fn ends_find_their_starts() {
        let log = Log::new(1000, None).unwrap();
        let other = Log::new(1000, None).unwrap();
        let (one, two) = (StreamPosition { stream: 1, sequence: 1 }, StreamPosition { stream: 1, sequence: 2 });
        // A call that was open before the log existed, nested calls, and more of them than have a place.
        log.exit(7);
        (0..10).for_each(|number| log.enter(TextId(number)));
        (0..10).for_each(|code| log.exit(code));
        log.enter(TextId(10));
        other.enter(TextId(0));
        log.exit(10);
        log.start(one);
        log.finish(one);
        log.start(two);
        log.finish(one);
        let snapshot = log.read().unwrap();
        let mut expected = vec![TraceEvent::Exited(7)];
        expected.extend((0..10).map(|number| TraceEvent::Entered(TextId(number))));
        expected.extend((0..10).map(TraceEvent::Exited));
        expected.extend([TraceEvent::Entered(TextId(10)), TraceEvent::Exited(10)]);
        expected.extend([TraceEvent::Started(one), TraceEvent::Finished(one)]);
        expected.extend([TraceEvent::Started(two), TraceEvent::Finished(one)]);
        assert_eq!(events(&snapshot), [expected]);
    }

    #[test]
    fn many_events_and_long_texts_fill_several_blocks() {
        let log = Log::new(1_000_000, None).unwrap();
        let long = "long ".repeat(10_000);
        let (short, long_id) = (log.write_text("short"), log.write_text(&long));
        (0..70_000).for_each(|code| _ = log.write([TraceEvent::Exited(code)]));
        let empty = log.write_text("");
        let snapshot = log.read().unwrap();
        assert_eq!(events(&snapshot), [Vec::from_iter((0..70_000).map(TraceEvent::Exited))]);
        assert_eq!([short, long_id, empty].map(|id| snapshot.texts.get(id)), ["short", long.as_str(), ""]);
    }

    #[test]
    fn log_in_a_file_is_readable_while_it_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let log = Log::new(1_000_000, Some(file)).unwrap();
        let name = log.write_text("aclrtMalloc");
        (0..5000).for_each(|_| _ = log.write([TraceEvent::Entered(name)]));
        let read = || LogSnapshot::open(&path).unwrap();
        let snapshot = read();
        assert_eq!((snapshot.end, snapshot.process), (None, std::process::id()));
        assert_eq!((snapshot.threads[0].records.len(), snapshot.texts.get(name)), (5000, "aclrtMalloc"));
        log.end();
        assert!(read().end.is_some());
    }
}
