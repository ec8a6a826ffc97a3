//! Findings H1 and H3: the host accesses memory that a copy in flight uses.

use crate::call::next_sequence;
use crate::finding::{FindingId, Severity};
use crate::guard::{Guard, MAX_STORE, PAGE};
use crate::host_access::{AccessType, HostAccess, RunningFunction};
use crate::operation::{HOST_READ, HOST_WRITE, LEFT_OPEN, Operation};
use crate::snapshot::{self, Difference, SourceSnapshot, is_readable};
use crate::state::{Evidence, InFlight, NewOperation, PageSnapshot, PendingFinding, State};
use crate::unjudged::Subject;
use softacl_engine::observer::{CellId, Mode, Signal, StreamPosition, Submitted, Touch};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Follow the fix of a finding whose writing line is unknown.
const UNKNOWN_LINE_IN_OPEN_PAGE: &str = "; the line of the write is unknown, because the page was left unprotected \
     after many accesses beside the copy: keep other data out of the pages of buffers";
const UNKNOWN_LINE_OF_UNWATCHED_PAGE: &str = "; the line of the write is unknown, because only whole pages of \
     registered memory are watched: align the buffer and its size to 4096 bytes";

const UNKNOWN_LINE_IN_EXEMPT_PAGE: &str = "; the line of the write is unknown, because the page cannot be protected: \
     it also holds an object that the system accesses, such as a mutex, a stack or the buffer of a file. Keep the \
     object out of the pages of buffers";
const UNKNOWN_LINE_IN_SHARED_MAPPING: &str = "; the line of the write is unknown, because the memory was written \
     through another mapping of it, here or in another process";
const UNKNOWN_LINE_IN_HOST_VIEW: &str = "; the line of the write is unknown, because direct accesses of the host to \
     device memory are not observed";
const WAIT_OBJECT_IN_PAGE: &str = "the page of the destination also holds an object that the system accesses, such as a \
                                   mutex, a stack or the buffer of a file, so it cannot be protected";
const OTHER_MAPPING: &str = "the destination is shared memory, and accesses through other mappings of it, here or in \
                             other processes, are not observed";
const HOST_VIEW: &str = "the destination is device memory that host code can access directly (managed or viewed \
                         memory, or any in RC form), and such accesses are not observed";
const NOT_WATCHED: &str = "the destination is host memory that is not watched: less than a whole page of registered \
                           memory, or memory that is not plainly readable and writable";

impl State {
    /// Puts a submitted task in flight: enters its accesses, protects pinned memory, and takes snapshots of other
    /// host sources.
    pub(crate) fn add_in_flight(&mut self, guard: &Guard, task: &Submitted<'_>, operation: Arc<Operation>) {
        let mut snapshots = Vec::new();
        for touch in task.touches {
            let canonical = self.mappings.canonical_touch(touch);
            self.enter_access(&canonical, task.at, &operation);
            if touch.mode == Mode::Write {
                self.waits.signals.overwritten(touch.address, touch.len, Some(task.at), self.clocks.host());
            }
            guard.add(touch);
            if guard.sees_all_of(touch) {
                continue;
            }
            for part in self.unseen_parts(guard, touch) {
                self.watch_unseen(guard, touch.mode, &part, &mut snapshots);
            }
        }
        self.snapshot_count += snapshots.len();
        let entry = InFlight {
            at: task.at,
            is_compared: false,
            is_reported: false,
            since: operation.sequence,
            cell: match task.signal {
                Some(Signal::Change { cell, .. } | Signal::Wait { cell, .. }) => match cell.id {
                    CellId::Value(address) => Some(address),
                    CellId::Notify(_) => None,
                },
                _ => None,
            },
            operation,
            snapshots,
        };
        let progress = self.progress.entry(task.at.stream).or_default();
        progress.newest = task.at.sequence;
        progress.in_flight.push_back(entry);
    }

    /// The parts of host memory of a task that the guard does not see. Empty for device memory, unless host code can
    /// access it directly.
    fn unseen_parts(&self, guard: &Guard, touch: &Touch) -> Vec<Range<usize>> {
        match self.allocation(touch.address) {
            Some((_, allocation)) if allocation.kind.is_device() => {
                let whole = touch.address..touch.address + touch.len;
                self.is_host_view(touch).then_some(whole).into_iter().collect()
            }
            // Copies to ordinary host memory wait.
            None if touch.mode == Mode::Write => Vec::new(),
            _ => guard.unseen_parts(touch),
        }
    }

