//! The guard: page protection on host memory that copies in flight use.
//!
//! While a copy that writes a page is in flight, the program cannot access the page. While copies only read it, the
//! page is read-only. The engine uses a second mapping of pinned memory and is not affected; registered memory has
//! none, so its pages are opened while a task runs (`open`, `close`). An access faults: the handler records it, saves
//! the contents of a source page, unprotects the page and lets the program continue. The next call protects the page
//! again.
//!
//! Precision: an access counts if its first byte is in flight, except for loads of string functions, which read ahead
//! (`scanners`). Other bytes of the page belong to the program: the page is unprotected for the one instruction and
//! then protected again, at most `MAX_STEPS` times between two calls. After that the contents are saved and the page
//! stays unprotected until the next call: what changed in between is found by comparing. It also stays unprotected
//! until the next call after an access that counts.
//!
//! A system call that receives a protected page fails with EFAULT instead of faulting, unless the interposer announces
//! the buffer first (`begin_system_access`). Pages with objects on which threads block are exempt from protection
//! permanently (`exempt`): the kernel accesses them repeatedly while a thread waits.
//!
//! # Signal handler
//!
//! `touched` and `stepped` run in the SIGSEGV and SIGTRAP handlers. The faulting instruction may be part of a signal
//! handler of the program, which may have interrupted any code:
//!
//! - The allocator: nothing is allocated. Accesses and unprotected pages go into logs of fixed size (`SignalLog`).
//! - The runtime, which may hold any lock: `is_interrupted` is true, no lock is taken, and the access is not judged.
//!   Otherwise `subranges` and the list of registered areas are locked, one at a time.
//! - In a Python process the interpreter may be called, or the handler waits up to `FRAME_TIMEOUT` for the helper
//!   thread that reads the frames. Signal handlers of Python run between two instructions of the interpreter.
//!
//! The checker itself never faults on watched memory: it reads through another door. The allocator keeps no data in
//! the watched pages: the interposer reports registered memory that is freed before the allocator gets it back. A
//! program whose allocator violates this assumption may hang. Asynchronous signals are blocked during the handler.

mod area;
mod fault_record;
mod registered;
mod scanners;
mod system_access;

pub(crate) use area::PAGE;
use area::{Area, Door, PageRun, WRITER};
use fault_record::{FaultHead, FaultRecord};
use registered::RegisteredAreas;
use scanners::Scanners;

use crate::accessed_pages::AccessedPages;
use crate::backtrace::InterruptedBacktrace;
use crate::host_access::{AccessType, FUNCTION, HostAccess};
use crate::{backtrace, call};
use softacl_engine::SignalLog;
use softacl_engine::observer::{FaultAction, Touch, Window};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Maximum number of accesses that are recorded between two calls.
const MAX_ACCESSES: usize = 4096;
/// Maximum number of pages that are protected again by the next call.
const MAX_UNPROTECTED: usize = 1 << 16;
/// Maximum number of instructions outside the bytes in flight that are single-stepped between two calls. Each takes
/// two signals, about 25 microseconds.
const MAX_STEPS: u32 = 500;
/// Width of the widest store instruction.
pub(crate) const MAX_STORE: usize = 64;
/// Faults of one instruction on memory that no copy uses, after which they are not the guard's.
const MAX_REPEATS: u32 = 100;

thread_local! {
    /// The page that is unprotected for the instruction that this thread single-steps.
    static STEPPED: Cell<Option<usize>> = const { Cell::new(None) };
    /// The last fault on memory that no copy uses, and how often it was repeated.
    static REPEATED: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

/// Bytes of a page used by copies in flight that do not use the whole page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PageSubrange {
    from: usize,
    to: usize,
    /// Number of copies that use exactly these bytes.
    count: u32,
}

