//! Findings S1 to S3, B4, U1, H2 and L3: unordered operations on the same bytes, reads of bytes that were never
//! written, and memory that is freed while a task may use it.

use crate::clock::VectorClock;
use crate::finding::{FindingId, Severity};
use crate::guard::Guard;
use crate::interposer;
use crate::ledger::Conflict;
use crate::operation::Operation;
use crate::state::{Evidence, InFlight, PendingFinding, State};
use softacl_engine::MemoryKind;
use softacl_engine::observer::{Mode, StreamPosition, Touch};
use std::collections::HashSet;
use std::sync::Arc;

impl State {
    /// Earlier accesses that an operation overlaps and that the host clock does not include.
    pub(crate) fn pending(&self, operation: &Operation) -> Vec<Conflict> {
        let host = self.clocks.host();
        let clock = operation.at.map(|at| (at, self.clocks.ahead_of(at)));
        // What the same thread has queued ahead of a task conflicts with nothing.
        let is_ahead = |at: StreamPosition, by: &Operation| {
            let is_before = |(task, clock): &(StreamPosition, Option<&VectorClock>)| {
                (at.stream == task.stream && at.sequence <= task.sequence)
                    || clock.is_some_and(|clock| clock.includes(at))
            };
            by.thread == operation.thread && clock.as_ref().is_some_and(is_before)
        };
        let is_ordered = |at: StreamPosition, by: &Operation| host.includes(at) || is_ahead(at, by);
        let mut pending = Vec::new();
        for touch in &operation.touches {
            self.ledger.find_conflicts(&self.mappings.canonical_touch(touch), is_ordered, &mut pending);
        }
        pending
    }

    /// S1 and S2: reports the pending accesses that do not happen before the operation.
    pub(crate) fn check_order(&mut self, operation: &Arc<Operation>, clock: &VectorClock, pending: &[Conflict]) {
        let mut met = HashSet::new();
        for conflict in pending {
            if conflict.earlier.at.is_some_and(|at| clock.includes(at))
                || !met.insert((conflict.earlier.sequence, conflict.earlier_mode == Mode::Write))
            {
                continue;
            }
            // Either task may be queued behind a wait, and what releases it may order the two.
            let is_earlier_held = conflict.earlier.at.is_some_and(|at| self.is_behind_external_wait(at));
            let is_held = operation.at.is_some_and(|at| self.is_behind_external_wait(at));
            match operation.at {
                // A call of the host comes before the call that releases the wait.
                None if is_earlier_held => {}
                Some(_) if is_held || is_earlier_held => self.defer(operation, conflict),
                _ => self.find_race(operation, conflict),
            }
        }
    }

    /// S3: two threads submit to one stream. The stream keeps the order of the calls, but the program must enforce
    /// that order.
    ///
    /// An order that the interposer observed (locks, thread start and join) enforces it. Otherwise the finding is
    /// proven only if the two calls overlapped in time, because then nothing can have ordered them. If they did not
    /// overlap, something invisible may have ordered them, and the finding is advice.
    pub(crate) fn check_submitters(&mut self, operation: &Arc<Operation>, pending: &[Conflict]) {
        let Some(at) = operation.at.filter(|_| operation.is_submitted_by_call()) else { return };
        // The GIL orders all Python threads and therefore proves nothing.
        let is_observed = !operation.backtrace.is_python();
        let other = pending.iter().find(|conflict| {
            conflict.earlier.at.is_some_and(|earlier| earlier.stream == at.stream)
                && conflict.earlier.is_submitted_by_call()
                && conflict.earlier.thread != operation.thread
                && !(is_observed && interposer::comes_after(conflict.earlier.moment) == Some(true))
        });
        let Some(conflict) = other else { return };
        let is_proven = operation.entered < conflict.earlier.sequence;
        let why = match (is_proven, is_observed && conflict.earlier.moment != 0) {
            (true, _) => "the two calls overlapped in time, so nothing can have ordered them",
            (false, true) => "no wait, join or semaphore was observed between them",
            (false, false) => "no wait was observed between them",
        };
        let where_to = match (operation.launch, operation.visible_task()) {
            (None, Some(at)) => format!("submit to stream {}", at.stream),
            _ => "launch one graph".to_owned(),
        };
        let message = format!(
            "threads {} and {} {where_to} and access {}; the order of the two calls decides the result, and {why}",
            conflict.earlier.thread,
            operation.thread,
            self.describe_range(conflict.address, conflict.len),
        );
        let near = Some((conflict.address, conflict.len));
        let evidence =
            vec![self.evidence("the first", &conflict.earlier, near), self.evidence("the second", operation, near)];
        let fix = if is_proven {
            "order the two calls (a lock, a queue, a join), submit from one thread, or give each thread separate bytes"
        } else {
            "if the program does not order the two calls, submit from one thread, or give each thread separate bytes"
        };
        let severity = if is_proven { Severity::Proven } else { Severity::Advice };
        self.add_finding(PendingFinding {
            id: FindingId::S3,
            severity,
            message,
            fix: fix.to_owned(),
            count: 1,
            evidence,
        });
    }