    /// True if host code of this process can access device memory directly.
    fn is_host_view(&self, touch: &Touch) -> bool {
        self.host_views.meets(touch.address, touch.len) && !self.mappings.is_shared(touch.address)
    }

    /// Takes a snapshot of a source that the guard does not see. Accesses to such a destination are not judged.
    fn watch_unseen(&mut self, guard: &Guard, mode: Mode, part: &Range<usize>, into: &mut Vec<SourceSnapshot>) {
        let is_host = guard.contains(part.start);
        let reason = match mode {
            Mode::Write if guard.is_shared(part.start) => OTHER_MAPPING,
            // The program itself has closed the page.
            Mode::Write if is_host && !is_readable(part.start) => return,
            Mode::Write if is_host => WAIT_OBJECT_IN_PAGE,
            Mode::Write if self.allocation(part.start).is_some_and(|(_, found)| found.kind.is_device()) => HOST_VIEW,
            Mode::Write => NOT_WATCHED,
            Mode::Read => {
                into.extend(SourceSnapshot::take(part.start, part.len()));
                return;
            }
        };
        self.not_judged(&[FindingId::H3], Subject::Copy, 1, reason);
    }

    /// From now on, the guard does not see the page of an object, which tasks in flight may use.
    pub(crate) fn page_exempted(&mut self, guard: &Guard, start: usize, len: usize) {
        let pages = start - start % PAGE..(start + len).next_multiple_of(PAGE);
        let mut unseen = Vec::new();
        for task in self.in_flight() {
            for touch in &task.operation.touches {
                let part = touch.address.max(pages.start)..(touch.address + touch.len).min(pages.end);
                unseen.extend((!part.is_empty()).then_some((task.at, touch.mode, part)));
            }
        }
        for (at, mode, part) in unseen {
            let mut snapshots = Vec::new();
            self.watch_unseen(guard, mode, &part, &mut snapshots);
            self.snapshot_count += snapshots.len();
            if let Some(task) = self.in_flight_task(at) {
                task.snapshots.append(&mut snapshots);
            }
        }
    }

    /// Opens registered memory of a task that starts: the engine accesses it at its program address.
    pub(crate) fn open_for_task(&mut self, guard: &Guard, at: StreamPosition) {
        if guard.watches_registered()
            && let Some(operation) = self.in_flight_task(at).map(|task| Arc::clone(&task.operation))
            && guard.has_registered(&operation.touches)
            && !self.opened.contains_key(&at)
        {
            guard.open(&operation.touches);
            self.opened.insert(at, operation);
        }
    }

    /// Processes the host accesses since the last call.
    pub(crate) fn process_accesses(&mut self, guard: &Guard, start: Instant) {
        for access in guard.take() {
            self.process_access(access, start);
        }
    }

    fn process_access(&mut self, access: HostAccess, start: Instant) {
        let HostAccess { sequence, address, kind, backtrace, when, thread, function, call, before } = access;
        let page = address - address % PAGE;
        let time = when.duration_since(start).as_secs_f64() * 1e6;
        let (name, mode) = match kind {
            AccessType::Read => (HOST_READ, Some(Mode::Read)),
            AccessType::Write => (HOST_WRITE, Some(Mode::Write)),
            AccessType::LeftOpen => (LEFT_OPEN, None),
        };
        let ranges: Vec<Touch> = mode.map(|mode| Touch { address, len: 1, mode }).into_iter().collect();
        let new = NewOperation { name, touches: &ranges, ..NewOperation::default() };
        let operation = self.operation_at(sequence, new, backtrace, thread, call, time);
        let hits = if mode.is_some() { self.hits(address, function, sequence) } else { Vec::new() };
        for (copy, hit) in hits {
            if hit.mode == Mode::Write {
                self.find_early_access(&copy, &hit, Some(&operation), kind == AccessType::Write, address);
            }
        }
        if !before.is_empty() {
            self.page_snapshots.entry(page).or_default().push(PageSnapshot {
                bytes: before,
                access: operation,
                function,
                is_left_open: kind == AccessType::LeftOpen,
            });
        }
    }

