//! The guard: page protection on pinned memory that copies in flight use.
//!
//! The program's addresses of a page are closed while a copy that writes it is in flight, and
//! read-only while copies only read it. The engine reaches the same memory by other addresses, so it
//! never notices. A touch faults; the handler notes who it was, keeps what a source held until then,
//! opens the page and lets the program go on. The page is closed again at the next call.
//!
//! Precision: a touch counts when its first byte is in flight. Other bytes of such a page are the program's: the
//! page is opened for the one instruction, then closed again, up to a number of times; then it stays open
//! until the next call. After a touch that counts it stays open until the next call as well.
//!
//! A system call that is given such memory fails with EFAULT instead of faulting, unless the interposer says so
//! before (`given`). Pages with objects on which threads wait are left open for good (`keep_open`): the system
//! looks at them again and again while a thread waits. The only file here that changes protection.

use crate::{backtrace, operation};
use softacl_engine::observer::{FaultAction, Mode, StreamPosition, Touch, Window};
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::identity;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub(crate) const PAGE: usize = 4096;
/// How often a page is in flight: the low half counts copies that read it, the high half those that write it.
const READER: u64 = 1;
const WRITER: u64 = 1 << 32;
/// Beside the counts: the page is not closed any more, as long as its memory is not given back.
const EXEMPT: u64 = 1 << 63;
/// Pages that share a count beside their own ones: a copy that covers them all is counted once, so that large
/// copies cost little.
const BLOCK: usize = 64;
/// Memory of copies from this length on is put into huge pages: protecting 256 small pages takes as long
/// as copying half of their bytes.
const LARGE: usize = 512 << 10;
const HUGE: usize = 2 << 20;
/// As many huge pages are asked for at most: an allocation may leave half of one unused.
const MAX_HUGE: usize = 1024;
/// `MADV_COLLAPSE`, of Linux 6.1 and later.
const COLLAPSE: i32 = 25;
/// Touches that are kept between two calls.
const MAX_TOUCHES: usize = 4096;
/// Instructions beside the bytes in flight that are let through one by one between two calls. Each takes two signals,
/// some 25 microseconds.
const MAX_STEPS: u32 = 500;
/// The widest store of one instruction.
pub(crate) const STORE: usize = 64;

thread_local! {
    /// The task as which this thread runs code of the program.
    pub(crate) static FUNCTION: Cell<Option<StreamPosition>> = const { Cell::new(None) };
    /// The page that is open for the one instruction that this thread executes.
    static STEPPED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Somebody touched memory that is in flight.
#[derive(Debug)]
pub(crate) struct HostAccess {
    /// Its place among all operations: drawn before the page is looked at.
    pub(crate) number: u64,
    pub(crate) address: usize,
    pub(crate) is_write: bool,
    pub(crate) spot: backtrace::RawBacktrace,
    pub(crate) when: Instant,
    pub(crate) thread: u32,
    pub(crate) function: Option<StreamPosition>,
    /// The function that gave the memory to the system, if one did.
    pub(crate) call: Option<&'static str>,
    /// What the page held before.
    pub(crate) before: Box<[u8]>,
}

/// Bytes of a page that a copy in flight uses without using all of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PageSubrange {
    from: usize,
    to: usize,
    /// How many use exactly these.
    count: u32,
}

/// Pages in a row that copies mostly cover together.
#[derive(Debug)]
struct Block {
    /// How often all of them are in flight together.
    state: AtomicU64,
    /// Pages that are in flight by themselves as well.
    single: AtomicU32,
}

pub(crate) struct Guard {
    window: Window,
    /// How often each page is in flight by itself.
    pages: &'static [AtomicU64],
    blocks: &'static [Block],
    /// By page, in the order of their first and last bytes. Copies that cover the whole page are not among them.
    parts: Mutex<BTreeMap<usize, Vec<PageSubrange>>>,
    steps: AtomicU32,
    touches: Mutex<Vec<HostAccess>>,
    /// The number of the last touch that was too many; 0 if none was.
    last_dropped: AtomicU64,
    /// Set behind everything that the next call has to work off: touches, steps, open pages.
    has_news: AtomicBool,
    /// Huge pages that were asked for, whether the system gave them or not.
    huge: Mutex<BTreeSet<usize>>,
    /// Of allocations that have huge pages to themselves: the page after the last one, and the page after the
    /// last one of the huge page. What lies between them belongs to nobody and is protected with the rest.
    tails: Mutex<BTreeMap<usize, usize>>,
    /// Pages that stay open until the next call.
    opened: Mutex<Vec<usize>>,
    /// Set when the system refused to protect more.
    pub(crate) is_exhausted: AtomicBool,
}

