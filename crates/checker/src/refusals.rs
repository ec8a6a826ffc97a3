//! Findings that come from calls which fail, and from calls that work and should be known about:
//! C1 to C3, K1, P1, B1 to B3, B5, A1, M1, M2, D1, R1, and L2 for what a reset took away.

use crate::finding::Severity;
use crate::operation::Operation;
use crate::state::{Evidence, Found, State, Unanswered};
use softacl_engine::probe::{Note, Object};
use softacl_engine::{Error, Place};
use std::sync::Arc;

/// The alignment that the documents of the asynchronous copy ask for.
const ALIGNMENT: usize = 64;

impl State {
    /// A call failed.
    pub(crate) fn check_refusal(&mut self, function: &'static str, error: &Error, operation: &Arc<Operation>) {
        let is_batch = function.contains("MemcpyBatch");
        let code = error.code();
        let (id, severity, fix): (_, _, &str) = match error {
            Error::Handle { what, handle } if self.was_reset(what, *handle) => {
                ("L2", Severity::Proven, "make the stream or event anew after the reset, or reset the device last")
            }
            Error::NotAllocated { device, .. } if self.reset_devices.contains(device) => {
                ("L2", Severity::Proven, "allocate anew after the reset: it released all memory of the device")
            }
            Error::OtherContext { .. } => (
                "C1",
                Severity::Proven,
                "make the context of the stream current in this thread (aclrtSetDevice or aclrtSetCurrentContext)",
            ),
            Error::NoContext => (
                "C2",
                Severity::Proven,
                "call aclrtSetDevice (or aclrtSetCurrentContext) in every thread that uses the device",
            ),
            // Another copy in its place is the answer that portable programs have.
            Error::Unsupported { .. } if is_batch => {
                self.unanswered.insert(operation.thread, Unanswered::new(function, error, operation));
                return;
            }
            _ if is_batch => ("B1", Severity::Proven, "correct the batch; see the rules in the guide"),
            Error::Range(_)
            | Error::NotAllocated { .. }
            | Error::PinnedNotAllocated { .. }
            | Error::NotAStart { .. }
            | Error::Capacity { .. } => {
                ("M1", Severity::Proven, "keep the range inside its allocation, and the allocation alive")
            }
            Error::NoStream { .. } | Error::NoEvent { .. } | Error::OutOfMemory { .. } => {
                ("R1", Severity::Proven, "release what is no longer used, or use less: this is the limit of the chip")
            }
            _ => {
                if function.contains("Async") {
                    self.unanswered.insert(operation.thread, Unanswered::new(function, error, operation));
                }
                return;
            }
        };
        let message = format!("{function} failed with {code}: {error}");
        let mut evidence = vec![self.evidence("the call", operation, None)];
        evidence.extend(self.culprit(error));
        self.find(Found { id, severity, message, fix: fix.to_owned(), count: 1, evidence });
    }

    /// Where the thing was made that a refusal is about.
    fn culprit(&self, error: &Error) -> Option<Evidence> {
        match error {
            Error::Range(range) => self.made(range.start),
            _ => None,
        }
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
        self.find(Found { id: "B3", severity: Severity::Advice, message, fix, count: 1, evidence });
    }

    /// Something that works and should be known about.
    pub(crate) fn check_note(&mut self, note: &Note, operation: &Arc<Operation>) {
        let (id, message, fix) = match note {
            Note::Kind { declared, source, target } => (
                "K1",
                format!(
                    "the copy was declared as kind {declared} and goes from {} to {}; it was repaired silently here, a synchronous copy ignores it",
                    source.describe(),
                    target.describe()
                ),
                "declare the kind that the copy is, or ACL_MEMCPY_DEFAULT".to_owned(),
            ),
            Note::Blocked { drained, waited, source, target } => (
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
            Note::Capacity { declared, room } => (
                "M2",
                format!(
                    "destMax is {declared}, but the allocation has only {room} bytes left: the argument can never protect"
                ),
                "pass the bytes that are really there".to_owned(),
            ),
            Note::TightCapacities { entries } => (
                "B5",
                format!(
                    "destMaxs equals sizes in all {entries} entries: the only bound check of the call can never fire"
                ),
                "pass the room at each destination".to_owned(),
            ),
            Note::DefaultDevice(device) => (
                "C3",
                format!("a thread that never set a device used the configured default device {device}"),
                "call aclrtSetDevice in every thread that uses a device".to_owned(),
            ),
            Note::Viewed { .. } => return,
        };
        let evidence = vec![self.evidence("the call", operation, None)];
        self.find(Found { id, severity: Severity::Advice, message, fix, count: 1, evidence });
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
        self.find(Found { id: "A1", severity: Severity::Advice, message, fix, count: 1, evidence });
    }

    /// D1: a call that the documents replace by another one.
    pub(crate) fn check_deprecated(&mut self, function: &'static str, operation: &Arc<Operation>) {
        let message = format!("{function} is deprecated");
        let fix = match replacement(function) {
            Some(replacement) => format!("use {replacement}"),
            None => "the documents name no replacement".to_owned(),
        };
        let evidence = vec![self.evidence("the call", operation, None)];
        self.find(Found { id: "D1", severity: Severity::Advice, message, fix, count: 1, evidence });
    }

    fn was_reset(&self, what: &str, handle: usize) -> bool {
        let index = (handle & 0xf_ffff) as u32;
        let object = if what == "event" { Object::Event(index) } else { Object::Stream(index) };
        self.reset.contains(&object)
    }

    /// The memory of a device went away with its last context.
    pub(crate) fn clear(&mut self, device: u32) {
        let gone: Vec<(usize, usize)> = self
            .allocations
            .iter()
            .filter(|(_, allocation)| allocation.place == Place::Device(device))
            .map(|(start, allocation)| (*start, allocation.size))
            .collect();
        for (start, size) in gone {
            self.allocations.remove(&start);
            self.ledger.forget(start, size);
            self.written.remove(start, size);
        }
        self.reset_devices.insert(device);
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