    /// Ranges of tasks in flight that contain an address and that the access may not touch. A host function may
    /// access memory of tasks before and after it. Any thread may access memory of tasks behind an external wait or a
    /// host function, which may have passed the memory to that thread. A system call that began before the submit may
    /// have made its access before it.
    fn hits(&self, address: usize, function: Option<RunningFunction>, sequence: u64) -> Vec<(Arc<Operation>, Touch)> {
        let inside = |touch: &&Touch| address.wrapping_sub(touch.address) < touch.len;
        let allowed = |task: &InFlight| {
            task.operation.sequence < sequence
                && !function.is_some_and(|function| self.is_function_ordered(function, task.at))
                && !self.is_behind_external_wait(task.at)
                && !self.is_behind_host_function(task.at)
        };
        self.in_flight()
            .filter_map(|task| {
                let touch = task.operation.touches.iter().find(inside).filter(|_| allowed(task))?;
                Some((Arc::clone(&task.operation), *touch))
            })
            .collect()
    }

    /// H3: the host accessed the destination of a copy in flight. The access is unknown if it was found by comparing.
    fn find_early_access(
        &mut self,
        copy: &Arc<Operation>,
        hit: &Touch,
        access: Option<&Arc<Operation>>,
        is_write: bool,
        address: usize,
    ) {
        let verb = if is_write { "wrote" } else { "read" };
        let state = if copy.has_started() { "had run, but no wait had confirmed it" } else { "had not run yet" };
        let message = format!(
            "the host {verb} byte {} of the destination of {} ({}) before any wait covers it; the copy {state}",
            address - hit.address,
            copy.actor_text(),
            copy.describe(),
        );
        let near = Some((hit.address, hit.len));
        let mut evidence = vec![self.evidence("the copy", copy, near)];
        evidence.extend(access.map(|access| self.evidence("the access", access, None)));
        evidence.extend(self.capture_evidence(copy));
        evidence.extend(self.allocation_evidence(hit.address));
        let unknown = if access.is_none() { UNKNOWN_LINE_IN_OPEN_PAGE } else { "" };
        let fix = format!("wait before accessing the destination: {}{unknown}", self.narrowest_wait(copy));
        self.add_finding(PendingFinding {
            id: FindingId::H3,
            severity: Severity::Proven,
            message,
            fix,
            count: 1,
            evidence,
        });
    }

    /// H1: compares the sources of a task that starts with their contents at submit.
    pub(crate) fn compare_sources_at(&mut self, guard: &Guard, at: StreamPosition) {
        let Some(task) = self.in_flight_task(at) else { return };
        if std::mem::replace(&mut task.is_compared, true) {
            return;
        }
        let (operation, since, changes) = (Arc::clone(&task.operation), task.since, changes(&task.snapshots));
        self.compare_destinations(guard, &operation, since);
        if self.compare_sources(guard, &operation, since, changes, 1)
            && let Some(task) = self.in_flight_task(at)
        {
            // When the task retires, only later changes are compared.
            task.is_reported = true;
            task.since = next_sequence();
            task.snapshots.iter_mut().for_each(SourceSnapshot::refresh);
        }
    }

    /// H1: compares the sources of a retired task that never started, or whose source changed after it started.
    pub(crate) fn compare_retired(&mut self, guard: &Guard, task: &InFlight) {
        let count = u64::from(!task.is_reported);
        self.compare_destinations(guard, &task.operation, task.since);
        self.compare_sources(guard, &task.operation, task.since, changes(&task.snapshots), count);
    }