    pub(crate) fn find_race(&mut self, operation: &Arc<Operation>, conflict: &Conflict) {
        let (verb, does) = match (conflict.earlier_mode, conflict.later_mode) {
            (Mode::Write, Mode::Read) => ("reads", "writes"),
            (Mode::Read, _) => ("writes", "reads"),
            (Mode::Write, Mode::Write) => ("writes", "writes"),
        };
        let near = Some((conflict.address, conflict.len));
        let bytes = self.describe_range(conflict.address, conflict.len);
        // A host function before the earlier task may separate the two: it may wait for what this thread does next.
        let may_wait = operation.at.is_none() && conflict.earlier.at.is_some_and(|at| self.is_behind_host_function(at));
        let severity = if may_wait { Severity::Advice } else { Severity::Proven };
        let (id, message, fix) = match operation.at {
            Some(_) => (
                FindingId::S1,
                format!(
                    "{} ({}) {verb} {bytes}, which {} ({}) {does}, and no event orders the two {}",
                    operation.actor_text(),
                    operation.describe(),
                    conflict.earlier.actor_text(),
                    conflict.earlier.describe(),
                    if operation.shares_launch(&conflict.earlier) { "branches of the graph" } else { "streams" },
                ),
                missing_event(&conflict.earlier, operation),
            ),
            None => (
                FindingId::S2,
                format!(
                    "{} {verb} {bytes}, which {} ({}) {does} and which no wait covers; a synchronous call is not \
                     ordered with any stream{}",
                    operation.describe(),
                    conflict.earlier.actor_text(),
                    conflict.earlier.describe(),
                    if may_wait { ", unless the host function before that task waits for this call" } else { "" },
                ),
                format!("wait before the synchronous call: {}", self.narrowest_wait(&conflict.earlier)),
            ),
        };
        let mut evidence = vec![self.evidence("the pending operation", &conflict.earlier, near)];
        evidence.extend(self.capture_evidence(&conflict.earlier));
        evidence.push(self.evidence("the conflicting operation", operation, near));
        evidence.extend(self.capture_evidence(operation));
        let mut message = message;
        if let Some((wait, text)) = self.insufficient_wait(&conflict.earlier, operation) {
            message = format!("{message}; {text}");
            evidence.push(self.evidence("the wait that does not cover it", &wait, None));
        }
        self.add_finding(PendingFinding { id, severity, message, fix, count: 1, evidence });
    }

