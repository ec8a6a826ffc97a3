//! L1, L2, L4, O1: objects that end too early, too late or never, and failures that nobody looked at.

use crate::finding::Severity;
use crate::operation::Operation;
use crate::state::{Evidence, PendingFinding, State, UncheckedError};
use softacl_engine::MemoryKind;
use softacl_engine::observer::Object;
use std::sync::Arc;

/// Leaks of one kind that are told one by one.
const LEAKS: usize = 20;

impl State {
    /// An object is about to end: is anything of it pending?
    pub(crate) fn check_ending(&mut self, object: Object, by_force: bool, operation: &Arc<Operation>) {
        let pending: Vec<Arc<Operation>> = match object {
            Object::Stream(stream) => {
                let flights = self.courses.get(&stream).into_iter().flat_map(|course| &course.flights);
                flights.map(|flight| Arc::clone(&flight.operation)).collect()
            }
            Object::Event(event) => {
                let uses = self.event_uses.get(&event).cloned().unwrap_or_default();
                let flights = self.flights().filter(|flight| uses.contains(&flight.at));
                flights.map(|flight| Arc::clone(&flight.operation)).collect()
            }
            Object::Context(_) => Vec::new(),
        };
        let Some(last) = pending.last() else { return };
        let (what, number) = named(object);
        let (severity, effect) = match object {
            Object::Stream(_) if by_force => (Severity::Proven, "what has not started is thrown away"),
            Object::Stream(_) => {
                (Severity::Advice, "the call waits for them, on every runtime that follows the documents")
            }
            // Frameworks do so on purpose, and it works wherever the event keeps its effect.
            _ => (Severity::Advice, "a device may still use it"),
        };
        let message = format!(
            "{what} {number} was destroyed while {} of its tasks were not known to be done, the last is {} ({}); {effect}",
            pending.len(),
            last.who(),
            last.what(),
        );
        let mut evidence =
            vec![self.evidence("the pending task", last, None), self.evidence("destroyed here", operation, None)];
        evidence.extend(self.objects.get(&object).map(|made| self.evidence("created here", made, None)));
        let fix = match last.visible_task() {
            Some(at) => {
                format!("wait for stream {} (aclrtSynchronizeStream) before the {what} is destroyed", at.stream)
            }
            None => format!("let the call that runs the graph return before the {what} is destroyed"),
        };
        self.add_finding(PendingFinding { id: "L1", severity, message, fix, count: 1, evidence });
    }

    /// A call that comes after the program said it was finished.
    pub(crate) fn check_finalized(&mut self, function: &'static str, operation: &Arc<Operation>) {
        let message = format!("{function} was called after aclFinalize");
        let mut evidence = vec![self.evidence("the call", operation, None)];
        evidence.extend(self.finalized.as_ref().map(|end| self.evidence("finalised here", end, None)));
        let fix = "call aclFinalize last, after every stream, event and device is released".to_owned();
        self.add_finding(PendingFinding { id: "L2", severity: Severity::Proven, message, fix, count: 1, evidence });
    }

    /// A thread whose asynchronous operation was refused calls something: does it know?
    pub(crate) fn check_error_handled(&mut self, function: &'static str, thread: u32) {
        // Who frees memory, or asks for less or once more, has looked.
        if !self.exhausted.is_empty() && (function.contains("Malloc") || function.contains("Free")) {
            self.exhausted.remove(&thread);
        }
        if self.unanswered.is_empty() {
            return;
        }
        // Trying something else is an answer, and so is asking why, if it can be otherwise; a wait is none.
        let tries = function.contains("Memcpy") || function.contains("Memset");
        let asks = function.contains("Err") && self.unanswered.get(&thread).is_some_and(|call| !call.is_batch);
        if tries || asks {
            self.unanswered.remove(&thread);
        }
        if !function.contains("Synchronize") {
            return;
        }
        let Some(UncheckedError { operation, why, is_batch }) = self.unanswered.remove(&thread) else { return };
        let message = format!("{why}; nothing was queued, and the program went on to {function}");
        let evidence = vec![self.evidence("the refused call", &operation, None)];
        let (id, severity, fix) = match is_batch {
            true => ("B2", Severity::Proven, "copy entry by entry with aclrtMemcpyAsync on chips without batch copies"),
            false => ("O1", Severity::Advice, "look at the code that the call returns"),
        };
        self.add_finding(PendingFinding { id, severity, message, fix: fix.to_owned(), count: 1, evidence });
    }