    /// Reports a changed source. Returns `false` if no source changed.
    fn compare_sources(
        &mut self,
        guard: &Guard,
        copy: &Arc<Operation>,
        since: u64,
        mut changes: Vec<(usize, Difference)>,
        count: u64,
    ) -> bool {
        // A shared mapping has complete snapshots.
        let is_watched = |touch: &&Touch| {
            touch.mode == Mode::Read
                && !guard.watched_parts(touch.address, touch.len).is_empty()
                && !guard.is_shared(touch.address)
        };
        if !self.page_snapshots.is_empty() {
            let sources = copy.touches.iter().filter(is_watched);
            changes.extend(sources.filter_map(|touch| self.source_difference(guard, copy, touch, since)));
        }
        let Some((address, first)) = changes.first() else { return false };
        let is_host = |touch: &&Touch| {
            let allocation = self.allocation(touch.address);
            let is_device = allocation.is_some_and(|(_, allocation)| allocation.kind.is_device());
            touch.mode == Mode::Read && (!is_device || self.is_host_view(touch))
        };
        let sources: Vec<Touch> = copy.touches.iter().filter(is_host).copied().collect();
        let is_inside = |source: &Touch| address.wrapping_sub(source.address) < source.len;
        let Some(piece) = sources.iter().position(is_inside) else { return false };
        let source = sources[piece];
        let len = sources.iter().map(|source| source.len).sum::<usize>();
        let cause = self.cause(copy, &source, *address, since);
        let is_late = cause.as_ref().is_some_and(|cause| copy.started_before(cause));
        let is_exact = changes.iter().all(|(_, change)| change.is_exact);
        // The guard dropped some accesses, of unknown pages.
        let is_lower_bound = guard.last_dropped() > since && copy.touches.iter().any(|touch| is_watched(&touch));
        let message = format!(
            "the source of {} ({}) was changed between submit and {}: {}{} of {} bytes differ, the first is {}byte \
             {}{}{}",
            copy.actor_text(),
            copy.describe(),
            if is_late { "a wait that covers it" } else { "execution" },
            match (is_exact, is_lower_bound) {
                (true, false) => "",
                (true, true) => "at least ",
                (false, false) => "up to ",
                (false, true) => "about ",
            },
            changes.iter().map(|(_, change)| change.bytes).sum::<usize>().min(len),
            len,
            if first.is_exact { "" } else { "in the page from " },
            address - source.address,
            if sources.len() > 1 { format!(" of piece {} of {}", piece + 1, sources.len()) } else { String::new() },
            if is_late {
                "; on this schedule the copy had already run; on another one it copies the new bytes"
            } else {
                ""
            },
        );
        let mut evidence: Vec<Evidence> = vec![self.evidence("the copy", copy, Some((source.address, source.len)))];
        evidence.extend(cause.as_ref().map(|cause| self.evidence("the write", cause, None)));
        evidence.extend(self.capture_evidence(copy));
        evidence.extend(self.allocation_evidence(source.address));
        let unknown = match &cause {
            Some(_) => "",
            None if guard.contains(*address) && guard.is_exempt(*address, 1) => UNKNOWN_LINE_IN_EXEMPT_PAGE,
            None if guard.is_shared(*address) => UNKNOWN_LINE_IN_SHARED_MAPPING,
            None if guard.contains(*address) => UNKNOWN_LINE_IN_OPEN_PAGE,
            None if self.is_host_view(&source) => UNKNOWN_LINE_IN_HOST_VIEW,
            None => UNKNOWN_LINE_OF_UNWATCHED_PAGE,
        };
        let fix = format!("wait before changing the source: {}{unknown}", self.narrowest_wait(copy));
        self.add_finding(PendingFinding {
            id: FindingId::H1,
            severity: Severity::Proven,
            message,
            fix,
            count,
            evidence,
        });
        true
    }

    /// The host access that changed a source at an address, if it was recorded. An access to other bytes of the page
    /// is not the cause, unless it is a store that may have reached the source.
    fn cause(&self, copy: &Operation, source: &Touch, address: usize, since: u64) -> Option<Arc<Operation>> {
        let accesses = || self.accesses_of(copy, address - address % PAGE, since);
        let reaches = |snapshot: &&PageSnapshot, width: usize| {
            let touches = &snapshot.access.touches;
            touches.iter().any(|touch| (touch.address + width).wrapping_sub(source.address) < source.len + width)
        };
        let direct = accesses().find(|snapshot| reaches(snapshot, 0));
        let cause = direct.or_else(|| accesses().find(|snapshot| reaches(snapshot, MAX_STORE)))?;
        Some(Arc::clone(&cause.access))
    }

    /// True if a task happens before a host function, or after its return.
    fn is_function_ordered(&self, function: RunningFunction, task: StreamPosition) -> bool {
        self.clocks.of(function.at).includes(task)
            || function.holds_stream && self.clocks.of(task).includes(function.at)
    }

