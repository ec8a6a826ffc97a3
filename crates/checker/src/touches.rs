//! Findings H1 and H3: the host accesses memory that a copy in flight uses.

use crate::call::next_sequence;
use crate::finding::{FindingId, Severity};
use crate::guard::{Guard, HostAccess, MAX_STORE, PAGE};
use crate::operation::{HOST_READ, HOST_WRITE, Operation};
use crate::snapshot::{self, Difference, SourceSnapshot};
use crate::state::{Evidence, InFlight, NewOperation, PageSnapshot, PendingFinding, State};
use softacl_engine::observer::{Mode, StreamPosition, Touch};
use std::sync::Arc;
use std::time::Instant;

impl State {
    /// Processes the host accesses since the last call.
    pub(crate) fn process_accesses(&mut self, guard: &Guard, start: Instant) {
        for access in guard.take() {
            self.process_access(access, start);
        }
    }

    fn process_access(&mut self, access: HostAccess, start: Instant) {
        let HostAccess { sequence, address, is_write, backtrace, when, thread, function, call, before } = access;
        let page = address - address % PAGE;
        let time = when.duration_since(start).as_secs_f64() * 1e6;
        let mode = if is_write { Mode::Write } else { Mode::Read };
        let name = if is_write { HOST_WRITE } else { HOST_READ };
        let ranges = [Touch { address, len: 1, mode }];
        let new = NewOperation { name, at: None, touches: &ranges };
        let operation = self.operation_at(sequence, new, backtrace, thread, call, time);
        for (copy, hit) in self.hits(address, function) {
            if hit.mode == Mode::Write {
                self.find_early_access(&copy, &hit, &operation, is_write, address);
            }
        }
        if !before.is_empty() {
            self.page_snapshots.entry(page).or_default().push(PageSnapshot {
                bytes: before,
                access: operation,
                function,
            });
        }
    }

    /// Ranges of tasks in flight that contain an address and that the access may not touch. A host function may
    /// access memory of tasks before and after it. Any thread may access memory of tasks behind an external wait or a
    /// host function, which may have passed the memory to that thread.
    fn hits(&self, address: usize, function: Option<StreamPosition>) -> Vec<(Arc<Operation>, Touch)> {
        let inside = |touch: &&Touch| address.wrapping_sub(touch.address) < touch.len;
        let allowed = |task: &InFlight| {
            !function.is_some_and(|at| self.are_ordered(at, task.at))
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

    /// H3: the host accessed the destination of a copy in flight.
    fn find_early_access(
        &mut self,
        copy: &Arc<Operation>,
        hit: &Touch,
        access: &Arc<Operation>,
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
        let mut evidence = vec![self.evidence("the copy", copy, near), self.evidence("the access", access, None)];
        evidence.extend(self.allocation_evidence(hit.address));
        let fix = format!("wait before accessing the destination: {}", self.narrowest_wait(copy));
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
        let is_pinned = |touch: &&Touch| touch.mode == Mode::Read && guard.contains(touch.address);
        if !self.page_snapshots.is_empty() {
            let sources = copy.touches.iter().filter(is_pinned);
            changes.extend(sources.filter_map(|touch| self.source_difference(guard, copy, touch, since)));
        }
        let Some((address, first)) = changes.first() else { return false };
        let is_host = |touch: &&Touch| {
            let allocation = self.allocation(touch.address);
            touch.mode == Mode::Read && allocation.is_none_or(|(_, allocation)| !allocation.kind.is_device())
        };
        let sources: Vec<Touch> = copy.touches.iter().filter(is_host).copied().collect();
        let is_inside = |source: &Touch| address.wrapping_sub(source.address) < source.len;
        let Some(piece) = sources.iter().position(is_inside) else { return false };
        let source = sources[piece];
        let cause = self.cause(copy, &source, *address, since);
        let is_late = cause.as_ref().is_some_and(|cause| copy.started_before(cause));
        let is_exact = changes.iter().all(|(_, change)| change.is_exact);
        // The guard dropped some accesses, of unknown pages.
        let is_lower_bound = guard.last_dropped() > since && copy.touches.iter().any(|touch| is_pinned(&touch));
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
            changes.iter().map(|(_, change)| change.bytes).sum::<usize>(),
            sources.iter().map(|source| source.len).sum::<usize>(),
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
        evidence.extend(self.allocation_evidence(source.address));
        let fix = format!("wait before changing the source: {}", self.narrowest_wait(copy));
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

    /// True if one of two tasks happens before the other.
    fn are_ordered(&self, one: StreamPosition, other: StreamPosition) -> bool {
        self.clocks.of(one).includes(other) || self.clocks.of(other).includes(one)
    }

    /// Accesses to a page that count for a copy, oldest first. A host function may access memory of tasks before and
    /// after it.
    fn accesses_of(&self, copy: &Operation, page: usize, since: u64) -> impl Iterator<Item = &PageSnapshot> {
        let at = copy.at;
        let is_ordered = move |function: StreamPosition| at.is_some_and(|at| self.are_ordered(function, at));
        let snapshots = self.page_snapshots.get(&page).into_iter().flatten();
        snapshots.filter(move |snapshot| snapshot.access.sequence > since && !snapshot.function.is_some_and(is_ordered))
    }

    /// Difference between a source in pinned memory and its contents at submit, with the address of the first
    /// differing byte.
    fn source_difference(
        &self,
        guard: &Guard,
        copy: &Operation,
        source: &Touch,
        since: u64,
    ) -> Option<(usize, Difference)> {
        let mut total: Option<(usize, Difference)> = None;
        let mut page = source.address - source.address % PAGE;
        while page < source.address + source.len {
            // The page was protected when the copy was submitted, so its contents at submit are those before the
            // first access since.
            if let Some(snapshot) = self.accesses_of(copy, page, since).next() {
                let from = source.address.max(page);
                let to = (source.address + source.len).min(page + PAGE);
                let mut now = vec![0; to - from];
                guard.read(from, &mut now);
                if let Some(difference) = snapshot::difference(&snapshot.bytes[from - page..to - page], &now) {
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
            if guard.contains(touch.address) && !self.page_snapshots.is_empty() {
                let mut page = touch.address - touch.address % PAGE;
                while page < touch.address + touch.len {
                    for snapshot in self.page_snapshots.get_mut(&page).into_iter().flatten() {
                        let from = touch.address.max(page);
                        let to = (touch.address + touch.len).min(page + PAGE);
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