/// Page protection of the host memory of one machine.
pub(crate) struct Guard {
    pinned: Area,
    registered: RegisteredAreas,
    scanners: Scanners,
    /// The process that the machine belongs to.
    process: u32,
    /// Number of accesses of forked children to pages that were in flight when they were forked. In memory that all
    /// these processes share.
    pub(crate) child_accesses: &'static AtomicU64,
    /// Partly used bytes by page, sorted by bounds. Copies that cover the whole page are not included.
    subranges: Mutex<BTreeMap<usize, Vec<PageSubrange>>>,
    /// Instructions single-stepped since the last call.
    steps: AtomicU32,
    /// Accesses that faulted.
    faults: SignalLog<FaultRecord>,
    /// Accesses that did not fault: those of system calls and of the C library.
    accesses: Mutex<Vec<HostAccess>>,
    /// Sequence number of the last access that exceeded the buffer, or 0.
    last_dropped: AtomicU64,
    /// Set after everything that the next call must process: accesses, steps, unprotected pages.
    has_pending: AtomicBool,
    /// Pages that stay unprotected until the next call.
    unprotected: SignalLog<usize>,
    /// Number of accesses by signal handlers of the program that interrupted the runtime.
    pub(crate) interrupting: AtomicU64,
    /// True if accesses next to bytes in flight are single-stepped. Not under a debugger, which keeps the traps.
    can_step: bool,
    /// Number of pages that were left unprotected because of a debugger.
    pub(crate) unstepped: AtomicU64,
    pub(crate) accessed: AccessedPages,
    /// Number of pages that were left unprotected after `MAX_STEPS`.
    pub(crate) pages_left_open: AtomicU64,
}

impl Guard {
    pub(crate) fn new(window: Window) -> Guard {
        Guard {
            pinned: Area::new(window, Door::Mapping, false),
            registered: RegisteredAreas::default(),
            scanners: Scanners::find(),
            process: std::process::id(),
            child_accesses: shared_counter(),
            subranges: Mutex::default(),
            steps: AtomicU32::new(0),
            faults: SignalLog::new(MAX_ACCESSES),
            accesses: Mutex::default(),
            last_dropped: AtomicU64::new(0),
            has_pending: AtomicBool::new(false),
            unprotected: SignalLog::new(MAX_UNPROTECTED),
            interrupting: AtomicU64::new(0),
            can_step: cfg!(target_arch = "x86_64") && !is_debugged(),
            unstepped: AtomicU64::new(0),
            accessed: AccessedPages::default(),
            pages_left_open: AtomicU64::new(0),
        }
    }

