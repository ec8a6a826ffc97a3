//! Findings L1, L2, L4 and O1: objects that are destroyed too early, used too late or never released, and errors that
//! the program ignored. B2 is here too, because it is an ignored error.

use crate::api::ApiFunction;
use crate::finding::{FindingId, Severity};
use crate::guard::Guard;
use crate::operation::Operation;
use crate::state::{Evidence, PendingFinding, State, UncheckedError};
use softacl_engine::MemoryKind;
use softacl_engine::observer::{Mode, Object, Origin};
use std::sync::Arc;

/// Maximum number of leaks that are reported individually.
const MAX_LEAKS: usize = 20;

/// An object or memory that was not released.
struct Leak {
    message: String,
    fix: &'static str,
    role: &'static str,
    created_by: Arc<Operation>,
}

impl State {
    /// L1: an object is destroyed while tasks of it are in flight.
    pub(crate) fn check_ending(&mut self, object: Object, by_force: bool, operation: &Arc<Operation>) {
        let pending: Vec<Arc<Operation>> = match object {
            Object::Stream(stream) => {
                let tasks = self.progress.get(&stream).into_iter().flat_map(|progress| &progress.in_flight);
                tasks.map(|task| Arc::clone(&task.operation)).collect()
            }
            Object::Event(event) => {
                let uses = self.event_uses.get(&event).cloned().unwrap_or_default();
                let tasks = self.in_flight().filter(|task| uses.contains(&task.at));
                tasks.map(|task| Arc::clone(&task.operation)).collect()
            }
            Object::Context(_) => Vec::new(),
        };
        let Some(last) = pending.last() else { return };
        let (what, id) = named(object);
        let (severity, effect) = match object {
            Object::Stream(_) if by_force => (Severity::Proven, "tasks that have not started are dropped"),
            Object::Stream(_) => (Severity::Advice, "the call waits for them, as documented"),
            // Frameworks do this deliberately, and it works wherever the event keeps its effect.
            _ => (Severity::Advice, "a device may still use it"),
        };
        let message = format!(
            "{what} {id} was destroyed while {} in flight, the last is {} ({}); {effect}",
            match pending.len() {
                1 => "1 of its tasks was".to_owned(),
                count => format!("{count} of its tasks were"),
            },
            last.actor_text(),
            last.describe(),
        );
        let mut evidence =
            vec![self.evidence("the pending task", last, None), self.evidence("destroyed here", operation, None)];
        let created_by = self.objects.get(&object).map(|live| &live.created_by);
        evidence.extend(created_by.map(|created_by| self.evidence("created here", created_by, None)));
        let fix = match last.visible_task() {
            Some(at) => {
                format!("wait for stream {} (aclrtSynchronizeStream) before destroying the {what}", at.stream)
            }
            None => format!("let the call that runs the graph return before destroying the {what}"),
        };
        self.add_finding(PendingFinding { id: FindingId::L1, severity, message, fix, count: 1, evidence });
    }

    /// L1: a call drops the tasks of a stream that have not started.
    pub(crate) fn check_aborted(&mut self, guard: &Guard, stream: u32, operation: &Arc<Operation>) {
        let tasks = self.progress.get(&stream).into_iter().flat_map(|progress| &progress.in_flight);
        let dropped = tasks.map(|task| &task.operation).filter(|task| !task.has_started()).cloned().collect();
        // After a failure, an abort is how a program recovers.
        let severity = if self.failures.is_empty() { Severity::Proven } else { Severity::Advice };
        let how = format!("{} dropped", operation.function.unwrap_or("the call"));
        self.find_lost(guard, dropped, &how, severity, Some(("dropped here", operation)));
    }

    /// L1: the program finalizes the API, or ends, with tasks pending that nothing waited for.
    pub(crate) fn check_end(&mut self, guard: &Guard, finalization: Option<&Arc<Operation>>) {
        let pending = self.in_flight().map(|task| Arc::clone(&task.operation)).collect();
        let (how, place) = match finalization {
            Some(operation) => ("aclFinalize was called with", Some(("finalized here", operation))),
            None => ("the process ended with", None),
        };
        self.find_lost(guard, pending, how, Severity::Proven, place);
    }

