//! Findings from calls that fail, and from calls that succeed but deserve advice: C1 to C3, K1, P1, B1 to B3, B5, A1,
//! A2, M1, M2, D1, R1, and L2 for objects and memory that a reset released.

use crate::api::ApiFunction;
use crate::finding::{FindingId, Severity};
use crate::operation::Operation;
use crate::state::{Allocation, Evidence, PendingFinding, ReclaimedMemory, State, UncheckedError};
use softacl_engine::observer::{Advisory, Object};
use softacl_engine::{Error, HandleKind, MemoryKind, MemoryPool};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of contexts shown to a thread without one.
const MAX_CONTEXTS: usize = 3;
/// The alignment that the documentation of the asynchronous copy requires.
const ALIGNMENT: usize = 64;

/// What a failed call means.
enum Refusal {
    /// A proven finding: id and fix.
    Report(FindingId, &'static str),
    /// An allocation failed.
    FailedAllocation,
    /// An error that the program has to handle.
    Unchecked,
    /// The use of an address that a failed allocation did not provide.
    UnusableAllocation,
    Ignore,
}

impl State {
    /// Reports a failed call, or records it for `check_error_handled`.
    pub(crate) fn check_refusal(&mut self, function: ApiFunction, error: &Error, operation: &Arc<Operation>) {
        let thread = operation.thread;
        let cause = error.cause();
        let (id, severity, fix) = match self.classify(function, cause, thread) {
            Refusal::Report(id, fix) => (id, Severity::Proven, fix),
            // Running out of memory alone is not an error: many programs free memory or use less. Continuing without
            // the memory is.
            Refusal::FailedAllocation => {
                self.failed_allocations.insert(thread, Arc::clone(operation));
                (FindingId::R1, Severity::Advice, "release unused memory, or use less")
            }
            Refusal::Unchecked => {
                self.unchecked_errors.insert(thread, UncheckedError::new(function, error, operation));
                return;
            }
            Refusal::UnusableAllocation => return self.find_unchecked_allocation(function, error, operation),
            Refusal::Ignore => return,
        };
        let mut message = format!("{function} failed with {}: {error}", error.code());
        let mut evidence = vec![self.evidence("the call", operation, None)];
        match self.causing_reset(cause, thread) {
            Some(reset) => evidence.push(self.evidence("reset here", reset, None)),
            None => evidence.extend(self.subjects(cause)),
        }
        if let Some((created_by, role, share)) = self.main_user(cause) {
            message += &share;
            evidence.push(self.evidence(role, &created_by, None));
        }
        self.add_finding(PendingFinding { id, severity, message, fix: fix.to_owned(), count: 1, evidence });
    }