impl Guard {
    pub(crate) fn new(window: Window) -> Guard {
        let pages = zeroed(window.len / PAGE);
        let blocks = zeroed((window.len / PAGE).div_ceil(BLOCK));
        Guard {
            window,
            pages,
            blocks,
            parts: Mutex::default(),
            steps: AtomicU32::new(0),
            touches: Mutex::default(),
            last_dropped: AtomicU64::new(0),
            has_news: AtomicBool::new(false),
            huge: Mutex::default(),
            tails: Mutex::default(),
            opened: Mutex::default(),
            is_exhausted: AtomicBool::new(false),
        }
    }

    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.window.start) < self.window.len
    }

    /// The part of a touch that lies in pinned memory, as page numbers.
    fn span(&self, start: usize, len: usize) -> std::ops::Range<usize> {
        if !self.contains(start) || len == 0 {
            return 0..0;
        }
        let offset = start - self.window.start;
        offset / PAGE..((offset + len).div_ceil(PAGE)).min(self.pages.len())
    }

    /// A copy that touches this memory is in flight from now on.
    pub(crate) fn add(&self, touch: &Touch) {
        let one = if touch.mode == Mode::Read { READER } else { WRITER };
        // First which bytes, then the protection: whoever faults must know them.
        for page in self.edges(touch) {
            let (from, to) = part(touch, page);
            let mut parts = self.parts();
            let all = parts.entry(page).or_default();
            match all.binary_search_by_key(&(from, to), PageSubrange::bounds) {
                Ok(known) => all[known].count += 1,
                Err(place) => all.insert(place, PageSubrange { from, to, count: 1 }),
            }
        }
        if touch.len >= LARGE && self.contains(touch.address) {
            self.enlarge(touch);
        }
        self.change(self.span(touch.address, touch.len), |state| state + one, identity);
    }

    /// Sets a large allocation apart from its neighbours, so that its protection can change without the system
    /// cutting mappings and joining them. The pages beside it, which belong to nobody, get rights that mean
    /// the same and are not equal: reading and writing, said in another way.
    pub(crate) fn isolate(&self, start: usize, size: usize) {
        if size < LARGE || !self.contains(start) {
            return;
        }
        let first = (start - self.window.start) / PAGE;
        let mut behind = (start + size - self.window.start).div_ceil(PAGE);
        if size >= HUGE / 2 && start.is_multiple_of(HUGE) {
            let end = behind.next_multiple_of(HUGE / PAGE);
            self.tails().insert(behind, end);
            behind = end;
        }
        for page in [first.checked_sub(1), Some(behind).filter(|page| *page < self.pages.len())].into_iter().flatten() {
            self.protect(page..page + 1, libc::PROT_WRITE);
        }
    }

    /// Asks for huge pages behind a large range, once for each. That is a wish: without them everything
    /// is slower and nothing is different.
    fn enlarge(&self, touch: &Touch) {
        let first = (touch.address - self.window.start) / HUGE;
        let last = (touch.address + touch.len - 1 - self.window.start).min(self.window.len - 1) / HUGE;
        let mut huge = self.huge.lock().unwrap_or_else(PoisonError::into_inner);
        for index in (first..=last).filter(|index| (index + 1) * HUGE <= self.window.len) {
            if huge.len() < MAX_HUGE && huge.insert(index) {
                let program = self.window.start + index * HUGE;
                for start in [program.wrapping_add_signed(self.window.shift), program] {
                    // SAFETY: a part of a mapping of the window; the bytes stay what they are.
                    unsafe { libc::madvise(start as *mut _, HUGE, COLLAPSE) };
                }
            }
        }
    }

    fn tails(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages of which a touch does not cover everything.
    fn edges(&self, touch: &Touch) -> impl Iterator<Item = usize> + use<> {
        let (first, last) = (touch.address / PAGE * PAGE, (touch.address + touch.len.max(1) - 1) / PAGE * PAGE);
        let touch = *touch;
        let is_ours = self.contains(touch.address) && touch.len > 0;
        let whole = move |page: usize| part(&touch, page) == (page, page + PAGE);
        let second = (first != last).then_some(last);
        [Some(first), second].into_iter().flatten().filter(move |page| is_ours && !whole(*page))
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<PageSubrange>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first byte in flight from `start` to before `end`, which are in one page.
    fn first_in_flight(&self, start: usize, end: usize) -> Option<usize> {
        let page = start - start % PAGE;
        let parts = self.parts();
        let all = parts.get(&page).map_or(&[][..], Vec::as_slice);
        let state = self.in_flight((page - self.window.start) / PAGE);
        // Who is in flight there and has no part of the page has all of it.
        let apart: u64 = all.iter().map(|part| u64::from(part.count)).sum();
        if state % WRITER + state / WRITER > apart {
            return Some(start);
        }
        let meeting = all.iter().filter(|part| part.from < end && start < part.to);
        meeting.map(|part| part.from.max(start)).min()
    }

    pub(crate) fn remove(&self, touch: &Touch) {
        let (one, mask) = match touch.mode {
            Mode::Read => (READER, WRITER - 1),
            Mode::Write => (WRITER, EXEMPT - WRITER),
        };
        // A page that was freed meanwhile counts nothing any more.
        let less = |state| if state & mask == 0 { state } else { state - one };
        self.change(self.span(touch.address, touch.len), less, identity);
        for page in self.edges(touch) {
            let mut parts = self.parts();
            let Some(all) = parts.get_mut(&page) else { continue };
            if let Ok(known) = all.binary_search_by_key(&part(touch, page), PageSubrange::bounds) {
                all[known].count -= 1;
                all.retain(|part| part.count > 0);
            }
            if all.is_empty() {
                parts.remove(&page);
            }
        }
    }

    /// The memory is given back: nobody guards it any longer.
    pub(crate) fn clear(&self, start: usize, len: usize) {
        let pages = self.span(start, len);
        self.change(pages.clone(), |_| 0, |_| 0);
        let mut parts = self.parts();
        let gone: Vec<usize> = parts.range(start..start + len).map(|(page, _)| *page).collect();
        gone.iter().for_each(|page| _ = parts.remove(page));
        drop(parts);
        // Parts of it may have been opened one by one, which leaves its tail.
        if let Some(end) = self.tails().remove(&pages.end) {
            self.protect(pages.end..end, libc::PROT_READ | libc::PROT_WRITE);
        }
    }

    /// Closes a page again that a touch has opened, if it is still in flight.
    fn close(&self, address: usize) {
        let page = (address - self.window.start) / PAGE;
        let mut wanted = access(self.state(page));
        loop {
            self.protect(page..page + 1, wanted);
            // Another thread may have learnt meanwhile that the copy is over.
            let now = access(self.state(page));
            if now == wanted {
                return;
            }
            wanted = now;
        }
    }

    /// How often a page is in flight, in all, and whether it stays open.
    fn state(&self, page: usize) -> u64 {
        self.pages[page].load(Ordering::Relaxed) + self.blocks[page / BLOCK].state.load(Ordering::Relaxed)
    }

    fn in_flight(&self, page: usize) -> u64 {
        self.state(page) & !EXEMPT
    }

    /// Whether the pages of an object stay open.
    pub(crate) fn is_kept_open(&self, start: usize, len: usize) -> bool {
        self.span(start, len).all(|page| self.state(page) & EXEMPT != 0)
    }

    /// Threads wait for an object in this memory: its pages are not closed any more. Like every change of what is in
    /// flight it comes from one thread at a time.
    pub(crate) fn exempt(&self, start: usize, len: usize) {
        for page in self.span(start, len) {
            self.change(page..page + 1, |state| state | EXEMPT, identity);
        }
    }

    /// Whether any copy in flight touches the page of an address.
    pub(crate) fn is_guarded(&self, address: usize) -> bool {
        self.contains(address) && self.in_flight((address - self.window.start) / PAGE) != 0
    }

    /// What the memory holds now, by the engine's addresses.
    pub(crate) fn read(&self, start: usize, buffer: &mut [u8]) {
        assert!(self.contains(start) && start - self.window.start + buffer.len() <= self.window.len);
        let source = start.wrapping_add_signed(self.window.shift) as *const u8;
        // SAFETY: inside the engine's mapping of the window, which is always readable. Others may write
        // it meanwhile; then any mixture of bytes is as good as another.
        unsafe { std::ptr::copy_nonoverlapping(source, buffer.as_mut_ptr(), buffer.len()) };
    }

    /// The number of the last touch that was not kept; 0 if all were.
    pub(crate) fn last_lost(&self) -> u64 {
        self.last_dropped.load(Ordering::Relaxed)
    }

    /// The touches since the last call; closes again what they have opened. Mostly there is nothing.
    pub(crate) fn take(&self) -> Vec<HostAccess> {
        if !self.has_news.load(Ordering::Acquire) {
            return Vec::new();
        }
        self.has_news.store(false, Ordering::SeqCst);
        self.steps.store(0, Ordering::Relaxed);
        let touches = std::mem::take(&mut *self.touches.lock().unwrap_or_else(PoisonError::into_inner));
        for page in std::mem::take(&mut *self.opened()) {
            self.close(page);
        }
        touches
    }

    /// In a signal handler: opens the page, and notes who touched it if that counts. The interrupted code
    /// is the program's: it holds none of our locks and is not in an allocator, which keeps nothing in
    /// pinned memory.
    pub(crate) fn touched(&self, address: usize, is_write: bool, thread: u32, code: usize) -> FaultAction {
        let page = (address - self.window.start) / PAGE;
        let start = self.window.start + page * PAGE;
        let state = self.in_flight(page);
        let end = (address + STORE).min(start + PAGE);
        let next = self.first_in_flight(address, end).filter(|_| state != 0);
        let is_source = state & (WRITER - 1) != 0;
        // A store that begins before bytes in flight may reach them: then what they held has to be known.
        if next == Some(address) || (next.is_some() && is_write && is_source) {
            self.record_access(address, is_write, thread, backtrace::RawBacktrace::interrupted(code), None, is_source);
        }
        if next == Some(address) {
            self.leave_open(start);
            return FaultAction::Repeat;
        }
        if state != 0 && cfg!(target_arch = "x86_64") && self.steps.fetch_add(1, Ordering::Relaxed) < MAX_STEPS {
            // An access may meet two pages: the first one is closed again at the next call.
            if let Some(other) = STEPPED.replace(Some(start)).filter(|other| *other != start) {
                self.leave_open(other);
            }
            // So that steps are counted anew at the next call.
            self.has_news.store(true, Ordering::Release);
            self.open(start);
            return FaultAction::Step;
        }
        if state == 0 {
            self.open(start);
        } else {
            self.leave_open(start);
        }
        FaultAction::Repeat
    }

    /// In a signal handler: the instruction is over.
    pub(crate) fn stepped(&self) {
        if let Some(page) = STEPPED.take() {
            self.close(page);
        }
    }

    /// Memory is about to be given to the system, which does not fault: notes the touches that count, and opens
    /// the pages. On the program's thread, which holds none of our locks.
    pub(crate) fn syscall_access(&self, start: usize, len: usize, is_write: bool, thread: u32, call: &'static str) {
        let mut spot = None;
        for page in self.span(start, len) {
            let state = self.state(page);
            if access(state) & libc::PROT_WRITE != 0 || (!is_write && access(state) & libc::PROT_READ != 0) {
                continue;
            }
            let first = self.window.start + page * PAGE;
            if let Some(address) = self.first_in_flight(first.max(start), (first + PAGE).min(start + len)) {
                let spot = spot.get_or_insert_with(backtrace::RawBacktrace::capture_outside_call).clone();
                self.record_access(address, is_write, thread, spot, Some(call), state & (WRITER - 1) != 0);
            }
            self.leave_open(first);
        }
    }

    fn record_access(
        &self,
        address: usize,
        is_write: bool,
        thread: u32,
        spot: backtrace::RawBacktrace,
        call: Option<&'static str>,
        is_source: bool,
    ) {
        let number = operation::next_sequence();
        let mut before = Vec::new();
        if is_source {
            before.resize(PAGE, 0);
            self.read(address - address % PAGE, &mut before);
        }
        let touch = HostAccess {
            number,
            address,
            is_write,
            spot,
            when: Instant::now(),
            thread,
            function: FUNCTION.get(),
            call,
            before: before.into(),
        };
        let mut touches = self.touches.lock().unwrap_or_else(PoisonError::into_inner);
        if touches.len() < MAX_TOUCHES {
            touches.push(touch);
        } else {
            self.last_dropped.store(number, Ordering::Relaxed);
        }
        drop(touches);
        self.has_news.store(true, Ordering::Release);
    }

    fn open(&self, address: usize) {
        let page = (address - self.window.start) / PAGE;
        self.protect(page..page + 1, libc::PROT_READ | libc::PROT_WRITE);
    }

    /// A page is opened and stays open until the next call, which closes all that it finds listed: so it is open before.
    fn leave_open(&self, page: usize) {
        self.open(page);
        self.opened().push(page);
        self.has_news.store(true, Ordering::Release);
    }

    fn opened(&self) -> MutexGuard<'_, Vec<usize>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes how often a range is in flight, and the protection of pages where that changes. Pages in blocks that
    /// it covers are counted with their block; `single` changes what they count by themselves.
    fn change(&self, pages: std::ops::Range<usize>, change: impl Fn(u64) -> u64, single: impl Fn(u64) -> u64) {
        let mut run = PageRun { pages: pages.start..pages.start, access: None };
        let mut page = pages.start;
        while page < pages.end {
            let block = &self.blocks[page / BLOCK];
            let shared = block.state.load(Ordering::Relaxed);
            let is_whole = page.is_multiple_of(BLOCK) && page + BLOCK <= pages.end;
            let changed = if is_whole { change(shared) } else { shared };
            block.state.store(changed, Ordering::Relaxed);
            if is_whole && block.single.load(Ordering::Relaxed) == 0 {
                self.extend(&mut run, page + BLOCK, access(shared), access(changed));
                page += BLOCK;
                continue;
            }
            let end = pages.end.min((page / BLOCK + 1) * BLOCK);
            while page < end {
                let before = self.pages[page].load(Ordering::Relaxed);
                let after = if is_whole { single(before) } else { change(before) };
                self.pages[page].store(after, Ordering::Relaxed);
                let singles = block.single.load(Ordering::Relaxed);
                block.single.store(singles + u32::from(after != 0) - u32::from(before != 0), Ordering::Relaxed);
                self.extend(&mut run, page + 1, access(before + shared), access(after + changed));
                page += 1;
            }
        }
        self.finish(run);
    }

    /// The pages behind a run, up to `end`, change their rights as well, or keep them.
    fn extend(&self, run: &mut PageRun, end: usize, before: i32, after: i32) {
        let access = (before != after).then_some(after);
        if run.access != access {
            let next = PageRun { pages: run.pages.end..run.pages.end, access };
            self.finish(std::mem::replace(run, next));
        }
        run.pages.end = end;
    }

    fn finish(&self, run: PageRun) {
        let Some(access) = run.access else { return };
        let tail = if run.pages.len() < HUGE / 2 / PAGE { None } else { self.tails().get(&run.pages.end).copied() };
        self.protect(run.pages.start..tail.unwrap_or(run.pages.end), access);
    }

    fn protect(&self, pages: std::ops::Range<usize>, access: i32) -> bool {
        let start = self.window.start + pages.start * PAGE;
        // SAFETY: pages of the program's view of pinned memory, which is ours to protect; the engine
        // has a mapping of its own, and whoever faults here is sent to `touched`.
        let done = unsafe { libc::mprotect(start as *mut _, pages.len() * PAGE, access) } == 0;
        if !done {
            self.is_exhausted.store(true, Ordering::Relaxed);
        }
        done
    }
}

/// Pages in a row that get the same rights; none if they keep theirs.
struct PageRun {
    pages: std::ops::Range<usize>,
    access: Option<i32>,
}

/// Zeros for as long as the process lives: the checker ends with it. What is not used takes no memory.
fn zeroed<T: Zeros>(len: usize) -> &'static [T] {
    let layout = Layout::array::<T>(len).expect("a window is smaller than memory");
    // SAFETY: the layout is not empty: a window has many pages.
    let start = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if start.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: fresh, aligned, never freed, and zeros are a value of these types.
    unsafe { std::slice::from_raw_parts(start, len) }
}

/// Types of which zeros are a value.
trait Zeros {}
impl Zeros for AtomicU64 {}
impl Zeros for Block {}

/// What the program may do with a page in this state.
fn access(state: u64) -> i32 {
    match (state / WRITER, state % WRITER) {
        _ if state & EXEMPT != 0 => libc::PROT_READ | libc::PROT_WRITE,
        (0, 0) => libc::PROT_READ | libc::PROT_WRITE,
        (0, _) => libc::PROT_READ,
        _ => libc::PROT_NONE,
    }
}

impl PageSubrange {
    fn bounds(&self) -> (usize, usize) {
        (self.from, self.to)
    }
}

/// The bytes of a page that a touch covers.
fn part(touch: &Touch, page: usize) -> (usize, usize) {
    (touch.address.max(page), (touch.address + touch.len).min(page + PAGE))
}

#[cfg(test)]
mod tests;