    /// What is still there at the end.
    pub(crate) fn check_leaks(&mut self) {
        let mut leaks: Vec<(String, &'static str, Arc<Operation>)> = Vec::new();
        for (start, allocation) in &self.allocations {
            let what = if allocation.is_registered {
                format!("{} bytes of host memory at {start:#x} are still registered", allocation.size)
            } else {
                format!("{} bytes of {} at {start:#x} were never freed", allocation.size, allocation.place.describe())
            };
            // A reset takes neither host memory nor events with it.
            let fix = match allocation.place {
                MemoryKind::Device(_) => {
                    "free it (aclrtFree), or reset the device as often as it was set (aclrtResetDevice), which releases it too"
                }
                _ if allocation.is_registered => "unregister it (aclrtHostUnregister)",
                _ => "free it (aclrtFreeHost)",
            };
            leaks.push((what, fix, Arc::clone(&allocation.made)));
        }
        let mut objects: Vec<_> = self.objects.iter().filter(|(_, made)| is_explicit(made)).collect();
        objects.sort_by_key(|(_, made)| made.number);
        for (object, made) in objects {
            let (what, number) = named(*object);
            let fix = match object {
                Object::Stream(_) => "destroy it (aclrtDestroyStream), or end its context, which ends it too",
                Object::Event(_) => "destroy it (aclrtDestroyEvent)",
                Object::Context(_) => "destroy it (aclrtDestroyContext)",
            };
            leaks.push((format!("{what} {number} was never destroyed"), fix, Arc::clone(made)));
        }
        let more = leaks.len().saturating_sub(LEAKS);
        for (index, (message, fix, made)) in leaks.into_iter().take(LEAKS).enumerate() {
            let message = if index + 1 == LEAKS && more > 0 { format!("{message}, and {more} more") } else { message };
            let evidence = vec![Evidence { role: "made here", operation: made, ranges: Vec::new() }];
            let fix = fix.to_owned();
            self.add_finding(PendingFinding { id: "L4", severity: Severity::Advice, message, fix, count: 1, evidence });
        }
    }

    /// Failures of tasks that no wait has returned.
    pub(crate) fn check_unobserved(&mut self, unobserved: &[String]) {
        for text in unobserved {
            let task = self.failures.iter().find(|(_, failure)| failure == text).map(|(task, _)| Arc::clone(task));
            let message = match &task {
                Some(task) => format!("{} ({}) failed and no wait ever returned it: {text}", task.who(), task.what()),
                None => format!("a task failed and no wait ever returned it: {text}"),
            };
            let evidence = task.iter().map(|task| self.evidence("the task that failed", task, None)).collect();
            let fix = "synchronise the stream (aclrtSynchronizeStream) and look at the code that it returns".to_owned();
            self.add_finding(PendingFinding { id: "O1", severity: Severity::Proven, message, fix, count: 1, evidence });
        }
    }
}

/// Whether the program itself made the object: default streams and contexts come with a device.
fn is_explicit(made: &Operation) -> bool {
    made.function.is_some_and(|function| function.starts_with("aclrtCreate") && !made.name.starts_with("default"))
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
    use ascendcl_sys::rows;
    use softacl_engine::MemoryKind;
    use softacl_engine::observer::{Object, Observer, Window};

    #[test]
    fn a_leak_is_told_with_what_releases_it() {
        let checker = Checker::default();
        checker.attached(Window { start: 1 << 40, len: 1 << 16, shift: 0 });
        checker.entered(rows::aclrtMallocHost);
        checker.allocated(MemoryKind::Pinned, 1 << 39, 64);
        checker.entered(rows::aclrtMalloc);
        checker.allocated(MemoryKind::Device(0), 1 << 41, 64);
        checker.entered(rows::aclrtCreateEvent);
        checker.created(Object::Event(1));
        let findings = checker.report(RunInfo::default()).findings;
        let fixes: Vec<&str> = findings.iter().map(|found| &found.fix[..]).collect();
        assert_eq!(fixes.len(), 3, "{fixes:?}");
        assert_eq!((fixes[0], fixes[2]), ("free it (aclrtFreeHost)", "destroy it (aclrtDestroyEvent)"));
        assert!(fixes[1].starts_with("free it (aclrtFree), or reset the device"), "{}", fixes[1]);
    }

    fn late_call() -> Checker {
        let checker = Checker::default();
        checker.attached(Window { start: 1 << 40, len: 1 << 16, shift: 0 });
        checker.entered(rows::aclFinalize);
        checker.finalized(true);
        checker.entered(rows::aclrtDestroyStream);
        checker
    }

    #[test]
    fn report_is_written_while_state_lock_is_held() {
        let checker = late_call();
        assert!(!checker.is_lock_abandoned());
        let _held = checker.state();
        assert!(checker.is_lock_abandoned());
        let report = checker.report(RunInfo::default());
        assert_eq!((report.findings[0].id.as_str(), report.timeline.len()), ("L2", 0));
        assert!(report.notes[0].contains("in the middle of a call"), "{:?}", report.notes);
    }

    #[test]
    fn call_after_finalize_names_the_finalize_call() {
        let found = late_call().report(RunInfo::default()).findings.remove(0);
        let roles: Vec<&str> = found.operations.iter().map(|part| part.role.as_str()).collect();
        assert_eq!((found.id.as_str(), &roles[..]), ("L2", &["the call", "finalised here"][..]));
        assert_eq!(found.operations[1].operation.function.as_deref(), Some("aclFinalize"));
    }
}