    /// L1: tasks are lost. `severity` applies if one of them copies to host memory; device memory ends with the process.
    fn find_lost(
        &mut self,
        guard: &Guard,
        mut tasks: Vec<Arc<Operation>>,
        how: &str,
        severity: Severity,
        place: Option<(&'static str, &Arc<Operation>)>,
    ) {
        tasks.retain(|task| !task.touches.is_empty());
        let is_download = |task: &&Arc<Operation>| {
            task.touches.iter().any(|touch| touch.mode == Mode::Write && self.is_host_memory(guard, touch.address))
        };
        let downloads: Vec<&Arc<Operation>> = tasks.iter().filter(is_download).collect();
        let (severity, count, last, effect) = match (downloads.last(), tasks.last()) {
            (Some(last), _) => (
                severity,
                downloads.len(),
                Arc::clone(last),
                "copies to host memory that nothing waited for: the data may never arrive",
            ),
            (None, Some(last)) => (Severity::Advice, tasks.len(), Arc::clone(last), "tasks that nothing waited for"),
            (None, None) => return,
        };
        let message = format!(
            "{how} {count} {}; {} is {} ({})",
            if count == 1 {
                effect.replacen("copies", "copy", 1).replacen("tasks", "task", 1)
            } else {
                effect.to_owned()
            },
            if count == 1 { "it" } else { "the last" },
            last.actor_text(),
            last.describe(),
        );
        let mut evidence = vec![self.evidence("the pending task", &last, None)];
        evidence.extend(place.map(|(role, operation)| self.evidence(role, operation, None)));
        let fix = format!("wait first: {}, and check its code", self.narrowest_wait(&last));
        self.add_finding(PendingFinding { id: FindingId::L1, severity, message, fix, count: 1, evidence });
    }

    /// True for pinned and registered memory. Memory without an allocation may be device memory that was freed.
    fn is_host_memory(&self, guard: &Guard, address: usize) -> bool {
        guard.contains(address) || self.allocation(address).is_some_and(|(_, allocation)| !allocation.kind.is_device())
    }

    /// L2: a call after `aclFinalize`.
    pub(crate) fn check_finalized(&mut self, function: ApiFunction, operation: &Arc<Operation>) {
        let message = format!("{function} was called after aclFinalize");
        let mut evidence = vec![self.evidence("the call", operation, None)];
        evidence.extend(self.finalized.as_ref().map(|end| self.evidence("finalized here", end, None)));
        let fix = "call aclFinalize last, after releasing every stream, event and device".to_owned();
        self.add_finding(PendingFinding {
            id: FindingId::L2,
            severity: Severity::Proven,
            message,
            fix,
            count: 1,
            evidence,
        });
    }

    /// O1 and B2: a thread with an unhandled error makes another call.
    pub(crate) fn check_error_handled(&mut self, function: ApiFunction, thread: u32) {
        // Freeing memory, or allocating again, handles a failed allocation.
        if !self.failed_allocations.is_empty() && function.manages_memory() {
            self.failed_allocations.remove(&thread);
        }
        if self.unchecked_errors.is_empty() {
            return;
        }
        // Another copy handles the error, and so does querying it, except for batches. A wait does not.
        let retries = function.writes_memory();
        let reads_error =
            function.reads_error() && self.unchecked_errors.get(&thread).is_some_and(|call| !call.is_batch);
        if retries || reads_error {
            self.unchecked_errors.remove(&thread);
        }
        if !function.synchronizes() {
            return;
        }
        let Some(UncheckedError { operation, message, is_batch }) = self.unchecked_errors.remove(&thread) else {
            return;
        };
        let message = format!("{message}; nothing was queued, and the program continued with {function}");
        let evidence = vec![self.evidence("the failed call", &operation, None)];
        let (id, severity, fix) = match is_batch {
            true => (
                FindingId::B2,
                Severity::Proven,
                "copy entry by entry with aclrtMemcpyAsync on chips without batch copies",
            ),
            false => (FindingId::O1, Severity::Advice, "check the return code of the call"),
        };
        self.add_finding(PendingFinding { id, severity, message, fix: fix.to_owned(), count: 1, evidence });
    }

    /// L4: objects that were not released by the end of the program.
    pub(crate) fn check_leaks(&mut self) {
        let mut leaks: Vec<Leak> = Vec::new();
        for (start, allocation) in &self.allocations {
            let message = if allocation.is_registered {
                format!("{} bytes of host memory at {start:#x} are still registered", allocation.size)
            } else {
                format!("{} bytes of {} at {start:#x} were never freed", allocation.size, allocation.kind.describe())
            };
            // A reset releases neither host memory nor events.
            let fix = match allocation.kind {
                MemoryKind::Device(_) => {
                    "free it (aclrtFree), or reset the device as often as it was set (aclrtResetDevice), which \
                     releases it too"
                }
                _ if allocation.is_registered => "unregister it (aclrtHostUnregister)",
                _ => "free it (aclrtFreeHost)",
            };
            let role = if allocation.is_registered { "registered here" } else { "allocated here" };
            leaks.push(Leak { message, fix, role, created_by: Arc::clone(&allocation.allocated_by) });
        }
        let mut objects: Vec<_> = self.objects.iter().filter(|(_, live)| live.origin == Origin::Program).collect();
        objects.sort_by_key(|(_, live)| live.created_by.sequence);
        for (object, live) in objects {
            let (what, id) = named(*object);
            let fix = match object {
                Object::Stream(_) => "destroy it (aclrtDestroyStream), or destroy its context, which destroys it too",
                Object::Event(_) => "destroy it (aclrtDestroyEvent)",
                Object::Context(_) => "destroy it (aclrtDestroyContext)",
            };
            let message = format!("{what} {id} was never destroyed");
            leaks.push(Leak { message, fix, role: "created here", created_by: Arc::clone(&live.created_by) });
        }
        let more = leaks.len().saturating_sub(MAX_LEAKS);
        for (index, leak) in leaks.into_iter().take(MAX_LEAKS).enumerate() {
            let Leak { message, fix, role, created_by } = leak;
            let message =
                if index + 1 == MAX_LEAKS && more > 0 { format!("{message}, and {more} more") } else { message };
            let evidence = vec![Evidence { role, operation: created_by, ranges: Vec::new() }];
            let fix = fix.to_owned();
            self.add_finding(PendingFinding {
                id: FindingId::L4,
                severity: Severity::Advice,
                message,
                fix,
                count: 1,
                evidence,
            });
        }
    }

    /// O1: task failures that no wait returned.
    pub(crate) fn check_unobserved(&mut self, unobserved: &[String]) {
        for text in unobserved {
            let task = self.failures.iter().find(|(_, failure)| failure == text).map(|(task, _)| Arc::clone(task));
            let message = match &task {
                Some(task) => format!(
                    "{} ({}) failed, and no wait returned the error: {text}",
                    task.actor_text(),
                    task.describe()
                ),
                None => format!("a task failed, and no wait returned the error: {text}"),
            };
            let evidence = task.iter().map(|task| self.evidence("the task that failed", task, None)).collect();
            let fix = "synchronize the stream (aclrtSynchronizeStream) and check the return code".to_owned();
            self.add_finding(PendingFinding {
                id: FindingId::O1,
                severity: Severity::Proven,
                message,
                fix,
                count: 1,
                evidence,
            });
        }
    }
}

pub(crate) fn named(object: Object) -> (&'static str, u32) {
    match object {
        Object::Stream(number) => ("stream", number),
        Object::Event(number) => ("event", number),
        Object::Context(number) => ("context", number),
    }
}

#[cfg(test)]
mod tests {
    use crate::Checker;
    use crate::checker::RunInfo;
    use crate::finding::Severity;
    use ascendcl_sys::rows;
    use softacl_engine::MemoryKind;
    use softacl_engine::observer::{
        Mode, Object, Observer, Origin, StreamPosition, Submitted, TaskKind, Touch, Window,
    };