    /// B4: entries of a batch are unordered, so they must not overlap.
    pub(crate) fn check_batch(&mut self, operation: &Arc<Operation>) {
        let mut order: Vec<&Touch> = operation.touches.iter().collect();
        order.sort_by_key(|touch| (touch.address, touch.address + touch.len));
        // The touch with the greatest end so far, and the write with the greatest end.
        let (mut furthest, mut furthest_write): (Option<&Touch>, Option<&Touch>) = (None, None);
        let mut overlap = None;
        for touch in order {
            let overlaps = |other: &&Touch| other.address + other.len > touch.address;
            let other = match touch.mode {
                Mode::Write => furthest.filter(overlaps),
                Mode::Read => furthest_write.filter(overlaps),
            };
            if let Some(other) = other {
                overlap = Some((*other, *touch));
                break;
            }
            let further =
                |best: Option<&Touch>| best.is_none_or(|best| best.address + best.len < touch.address + touch.len);
            if further(furthest) {
                furthest = Some(touch);
            }
            if touch.mode == Mode::Write && further(furthest_write) {
                furthest_write = Some(touch);
            }
        }
        let Some((one, other)) = overlap else { return };
        let index = |touch: &Touch| operation.touches.iter().position(|other| other == touch).unwrap_or(0) / 2;
        let (mut first, mut second) = (index(&one), index(&other));
        if one == other {
            // For two equal touches, the second one is the later entry.
            second = operation.touches.iter().rposition(|touch| *touch == other).unwrap_or(0) / 2;
        }
        if first > second {
            std::mem::swap(&mut first, &mut second);
        }
        let len = (one.address + one.len).min(other.address + other.len) - other.address;
        let message = format!(
            "entries {first} and {second} of a batch both access {}, and the entries of a batch are unordered: the \
             result is undefined",
            self.describe_range(other.address, len)
        );
        let evidence = vec![self.evidence("the batch", operation, Some((other.address, len)))];
        let fix = "give each entry separate bytes, or submit the second one in a separate batch".to_owned();
        self.add_finding(PendingFinding {
            id: FindingId::B4,
            severity: Severity::Proven,
            message,
            fix,
            count: 1,
            evidence,
        });
    }

    /// U1: reads of device bytes that were never written.
    pub(crate) fn check_written(&mut self, guard: &Guard, operation: &Arc<Operation>) {
        // Another process may have written memory that it can access.
        let is_read = |touch: &&Touch| {
            touch.mode == Mode::Read && !guard.contains(touch.address) && !self.mappings.is_shared(touch.address)
        };
        let unwritten = operation.touches.iter().filter(is_read).find_map(|touch| {
            let (_, allocation) = self.allocation(touch.address)?;
            let canonical = self.mappings.canonical(touch.address);
            let (missing, first) = self.written.missing(canonical, touch.len);
            (allocation.kind.is_device() && missing > 0).then_some((*touch, missing, first - canonical))
        });
        let Some((touch, missing, first)) = unwritten else { return };
        if self.may_be_written(operation) {
            return;
        }
        let all = missing == touch.len;
        let message = format!(
            "{} ({}) reads {}, of which {} written{}",
            operation.actor_text(),
            operation.describe(),
            self.describe_range(touch.address, touch.len),
            if all { "nothing was ever".to_owned() } else { format!("{missing}, from byte {first} on, were never") },
            match self.recycled.missing(self.mappings.canonical(touch.address), touch.len).0 {
                0 => " since the block was allocated again; it holds what its last owner left",
                _ => "; fresh device memory holds 0xa5 here and unspecified bytes on a real device",
            },
        );
        // Many correct programs copy a partly filled block completely.
        let severity = if all { Severity::Proven } else { Severity::Advice };
        let mut evidence = vec![self.evidence("the read", operation, Some((touch.address, touch.len)))];
        evidence.extend(self.allocation_evidence(touch.address));
        let fix = "write the memory before it is read (aclrtMemset, a copy to it), or read less".to_owned();
        self.add_finding(PendingFinding { id: FindingId::U1, severity, message, fix, count: 1, evidence });
        // Report each range once.
        self.written.insert(self.mappings.canonical(touch.address), touch.len);
    }

    /// Records the device bytes that an operation writes.
    pub(crate) fn record_written(&mut self, guard: &Guard, touches: &[Touch]) {
        for touch in touches.iter().filter(|touch| touch.mode == Mode::Write && !guard.contains(touch.address)) {
            if self.allocation(touch.address).is_some_and(|(_, allocation)| allocation.kind.is_device()) {
                self.written.insert(self.mappings.canonical(touch.address), touch.len);
            }
        }
    }

    /// H2 and L3: an allocation is freed while a task may use it.
    pub(crate) fn check_free(&mut self, start: usize, operation: &Arc<Operation>) {
        if let Some(allocation) = self.allocations.get(&start) {
            let whole = Touch { address: start, len: allocation.size, mode: Mode::Write };
            self.check_released(whole, operation);
        }
    }

