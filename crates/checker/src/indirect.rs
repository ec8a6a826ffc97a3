//! Copies whose addresses are in device memory: by descriptor, and by address cells.
//!
//! The device reads the addresses when the copy runs. At its submit they are what the copy will use, unless a queued task
//! writes them first, or the copy is behind a wait or a host function, during which the program may set them. Then only the
//! memory with the addresses counts from the submit on, and the ranges are judged when the copy starts. What the host
//! waits for after the release of the copy is not ordered before it, so the ledger keeps those accesses until then.

use crate::finding::FindingId;
use crate::guard::Guard;
use crate::operation::Operation;
use crate::state::State;
use crate::unjudged::Subject;
use softacl_engine::observer::{Mode, StreamPosition, Submitted, TaskKind, Touch};
use std::sync::Arc;

const MAY_WRITE: &str = "they were queued while a copy by descriptor or address cells was pending whose addresses were \
                         not final, and which may write what they read";
const NOTHING_NAMED: &str = "its descriptor or address cells were set after it was queued, and named no valid memory when it \
                             ran: the memory may have been freed too early";
const IN_REUSED_BLOCK: &str = "its descriptor or address cells were set after it was queued, and name a block that was \
                               freed or allocated again at about that time";

impl State {
    /// Enters an access of a task into the ledger.
    pub(crate) fn enter_access(&mut self, touch: &Touch, at: StreamPosition, by: &Arc<Operation>) {
        let floor = self.unresolved_copies.floor().unwrap_or(self.clocks.host());
        self.ledger.enter(touch, at, by, floor);
    }

    /// Looks for copies that nothing holds any more.
    pub(crate) fn release_copies(&mut self) {
        if self.unresolved_copies.is_empty() {
            return;
        }
        let is_free = |at: &StreamPosition| !self.is_behind_external_wait(*at) && !self.is_behind_host_function(*at);
        let free: Vec<StreamPosition> = self.unresolved_copies.held().filter(is_free).collect();
        for at in free {
            self.unresolved_copies.release(at, self.clocks.host());
        }
    }

    /// The ranges of a task that are certain at its submit.
    pub(crate) fn certain_touches<'a>(&mut self, task: &Submitted<'a>) -> &'a [Touch] {
        let Some((_, own)) = task.kind.indirect_touches(task.touches) else { return task.touches };
        let may_change = |touch: &Touch| {
            !self.pending_writes(touch.address, touch.len).is_empty()
                || self.host_views.meets(touch.address, touch.len)
                || self.mappings.is_shared(touch.address)
        };
        let is_certain = !self.is_behind_external_wait(task.at)
            && !self.is_behind_host_function(task.at)
            && !own.iter().any(may_change);
        if is_certain {
            return task.touches;
        }
        self.unresolved_copies.insert(task.at);
        own
    }

    /// Judges the ranges of a copy that starts, if they were not certain before.
    pub(crate) fn resolve_copy(&mut self, guard: &Guard, at: StreamPosition, kind: TaskKind, touches: &[Touch]) {
        let Some(released) = self.unresolved_copies.remove(at) else { return };
        let Some((named, _)) = kind.indirect_touches(touches) else { return };
        let Some(entry) = self.in_flight_task(at) else { return };
        let unresolved = Arc::clone(&entry.operation);
        let operation = Arc::new(unresolved.with_touches(touches));
        entry.operation = Arc::clone(&operation);
        if let Some(recent) = self.recent.iter_mut().find(|recent| Arc::ptr_eq(recent, &unresolved)) {
            *recent = Arc::clone(&operation);
        }
        if named.is_empty() {
            self.not_judged(&[FindingId::S1, FindingId::L3], Subject::Copy, 1, NOTHING_NAMED);
        }
        let mut pending = Vec::new();
        for touch in named {
            let known = released.as_ref().unwrap_or(self.clocks.host());
            let is_known = |other: StreamPosition, _: &Operation| known.includes(other);
            self.ledger.find_conflicts(&self.mappings.canonical_touch(touch), is_known, &mut pending);
        }
        // Unlike at a submit, later tasks are known too.
        pending.retain(|conflict| !conflict.earlier.at.is_some_and(|other| self.clocks.of(other).includes(at)));
        let clock = self.clocks.of(at);
        self.check_order(&operation, &clock, &pending);
        // The free of a block, or its next allocation, may be queued behind the copy.
        let is_reused = |touch: &Touch| {
            self.freed_blocks.find(touch.address, touch.len).is_some()
                || self.recycled.meets(self.mappings.canonical(touch.address), touch.len)
        };
        match named.iter().any(is_reused) {
            true => self.not_judged(&[FindingId::U1, FindingId::L3], Subject::Copy, 1, IN_REUSED_BLOCK),
            false => self.check_written(guard, &operation),
        }
        self.record_written(guard, named);
        for touch in named {
            let canonical = self.mappings.canonical_touch(touch);
            self.enter_access(&canonical, at, &operation);
            if touch.mode == Mode::Write {
                self.waits.signals.overwritten(touch.address, touch.len, Some(at), self.clocks.host());
            }
            guard.add(touch);
        }
        self.judge_reads(guard);
    }

    /// Forgets the copies up to a point, which never start.
    pub(crate) fn drop_unresolved_copies(&mut self, guard: &Guard, at: StreamPosition) {
        self.unresolved_copies.remove_until(at);
        self.judge_reads(guard);
    }

    /// True if a copy whose ranges are not certain yet may write what a task reads. The task is then judged when they are.
    pub(crate) fn may_be_written(&mut self, operation: &Arc<Operation>) -> bool {
        let is_possible = !self.unresolved_copies.is_empty();
        if is_possible {
            self.unresolved_copies.add_read(operation);
        }
        is_possible
    }

    /// Judges the reads that waited until the ranges of all copies are certain.
    pub(crate) fn judge_reads(&mut self, guard: &Guard) {
        if !self.unresolved_copies.is_empty() {
            return;
        }
        for operation in self.unresolved_copies.take_reads() {
            // Memory that was allocated again in the meantime counts as never written.
            let is_newer = |touch: &Touch| {
                self.allocation(touch.address)
                    .is_some_and(|(_, found)| found.allocated_by.sequence > operation.sequence)
            };
            let is_reused = |touch: &Touch| {
                is_newer(touch) || self.recycled.meets(self.mappings.canonical(touch.address), touch.len)
            };
            match operation.touches.iter().any(is_reused) {
                true => self.not_judged(&[FindingId::U1], Subject::Task, 1, MAY_WRITE),
                false => self.check_written(guard, &operation),
            }
        }
    }

    /// Counts the reads that were never judged, at the end of the program.
    pub(crate) fn count_unjudged_reads(&mut self) {
        let count = self.unresolved_copies.take_reads().len() as u64;
        self.not_judged(&[FindingId::U1], Subject::Task, count, MAY_WRITE);
    }
}