    #[test]
    fn leak_fix_names_the_releasing_call() {
        let checker = Checker::default();
        checker.attached(Window { start: 1 << 40, len: 1 << 16, shift: 0 });
        checker.entered(rows::aclrtMallocHost);
        checker.allocated(MemoryKind::Pinned, 1 << 39, 64);
        checker.entered(rows::aclrtMalloc);
        checker.allocated(MemoryKind::Device(0), 1 << 41, 64);
        checker.entered(rows::aclrtCreateEvent);
        checker.created(Object::Event(1), Origin::Program);
        checker.created(Object::Context(0), Origin::Runtime);
        checker.created(Object::Stream(0), Origin::Runtime);
        checker.created(Object::Event(2), Origin::Imported);
        let findings = checker.report(RunInfo::default()).findings;
        let fixes: Vec<&str> = findings.iter().map(|found| &found.fix[..]).collect();
        assert_eq!(fixes.len(), 3, "{fixes:?}");
        assert_eq!((fixes[0], fixes[2]), ("free it (aclrtFreeHost)", "destroy it (aclrtDestroyEvent)"));
        assert!(fixes[1].starts_with("free it (aclrtFree), or reset the device"), "{}", fixes[1]);
    }

    fn call_after_finalize() -> Checker {
        let checker = Checker::default();
        checker.attached(Window { start: 1 << 40, len: 1 << 16, shift: 0 });
        checker.entered(rows::aclFinalize);
        checker.finalized(true);
        checker.entered(rows::aclrtDestroyStream);
        checker
    }