    /// H2 and L3: an allocation, or a block of one, is freed while a task may use it.
    pub(crate) fn check_released(&mut self, whole: Touch, operation: &Arc<Operation>) {
        let Some((_, allocation)) = self.allocation(whole.address) else { return };
        let (kind, is_registered) = (allocation.kind, allocation.is_registered);
        let (start, size) = (whole.address, whole.len);
        let mut conflicts = self.ledger.conflicts(&self.mappings.canonical_touch(&whole), self.clocks.host());
        // The memory may also be in use at another address, where it stays mapped.
        let is_here = |touch: &Touch| touch.address < start + size && start < touch.address + touch.len;
        conflicts.retain(|conflict| conflict.earlier.touches.iter().any(is_here));
        // Tasks that change a value or wait for it order others, so they are not in the ledger.
        let host = self.clocks.host();
        let is_value =
            |task: &&InFlight| task.cell.is_some_and(|cell| cell.wrapping_sub(start) < size) && !host.includes(task.at);
        conflicts.extend(self.in_flight().filter(is_value).map(|task| Conflict {
            earlier: Arc::clone(&task.operation),
            earlier_mode: Mode::Write,
            later_mode: whole.mode,
            address: task.cell.unwrap_or(start),
            len: size_of::<u64>(),
        }));
        if let Some(at) = operation.at {
            // Freed in stream order: tasks that happen before the free are finished.
            let clock = self.clocks.of(at);
            let is_ordered = |task: StreamPosition| clock.includes(task) || self.is_behind_external_wait(task);
            conflicts.retain(|conflict| !conflict.earlier.at.is_some_and(is_ordered));
        }
        let Some(conflict) = conflicts.iter().max_by_key(|conflict| conflict.earlier.sequence) else { return };
        let tasks: HashSet<u64> = conflicts.iter().map(|conflict| conflict.earlier.sequence).collect();
        let (id, what) = match kind {
            MemoryKind::Device(_) => (FindingId::L3, "device memory was freed"),
            _ if is_registered => (FindingId::H2, "host memory was unregistered"),
            _ => (FindingId::H2, "host memory was freed"),
        };
        let message = format!(
            "{what} while {} ({}) was in flight: {}{}",
            conflict.earlier.actor_text(),
            conflict.earlier.describe(),
            self.describe_range(conflict.address, conflict.len),
            match tasks.len() - 1 {
                0 => String::new(),
                1 => ", and 1 more task".to_owned(),
                more => format!(", and {more} more tasks"),
            },
        );
        let near = Some((conflict.address, conflict.len));
        let mut evidence: Vec<Evidence> = vec![
            self.evidence("the task in flight", &conflict.earlier, near),
            self.evidence(if is_registered { "unregistered here" } else { "freed here" }, operation, None),
        ];
        evidence.extend(self.capture_evidence(&conflict.earlier));
        evidence.extend(self.allocation_evidence(start));
        let fix = match operation.at {
            Some(_) => missing_event(&conflict.earlier, operation),
            None => format!("wait before releasing the memory: {}", self.narrowest_wait(&conflict.earlier)),
        };
        self.add_finding(PendingFinding { id, severity: Severity::Proven, message, fix, count: 1, evidence });
    }
}

