//! The guard: page protection on pinned memory that copies in flight use.
//!
//! While a copy that writes a page is in flight, the program cannot access the page. While copies only read it, the
//! page is read-only. The engine uses a second mapping of the same memory and is not affected. An access faults: the
//! handler records it, saves the contents of a source page, unprotects the page and lets the program continue. The
//! next call protects the page again.
//!
//! Precision: an access counts if its first byte is in flight. Other bytes of the page belong to the program: the
//! page is unprotected for the one instruction and then protected again, at most `MAX_STEPS` times between two calls;
//! after that it stays unprotected until the next call. It also stays unprotected until the next call after an access
//! that counts.
//!
//! A system call that receives a protected page fails with EFAULT instead of faulting, unless the interposer reports
//! the buffer first (`syscall_access`). Pages with objects on which threads block are exempt from protection
//! permanently (`exempt`): the kernel accesses them repeatedly while a thread waits. No other file changes page
//! protection.
//!
//! # Signal handler
//!
//! `touched` and `stepped` run in the SIGSEGV and SIGTRAP handlers. They are not async-signal-safe in general:
//!
//! - They lock `subranges`, `accesses` and `unprotected`, one at a time, and call `mprotect`.
//! - They allocate: the list of unprotected pages may grow, and an access that counts adds its record, its backtrace,
//!   and a copy of the page if a copy in flight reads it.
//! - In a Python process they may call the interpreter, or wait up to `FRAME_TIMEOUT` for the helper thread that reads
//!   the frames.
//!
//! This is sound because the faulting instruction accesses pinned memory at a program address. The checker never does
//! that while it holds one of these locks (it reads through the mapping of the engine), and the allocator keeps no data
//! in pinned memory. A program whose allocator does violates this assumption. All asynchronous signals are blocked
//! during the handler.

use crate::{backtrace, call};
use softacl_engine::observer::{FaultAction, Mode, StreamPosition, Touch, Window};
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::identity;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub(crate) const PAGE: usize = 4096;
/// Use counts of a page: the low half counts copies in flight that read it, the high half those that write it.
const READER: u64 = 1;
const WRITER: u64 = 1 << 32;
/// Flag next to the counts: the page is not protected until its memory is freed.
const EXEMPT: u64 = 1 << 63;
/// Number of pages that share a count in addition to their own. A copy that covers a whole block is counted once, so
/// that large copies are cheap.
const BLOCK_PAGES: usize = 64;
/// Copies of at least this length get huge pages: protecting 256 small pages takes as long as copying half of their
/// bytes.
const MIN_HUGE_COPY: usize = 512 << 10;
const HUGE_PAGE: usize = 2 << 20;
/// Maximum number of huge pages that are requested. An allocation may leave half of one unused.
const MAX_HUGE_PAGES: usize = 1024;
/// `MADV_COLLAPSE`, available since Linux 6.1.
const COLLAPSE: i32 = 25;
/// Maximum number of accesses that are recorded between two calls.
const MAX_ACCESSES: usize = 4096;
/// Maximum number of instructions outside the bytes in flight that are single-stepped between two calls. Each takes
/// two signals, about 25 microseconds.
const MAX_STEPS: u32 = 500;
/// Width of the widest store instruction.
pub(crate) const MAX_STORE: usize = 64;

thread_local! {
    /// The host-function task that this thread executes.
    pub(crate) static FUNCTION: Cell<Option<StreamPosition>> = const { Cell::new(None) };
    /// The page that is unprotected for the instruction that this thread single-steps.
    static STEPPED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// A host access that hit a protected page.
#[derive(Debug)]
pub(crate) struct HostAccess {
    /// Position in the global order of operations. Assigned before the page is read.
    pub(crate) sequence: u64,
    pub(crate) address: usize,
    pub(crate) is_write: bool,
    pub(crate) backtrace: backtrace::RawBacktrace,
    pub(crate) when: Instant,
    pub(crate) thread: u32,
    pub(crate) function: Option<StreamPosition>,
    /// The function that passed the memory to a system call, if any.
    pub(crate) call: Option<&'static str>,
    /// Contents of the page before the access. Empty if no copy in flight reads the page.
    pub(crate) before: Box<[u8]>,
}

/// Bytes of a page used by copies in flight that do not use the whole page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PageSubrange {
    from: usize,
    to: usize,
    /// Number of copies that use exactly these bytes.
    count: u32,
}

/// Adjacent pages that copies mostly cover together.
#[derive(Debug)]
struct Block {
    /// Use counts of copies that cover the whole block.
    state: AtomicU64,
    /// Number of pages with use counts of copies that cover the block only partly.
    single: AtomicU32,
}