    /// Accesses to a page that count for a copy, oldest first. A host function may access memory of tasks before and
    /// after it.
    fn accesses_of(&self, copy: &Operation, page: usize, since: u64) -> impl Iterator<Item = &PageSnapshot> {
        let at = copy.at;
        let is_ordered = move |function: RunningFunction| at.is_some_and(|at| self.is_function_ordered(function, at));
        let snapshots = self.page_snapshots.get(&page).into_iter().flatten();
        snapshots.filter(move |snapshot| snapshot.access.sequence > since && !snapshot.function.is_some_and(is_ordered))
    }

    /// H3: compares the destinations of a task in pages that were left unprotected. Only the host can have changed
    /// them: writes of tasks and calls renew the snapshots.
    fn compare_destinations(&mut self, guard: &Guard, copy: &Arc<Operation>, since: u64) {
        if self.page_snapshots.is_empty() {
            return;
        }
        for target in copy.touches.iter().filter(|touch| touch.mode == Mode::Write) {
            let is_left_open = |snapshot: &&PageSnapshot| snapshot.is_left_open;
            if let Some((address, _)) = self.difference(guard, copy, target, since, is_left_open) {
                self.find_early_access(copy, target, None, true, address);
                self.refresh(guard, std::slice::from_ref(target));
            }
        }
    }

    /// Difference between a watched source and its contents at submit, with the address of the first differing byte.
    fn source_difference(
        &self,
        guard: &Guard,
        copy: &Operation,
        source: &Touch,
        since: u64,
    ) -> Option<(usize, Difference)> {
        self.difference(guard, copy, source, since, |_| true)
    }

    /// Difference between watched memory and its contents before the first access since that matches.
    fn difference(
        &self,
        guard: &Guard,
        copy: &Operation,
        source: &Touch,
        since: u64,
        matches: impl Fn(&&PageSnapshot) -> bool,
    ) -> Option<(usize, Difference)> {
        let mut total: Option<(usize, Difference)> = None;
        let mut page = source.address - source.address % PAGE;
        while page < source.address + source.len {
            // The page was protected when the copy was submitted, so its contents at submit are those before the
            // first access since.
            if let Some(snapshot) = self.accesses_of(copy, page, since).find(&matches) {
                let from = source.address.max(page);
                let to = (source.address + source.len).min(page + PAGE);
                let mut now = vec![0; to - from];
                if guard.read(from, &mut now)
                    && let Some(difference) = snapshot::difference(&snapshot.bytes[from - page..to - page], &now)
                {
                    match &mut total {
                        Some((_, sum)) => sum.bytes += difference.bytes,
                        None => total = Some((from + difference.first, difference)),
                    }
                }
            }
            page += PAGE;
        }
        total
    }

    /// Updates the snapshots of sources that overlap a legal write to host memory.
    pub(crate) fn refresh(&mut self, guard: &Guard, touches: &[Touch]) {
        for touch in touches.iter().filter(|touch| touch.mode == Mode::Write) {
            let parts =
                if self.page_snapshots.is_empty() { Vec::new() } else { guard.watched_parts(touch.address, touch.len) };
            for part in parts {
                let mut page = part.start - part.start % PAGE;
                while page < part.end {
                    for snapshot in self.page_snapshots.get_mut(&page).into_iter().flatten() {
                        let (from, to) = (part.start.max(page), part.end.min(page + PAGE));
                        guard.read(from, &mut snapshot.bytes[from - page..to - page]);
                    }
                    page += PAGE;
                }
            }
            if self.snapshot_count == 0 {
                continue;
            }
            let snapshots = self.in_flight_mut().flat_map(|task| &mut task.snapshots);
            snapshots.filter(|snapshot| snapshot.meets(touch.address, touch.len)).for_each(SourceSnapshot::refresh);
        }
    }

    /// Drops the snapshots of pages that no copy in flight uses.
    pub(crate) fn drop_unused_snapshots(&mut self, guard: &Guard) {
        if !self.page_snapshots.is_empty() {
            self.page_snapshots.retain(|page, _| guard.is_guarded(*page));
        }
    }
}

/// Differences between sources that cannot be protected and their snapshots, with the address of the first differing
/// byte.
fn changes(snapshots: &[SourceSnapshot]) -> Vec<(usize, Difference)> {
    let change = |snapshot: &SourceSnapshot| {
        snapshot.difference().map(|difference| (snapshot.address + difference.first, difference))
    };
    snapshots.iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests;