    /// True if an address is in watched memory.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.pinned.contains(address) || self.registered.at(address).is_some()
    }

    /// The watched area that contains an address.
    fn area(&self, address: usize) -> Option<&Area> {
        if self.pinned.contains(address) { Some(&self.pinned) } else { self.registered.at(address) }
    }

    /// The watched areas that a range meets.
    fn areas(&self, start: usize, len: usize) -> impl Iterator<Item = &Area> {
        let pinned = Some(&self.pinned).filter(|area| !area.clip(start, len).is_empty());
        let registered = if pinned.is_some() { Vec::new() } else { self.registered.meeting(start, len) };
        pinned.into_iter().chain(registered)
    }

    /// The parts of a range that are watched.
    pub(crate) fn watched_parts(&self, start: usize, len: usize) -> Vec<std::ops::Range<usize>> {
        self.areas(start, len).map(|area| area.clip(start, len)).collect()
    }

    /// The parts of host memory whose changes the guard does not see: those outside the watched areas, pages with
    /// objects on which threads block, and memory that has another mapping.
    pub(crate) fn unseen_parts(&self, touch: &Touch) -> Vec<std::ops::Range<usize>> {
        let mut unseen = Vec::new();
        let mut from = touch.address;
        for area in self.areas(touch.address, touch.len) {
            let part = area.clip(touch.address, touch.len);
            unseen.push(from..part.start);
            unseen.extend(area.unseen_parts(touch.address, touch.len));
            from = part.end;
        }
        unseen.push(from..touch.address + touch.len);
        unseen.retain(|part| !part.is_empty());
        unseen
    }

    /// True if every access to memory of a task is seen, as in most pinned memory.
    pub(crate) fn sees_all_of(&self, touch: &Touch) -> bool {
        self.pinned.contains(touch.address) && !self.pinned.has_exempt_pages()
    }

    /// True if an address is in memory that has another mapping.
    pub(crate) fn is_shared(&self, address: usize) -> bool {
        self.area(address).is_some_and(|area| area.is_shared)
    }

    /// Watches registered memory, as far as it consists of whole pages. Returns `false` if nothing of it is watched.
    pub(crate) fn register(&self, start: usize, size: usize) -> bool {
        self.registered.add(start, size)
    }

    /// Stops watching registered memory.
    pub(crate) fn unregister(&self, start: usize, size: usize) {
        self.clear(start, size);
        self.registered.remove(start);
    }

    /// Number of pages that the kernel refused to protect.
    pub(crate) fn refused_pages(&self) -> u64 {
        let refused = |area: &Area| area.refused_pages.load(Ordering::Relaxed);
        refused(&self.pinned) + self.registered.all().into_iter().map(refused).sum::<u64>()
    }

    /// Prepares the mapping of an allocation of pinned memory.
    pub(crate) fn isolate(&self, start: usize, size: usize) {
        self.pinned.isolate(start, size);
    }

    /// Counts a copy in flight and protects its pages.
    pub(crate) fn add(&self, touch: &Touch) {
        for area in self.areas(touch.address, touch.len) {
            let touch = clipped(area, touch);
            area.exempt_inaccessible(touch.address, touch.len);
            // The subranges come before the protection: the fault handler reads them.
            for page in edges(&touch) {
                let (from, to) = covered(&touch, page);
                let mut subranges = self.subranges();
                let all = subranges.entry(page).or_default();
                match all.binary_search_by_key(&(from, to), PageSubrange::bounds) {
                    Ok(known) => all[known].count += 1,
                    Err(index) => all.insert(index, PageSubrange { from, to, count: 1 }),
                }
            }
            area.add(&touch);
        }
    }

    /// Removes copies that are no longer in flight. Adjacent pages are unprotected together.
    pub(crate) fn remove<'a>(&self, touches: impl IntoIterator<Item = &'a Touch>) {
        let mut run = PageRun::default();
        for touch in touches {
            for area in self.areas(touch.address, touch.len) {
                let touch = clipped(area, touch);
                area.remove(&touch, &mut run);
                self.remove_edges(&touch);
            }
        }
        run.apply();
    }

    /// Removes the bytes of a copy from the pages that it covers only partly.
    fn remove_edges(&self, touch: &Touch) {
        for page in edges(touch) {
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
        for area in self.areas(start, len) {
            area.clear(start, len);
            let part = area.clip(start, len);
            let mut subranges = self.subranges();
            let freed: Vec<usize> = subranges.range(part).map(|(page, _)| *page).collect();
            freed.iter().for_each(|page| _ = subranges.remove(page));
        }
    }

    /// Opens the pages of registered memory while the engine accesses it at its program address. Pinned memory has a
    /// second mapping. Like every change of the counts, this is called by one thread at a time.
    pub(crate) fn open(&self, touches: &[Touch]) {
        for touch in touches {
            self.registered
                .meeting(touch.address, touch.len)
                .iter()
                .for_each(|area| area.open(touch.address, touch.len));
        }
    }

    /// Ends an `open`.
    pub(crate) fn close(&self, touches: &[Touch]) {
        for touch in touches {
            self.registered
                .meeting(touch.address, touch.len)
                .iter()
                .for_each(|area| area.close(touch.address, touch.len));
        }
    }

    /// True if a range meets registered memory that is watched.
    pub(crate) fn is_registered(&self, start: usize, len: usize) -> bool {
        !self.registered.meeting(start, len).is_empty()
    }

    /// True if any registered memory is watched.
    pub(crate) fn watches_registered(&self) -> bool {
        !self.registered.is_empty()
    }

    /// True if any of the ranges is in registered memory that is watched.
    pub(crate) fn has_registered(&self, touches: &[Touch]) -> bool {
        touches.iter().any(|touch| self.is_registered(touch.address, touch.len))
    }

    fn subranges(&self) -> MutexGuard<'_, BTreeMap<usize, Vec<PageSubrange>>> {
        self.subranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// First byte in flight in `start..end`, which lies in one page.
    fn first_in_flight(&self, area: &Area, start: usize, end: usize) -> Option<usize> {
        let page = start - start % PAGE;
        let subranges = self.subranges();
        let all = subranges.get(&page).map_or(&[][..], Vec::as_slice);
        let state = area.in_flight(area.page(page));
        // A copy that uses the page and has no subrange uses the whole page.
        let partial: u64 = all.iter().map(|subrange| u64::from(subrange.count)).sum();
        if state % WRITER + state / WRITER > partial {
            return Some(start);
        }
        let overlapping = all.iter().filter(|subrange| subrange.from < end && start < subrange.to);
        overlapping.map(|subrange| subrange.from.max(start)).min()
    }

    /// True if a copy in flight uses a byte.
    pub(crate) fn is_in_flight(&self, address: usize) -> bool {
        self.area(address).is_some_and(|area| self.first_in_flight(area, address, address + 1).is_some())
    }

    /// True if all pages of an object are exempt.
    pub(crate) fn is_exempt(&self, start: usize, len: usize) -> bool {
        self.areas(start, len).all(|area| area.is_exempt(start, len))
    }

    /// Stops protecting the pages of an object on which threads block. Like every change of the counts, this is
    /// called by one thread at a time.
    pub(crate) fn exempt(&self, start: usize, len: usize) {
        self.areas(start, len).for_each(|area| area.exempt(start, len));
    }

    /// True if a copy in flight uses the page of an address.
    pub(crate) fn is_guarded(&self, address: usize) -> bool {
        self.area(address).is_some_and(|area| area.in_flight(area.page(address)) != 0)
    }

    /// Reads watched memory. Returns `false` if the system refuses.
    pub(crate) fn read(&self, start: usize, buffer: &mut [u8]) -> bool {
        self.area(start).is_some_and(|area| area.read(start, buffer))
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
        let mut accesses = std::mem::take(&mut *self.accesses.lock().unwrap_or_else(PoisonError::into_inner));
        self.faults.drain(|fault| accesses.push(fault.into_access()));
        accesses.sort_by_key(|access| access.sequence);
        let mut pages = Vec::new();
        self.unprotected.drain(|page| pages.push(page));
        for page in &pages {
            if let Some(area) = self.area(*page) {
                area.reprotect(area.page(*page));
            }
        }
        self.accessed.extend(pages);
        accesses
    }

    /// True in a signal handler of the program that interrupted the runtime, which may hold any lock. False in a
    /// function of the program that the runtime calls.
    pub(crate) fn is_interrupted(&self) -> bool {
        call::is_inside() && FUNCTION.get().is_none()
    }

    /// Opens the memory of an access that interrupted the runtime, until the next call. It is not judged.
    pub(crate) fn open_interrupted(&self, start: usize, len: usize) {
        for area in self.areas(start, len) {
            for page in area.span(start, len).filter(|page| area.in_flight(*page) != 0) {
                self.interrupting.fetch_add(1, Ordering::Relaxed);
                self.unprotect_until_next_call(area, area.address(page));
            }
        }
    }

    /// Runs in the SIGSEGV handler. Unprotects the page and records the access if it counts. The module header states
    /// why it may lock and allocate.
    pub(crate) fn touched(&self, address: usize, is_write: bool, thread: u32, code: usize) -> FaultAction {
        let Some(area) = self.area(address) else { return FaultAction::PassOn };
        let page = area.page(address);
        let start = area.address(page);
        let state = area.in_flight(page);
        if self.is_child() {
            self.count_in_child(area, state);
            area.unprotect(page);
            return repeat(area, address);
        }
        let is_engine = area.door == Door::MemoryFile && is_engine(code);
        if is_engine && (state == 0 || area.is_exempt(address, 1)) {
            // The program has closed the page, and the engine must find that out.
            return FaultAction::PassOn;
        }
        if state == 0 {
            area.unprotect(page);
            return repeat(area, address);
        }
        if area.door == Door::MemoryFile && !is_mapped(start) {
            // The program has unmapped the page, in a way that nothing observes.
            return FaultAction::PassOn;
        }
        if is_engine {
            self.unprotect_until_next_call(area, start);
            return FaultAction::Repeat;
        }
        if self.is_interrupted() {
            self.interrupting.fetch_add(1, Ordering::Relaxed);
            self.unprotect_until_next_call(area, start);
            return FaultAction::Repeat;
        }
        let reads_ahead = !is_write && self.reads_ahead(code);
        let end = (address + MAX_STORE).min(start + PAGE);
        let next = self.first_in_flight(area, address, end).filter(|_| !reads_ahead);
        let is_source = state & (WRITER - 1) != 0;
        let kind = if is_write { AccessType::Write } else { AccessType::Read };
        // A store that starts before bytes in flight may reach them, so the contents must be saved.
        if next == Some(address) || (next.is_some() && is_write && is_source) {
            let head =
                FaultHead::new(call::next_sequence(), address, kind, thread, Some(InterruptedBacktrace::capture(code)));
            self.record_fault(head, area, is_source.then_some(start));
        }
        if next == Some(address) {
            self.unprotect_until_next_call(area, start);
            return FaultAction::Repeat;
        }
        if self.can_step && self.steps.fetch_add(1, Ordering::Relaxed) < MAX_STEPS {
            // An access may span two pages. The first one is protected again at the next call.
            if let Some(other) = STEPPED.replace(Some(start)).filter(|other| *other != start)
                && let Some(area) = self.area(other)
            {
                self.unprotect_until_next_call(area, other);
            }
            // The next call resets the count of steps.
            self.has_pending.store(true, Ordering::Release);
            area.unprotect(page);
            return FaultAction::Step;
        }
        // From here on, changes are found by comparing, and reads are not observed.
        let is_debugged = cfg!(target_arch = "x86_64") && !self.can_step;
        let count = if is_debugged { &self.unstepped } else { &self.pages_left_open };
        let is_destination = state / WRITER != 0;
        count.fetch_add(u64::from(is_destination), Ordering::Relaxed);
        let head = FaultHead::new(call::next_sequence(), start, AccessType::LeftOpen, thread, None);
        self.record_fault(head, area, Some(start));
        self.unprotect_until_next_call(area, start);
        FaultAction::Repeat
    }

    /// True if loads of an instruction say nothing about the bytes that its function uses.
    pub(crate) fn reads_ahead(&self, code: usize) -> bool {
        self.scanners.contain(code)
    }

    /// Runs in the SIGTRAP handler after the single-stepped instruction: protects its page again.
    pub(crate) fn stepped(&self) {
        if let Some((area, page)) = STEPPED.take().and_then(|page| Some((self.area(page)?, page))) {
            area.reprotect(area.page(page));
        }
    }

    /// Records an access in the fault handler, with the contents of its page.
    fn record_fault(&self, head: FaultHead, area: &Area, page: Option<usize>) {
        let sequence = head.sequence();
        let read = page.map(|page| move |bytes: &mut [u8]| area.read(page, bytes));
        if !self.faults.push_with(|slot| FaultRecord::write(slot, head, read)) {
            self.last_dropped.store(sequence, Ordering::Relaxed);
        }
        self.has_pending.store(true, Ordering::Release);
    }

    #[expect(clippy::too_many_arguments, reason = "a record with this many fields")]
    fn record_access(
        &self,
        sequence: u64,
        address: usize,
        kind: AccessType,
        thread: u32,
        backtrace: backtrace::RawBacktrace,
        call: Option<&'static str>,
        before: Box<[u8]>,
    ) {
        let (when, function) = (Instant::now(), FUNCTION.get());
        let access = HostAccess { sequence, address, kind, backtrace, when, thread, function, call, before };
        let mut accesses = self.accesses.lock().unwrap_or_else(PoisonError::into_inner);
        if accesses.len() < MAX_ACCESSES {
            accesses.push(access);
        } else {
            self.last_dropped.store(sequence, Ordering::Relaxed);
        }
        drop(accesses);
        self.has_pending.store(true, Ordering::Release);
    }

    /// Unprotects a page until the next call. The page is unprotected before it is listed, because `take` protects
    /// every listed page again.
    fn unprotect_until_next_call(&self, area: &Area, page: usize) {
        area.unprotect(area.page(page));
        if !self.unprotected.push(page) {
            self.pages_left_open.fetch_add(1, Ordering::Relaxed);
        }
        self.has_pending.store(true, Ordering::Release);
    }
}

