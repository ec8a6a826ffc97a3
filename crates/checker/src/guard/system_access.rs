//! Accesses that do not fault: memory that is passed to system calls, what string functions have read, and accesses of
//! forked children. The interposer reports them.

use super::area::{Area, Door, PAGE, WRITER};
use super::{Guard, contents};
use crate::host_access::AccessType;
use crate::{backtrace, call};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

thread_local! {
    /// System calls that this thread has announced and not finished.
    static SYSTEM_ACCESSES: RefCell<Vec<SystemAccess>> = const { RefCell::new(Vec::new()) };
}

/// Memory that a system call may use, until the call returns.
struct SystemAccess {
    start: usize,
    len: usize,
    is_write: bool,
    call: &'static str,
    sequence: u64,
    /// Contents of the source pages before the call, by page.
    before: BTreeMap<usize, Box<[u8]>>,
}

impl Guard {
    /// True if the program cannot access a range in this way, or can only because another system call uses it now.
    pub(crate) fn is_closed(&self, start: usize, len: usize, is_write: bool) -> bool {
        self.areas(start, len).any(|area| area.span(start, len).any(|page| area.is_closed(page, is_write)))
    }

    /// True if a range is watched and no copy in flight uses its pages.
    pub(crate) fn is_idle(&self, start: usize, len: usize) -> bool {
        let mut areas = self.areas(start, len).peekable();
        areas.peek().is_some() && areas.all(|area| area.span(start, len).all(|page| area.in_flight(page) == 0))
    }

    /// Opens pages that a system call is about to use, until `end_system_access`. Called by one thread at a time.
    pub(crate) fn begin_system_access(&self, start: usize, len: usize, is_write: bool, call: &'static str) {
        let sequence = call::next_sequence();
        let mut before = BTreeMap::new();
        // A thread that has ended its thread-local storage is ending.
        if SYSTEM_ACCESSES.try_with(|_| ()).is_err() {
            return;
        }
        for area in self.areas(start, len) {
            for page in area.span(start, len).filter(|page| area.in_flight(*page) % WRITER != 0) {
                before.insert(area.address(page), contents(area, area.address(page)));
            }
            area.open(start, len);
        }
        let access = SystemAccess { start, len, is_write, call, sequence, before };
        SYSTEM_ACCESSES.with_borrow_mut(|all| all.push(access));
    }

    /// True if the calling thread has announced an access to memory at `start` and not finished it.
    pub(crate) fn is_in_system_access(&self, start: usize) -> bool {
        SYSTEM_ACCESSES.try_with(|all| all.borrow().iter().any(|access| access.start == start)).unwrap_or(false)
    }

    /// Ends an access of the calling thread, of which the system call used the first `done` bytes: records it if those
    /// are in flight, and protects the pages again. Returns `true` if it is unknown what the call used (`done` is
    /// `None`) and some of the bytes are in flight. Called by one thread at a time.
    pub(crate) fn end_system_access(&self, start: usize, done: Option<usize>, thread: u32) -> bool {
        let taken = SYSTEM_ACCESSES.with_borrow_mut(|all| {
            let index = all.iter().rposition(|access| access.start == start)?;
            Some(all.remove(index))
        });
        let Some(SystemAccess { len, is_write, call, sequence, mut before, .. }) = taken else { return false };
        let is_unjudged = done.is_none() && self.has_in_flight(start, len);
        let done = done.unwrap_or(0);
        let kind = if is_write { AccessType::Write } else { AccessType::Read };
        let mut backtrace = None;
        for area in self.areas(start, len) {
            for page in area.span(start, done.min(len)) {
                let first = area.address(page);
                let used = first.max(start)..(first + PAGE).min(start + done.min(len));
                let is_reader = !is_write && area.in_flight(page) / WRITER == 0;
                if let Some(address) = self.first_in_flight(area, used.start, used.end).filter(|_| !is_reader) {
                    let trace = backtrace.get_or_insert_with(backtrace::RawBacktrace::capture_outside_call).clone();
                    let before = before.remove(&first).unwrap_or_default();
                    self.record_access(sequence, address, kind, thread, trace, Some(call), before);
                    self.accessed.extend(vec![first]);
                }
            }
            area.close(start, len);
        }
        is_unjudged
    }

    /// True if a copy in flight uses a byte of a range.
    fn has_in_flight(&self, start: usize, len: usize) -> bool {
        self.areas(start, len).any(|area| {
            area.span(start, len).any(|page| {
                let first = area.address(page);
                self.first_in_flight(area, first.max(start), (first + PAGE).min(start + len)).is_some()
            })
        })
    }

    /// Records an access that a function of the C library has made to bytes of its arguments.
    pub(crate) fn library_access(&self, start: usize, len: usize, thread: u32, call: &'static str) {
        for area in self.areas(start, len) {
            for page in area.span(start, len).filter(|page| area.in_flight(*page) / WRITER != 0) {
                let first = area.address(page);
                let used = first.max(start)..(first + PAGE).min(start + len);
                if let Some(address) = self.first_in_flight(area, used.start, used.end) {
                    let trace = backtrace::RawBacktrace::capture_outside_call();
                    let (sequence, before) = (call::next_sequence(), Box::default());
                    self.record_access(sequence, address, AccessType::Read, thread, trace, Some(call), before);
                    return;
                }
            }
        }
    }

    /// True in a forked child of the process that the machine belongs to. The child itself has nothing in flight,
    /// and locks that it inherited may never be released.
    pub(crate) fn is_child(&self) -> bool {
        std::process::id() != self.process
    }

    /// Opens memory for a system call of a forked child.
    pub(crate) fn open_in_child(&self, start: usize, len: usize) {
        for area in self.areas(start, len) {
            for page in area.span(start, len) {
                self.count_in_child(area, area.in_flight(page));
                area.unprotect(page);
            }
        }
    }

    /// Counts an access of a forked child to a page with these counts. Pinned memory is shared with the child.
    pub(super) fn count_in_child(&self, area: &Area, in_flight: u64) {
        if area.door == Door::Mapping && in_flight != 0 {
            self.child_accesses.fetch_add(1, Ordering::Relaxed);
        }
    }
}