/// Page protection of the pinned memory of one machine.
pub(crate) struct Guard {
    window: Window,
    /// Use counts per page, without those of the block.
    pages: &'static [AtomicU64],
    blocks: &'static [Block],
    /// Partly used bytes by page, sorted by bounds. Copies that cover the whole page are not included.
    subranges: Mutex<BTreeMap<usize, Vec<PageSubrange>>>,
    /// Instructions single-stepped since the last call.
    steps: AtomicU32,
    accesses: Mutex<Vec<HostAccess>>,
    /// Sequence number of the last access that exceeded the buffer, or 0.
    last_dropped: AtomicU64,
    /// Set after everything that the next call must process: accesses, steps, unprotected pages.
    has_pending: AtomicBool,
    /// Huge pages that were requested, whether the kernel provided them or not.
    huge: Mutex<BTreeSet<usize>>,
    /// For allocations with dedicated huge pages: the page after the allocation, and the page after its last huge
    /// page. The pages between them are unused and are protected together with the allocation.
    tails: Mutex<BTreeMap<usize, usize>>,
    /// Pages that stay unprotected until the next call.
    unprotected: Mutex<Vec<usize>>,
    /// Set if the kernel refused to protect more pages.
    pub(crate) is_exhausted: AtomicBool,
}

impl Guard {
    pub(crate) fn new(window: Window) -> Guard {
        let pages = zeroed(window.len / PAGE);
        let blocks = zeroed((window.len / PAGE).div_ceil(BLOCK_PAGES));
        Guard {
            window,
            pages,
            blocks,
            subranges: Mutex::default(),
            steps: AtomicU32::new(0),
            accesses: Mutex::default(),
            last_dropped: AtomicU64::new(0),
            has_pending: AtomicBool::new(false),
            huge: Mutex::default(),
            tails: Mutex::default(),
            unprotected: Mutex::default(),
            is_exhausted: AtomicBool::new(false),
        }
    }

    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.window.start) < self.window.len
    }

    /// Page indexes of the part of a range that lies in pinned memory.
    fn span(&self, start: usize, len: usize) -> std::ops::Range<usize> {
        if !self.contains(start) || len == 0 {
            return 0..0;
        }
        let offset = start - self.window.start;
        offset / PAGE..((offset + len).div_ceil(PAGE)).min(self.pages.len())
    }

    /// Counts a copy in flight and protects its pages.
    pub(crate) fn add(&self, touch: &Touch) {
        let one = if touch.mode == Mode::Read { READER } else { WRITER };
        // The subranges come before the protection: the fault handler reads them.
        for page in self.edges(touch) {
            let (from, to) = covered(touch, page);
            let mut subranges = self.subranges();
            let all = subranges.entry(page).or_default();
            match all.binary_search_by_key(&(from, to), PageSubrange::bounds) {
                Ok(known) => all[known].count += 1,
                Err(index) => all.insert(index, PageSubrange { from, to, count: 1 }),
            }
        }
        if touch.len >= MIN_HUGE_COPY && self.contains(touch.address) {
            self.request_huge_pages(touch);
        }
        self.update(self.span(touch.address, touch.len), |state| state + one, identity);
    }

    /// Separates a large allocation from the mappings of its neighbors, so that the kernel neither splits nor merges
    /// mappings when its protection changes. The unused pages next to it get `PROT_WRITE`, which has the effect of
    /// read and write but is a different value.
    pub(crate) fn isolate(&self, start: usize, size: usize) {
        if size < MIN_HUGE_COPY || !self.contains(start) {
            return;
        }
        let first = (start - self.window.start) / PAGE;
        let mut after = (start + size - self.window.start).div_ceil(PAGE);
        if size >= HUGE_PAGE / 2 && start.is_multiple_of(HUGE_PAGE) {
            let end = after.next_multiple_of(HUGE_PAGE / PAGE);
            self.tails().insert(after, end);
            after = end;
        }
        for page in [first.checked_sub(1), Some(after).filter(|page| *page < self.pages.len())].into_iter().flatten() {
            self.protect(page..page + 1, libc::PROT_WRITE);
        }
    }

    /// Requests huge pages for a large range, once per huge page. This only affects speed.
    fn request_huge_pages(&self, touch: &Touch) {
        let first = (touch.address - self.window.start) / HUGE_PAGE;
        let last = (touch.address + touch.len - 1 - self.window.start).min(self.window.len - 1) / HUGE_PAGE;
        let mut huge = self.huge.lock().unwrap_or_else(PoisonError::into_inner);
        for index in (first..=last).filter(|index| (index + 1) * HUGE_PAGE <= self.window.len) {
            if huge.len() < MAX_HUGE_PAGES && huge.insert(index) {
                let program = self.window.start + index * HUGE_PAGE;
                for start in [program.wrapping_add_signed(self.window.shift), program] {
                    // SAFETY: part of a mapping of the window; the call preserves the contents.
                    unsafe { libc::madvise(start as *mut _, HUGE_PAGE, COLLAPSE) };
                }
            }
        }
    }

    fn tails(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages that a touch covers only partly.
    fn edges(&self, touch: &Touch) -> impl Iterator<Item = usize> + use<> {
        let (first, last) = (touch.address / PAGE * PAGE, (touch.address + touch.len.max(1) - 1) / PAGE * PAGE);
        let touch = *touch;
        let is_pinned = self.contains(touch.address) && touch.len > 0;
        let whole = move |page: usize| covered(&touch, page) == (page, page + PAGE);
        let second = (first != last).then_some(last);
        [Some(first), second].into_iter().flatten().filter(move |page| is_pinned && !whole(*page))
    }

    fn subranges(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<PageSubrange>>> {
        self.subranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// First byte in flight in `start..end`, which lies in one page.
    fn first_in_flight(&self, start: usize, end: usize) -> Option<usize> {
        let page = start - start % PAGE;
        let subranges = self.subranges();
        let all = subranges.get(&page).map_or(&[][..], Vec::as_slice);
        let state = self.in_flight((page - self.window.start) / PAGE);
        // A copy that uses the page and has no subrange uses the whole page.
        let partial: u64 = all.iter().map(|subrange| u64::from(subrange.count)).sum();
        if state % WRITER + state / WRITER > partial {
            return Some(start);
        }
        let overlapping = all.iter().filter(|subrange| subrange.from < end && start < subrange.to);
        overlapping.map(|subrange| subrange.from.max(start)).min()
    }

    /// Removes a copy that is no longer in flight.
    pub(crate) fn remove(&self, touch: &Touch) {
        let (one, mask) = match touch.mode {
            Mode::Read => (READER, WRITER - 1),
            Mode::Write => (WRITER, EXEMPT - WRITER),
        };
        // The counts of a page that was freed in between are zero.
        let less = |state| if state & mask == 0 { state } else { state - one };
        self.update(self.span(touch.address, touch.len), less, identity);
        for page in self.edges(touch) {
            let mut subranges = self.subranges();
            let Some(all) = subranges.get_mut(&page) else { continue };
            if let Ok(known) = all.binary_search_by_key(&covered(touch, page), PageSubrange::bounds) {
                all[known].count -= 1;
                all.retain(|subrange| subrange.count > 0);
            }
            if all.is_empty() {
                subranges.remove(&page);
            }
        }
    }

    /// Resets all counts of memory that is freed, and unprotects it.
    pub(crate) fn clear(&self, start: usize, len: usize) {
        let pages = self.span(start, len);
        self.update(pages.clone(), |_| 0, |_| 0);
        let mut subranges = self.subranges();
        let freed: Vec<usize> = subranges.range(start..start + len).map(|(page, _)| *page).collect();
        freed.iter().for_each(|page| _ = subranges.remove(page));
        drop(subranges);
        // Pages may have been unprotected one at a time, which leaves out the tail.
        if let Some(end) = self.tails().remove(&pages.end) {
            self.protect(pages.end..end, libc::PROT_READ | libc::PROT_WRITE);
        }
    }

    /// Protects a page again after an access, if it is still in flight.
    fn reprotect(&self, address: usize) {
        let page = (address - self.window.start) / PAGE;
        let mut target = access(self.state(page));
        loop {
            self.protect(page..page + 1, target);
            // Another thread may have retired the copy concurrently.
            let now = access(self.state(page));
            if now == target {
                return;
            }
            target = now;
        }
    }

    /// Use counts of a page including its block, and the `EXEMPT` flag.
    fn state(&self, page: usize) -> u64 {
        self.pages[page].load(Ordering::Relaxed) + self.blocks[page / BLOCK_PAGES].state.load(Ordering::Relaxed)
    }

    /// Use counts of a page including its block.
    fn in_flight(&self, page: usize) -> u64 {
        self.state(page) & !EXEMPT
    }

    /// True if all pages of an object are exempt.
    pub(crate) fn is_exempt(&self, start: usize, len: usize) -> bool {
        self.span(start, len).all(|page| self.state(page) & EXEMPT != 0)
    }

    /// Stops protecting the pages of an object on which threads block. Like every change of the counts, this is
    /// called by one thread at a time.
    pub(crate) fn exempt(&self, start: usize, len: usize) {
        for page in self.span(start, len) {
            self.update(page..page + 1, |state| state | EXEMPT, identity);
        }
    }

    /// True if a copy in flight uses the page of an address.
    pub(crate) fn is_guarded(&self, address: usize) -> bool {
        self.contains(address) && self.in_flight((address - self.window.start) / PAGE) != 0
    }

    /// Reads memory through the mapping of the engine.
    pub(crate) fn read(&self, start: usize, buffer: &mut [u8]) {
        assert!(self.contains(start) && start - self.window.start + buffer.len() <= self.window.len);
        let source = start.wrapping_add_signed(self.window.shift) as *const u8;
        // SAFETY: inside the engine's mapping of the window, which is always readable. Other threads may write it
        // concurrently; then any mixture of old and new bytes is acceptable.
        unsafe { std::ptr::copy_nonoverlapping(source, buffer.as_mut_ptr(), buffer.len()) };
    }

    /// Sequence number of the last access that was not recorded, or 0.
    pub(crate) fn last_dropped(&self) -> u64 {
        self.last_dropped.load(Ordering::Relaxed)
    }

    /// Returns the host accesses since the last call and protects their pages again. Usually empty.
    pub(crate) fn take(&self) -> Vec<HostAccess> {
        if !self.has_pending.load(Ordering::Acquire) {
            return Vec::new();
        }
        self.has_pending.store(false, Ordering::SeqCst);
        self.steps.store(0, Ordering::Relaxed);
        let accesses = std::mem::take(&mut *self.accesses.lock().unwrap_or_else(PoisonError::into_inner));
        for page in std::mem::take(&mut *self.unprotected()) {
            self.reprotect(page);
        }
        accesses
    }

    /// Runs in the SIGSEGV handler. Unprotects the page and records the access if it counts. The module header states
    /// why it may lock and allocate.
    pub(crate) fn touched(&self, address: usize, is_write: bool, thread: u32, code: usize) -> FaultAction {
        let page = (address - self.window.start) / PAGE;
        let start = self.window.start + page * PAGE;
        let state = self.in_flight(page);
        let end = (address + MAX_STORE).min(start + PAGE);
        let next = self.first_in_flight(address, end).filter(|_| state != 0);
        let is_source = state & (WRITER - 1) != 0;
        // A store that starts before bytes in flight may reach them, so the contents must be saved.
        if next == Some(address) || (next.is_some() && is_write && is_source) {
            self.record_access(address, is_write, thread, backtrace::RawBacktrace::interrupted(code), None, is_source);
        }
        if next == Some(address) {
            self.unprotect_until_next_call(start);
            return FaultAction::Repeat;
        }
        if state != 0 && cfg!(target_arch = "x86_64") && self.steps.fetch_add(1, Ordering::Relaxed) < MAX_STEPS {
            // An access may span two pages. The first one is protected again at the next call.
            if let Some(other) = STEPPED.replace(Some(start)).filter(|other| *other != start) {
                self.unprotect_until_next_call(other);
            }
            // The next call resets the count of steps.
            self.has_pending.store(true, Ordering::Release);
            self.unprotect(start);
            return FaultAction::Step;
        }
        if state == 0 {
            self.unprotect(start);
        } else {
            self.unprotect_until_next_call(start);
        }
        FaultAction::Repeat
    }

    /// Runs in the SIGTRAP handler after the single-stepped instruction: protects its page again.
    pub(crate) fn stepped(&self) {
        if let Some(page) = STEPPED.take() {
            self.reprotect(page);
        }
    }

    /// Records accesses by a system call, which does not fault, and unprotects the pages. Runs on the thread that
    /// makes the call, which holds no lock of the checker.
    pub(crate) fn syscall_access(&self, start: usize, len: usize, is_write: bool, thread: u32, call: &'static str) {
        let mut backtrace = None;
        for page in self.span(start, len) {
            let state = self.state(page);
            if access(state) & libc::PROT_WRITE != 0 || (!is_write && access(state) & libc::PROT_READ != 0) {
                continue;
            }
            let first = self.window.start + page * PAGE;
            if let Some(address) = self.first_in_flight(first.max(start), (first + PAGE).min(start + len)) {
                let backtrace = backtrace.get_or_insert_with(backtrace::RawBacktrace::capture_outside_call).clone();
                self.record_access(address, is_write, thread, backtrace, Some(call), state & (WRITER - 1) != 0);
            }
            self.unprotect_until_next_call(first);
        }
    }

    fn record_access(
        &self,
        address: usize,
        is_write: bool,
        thread: u32,
        backtrace: backtrace::RawBacktrace,
        call: Option<&'static str>,
        is_source: bool,
    ) {
        let sequence = call::next_sequence();
        let mut before = Vec::new();
        if is_source {
            before.resize(PAGE, 0);
            self.read(address - address % PAGE, &mut before);
        }
        let access = HostAccess {
            sequence,
            address,
            is_write,
            backtrace,
            when: Instant::now(),
            thread,
            function: FUNCTION.get(),
            call,
            before: before.into(),
        };
        let mut accesses = self.accesses.lock().unwrap_or_else(PoisonError::into_inner);
        if accesses.len() < MAX_ACCESSES {
            accesses.push(access);
        } else {
            self.last_dropped.store(sequence, Ordering::Relaxed);
        }
        drop(accesses);
        self.has_pending.store(true, Ordering::Release);
    }

    fn unprotect(&self, address: usize) {
        let page = (address - self.window.start) / PAGE;
        self.protect(page..page + 1, libc::PROT_READ | libc::PROT_WRITE);
    }

    /// Unprotects a page until the next call. The page is unprotected before it is listed, because `take` protects
    /// every listed page again.
    fn unprotect_until_next_call(&self, page: usize) {
        self.unprotect(page);
        self.unprotected().push(page);
        self.has_pending.store(true, Ordering::Release);
    }

    fn unprotected(&self) -> MutexGuard<'_, Vec<usize>> {
        self.unprotected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies `change` to the use counts of a range and updates the protection of pages where it differs. Whole
    /// blocks are counted in the block; `single` is applied to the counts of their pages.
    fn update(&self, pages: std::ops::Range<usize>, change: impl Fn(u64) -> u64, single: impl Fn(u64) -> u64) {
        let mut run = PageRun { pages: pages.start..pages.start, access: None };
        let mut page = pages.start;
        while page < pages.end {
            let block = &self.blocks[page / BLOCK_PAGES];
            let shared = block.state.load(Ordering::Relaxed);
            let is_whole = page.is_multiple_of(BLOCK_PAGES) && page + BLOCK_PAGES <= pages.end;
            let changed = if is_whole { change(shared) } else { shared };
            block.state.store(changed, Ordering::Relaxed);
            if is_whole && block.single.load(Ordering::Relaxed) == 0 {
                self.extend(&mut run, page + BLOCK_PAGES, access(shared), access(changed));
                page += BLOCK_PAGES;
                continue;
            }
            let end = pages.end.min((page / BLOCK_PAGES + 1) * BLOCK_PAGES);
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

    /// Extends a run to `end`. Starts a new run if the protection change differs.
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
        let tail =
            if run.pages.len() < HUGE_PAGE / 2 / PAGE { None } else { self.tails().get(&run.pages.end).copied() };
        self.protect(run.pages.start..tail.unwrap_or(run.pages.end), access);
    }

    fn protect(&self, pages: std::ops::Range<usize>, access: i32) -> bool {
        let start = self.window.start + pages.start * PAGE;
        // SAFETY: the pages belong to the program's mapping of pinned memory, which only the guard protects. The
        // engine uses another mapping, and faults of the program are handled by `touched`.
        let is_protected = unsafe { libc::mprotect(start as *mut _, pages.len() * PAGE, access) } == 0;
        if !is_protected {
            self.is_exhausted.store(true, Ordering::Relaxed);
        }
        is_protected
    }
}

/// Adjacent pages with equal protection. `None` if the protection does not change.
struct PageRun {
    pages: std::ops::Range<usize>,
    access: Option<i32>,
}

/// Allocates a zeroed array that is never freed: the checker exists until the process ends. Unused pages take no
/// memory.
fn zeroed<T: Zeroable>(len: usize) -> &'static [T] {
    let layout = Layout::array::<T>(len).expect("a window is smaller than the address space");
    // SAFETY: the layout is not empty, because a window has many pages.
    let start = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if start.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: the memory is fresh, aligned and never freed, and all-zero bytes are valid for `T: Zeroable`.
    unsafe { std::slice::from_raw_parts(start, len) }
}

/// Types for which all-zero bytes are a valid value.
trait Zeroable {}
impl Zeroable for AtomicU64 {}
impl Zeroable for Block {}

/// Protection of a page with these counts.
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

/// Bounds of the bytes of a page that a touch covers.
fn covered(touch: &Touch, page: usize) -> (usize, usize) {
    (touch.address.max(page), (touch.address + touch.len).min(page + PAGE))
}

#[cfg(test)]
mod tests;
