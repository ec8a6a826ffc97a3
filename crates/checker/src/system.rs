//! What the interposer reports while the program runs: memory that is passed to the system or released, and objects on
//! which threads block.

use crate::backtrace::RawBacktrace;
use crate::call::{inside, next_sequence, thread};
use crate::checker::Checker;
use crate::finding::{FindingId, Severity};
use crate::guard::Guard;
use crate::operation::Operation;
use crate::state::{NewOperation, PendingFinding, State, micros};
use crate::unjudged::Subject;
use softacl_engine::observer::{Mode, Touch};
use std::sync::Arc;

const USE_UNKNOWN: &str = "the interposer does not know which bytes next to a copy the system call used";

impl Checker {
    /// Records that a function of the C library has read memory of the program.
    pub fn library_read(&self, start: usize, len: usize, function: &'static str) {
        let is_seen = |guard: &&Guard| guard.contains(start) && !guard.is_child() && !guard.is_interrupted();
        if let Some(guard) = self.guard.get().filter(is_seen) {
            inside(|| guard.library_access(start, len, thread(), function));
        }
    }

    /// Records that the calling thread is about to pass memory to a system call, through `function`.
    pub fn system_access_begins(&self, start: usize, len: usize, is_write: bool, function: &'static str) {
        let Some(guard) = self.guard.get() else { return };
        if guard.is_child() {
            guard.open_in_child(start, len);
        } else if guard.is_interrupted() {
            guard.open_interrupted(start, len);
        } else if guard.is_closed(start, len, is_write) || guard.is_idle(start, len) {
            // Also if nothing is in flight: another thread may submit a copy while the system call blocks.
            self.hold_access(guard, start, len, is_write);
            inside(|| {
                let _state = self.state();
                guard.begin_system_access(start, len, is_write, function);
            });
        }
    }

    /// Records that the system call has used the first `done` bytes of memory that was announced. `None` if it is
    /// unknown what the call used.
    pub fn system_access_ends(&self, start: usize, done: Option<usize>) {
        if let Some(guard) = self.guard.get().filter(|guard| guard.is_in_system_access(start)) {
            inside(|| {
                let mut state = self.state();
                if guard.end_system_access(start, done, thread()) {
                    state.not_judged(&[FindingId::H1, FindingId::H3], Subject::Call, 1, USE_UNKNOWN);
                }
            });
        }
    }

    /// Records that the calling thread is about to use an object on which threads block.
    pub fn wait_object_used(&self, start: usize, len: usize) {
        let is_new = |guard: &&Guard| guard.contains(start) && !guard.is_exempt(start, len) && !guard.is_interrupted();
        if let Some(guard) = self.guard.get().filter(is_new) {
            inside(|| {
                let mut state = self.state();
                guard.exempt(start, len);
                state.page_exempted(guard, start, len);
            });
        }
    }

    /// Records that the program is about to release memory, of which a part may be registered: the allocator or the
    /// kernel gets it back.
    pub fn memory_released(&self, start: usize, len: usize, function: &'static str) {
        // The checker itself frees memory while it holds the state lock, but none that is registered.
        let is_watched = |guard: &&Guard| guard.is_registered(start, len) && !guard.is_child();
        let Some(guard) = self.guard.get().filter(is_watched) else { return };
        let mut state = self.state();
        let registered = state.registered_in(start, len);
        if registered.is_empty() {
            return;
        }
        let new = NewOperation { name: "release", ..NewOperation::default() };
        let backtrace = RawBacktrace::capture_outside_call();
        let time = micros(self.start);
        let operation = state.operation_at(next_sequence(), new, backtrace, thread(), Some(function), time);
        for (first, size) in registered {
            let from = start.max(first);
            let len = (start + len).min(first + size) - from;
            state.check_release(Touch { address: from, len, mode: Mode::Write }, &operation, function);
            guard.unregister(first, size);
        }
    }
}

impl State {
    /// Registrations that a range meets: start and size.
    fn registered_in(&self, start: usize, len: usize) -> Vec<(usize, usize)> {
        let before = self.allocations.range(..start + len).rev();
        let met = before.take_while(|(first, allocation)| **first + allocation.size > start);
        let met = met.filter(|(_, allocation)| allocation.is_registered);
        met.map(|(first, allocation)| (*first, allocation.size)).collect()
    }

    /// H2: registered memory is released while a task may use it.
    fn check_release(&mut self, range: Touch, operation: &Arc<Operation>, function: &'static str) {
        let conflicts = self.ledger.conflicts(&range, self.clocks.host());
        let Some(conflict) = conflicts.iter().max_by_key(|conflict| conflict.earlier.sequence) else { return };
        let message = format!(
            "registered host memory was released ({function}) while {} ({}) was in flight: {}",
            conflict.earlier.actor_text(),
            conflict.earlier.describe(),
            self.describe_range(conflict.address, conflict.len),
        );
        let near = Some((conflict.address, conflict.len));
        let mut evidence = vec![
            self.evidence("the task in flight", &conflict.earlier, near),
            self.evidence("released here", operation, None),
        ];
        evidence.extend(self.allocation_evidence(range.address));
        let fix = format!(
            "wait and unregister (aclrtHostUnregister) before releasing the memory: {}",
            self.narrowest_wait(&conflict.earlier)
        );
        let (id, severity) = (FindingId::H2, Severity::Proven);
        self.add_finding(PendingFinding { id, severity, message, fix, count: 1, evidence });
    }
}