/// Describes the missing event between two tasks of different streams.
fn missing_event(earlier: &Operation, later: &Operation) -> String {
    let calls = "(aclrtRecordEvent, aclrtStreamWaitEvent)";
    match earlier.visible_task() {
        _ if earlier.shares_launch(later) => format!(
            "while the graph is captured, record an event on the stream of the first operation and let the stream of \
             the second one wait for it {calls}"
        ),
        Some(at) => format!(
            "record an event on stream {} after task {} and let the other stream wait for it {calls} before the \
             second operation",
            at.stream, at.sequence
        ),
        None => "submit the second operation after the call that runs the graph has returned".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::Checker;
    use crate::checker::RunInfo;
    use crate::finding::Severity;
    use ascendcl_sys::{Function, rows};
    use softacl_engine::observer::{Mode, Observer, StreamPosition, Submitted, TaskKind, Touch, Window};
    use std::sync::mpsc::channel;
    use std::thread;

    const COPY: &Function = rows::aclrtMemcpyAsync;
    const PAGES: usize = 16 << 12;

    fn checker() -> Checker {
        let checker = Checker::default();
        // An unused address range: the touches below are in device memory, elsewhere.
        checker.attached(Window { start: 1 << 40, len: PAGES, shift: 0 });
        checker
    }

    fn submit(checker: &Checker, sequence: u64) {
        copy(checker, StreamPosition { stream: 1, sequence }, Mode::Write);
    }

    /// Severities of S3 findings after two threads have submitted. If `overlap`, the second thread enters its call
    /// before the first one submits.
    fn two_threads(overlap: bool) -> Vec<Severity> {
        let checker = &checker();
        let (entered, has_entered) = channel();
        let (submitted, has_submitted) = channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                if overlap {
                    has_entered.recv().unwrap();
                }
                checker.entered(COPY);
                submit(checker, 1);
                submitted.send(()).unwrap();
            });
            scope.spawn(move || {
                if overlap {
                    checker.entered(COPY);
                    entered.send(()).unwrap();
                    has_submitted.recv().unwrap();
                } else {
                    has_submitted.recv().unwrap();
                    checker.entered(COPY);
                }
                submit(checker, 2);
            });
        });
        let report = checker.report(RunInfo::default());
        report.findings.iter().filter(|found| found.id == "S3").map(|found| found.severity).collect()
    }

    #[test]
    fn overlapping_submits_are_proven_unordered() {
        assert_eq!(two_threads(true), [Severity::Proven]);
    }

    #[test]
    fn consecutive_submits_are_advice() {
        assert_eq!(two_threads(false), [Severity::Advice]);
    }

    fn touch(checker: &Checker, at: StreamPosition, mode: Mode) {
        checker.entered(COPY);
        copy(checker, at, mode);
    }

    fn copy(checker: &Checker, at: StreamPosition, mode: Mode) {
        let touches = [Touch { address: 1 << 41, len: 64, mode }];
        checker.submitted(&Submitted {
            label: None,
            at,
            device: 0,
            kind: TaskKind::Copy,
            touches: &touches,
            captured: None,
            function: None,
            after: None,
            event: None,
            is_external_wait: false,
            signal: None,
            releases: None,
        });
    }

    #[test]
    fn graph_task_is_reported_as_its_launching_task() {
        let checker = checker();
        checker.allocated(softacl_engine::MemoryKind::Device(0), 1 << 41, 64);
        checker.launched(&[7], Some(StreamPosition { stream: 1, sequence: 1 }));
        touch(&checker, StreamPosition { stream: 7, sequence: 2 }, Mode::Write);
        touch(&checker, StreamPosition { stream: 2, sequence: 1 }, Mode::Read);
        let found = checker.report(RunInfo::default()).findings.remove(0);
        assert!(found.message.contains("the graph launched as task 1 of stream 1"), "{}", found.message);
        assert!(found.fix.starts_with("record an event on stream 1 after task 1"), "{}", found.fix);
        assert!(!format!("{found:?}").contains("stream: 7"), "{found:?}");
    }

    #[test]
    fn race_between_graph_branches_is_fixed_in_the_capture() {
        let checker = checker();
        checker.entered(rows::aclmdlRIExecuteAsync);
        checker.launched(&[7, 8], Some(StreamPosition { stream: 1, sequence: 1 }));
        copy(&checker, StreamPosition { stream: 7, sequence: 2 }, Mode::Write);
        copy(&checker, StreamPosition { stream: 8, sequence: 1 }, Mode::Write);
        let found = checker.report(RunInfo::default()).findings.remove(0);
        assert!(found.message.ends_with("no event orders the two branches of the graph"), "{}", found.message);
        assert!(found.fix.starts_with("while the graph is captured"), "{}", found.fix);
    }

    #[test]
    fn read_of_unwritten_memory_is_reported() {
        let checker = checker();
        checker.allocated(softacl_engine::MemoryKind::Device(0), 1 << 41, 128);
        touch(&checker, StreamPosition { stream: 1, sequence: 1 }, Mode::Read);
        let found = checker.report(RunInfo::default()).findings.into_iter().find(|found| found.id == "U1").unwrap();
        assert!(found.message.contains("of which nothing was ever written;"), "{}", found.message);
    }
}
