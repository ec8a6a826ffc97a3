//! Findings that come from calls which fail, and from calls that work and should be known about:
//! C1 to C3, K1, P1, B1 to B3, B5, A1, M1, M2, D1, R1, and L2 for what a reset took away.

use crate::finding::Severity;
use crate::operation::Operation;
use crate::state::{Allocation, Evidence, PendingFinding, ReclaimedMemory, State, UncheckedError};
use softacl_engine::observer::{Advisory, Object};
use softacl_engine::{Error, MemoryKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Contexts that a finding shows to a thread that has none.
const CONTEXTS: usize = 3;
/// The place that the engine names when pinned memory runs out.
const PINNED: &str = "the host (pinned)";
/// The alignment that the documents of the asynchronous copy ask for.
const ALIGNMENT: usize = 64;

impl State {
    /// A call failed.
    pub(crate) fn check_refusal(&mut self, function: &'static str, error: &Error, operation: &Arc<Operation>) {
        let is_batch = function.contains("MemcpyBatch");
        let code = error.code();
        let (id, severity, fix): (_, _, &str) = match error {
            Error::Handle { what, handle } if self.reset_of(what, *handle).is_some() => {
                ("L2", Severity::Proven, "make the stream or event anew after the reset, or reset the device last")
            }
            Error::NotAllocated { address, .. } | Error::NotAStart { address, .. }
                if self.reclaiming_reset(*address).is_some() =>
            {
                ("L2", Severity::Proven, "allocate anew after the reset: it released all memory of the device")
            }
            Error::OtherContext { .. } => (
                "C1",
                Severity::Proven,
                "make the context of the stream current in this thread (aclrtSetDevice or aclrtSetCurrentContext)",
            ),
            // Who asks has a use for the answer that there is none.
            Error::NoContext if function.starts_with("aclrtGet") => return,
            Error::NoContext if self.resets.contains_key(&operation.thread) => {
                ("L2", Severity::Proven, "do it before the reset, or set the device again after it (aclrtSetDevice)")
            }
            Error::NoContext => (
                "C2",
                Severity::Proven,
                "call aclrtSetDevice (or aclrtSetCurrentContext) in every thread that uses the device",
            ),
            // Another copy in its place is the answer that portable programs have.
            Error::Unsupported { .. } if is_batch => {
                self.unanswered.insert(operation.thread, UncheckedError::new(function, error, operation));
                return;
            }
            _ if is_batch => {
                ("B1", Severity::Proven, "correct what the message names; softacl explain B1 has the rules of batches")
            }
            Error::Range(_)
            | Error::NotAllocated { .. }
            | Error::PinnedNotAllocated { .. }
            | Error::NotAStart { .. } => {
                ("M1", Severity::Proven, "keep the range inside its allocation, and the allocation alive")
            }
            Error::Capacity { .. } => {
                ("M1", Severity::Proven, "copy less, or declare all that the destination holds (destMax)")
            }
            Error::NoStream { .. } | Error::NoEvent { .. } => {
                ("R1", Severity::Proven, "release what is no longer used, or use less: this is the limit of the chip")
            }
            // Many a program takes what there is, and then frees or makes do. Only who goes on without is wrong.
            Error::OutOfMemory { .. } => {
                self.exhausted.insert(operation.thread, Arc::clone(operation));
                ("R1", Severity::Advice, "release what is no longer used, or use less: this is all that there is")
            }
            Error::Null(_) if self.exhausted.contains_key(&operation.thread) => {
                return self.find_unnoticed(function, error, operation);
            }
            _ => {
                if function.contains("Async") {
                    self.unanswered.insert(operation.thread, UncheckedError::new(function, error, operation));
                }
                return;
            }
        };
        let mut message = format!("{function} failed with {code}: {error}");
        let mut evidence = vec![self.evidence("the call", operation, None)];
        if id == "L2" {
            let reset = self.reset_behind(error, operation.thread);
            evidence.extend(reset.map(|reset| self.evidence("reset here", reset, None)));
        } else {
            evidence.extend(self.culprits(error));
        }
        if let Some((made, share)) = self.most_made(error) {
            message += &share;
            evidence.push(self.evidence("most made here", &made, None));
        }
        self.add_finding(PendingFinding { id, severity, message, fix: fix.to_owned(), count: 1, evidence });
    }

    /// R1: memory was refused, and the program went on with the address that it did not get.
    fn find_unnoticed(&mut self, function: &'static str, error: &Error, operation: &Arc<Operation>) {
        let Some(refused) = self.exhausted.remove(&operation.thread) else { return };
        let used = self.evidence("used here", operation, None);
        let is_it = |found: &&mut PendingFinding| found.id == "R1" && found.evidence[0].operation.spot == refused.spot;
        // It was told as advice.
        let is_advice = |found: &&mut PendingFinding| found.severity == Severity::Advice;
        let mut list = self.findings.list();
        let Some(found) = list.iter_mut().rev().find(is_it).filter(is_advice) else { return };
        found.severity = Severity::Proven;
        found.message +=
            &format!("; the program went on without it, and {function} failed with {}: {error}", error.code());
        "look at the code that the call returns, and do without the memory".clone_into(&mut found.fix);
        found.evidence.insert(1, used);
        drop(list);
        self.prove();
    }

    /// Where the things were made that a refusal is about.
    fn culprits(&self, error: &Error) -> Vec<Evidence> {
        let created = |role, object| Some(self.evidence(role, self.objects.get(&object)?, None));
        match error {
            Error::Range(range) => self.made(range.start).into_iter().collect(),
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
                contexts.sort_by_key(|(_, made)| made.number);
                contexts.into_iter().map(|(_, made)| self.evidence("a context", made, None)).take(CONTEXTS).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Where most of that was made which has reached its limit, and how much it is of all.
    fn most_made(&self, error: &Error) -> Option<(Arc<Operation>, String)> {
        let objects = |is_kind: fn(&Object) -> bool| -> Vec<(&Arc<Operation>, usize)> {
            self.objects.iter().filter(|(object, _)| is_kind(object)).map(|(_, made)| (made, 1)).collect()
        };
        let (made, what) = match error {
            Error::NoStream { .. } => (objects(|object| matches!(object, Object::Stream(_))), "streams"),
            Error::NoEvent { .. } => (objects(|object| matches!(object, Object::Event(_))), "events"),
            Error::OutOfMemory { place, .. } => {
                let is_there = |allocation: &&Allocation| match allocation.place {
                    MemoryKind::Device(device) => *place == format!("device {device}"),
                    _ => place == PINNED && !allocation.is_registered,
                };
                let there = self.allocations.values().filter(is_there);
                (there.map(|allocation| (&allocation.made, allocation.size)).collect(), "bytes")
            }
            _ => return None,
        };
        let total: usize = made.iter().map(|(_, share)| share).sum();
        let mut places: BTreeMap<u64, (usize, &Arc<Operation>)> = BTreeMap::new();
        for (made, share) in made {
            places.entry(made.spot.key()).or_insert((0, made)).0 += share;
        }
        let (share, made) = places.into_values().max_by_key(|(share, made)| (*share, made.number))?;
        Some((
            Arc::clone(made),
            format!("; {share} of the {total} {what} that the program has there come from one place"),
        ))
    }

    /// A batch failed and its fail index names no entry.
    pub(crate) fn check_fail_index(&mut self, is_untouched: bool, operation: &Arc<Operation>) {
        let message = format!(
            "a batch copy failed and {}; a program that uses it as an index reads outside its arrays",
            if is_untouched {
                "left failIndex as it was"
            } else {
                "set failIndex to SIZE_MAX, which means no entry in particular"
            }
        );
        let evidence = vec![self.evidence("the call", operation, None)];
        let fix = "look at the code first; use failIndex only when it is less than the number of entries".to_owned();
        self.add_finding(PendingFinding { id: "B3", severity: Severity::Advice, message, fix, count: 1, evidence });
    }

    /// Something that works and should be known about.
    pub(crate) fn check_note(&mut self, note: &Advisory, operation: &Arc<Operation>) {
        let (id, message, fix) = match note {
            Advisory::Kind { declared, source, target } => (
                "K1",
                format!(
                    "the copy was declared as kind {declared} and goes from {} to {}; it was repaired silently here, a synchronous copy ignores it",
                    source.describe(),
                    target.describe()
                ),
                "declare the kind that the copy is, or ACL_MEMCPY_DEFAULT".to_owned(),
            ),
            Advisory::Blocked { drained, waited, source, target } => (
                "P1",
                format!(
                    "an asynchronous copy from {} to {} blocked: it drained {drained} tasks of its stream first, and the call took {:.1} us until the copy itself",
                    source.describe(),
                    target.describe(),
                    waited.as_secs_f64() * 1e6,
                ),
                "use pinned memory (aclrtMallocHost, or aclrtHostRegister) where the copy should be asynchronous"
                    .to_owned(),
            ),
            Advisory::Capacity { declared, room } => (
                "M2",
                format!(
                    "destMax is {declared}, but the allocation has only {room} bytes left: the argument can never protect"
                ),
                "pass the bytes that are really there".to_owned(),
            ),
            Advisory::TightCapacities { entries } => (
                "B5",
                format!(
                    "destMaxs equals sizes in all {entries} entries: the only bound check of the call can never fire"
                ),
                "pass the room at each destination".to_owned(),
            ),
            Advisory::DefaultDevice(device) => (
                "C3",
                format!("a thread that never set a device used the configured default device {device}"),
                "call aclrtSetDevice in every thread that uses a device".to_owned(),
            ),
            Advisory::Viewed { .. } => return,
        };
        let evidence = vec![self.evidence("the call", operation, None)];
        self.add_finding(PendingFinding { id, severity: Severity::Advice, message, fix, count: 1, evidence });
    }

    /// A1: the alignment that the documents ask for.
    pub(crate) fn check_alignment(&mut self, operation: &Arc<Operation>) {
        if !operation.function.is_some_and(|function| function.starts_with("aclrtMemcpyAsync")) {
            return;
        }
        let Some(touch) = operation.touches.iter().find(|touch| touch.address % ALIGNMENT != 0) else { return };
        let message = format!(
            "address {:#x} of {} is not aligned to {ALIGNMENT} bytes, which the documents ask for",
            touch.address,
            operation.what()
        );
        let mut evidence = vec![self.evidence("the call", operation, Some((touch.address, touch.len)))];
        evidence.extend(self.made(touch.address));
        let fix = format!("align addresses to {ALIGNMENT} bytes; SOFTACL_STRICT=align makes this an error");
        self.add_finding(PendingFinding { id: "A1", severity: Severity::Advice, message, fix, count: 1, evidence });
    }

    /// D1: a call that the documents replace by another one.
    pub(crate) fn check_deprecated(&mut self, function: &'static str, operation: &Arc<Operation>) {
        let message = format!("{function} is deprecated");
        let fix = match replacement(function) {
            Some(replacement) => format!("use {replacement}"),
            None => "the documents name no replacement".to_owned(),
        };
        let evidence = vec![self.evidence("the call", operation, None)];
        self.add_finding(PendingFinding { id: "D1", severity: Severity::Advice, message, fix, count: 1, evidence });
    }

    /// The reset that took an object with it.
    fn reset_of(&self, what: &str, handle: usize) -> Option<&Arc<Operation>> {
        let index = (handle & 0xf_ffff) as u32;
        let object = if what == "event" { Object::Event(index) } else { Object::Stream(index) };
        self.reset.get(&object)
    }

    /// The reset that took the memory at an address with it.
    fn reclaiming_reset(&self, address: usize) -> Option<&Arc<Operation>> {
        let (start, taken) = self.taken.range(..=address).next_back()?;
        (address - start < taken.size).then_some(&taken.by)
    }

    fn reset_behind(&self, error: &Error, thread: u32) -> Option<&Arc<Operation>> {
        match error {
            Error::NoContext => self.resets.get(&thread),
            Error::Handle { what, handle } => self.reset_of(what, *handle),
            Error::NotAllocated { address, .. } | Error::NotAStart { address, .. } => self.reclaiming_reset(*address),
            _ => None,
        }
    }

    /// The memory of a device went away with its last context.
    pub(crate) fn clear(&mut self, device: u32, by: &Arc<Operation>) {
        let gone: Vec<(usize, usize)> = self
            .allocations
            .iter()
            .filter(|(_, allocation)| allocation.place == MemoryKind::Device(device))
            .map(|(start, allocation)| (*start, allocation.size))
            .collect();
        for (start, size) in gone {
            self.allocations.remove(&start);
            self.ledger.forget(start, size);
            self.written.remove(start, size);
            self.taken.insert(start, ReclaimedMemory { size, by: Arc::clone(by) });
        }
    }
}

/// What the documents say to use instead.
fn replacement(function: &str) -> Option<&'static str> {
    Some(match function {
        "aclrtMemcpyAsyncWithCondition" => "aclrtMemcpyAsync",
        "aclrtQueryEvent" => "aclrtQueryEventStatus",
        "aclrtSetExceptionInfoCallback" => "aclrtExceptionInfoCallbackRegister",
        "aclrtGetVersion" | "aclsysGetCANNVersion" => "aclsysGetVersionStr or aclsysGetVersionNum",
        "aclmdlRIDebugPrint" => "aclmdlRIDebugJsonPrint",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checker;
    use crate::checker::RunInfo;
    use crate::finding::Finding;
    use ascendcl_sys::rows;
    use softacl_engine::Owner;
    use softacl_engine::observer::{Observer, Window};

    const DEVICE: MemoryKind = MemoryKind::Device(0);

    fn checker() -> Checker {
        let checker = Checker::default();
        checker.attached(Window { start: 1 << 40, len: 1 << 16, shift: 0 });
        checker
    }

    fn out_of_memory(checker: &Checker) {
        checker.entered(rows::aclrtMalloc);
        let error = Error::OutOfMemory { place: "device 0".to_owned(), asked: 64, free: 0, total: 128 };
        checker.call_failed(rows::aclrtMalloc, &error);
    }

    fn findings(checker: &Checker, id: &str) -> Vec<Finding> {
        let found = checker.report(RunInfo::default()).findings;
        found.into_iter().filter(|finding| finding.id == id).collect()
    }

    fn roles(finding: &Finding) -> Vec<&str> {
        finding.operations.iter().map(|part| part.role.as_str()).collect()
    }

    #[test]
    fn running_out_of_memory_is_advice_and_says_who_has_it() {
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
            found.message.ends_with("96 of the 128 bytes that the program has there come from one place"),
            "{found:?}"
        );
        assert_eq!(roles(found), ["the call", "most made here"]);
    }

    #[test]
    fn using_a_failed_allocation_is_proven() {
        let checker = checker();
        out_of_memory(&checker);
        checker.entered(rows::aclrtMemset);
        checker.call_failed(rows::aclrtMemset, &Error::Null("devPtr"));
        let [found] = &findings(&checker, "R1")[..] else { panic!("one finding") };
        assert_eq!(found.severity, Severity::Proven);
        assert!(found.message.contains("went on without it, and aclrtMemset failed"), "{}", found.message);
        assert_eq!(roles(found), ["the call", "used here"]);
    }

    #[test]
    fn querying_a_missing_context_is_not_reported() {
        let checker = checker();
        checker.entered(rows::aclrtSetDevice);
        checker.created(Object::Context(0));
        checker.call_failed(rows::aclrtGetDevice, &Error::NoContext);
        checker.call_failed(rows::aclrtGetCurrentContext, &Error::NoContext);
        assert_eq!(findings(&checker, "C2"), []);
        checker.call_failed(rows::aclrtMalloc, &Error::NoContext);
        let [found] = &findings(&checker, "C2")[..] else { panic!("one finding") };
        assert_eq!(roles(found), ["the call", "a context"]);
    }

    #[test]
    fn a_stream_of_another_context_comes_with_all_places() {
        let checker = checker();
        [Object::Context(0), Object::Context(1), Object::Stream(5)].into_iter().for_each(|made| checker.created(made));
        let owner = |context| Owner { context, device: 0 };
        let error = Error::OtherContext { what: "stream", stream: Some(5), theirs: owner(1), ours: Some(owner(0)) };
        checker.call_failed(rows::aclrtRecordEvent, &error);
        let [found] = &findings(&checker, "C1")[..] else { panic!("one finding") };
        assert_eq!(roles(found), ["the call", "the stream", "its context", "the current context"]);
        assert!(found.message.contains("context 1 of device 0") && found.message.contains("context 0 of device 0"));
    }

    #[test]
    fn what_a_reset_took_names_the_reset_until_it_is_used_again() {
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
    fn the_limit_of_streams_says_where_most_were_made() {
        let checker = checker();
        checker.entered(rows::aclrtCreateStream);
        checker.created(Object::Stream(0));
        // One call in a loop, which the compiler must not know the length of.
        for stream in 1..std::hint::black_box(8) {
            checker.created(Object::Stream(stream));
        }
        checker.call_failed(rows::aclrtCreateStream, &Error::NoStream { device: 0, limit: 8, soc: String::new() });
        let [found] = &findings(&checker, "R1")[..] else { panic!("one finding") };
        assert!(found.message.ends_with("; 7 of the 8 streams that the program has there come from one place"));
    }
}
