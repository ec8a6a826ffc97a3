//! The kinds of findings: id, title and help. The full descriptions are in `docs/findings`.

use crate::finding::{FindingId, Severity};

/// A kind of finding.
pub struct FindingKind {
    pub id: FindingId,
    /// Headline of a finding. Equal to the title of its page in `docs/findings`.
    pub title: &'static str,
    /// Effect on the program, and remedy.
    pub help: &'static str,
    /// Default severity. A finding has its own.
    pub severity: Severity,
}

/// All kinds, in the order of the documentation.
pub const RULES: &[FindingKind] = &[
    proven(
        FindingId::H1,
        "source changed between submit and execution",
        "An asynchronous copy reads its source when it runs, not when it is submitted. Wait for the copy before you \
         write the buffer again, or use another buffer.",
    ),
    proven(
        FindingId::H2,
        "host memory freed or unregistered while a copy uses it",
        "A queued copy still uses the host buffer. Wait for the copy before you free or unregister the buffer.",
    ),
    proven(
        FindingId::H3,
        "destination used by the host before a wait for the copy",
        "The bytes of an asynchronous copy are valid after a wait that covers it, not before. Synchronize the \
         stream, or an event recorded after the copy.",
    ),
    proven(
        FindingId::S1,
        "two streams access the same bytes without an event path",
        "Streams run in any order. Record an event after the first operation and let the other stream wait for it.",
    ),
    proven(
        FindingId::S2,
        "blocking call overlaps work pending on a stream",
        "A blocking copy or memset is not ordered with streams. Synchronize the stream first.",
    ),
    advice(
        FindingId::S3,
        "two threads submit to one stream in an order that nothing enforces",
        "The order of two submissions is the order of the threads. Order the threads, or use a stream for each.",
    ),
    proven(
        FindingId::L1,
        "stream, event, context or process ended with work pending",
        "Synchronize before you destroy the object.",
    ),
    proven(
        FindingId::L2,
        "call after aclFinalize or after a device reset",
        "Make the call before aclFinalize or before the device reset.",
    ),
    proven(
        FindingId::L3,
        "device memory freed while a task uses it",
        "A free does not wait. Synchronize the streams that use the memory before you free it.",
    ),
    advice(
        FindingId::L4,
        "memory, stream or event never released",
        "Release objects in the reverse order of their creation.",
    ),
    proven(
        FindingId::C1,
        "stream or event of another context",
        "A stream belongs to the context in which it was created. Set that context in the thread that uses it.",
    ),
    proven(FindingId::C2, "thread without a context", "Call aclrtSetDevice or aclrtSetCurrentContext in every thread."),
    advice(
        FindingId::C3,
        "thread that silently uses the default device",
        "A thread that never set a device uses the default device that the configuration of aclInit names. Call \
         aclrtSetDevice in the thread, so that the choice is explicit.",
    ),
    advice(
        FindingId::K1,
        "declared kind differs from the memory",
        "Declare the actual direction of the copy, or ACL_MEMCPY_DEFAULT.",
    ),
    advice(
        FindingId::P1,
        "asynchronous copy that blocked",
        "Pageable memory makes an asynchronous copy wait for its stream. Allocate with aclrtMallocHost, or register \
         the memory.",
    ),
    proven(
        FindingId::B1,
        "batch too large or refused",
        "The blocking call takes at most 4096 entries; the message names the violated rule.",
    ),
    proven(
        FindingId::B2,
        "chip without batch copies",
        "The call returned 207000 and copied nothing. Copy entry by entry on chips without batch copies.",
    ),
    advice(
        FindingId::B3,
        "failIndex without information",
        "Set failIndex to SIZE_MAX before the call; it is an index only if the call wrote one.",
    ),
    proven(
        FindingId::B4,
        "overlapping entries in one batch",
        "The entries of a batch are unordered. Put entries that access the same bytes into separate batches.",
    ),
    advice(
        FindingId::B5,
        "destMaxs equal to sizes in every entry",
        "Pass the bytes that are left at each destination, so that the only bounds check can fail.",
    ),
    advice(
        FindingId::A1,
        "address not aligned as documented",
        "Align the address as the message states; other versions and chips refuse it.",
    ),
    advice(
        FindingId::A2,
        "peer access in one direction only",
        "Call aclrtDeviceEnablePeerAccess on both devices; some drivers require both directions.",
    ),
    proven(
        FindingId::M1,
        "range outside its allocation",
        "The message states by how many bytes, and which allocation.",
    ),
    advice(
        FindingId::M2,
        "capacity argument that cannot protect",
        "Pass the bytes that are left in the allocation at the destination, so that the check can fail.",
    ),
    proven(
        FindingId::U1,
        "device bytes read that were never written",
        "Fresh device memory is uninitialized. Write it, or clear it with aclrtMemset, before you read it.",
    ),
    proven(
        FindingId::O1,
        "error ignored or never observed",
        "Check the return code of every call, and synchronize: waits return asynchronous errors.",
    ),
    advice(FindingId::D1, "deprecated call", "Use the replacement that the message names."),
    proven(FindingId::R1, "limit of the chip reached", "The message states the limit and its use."),
    proven(
        FindingId::W1,
        "wait that nothing can satisfy",
        "Every thread of the program waits, and nothing can end the waits. Make the record, write or call that the \
         chain of waits ends with.",
    ),
    advice(
        FindingId::W2,
        "process that the others wait for",
        "Several processes were stopped while they waited for each other. Find out why the named process did not \
         continue.",
    ),
    proven(
        FindingId::I1,
        "shared memory or event ended while another process uses it",
        "Let the other process close what it has opened, and wait for its word, before you free or destroy it.",
    ),
];

const fn proven(id: FindingId, title: &'static str, help: &'static str) -> FindingKind {
    FindingKind { id, title, help, severity: Severity::Proven }
}

const fn advice(id: FindingId, title: &'static str, help: &'static str) -> FindingKind {
    FindingKind { id, title, help, severity: Severity::Advice }
}

/// Returns the kind with this id, ignoring case.
pub fn rule(id: &str) -> Option<&'static FindingKind> {
    RULES.iter().find(|kind| kind.id.to_string().eq_ignore_ascii_case(id))
}

/// Title of an id. An unknown id, from another version, gets a generic one.
pub fn title(id: &str) -> &'static str {
    rule(id).map_or("finding", |kind| kind.title)
}

/// All ids, separated by commas, for messages.
pub fn ids() -> String {
    RULES.iter().map(|kind| kind.id.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_match_the_documented_ids() {
        let mut expected: Vec<String> = Vec::new();
        for (letter, count) in [
            ("H", 3),
            ("S", 3),
            ("L", 4),
            ("C", 3),
            ("K", 1),
            ("P", 1),
            ("B", 5),
            ("A", 2),
            ("M", 2),
            ("U", 1),
            ("O", 1),
            ("D", 1),
            ("R", 1),
            ("W", 2),
            ("I", 1),
        ] {
            expected.extend((1..=count).map(|index| format!("{letter}{index}")));
        }
        assert_eq!(ids(), expected.join(", "));
        assert!(RULES.iter().all(|kind| !kind.title.is_empty() && kind.help.ends_with('.')));
        assert_eq!(rule("h1").map(|kind| kind.id), Some(FindingId::H1));
    }
}
