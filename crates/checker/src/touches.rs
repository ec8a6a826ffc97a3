//! H1 and H3: the host touches memory that a copy in flight uses.

use crate::finding::Severity;
use crate::guard::{Guard, HostAccess, PAGE, STORE};
use crate::operation::{HOST_READ, HOST_WRITE, Operation, next_sequence};
use crate::snapshot::{self, Difference, SourceSnapshot};
use crate::state::{Evidence, InFlight, NewOperation, PageSnapshot, PendingFinding, State};
use softacl_engine::observer::{Mode, StreamPosition, Touch};
use std::sync::Arc;
use std::time::Instant;

impl State {
    /// Works off what the guard has seen since the last call.
    pub(crate) fn process_accesses(&mut self, guard: &Guard, since: Instant) {
        for touch in guard.take() {
            self.process_access(touch, since);
        }
    }

    fn process_access(&mut self, touch: HostAccess, since: Instant) {
        let HostAccess { number, address, is_write, spot, when, thread, function, call, before } = touch;
        let page = address - address % PAGE;
        let time = when.duration_since(since).as_secs_f64() * 1e6;
        let mode = if is_write { Mode::Write } else { Mode::Read };
        let name = if is_write { HOST_WRITE } else { HOST_READ };
        let ranges = [Touch { address, len: 1, mode }];
        let facts = NewOperation { name, at: None, touches: &ranges };
        let operation = self.operation_at(number, facts, spot, thread, call, time);
        for (flight, hit) in self.hits(address, function) {
            if hit.mode == Mode::Write {
                self.find_early_access(&flight, &hit, &operation, is_write, address);
            }
        }
        if !before.is_empty() {
            self.before.entry(page).or_default().push(PageSnapshot { bytes: before, touch: operation, function });
        }
    }

    /// Ranges of tasks in flight that contain an address. A host function may touch what comes before
    /// it and what comes after it; anybody may touch what waits for a sign or for a host function, which may have
    /// handed the memory to whoever touches it.
    fn hits(&self, address: usize, function: Option<StreamPosition>) -> Vec<(Arc<Operation>, Touch)> {
        let inside = |touch: &&Touch| address.wrapping_sub(touch.address) < touch.len;
        let allowed = |flight: &InFlight| {
            !function.is_some_and(|at| self.are_ordered(at, flight.at))
                && !self.is_behind_external_wait(flight.at)
                && !self.awaits_function(flight.at)
        };
        self.flights()
            .filter_map(|flight| {
                let touch = flight.operation.touches.iter().find(inside).filter(|_| allowed(flight))?;
                Some((Arc::clone(&flight.operation), *touch))
            })
            .collect()
    }

    fn find_early_access(
        &mut self,
        copy: &Arc<Operation>,
        hit: &Touch,
        touch: &Arc<Operation>,
        is_write: bool,
        address: usize,
    ) {
        let verb = if is_write { "wrote" } else { "read" };
        let state = if copy.has_started() { "had run, but the program could not know" } else { "had not run yet" };
        let message = format!(
            "the host {verb} byte {} of the destination of {} ({}) before any wait covers it; the copy {state}",
            address - hit.address,
            copy.who(),
            copy.what(),
        );
        let near = Some((hit.address, hit.len));
        let mut evidence = vec![self.evidence("the copy", copy, near), self.evidence("the touch", touch, None)];
        evidence.extend(self.made(hit.address));
        let fix = format!("wait before touching the destination: {}", self.narrowest_wait(copy));
        self.add_finding(PendingFinding { id: "H3", severity: Severity::Proven, message, fix, count: 1, evidence });
    }

    /// A task in flight starts: compares its sources with what they were when it was submitted.
    pub(crate) fn compare_sources_at(&mut self, guard: &Guard, at: StreamPosition) {
        let Some(flight) = self.flight(at) else { return };
        if std::mem::replace(&mut flight.is_compared, true) {
            return;
        }
        let (operation, since, changes) = (Arc::clone(&flight.operation), flight.since, changes(&flight.prints));
        if self.compare_sources(guard, &operation, since, changes, 1)
            && let Some(flight) = self.flight(at)
        {
            // When the flight ends, only what came later is looked at.
            flight.is_reported = true;
            flight.since = next_sequence();
            flight.prints.iter_mut().for_each(SourceSnapshot::refresh);
        }
    }

    /// A flight has ended that never started, or that started before its source was changed.
    pub(crate) fn compare_landed(&mut self, guard: &Guard, flight: &InFlight) {
        let count = u64::from(!flight.is_reported);
        self.compare_sources(guard, &flight.operation, flight.since, changes(&flight.prints), count);
    }