/// True if a debugger controls the process.
fn is_debugged() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter_map(|line| line.strip_prefix("TracerPid:")).any(|tracer| tracer.trim() != "0")
}

/// True if an instruction belongs to the byte routines of the engine.
fn is_engine(code: usize) -> bool {
    let (start, end, _) = softacl_memory::bytes::code_range();
    (start..end).contains(&code)
}

/// Repeats an access to memory that no copy uses. A page of pinned memory is accessible now. One of registered memory
/// may be inaccessible for a reason of the program, so the access is not repeated forever.
fn repeat(area: &Area, address: usize) -> FaultAction {
    let (last, count) = REPEATED.get();
    let count = if last == address { count + 1 } else { 0 };
    REPEATED.set((address, count));
    if area.door == Door::MemoryFile && count > MAX_REPEATS { FaultAction::PassOn } else { FaultAction::Repeat }
}

/// True if the page at `start` exists.
fn is_mapped(start: usize) -> bool {
    let mut residency = 0_u8;
    // SAFETY: the call accesses no memory but the byte, which is for one page.
    unsafe { libc::mincore(start as *mut libc::c_void, PAGE, &raw mut residency) == 0 }
}

/// A counter that forked children share. It is never freed.
fn shared_counter() -> &'static AtomicU64 {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping, which replaces no other.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, access, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return Box::leak(Box::default());
    }
    // SAFETY: the mapping is zeroed, aligned and never removed.
    unsafe { &*memory.cast::<AtomicU64>() }
}