    /// Decides what a failed call of a thread means.
    fn classify(&self, function: ApiFunction, error: &Error, thread: u32) -> Refusal {
        match error {
            Error::Handle { .. } if self.causing_reset(error, thread).is_some() => Refusal::Report(
                FindingId::L2,
                "create the stream or event again after the reset, or reset the device last",
            ),
            Error::NotAllocated { .. } | Error::NotAStart { .. } if self.causing_reset(error, thread).is_some() => {
                Refusal::Report(
                    FindingId::L2,
                    "allocate again after the reset, which released all memory of the device",
                )
            }
            Error::OtherContext { .. } => Refusal::Report(
                FindingId::C1,
                "make the context of the stream current in this thread (aclrtSetDevice or aclrtSetCurrentContext)",
            ),
            Error::OtherDevice { .. } => Refusal::Report(
                FindingId::C1,
                "create the event on the device of the stream, or with ACL_EVENT_IPC, which works on all devices",
            ),
            Error::NotAContext(_) if self.causing_reset(error, thread).is_some() => Refusal::Report(
                FindingId::L2,
                "use the context before the reset, or set the device again after it (aclrtSetDevice)",
            ),
            // A getter expects the answer that no context is current.
            Error::NoContext if function.is_getter() => Refusal::Ignore,
            Error::NoContext if self.causing_reset(error, thread).is_some() => Refusal::Report(
                FindingId::L2,
                "make the call before the reset, or set the device again after it (aclrtSetDevice)",
            ),
            Error::NoContext => Refusal::Report(
                FindingId::C2,
                "call aclrtSetDevice (or aclrtSetCurrentContext) in every thread that uses the device",
            ),
            // Portable programs handle this error with another copy.
            Error::Unsupported { .. } if function.is_batch_copy() => Refusal::Unchecked,
            // A fault rule made the call fail: its arguments may be correct.
            Error::Injected { .. } if function.is_batch_copy() => Refusal::Unchecked,
            _ if function.is_batch_copy() => Refusal::Report(
                FindingId::B1,
                "correct the argument that the message names; softacl explain B1 lists the rules for batches",
            ),
            Error::Range(_)
            | Error::NotAllocated { .. }
            | Error::PinnedNotAllocated { .. }
            | Error::NotAStart { .. } => {
                Refusal::Report(FindingId::M1, "keep the range inside its allocation, and the allocation alive")
            }
            Error::WrongFree { .. } => {
                Refusal::Report(FindingId::M1, "free the memory with the call that the message names")
            }
            Error::Capacity { .. } => {
                Refusal::Report(FindingId::M1, "copy less, or declare the full size of the destination (destMax)")
            }
            Error::NoStream { .. } | Error::NoSharedStream { .. } | Error::NoEvent { .. } | Error::NoNotify { .. } => {
                Refusal::Report(FindingId::R1, "release unused objects, or use fewer: this is the limit of the chip")
            }
            Error::OutOfMemory { .. } | Error::NoHostBuffer { .. } => Refusal::FailedAllocation,
            Error::Null(_) if self.failed_allocations.contains_key(&thread) => Refusal::UnusableAllocation,
            _ if function.is_asynchronous() => Refusal::Unchecked,
            _ => Refusal::Ignore,
        }
    }

    /// R1: an allocation failed, and the program continued with the address that it did not get.
    fn find_unchecked_allocation(&mut self, function: ApiFunction, error: &Error, operation: &Arc<Operation>) {
        let Some(failed) = self.failed_allocations.remove(&operation.thread) else { return };
        let used = self.evidence("used here", operation, None);
        let is_it = |found: &&mut PendingFinding| {
            found.id == FindingId::R1 && found.evidence[0].operation.backtrace == failed.backtrace
        };
        // The failed allocation was reported as advice.
        let is_advice = |found: &&mut PendingFinding| found.severity == Severity::Advice;
        let mut list = self.findings.list();
        let Some(found) = list.iter_mut().rev().find(is_it).filter(is_advice) else { return };
        found.severity = Severity::Proven;
        found.message +=
            &format!("; the program continued without it, and {function} failed with {}: {error}", error.code());
        "check the return code of the allocation, and handle the missing memory".clone_into(&mut found.fix);
        found.evidence.insert(1, used);
        drop(list);
        self.prove();
    }