    /// Whether any source has changed, which is told.
    fn compare_sources(
        &mut self,
        guard: &Guard,
        copy: &Arc<Operation>,
        since: u64,
        mut changes: Vec<(usize, Difference)>,
        count: u64,
    ) -> bool {
        let is_pinned = |touch: &&Touch| touch.mode == Mode::Read && guard.contains(touch.address);
        if !self.before.is_empty() {
            let sources = copy.touches.iter().filter(is_pinned);
            changes.extend(sources.filter_map(|touch| self.change(guard, copy, touch, since)));
        }
        let Some((address, first)) = changes.first() else { return false };
        let is_host = |touch: &&Touch| {
            let allocation = self.allocation(touch.address);
            touch.mode == Mode::Read && allocation.is_none_or(|(_, allocation)| !allocation.place.is_device())
        };
        let sources: Vec<Touch> = copy.touches.iter().filter(is_host).copied().collect();
        let is_inside = |source: &Touch| address.wrapping_sub(source.address) < source.len;
        let Some(piece) = sources.iter().position(is_inside) else { return false };
        let source = sources[piece];
        // A touch of other bytes of the page is not to blame, unless it is a store that may have reached them.
        let touches = || self.touches_of(copy, address - address % PAGE, since);
        let reaches = |before: &&PageSnapshot, less: usize| {
            let touches = &before.touch.touches;
            touches.iter().any(|touch| (touch.address + less).wrapping_sub(source.address) < source.len + less)
        };
        let by =
            touches().find(|before| reaches(before, 0)).or_else(|| touches().find(|before| reaches(before, STORE)));
        let by = by.map(|by| Arc::clone(&by.touch));
        let is_exact = changes.iter().all(|(_, change)| change.is_exact);
        // The guard has let go of some touches, of whatever pages.
        let is_lost = guard.last_lost() > since && copy.touches.iter().any(|touch| is_pinned(&touch));
        let late = by.as_ref().is_some_and(|by| copy.started_before(by));
        let message = format!(
            "the source of {} ({}) was changed between submit and {}: {}{} of {} bytes differ, the first is {}byte {}{}{}",
            copy.who(),
            copy.what(),
            if late { "a wait that covers it" } else { "execution" },
            match (is_exact, is_lost) {
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
            if late {
                "; on this schedule the copy had already run, on another one it copies the new bytes"
            } else {
                ""
            },
        );
        let mut evidence: Vec<Evidence> = vec![self.evidence("the copy", copy, Some((source.address, source.len)))];
        evidence.extend(by.as_ref().map(|by| self.evidence("the write", by, None)));
        evidence.extend(self.made(source.address));
        let fix = format!("wait before changing the source: {}", self.narrowest_wait(copy));
        self.add_finding(PendingFinding { id: "H1", severity: Severity::Proven, message, fix, count, evidence });
        true
    }

    /// Whether one of two tasks comes after the other.
    fn are_ordered(&self, one: StreamPosition, other: StreamPosition) -> bool {
        self.clocks.of(one).includes(other) || self.clocks.of(other).includes(one)
    }

    /// Touches of a page that count for a copy, oldest first. A host function may touch what comes before it and after it.
    fn touches_of(&self, copy: &Operation, page: usize, since: u64) -> impl Iterator<Item = &PageSnapshot> {
        let at = copy.at;
        let is_ordered = move |function: StreamPosition| at.is_some_and(|at| self.are_ordered(function, at));
        let touched = self.before.get(&page).into_iter().flatten();
        touched.filter(move |before| before.touch.number > since && !before.function.is_some_and(is_ordered))
    }

    /// How a source in pinned memory differs from what it was: from where on, and by how much.
    fn change(&self, guard: &Guard, copy: &Operation, source: &Touch, since: u64) -> Option<(usize, Difference)> {
        let mut total: Option<(usize, Difference)> = None;
        let mut page = source.address - source.address % PAGE;
        while page < source.address + source.len {
            // The page was closed when the copy was submitted: it held then what it held before the first touch
            // since.
            if let Some(before) = self.touches_of(copy, page, since).next() {
                let from = source.address.max(page);
                let to = (source.address + source.len).min(page + PAGE);
                let mut now = vec![0; to - from];
                guard.read(from, &mut now);
                if let Some(difference) = snapshot::difference(&before.bytes[from - page..to - page], &now) {
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

    /// Somebody who may has written host memory: what sources held before is no longer the measure.
    pub(crate) fn refresh(&mut self, guard: &Guard, touches: &[Touch]) {
        for touch in touches.iter().filter(|touch| touch.mode == Mode::Write) {
            if guard.contains(touch.address) && !self.before.is_empty() {
                let mut page = touch.address - touch.address % PAGE;
                while page < touch.address + touch.len {
                    for before in self.before.get_mut(&page).into_iter().flatten() {
                        let from = touch.address.max(page);
                        let to = (touch.address + touch.len).min(page + PAGE);
                        guard.read(from, &mut before.bytes[from - page..to - page]);
                    }
                    page += PAGE;
                }
            }
            if self.printed == 0 {
                continue;
            }
            let prints = self.flights_mut().flat_map(|flight| &mut flight.prints);
            prints.filter(|print| print.meets(touch.address, touch.len)).for_each(SourceSnapshot::refresh);
        }
    }

    /// Forgets what pages held that no copy in flight uses any more.
    pub(crate) fn forget_before(&mut self, guard: &Guard) {
        if !self.before.is_empty() {
            self.before.retain(|page, _| guard.is_guarded(*page));
        }
    }
}

/// How sources that cannot be guarded differ from what they were: from where on, and by how much.
fn changes(prints: &[SourceSnapshot]) -> Vec<(usize, Difference)> {
    let change =
        |print: &SourceSnapshot| print.difference().map(|difference| (print.address + difference.first, difference));
    prints.iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests;