    #[test]
    fn report_is_written_while_state_lock_is_held() {
        let checker = call_after_finalize();
        assert!(!checker.is_lock_abandoned());
        let _held = checker.state();
        assert!(checker.is_lock_abandoned());
        let report = checker.report(RunInfo::default());
        assert_eq!((report.findings[0].id.as_str(), report.timeline.len()), ("L2", 0));
        assert!(report.notes[0].contains("in the middle of a call"), "{:?}", report.notes);
    }

    #[test]
    fn call_after_finalize_names_the_finalize_call() {
        let found = call_after_finalize().report(RunInfo::default()).findings.remove(0);
        let roles: Vec<&str> = found.operations.iter().map(|participant| participant.role.as_str()).collect();
        assert_eq!((found.id.as_str(), &roles[..]), ("L2", &["the call", "finalized here"][..]));
        assert_eq!(found.operations[1].operation.function.as_deref(), Some("aclFinalize"));
    }

    /// Severity of L1 if a copy to a block is aborted, after the program freed the block or not.
    fn severity_of_abort(kind: MemoryKind, is_freed: bool) -> Severity {
        const BLOCK: usize = 1 << 41;
        let checker = Checker::default();
        checker.attached(Window { start: 1 << 40, len: 1 << 16, shift: 0 });
        checker.entered(rows::aclrtMalloc);
        checker.allocated(kind, BLOCK, 64);
        checker.entered(rows::aclrtMemcpyAsync);
        let at = StreamPosition { stream: 1, sequence: 1 };
        let touches = [Touch { address: BLOCK, len: 64, mode: Mode::Write }];
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
        if is_freed {
            checker.entered(rows::aclrtFree);
            checker.freed(kind, BLOCK);
        }
        checker.entered(rows::aclrtStreamAbort);
        checker.dropped(at);
        let findings = checker.report(RunInfo::default()).findings;
        findings.iter().find(|found| found.id == "L1").expect("the copy is lost").severity
    }

    #[test]
    fn lost_copy_to_freed_device_memory_is_no_lost_download() {
        assert_eq!(severity_of_abort(MemoryKind::Pinned, false), Severity::Proven);
        assert_eq!(severity_of_abort(MemoryKind::Device(0), false), Severity::Advice);
        assert_eq!(severity_of_abort(MemoryKind::Device(0), true), Severity::Advice);
    }
}