    /// Evidence for the objects and allocations that an error is about.
    fn subjects(&self, error: &Error) -> Vec<Evidence> {
        let created = |role, object| Some(self.evidence(role, &self.objects.get(&object)?.created_by, None));
        match error {
            Error::Range(range) => self.allocation_evidence(range.start).into_iter().collect(),
            Error::OtherContext { stream, theirs, ours, .. } => [
                stream.and_then(|stream| created("the stream", Object::Stream(stream))),
                created("its context", Object::Context(theirs.context)),
                ours.and_then(|ours| created("the current context", Object::Context(ours.context))),
            ]
            .into_iter()
            .flatten()
            .collect(),
            Error::NoContext => {
                let mut contexts: Vec<_> =
                    self.objects.iter().filter(|(object, _)| matches!(object, Object::Context(_))).collect();
                contexts.sort_by_key(|(_, live)| live.created_by.sequence);
                let shown = contexts.into_iter().take(MAX_CONTEXTS);
                shown.map(|(_, live)| self.evidence("a context", &live.created_by, None)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The call site that created most of the exhausted resource, its role, and a sentence with its share.
    fn main_user(&self, error: &Error) -> Option<(Arc<Operation>, &'static str, String)> {
        let objects = |is_kind: fn(&Object) -> bool| -> Vec<(&Arc<Operation>, usize)> {
            self.objects.iter().filter(|(object, _)| is_kind(object)).map(|(_, live)| (&live.created_by, 1)).collect()
        };
        let (users, what) = match error {
            Error::NoStream { .. } | Error::NoSharedStream { .. } => {
                (objects(|object| matches!(object, Object::Stream(_))), "streams")
            }
            Error::NoEvent { .. } => (objects(|object| matches!(object, Object::Event(_))), "events"),
            Error::OutOfMemory { pool, .. } => {
                let is_in_pool = |allocation: &&Allocation| match allocation.kind {
                    MemoryKind::Device(device) => *pool == MemoryPool::Device(device),
                    _ => *pool == MemoryPool::PinnedHost && !allocation.is_registered,
                };
                let allocations = self.allocations.values().filter(is_in_pool);
                (allocations.map(|allocation| (&allocation.allocated_by, allocation.size)).collect(), "bytes")
            }
            _ => return None,
        };
        let total: usize = users.iter().map(|(_, share)| share).sum();
        let mut sites: BTreeMap<u64, (usize, &Arc<Operation>)> = BTreeMap::new();
        for (operation, share) in users {
            sites.entry(operation.backtrace.key()).or_insert((0, operation)).0 += share;
        }
        let (share, operation) = sites.into_values().max_by_key(|(share, operation)| (*share, operation.sequence))?;
        let (role, verb) = match error {
            Error::OutOfMemory { .. } => ("most allocated here", "allocated"),
            _ => ("most created here", "created"),
        };
        let text = format!("; {share} of the {total} {what} that the program holds were {verb} at one call site");
        Some((Arc::clone(operation), role, text))
    }

    /// B3: a batch failed and `failIndex` names no entry.
    pub(crate) fn check_fail_index(&mut self, is_untouched: bool, operation: &Arc<Operation>) {
        let message = format!(
            "a batch copy failed and {}; a program that uses it as an index reads outside its arrays",
            if is_untouched { "left failIndex unchanged" } else { "set failIndex to SIZE_MAX, which names no entry" }
        );
        let evidence = vec![self.evidence("the call", operation, None)];
        let fix = "check the return code first; use failIndex only if it is less than the number of entries".to_owned();
        self.add_finding(PendingFinding {
            id: FindingId::B3,
            severity: Severity::Advice,
            message,
            fix,
            count: 1,
            evidence,
        });
    }

    /// Reports an advisory of the engine.
    pub(crate) fn check_note(&mut self, note: &Advisory, operation: &Arc<Operation>) {
        let (id, message, fix) = match note {
            Advisory::Kind { declared, source, target } => (
                FindingId::K1,
                format!(
                    "the copy was declared as kind {declared} but goes from {} to {}; the runtime corrected the kind \
                     silently (a synchronous copy ignores it)",
                    source.describe(),
                    target.describe()
                ),
                "declare the actual kind, or ACL_MEMCPY_DEFAULT".to_owned(),
            ),
            Advisory::Blocked { drained, waited, source, target } => (
                FindingId::P1,
                format!(
                    "an asynchronous copy from {} to {} blocked: it waited for {drained} {} of its stream first, and \
                     the call took {:.1} us until the copy started",
                    source.describe(),
                    target.describe(),
                    if *drained == 1 { "task" } else { "tasks" },
                    waited.as_secs_f64() * 1e6,
                ),
                "use pinned memory (aclrtMallocHost, or aclrtHostRegister) where the copy should be asynchronous"
                    .to_owned(),
            ),
            Advisory::Capacity { declared, room } => (
                FindingId::M2,
                format!(
                    "destMax is {declared}, but the allocation has only {room} bytes left: the argument cannot protect"
                ),
                "pass the number of bytes that are left in the allocation".to_owned(),
            ),
            Advisory::TightCapacities { entries } => (
                FindingId::B5,
                format!(
                    "destMaxs equals sizes in all {entries} entries: the only bounds check of the call can never fail"
                ),
                "pass the number of bytes that are left at each destination".to_owned(),
            ),
            Advisory::OneWayPeer { device, peer } => (
                FindingId::A2,
                format!(
                    "a copy between devices {device} and {peer} relies on peer access that only device {device} has \
                     enabled; some drivers require that device {peer} has enabled device {device} too"
                ),
                format!(
                    "call aclrtDeviceEnablePeerAccess({device}, 0) with device {peer} current as well; \
                     SOFTACL_STRICT=peer makes this an error"
                ),
            ),
            Advisory::UnalignedValue(address) => (
                FindingId::A1,
                format!(
                    "address {address:#x} of the value is not aligned to 8 bytes, which the documentation requires"
                ),
                "align values that streams write and wait for to 8 bytes".to_owned(),
            ),
            Advisory::DefaultDevice(device) => (
                FindingId::C3,
                format!("a thread that never set a device used the configured default device {device}"),
                "call aclrtSetDevice in every thread that uses a device".to_owned(),
            ),
            Advisory::SharedInUse { what, processes } => (
                FindingId::I1,
                format!("{} while {}", ending(what), users(what, processes)),
                format!("end the {what} after the other process has reported that it no longer uses it"),
            ),
            Advisory::EndedBeforeImport { what, process } => (
                FindingId::I1,
                format!(
                    "the {what} of process {process} cannot be opened: its creator still runs, and has {} the \
                     {what} before this process opened it, or the key is not one of this run",
                    if *what == "memory" { "freed" } else { "destroyed" }
                ),
                format!("end the {what} after the other process has opened and used it"),
            ),
            Advisory::Viewed { .. } => return,
        };
        let is_proven = matches!(note, Advisory::SharedInUse { .. });
        let severity = if is_proven { Severity::Proven } else { Severity::Advice };
        let evidence = vec![self.evidence("the call", operation, None)];
        self.add_finding(PendingFinding { id, severity, message, fix, count: 1, evidence });
    }

    /// A1: an address that is not aligned as documented.
    pub(crate) fn check_alignment(&mut self, operation: &Arc<Operation>) {
        let Some(touch) = operation.touches.iter().find(|touch| touch.address % ALIGNMENT != 0) else { return };
        let message = format!(
            "address {:#x} of {} is not aligned to {ALIGNMENT} bytes, which the documentation requires up to CANN 8.5",
            touch.address,
            operation.describe()
        );
        let mut evidence = vec![self.evidence("the call", operation, Some((touch.address, touch.len)))];
        evidence.extend(self.allocation_evidence(touch.address));
        let fix = format!(
            "align addresses to {ALIGNMENT} bytes; SOFTACL_STRICT=align with SOFTACL_CANN=8.5 makes this an error"
        );
        self.add_finding(PendingFinding {
            id: FindingId::A1,
            severity: Severity::Advice,
            message,
            fix,
            count: 1,
            evidence,
        });
    }

    /// D1: a deprecated call.
    pub(crate) fn check_deprecated(&mut self, function: ApiFunction, operation: &Arc<Operation>) {
        let message = format!("{function} is deprecated");
        let fix = match function.replacement() {
            Some(replacement) => format!("use {replacement}"),
            None => "the documentation names no replacement".to_owned(),
        };
        let evidence = vec![self.evidence("the call", operation, None)];
        self.add_finding(PendingFinding {
            id: FindingId::D1,
            severity: Severity::Advice,
            message,
            fix,
            count: 1,
            evidence,
        });
    }

    /// The reset that destroyed an object.
    fn reset_of(&self, object: fn(u32) -> Object, handle: usize) -> Option<&Arc<Operation>> {
        self.reset_objects.get(&object((handle & 0xf_ffff) as u32))
    }

    /// The reset that released the memory at an address.
    fn reclaiming_reset(&self, address: usize) -> Option<&Arc<Operation>> {
        let (start, reclaimed) = self.reclaimed.range(..=address).next_back()?;
        (address - start < reclaimed.size).then_some(&reclaimed.reset)
    }

    /// The reset that caused an error.
    fn causing_reset(&self, error: &Error, thread: u32) -> Option<&Arc<Operation>> {
        match error {
            Error::NoContext => self.context_resets.get(&thread),
            Error::Handle { what: HandleKind::Stream, handle } => self.reset_of(Object::Stream, *handle),
            Error::Handle { what: HandleKind::Event, handle } => self.reset_of(Object::Event, *handle),
            Error::NotAContext(handle) => self.reset_of(Object::Context, *handle),
            Error::NotAllocated { address, .. } | Error::NotAStart { address, .. } => self.reclaiming_reset(*address),
            _ => None,
        }
    }

    /// Releases the memory of a device whose last context was destroyed.
    pub(crate) fn reclaim(&mut self, device: u32, reset: &Arc<Operation>) {
        let released: Vec<(usize, usize)> = self
            .allocations
            .iter()
            .filter(|(_, allocation)| allocation.kind == MemoryKind::Device(device))
            .map(|(start, allocation)| (*start, allocation.size))
            .collect();
        for (start, size) in released {
            self.allocations.remove(&start);
            self.ledger.forget(start, size);
            self.written.remove(start, size);
            self.reclaimed.insert(start, ReclaimedMemory { size, reset: Arc::clone(reset) });
        }
    }
}

/// How something that is shared between processes ends.
fn ending(what: &str) -> &'static str {
    match what {
        "event" => "an exported event was destroyed",
        "notify" => "an exported notify was destroyed",
        _ => "exported memory was freed, or its key closed,",
    }
}

/// What other processes do with something that is shared.
fn users(what: &str, processes: &[u32]) -> String {
    let names: Vec<String> = processes.iter().map(|process| format!("process {process}")).collect();
    let verb = if processes.len() == 1 { "has" } else { "have" };
    let what = match what {
        "event" => "a wait for it queued",
        "notify" => "a record of it queued",
        _ => "it open",
    };
    format!("{} {verb} {what}", names.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checker;
    use crate::checker::RunInfo;
    use crate::finding::Finding;
    use ascendcl_sys::rows;
    use softacl_engine::Owner;
    use softacl_engine::observer::{Observer, Origin, Window};

    const DEVICE: MemoryKind = MemoryKind::Device(0);

    fn checker() -> Checker {
        let checker = Checker::default();
        checker.attached(Window { start: 1 << 40, len: 1 << 16, shift: 0 });
        checker
    }

    fn out_of_memory(checker: &Checker) {
        checker.entered(rows::aclrtMalloc);
        let error = Error::OutOfMemory { pool: MemoryPool::Device(0), asked: 64, free: 0, total: 128 };
        checker.call_failed(rows::aclrtMalloc, &error);
    }

    fn findings(checker: &Checker, id: &str) -> Vec<Finding> {
        let found = checker.report(RunInfo::default()).findings;
        found.into_iter().filter(|finding| finding.id == id).collect()
    }

    fn roles(finding: &Finding) -> Vec<&str> {
        finding.operations.iter().map(|participant| participant.role.as_str()).collect()
    }

    #[test]
    fn out_of_memory_is_advice_and_names_the_largest_user() {
        let checker = checker();
        checker.entered(rows::aclrtMalloc);
        checker.allocated(DEVICE, 1 << 41, 32);
        checker.allocated(MemoryKind::Device(1), 1 << 42, 4096);
        checker.allocated(DEVICE, (1 << 41) + 4096, 96);
        out_of_memory(&checker);
        checker.entered(rows::aclrtFree);
        checker.freed(DEVICE, 1 << 41);
        checker.entered(rows::aclrtMemset);
        checker.call_failed(rows::aclrtMemset, &Error::Null("devPtr"));
        let [found] = &findings(&checker, "R1")[..] else { panic!("one finding") };
        assert_eq!(found.severity, Severity::Advice);
        assert!(
            found.message.ends_with("96 of the 128 bytes that the program holds were allocated at one call site"),
            "{found:?}"
        );
        assert_eq!(roles(found), ["the call", "most allocated here"]);
    }

    #[test]
    fn using_a_failed_allocation_is_proven() {
        let checker = checker();
        out_of_memory(&checker);
        checker.entered(rows::aclrtMemset);
        checker.call_failed(rows::aclrtMemset, &Error::Null("devPtr"));
        let [found] = &findings(&checker, "R1")[..] else { panic!("one finding") };
        assert_eq!(found.severity, Severity::Proven);
        assert!(found.message.contains("continued without it, and aclrtMemset failed"), "{}", found.message);
        assert_eq!(roles(found), ["the call", "used here"]);
    }

    #[test]
    fn querying_a_missing_context_is_not_reported() {
        let checker = checker();
        checker.entered(rows::aclrtSetDevice);
        checker.created(Object::Context(0), Origin::Runtime);
        checker.call_failed(rows::aclrtGetDevice, &Error::NoContext);
        checker.call_failed(rows::aclrtGetCurrentContext, &Error::NoContext);
        assert_eq!(findings(&checker, "C2"), []);
        checker.call_failed(rows::aclrtMalloc, &Error::NoContext);
        let [found] = &findings(&checker, "C2")[..] else { panic!("one finding") };
        assert_eq!(roles(found), ["the call", "a context"]);
    }

    #[test]
    fn stream_of_another_context_shows_every_creation() {
        let checker = checker();
        [Object::Context(0), Object::Context(1), Object::Stream(5)]
            .into_iter()
            .for_each(|object| checker.created(object, Origin::Program));
        let owner = |context| Owner { context, device: 0 };
        let error = Error::OtherContext { what: "stream", stream: Some(5), theirs: owner(1), ours: Some(owner(0)) };
        checker.call_failed(rows::aclrtRecordEvent, &error);
        let [found] = &findings(&checker, "C1")[..] else { panic!("one finding") };
        assert_eq!(roles(found), ["the call", "the stream", "its context", "the current context"]);
        assert!(found.message.contains("context 1 of device 0") && found.message.contains("context 0 of device 0"));
    }

    #[test]
    fn freeing_reclaimed_memory_names_the_reset_until_reallocation() {
        let checker = checker();
        let free = |address| {
            checker.entered(rows::aclrtFree);
            checker.call_failed(rows::aclrtFree, &Error::NotAStart { address, whose: String::new() });
        };
        checker.allocated(DEVICE, 1 << 41, 4096);
        checker.entered(rows::aclrtResetDevice);
        checker.device_cleared(0);
        free(1 << 41);
        let [found] = &findings(&checker, "L2")[..] else { panic!("one finding") };
        assert_eq!(roles(found), ["the call", "reset here"]);
        checker.allocated(DEVICE, 1 << 41, 64);
        checker.freed(DEVICE, 1 << 41);
        free(1 << 41);
        assert_eq!((findings(&checker, "L2")[0].count, findings(&checker, "M1").len()), (1, 1));
    }

    #[test]
    fn stream_limit_names_the_largest_creator() {
        let checker = checker();
        checker.entered(rows::aclrtCreateStream);
        checker.created(Object::Stream(0), Origin::Program);
        // One call site: `black_box` prevents unrolling.
        for stream in 1..std::hint::black_box(8) {
            checker.created(Object::Stream(stream), Origin::Program);
        }
        checker.call_failed(rows::aclrtCreateStream, &Error::NoStream { device: 0, limit: 8, soc: String::new() });
        let [found] = &findings(&checker, "R1")[..] else { panic!("one finding") };
        assert!(found.message.ends_with("; 7 of the 8 streams that the program holds were created at one call site"));
    }
}