/// Contents of a page. Empty if the system refuses to read it.
fn contents(area: &Area, page: usize) -> Box<[u8]> {
    let mut bytes = vec![0; PAGE];
    if area.read(page, &mut bytes) { bytes.into() } else { Box::default() }
}

impl PageSubrange {
    fn bounds(&self) -> (usize, usize) {
        (self.from, self.to)
    }
}

/// The part of a touch that lies in an area.
fn clipped(area: &Area, touch: &Touch) -> Touch {
    let part = area.clip(touch.address, touch.len);
    Touch { address: part.start, len: part.len(), mode: touch.mode }
}

/// Pages that a touch covers only partly.
fn edges(touch: &Touch) -> impl Iterator<Item = usize> + use<> {
    let (first, last) = (touch.address / PAGE * PAGE, (touch.address + touch.len - 1) / PAGE * PAGE);
    let touch = *touch;
    let whole = move |page: usize| covered(&touch, page) == (page, page + PAGE);
    [Some(first), (first != last).then_some(last)].into_iter().flatten().filter(move |page| !whole(*page))
}

/// Bounds of the bytes of a page that a touch covers.
fn covered(touch: &Touch, page: usize) -> (usize, usize) {
    (touch.address.max(page), (touch.address + touch.len).min(page + PAGE))
}

#[cfg(test)]
mod tests;
