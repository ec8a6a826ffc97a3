//! The rules: every id there is, with its title. What a rule means at length is in `docs/findings`.

use crate::finding::Severity;

pub struct FindingKind {
    pub id: &'static str,
    /// What went wrong, as the headline of a finding.
    pub title: &'static str,
    /// What it does to a program, and what to do about it.
    pub help: &'static str,
    /// What the rule says by default; a finding carries its own severity.
    pub severity: Severity,
}

/// In the order of the documents.
pub const RULES: &[FindingKind] = &[
    proven(
        "H1",
        "source changed between submit and execution",
        "An asynchronous copy reads its source when it runs, not when it is submitted. Wait for the copy before the buffer is written again, or use another buffer.",
    ),
    proven(
        "H2",
        "host buffer freed or unregistered in flight",
        "A queued copy still uses the host buffer. Wait for the copy before the buffer is given back.",
    ),
    proven(
        "H3",
        "host touched a destination before a wait that covers the copy",
        "The bytes of an asynchronous copy are there after a wait that covers it, not before. Synchronise the stream, or an event recorded behind the copy.",
    ),
    proven(
        "S1",
        "two streams touch the same bytes with no event path between them",
        "Streams run in any order. Record an event behind the first operation and let the other stream wait for it.",
    ),
    proven(
        "S2",
        "synchronous copy overlaps work pending on a stream",
        "A synchronous copy is not ordered with streams. Synchronise the stream first.",
    ),
    advice(
        "S3",
        "two threads submit to one stream in an order that nothing enforces",
        "The order of two submissions is the order of the threads. Order the threads, or use a stream for each.",
    ),
    proven("L1", "stream, event or context destroyed with work pending", "Synchronise before the object is destroyed."),
    proven("L2", "call after finalize or reset", "Make the call before aclFinalize or the reset of the device."),
    proven(
        "L3",
        "device buffer freed or reused while a task still uses it",
        "A free waits for nothing. Synchronise the streams that use the buffer before it is freed.",
    ),
    advice("L4", "memory, stream or event never released", "Release what was made, in the opposite order."),
    proven(
        "C1",
        "stream or event of another context",
        "A stream belongs to the context in which it was made. Set that context in the thread that uses it.",
    ),
    proven("C2", "thread without a context", "Call aclrtSetDevice or aclrtSetCurrentContext in every thread."),
    advice(
        "C3",
        "thread that silently uses the default device",
        "A thread that never set a device uses the default device that the configuration of aclInit names. Call aclrtSetDevice in it, so that the choice is visible.",
    ),
    advice(
        "K1",
        "declared kind differs from where the memory is",
        "Declare the direction that the addresses have, or ACL_MEMCPY_DEFAULT.",
    ),
    advice(
        "P1",
        "asynchronous copy that blocked",
        "Pageable memory makes an asynchronous copy wait for its stream. Allocate with aclrtMallocHost, or register the memory.",
    ),
    proven(
        "B1",
        "batch that is too large or was refused",
        "The blocking call takes at most 4096 entries; the message says which rule was broken.",
    ),
    proven(
        "B2",
        "chip without batch copies",
        "The call returned 207000 and copied nothing. Copy entry by entry on chips without batch copies.",
    ),
    advice(
        "B3",
        "failIndex that says nothing",
        "Set failIndex to SIZE_MAX before the call; it is an index only if the call wrote one.",
    ),
    proven(
        "B4",
        "entries of one batch overlap",
        "The entries of a batch have no order. Put those that touch the same bytes into separate batches.",
    ),
    advice(
        "B5",
        "destMaxs equal to sizes in every entry",
        "Pass the room behind each destination: then the only check of bounds can fire.",
    ),
    advice(
        "A1",
        "alignment that the documentation asks for",
        "Align the address or the size as the message says; other versions and chips refuse it.",
    ),
    proven("M1", "range outside its allocation", "The message says by how many bytes, and of which allocation."),
    advice(
        "M2",
        "capacity argument that can never protect",
        "Pass what is left of the allocation behind the destination: then the check can fire.",
    ),
    proven(
        "U1",
        "device bytes read that were never written",
        "Fresh device memory has no value. Write it, or clear it with aclrtMemset, before it is read.",
    ),
    proven(
        "O1",
        "error ignored or never observed",
        "Check the code of every call, and synchronise: asynchronous errors are told there.",
    ),
    advice("D1", "deprecated call", "Use the replacement that the message names."),
    proven("R1", "limit of the chip reached", "The message says which limit, and how much of it is used."),
];

const fn proven(id: &'static str, title: &'static str, help: &'static str) -> FindingKind {
    FindingKind { id, title, help, severity: Severity::Proven }
}

const fn advice(id: &'static str, title: &'static str, help: &'static str) -> FindingKind {
    FindingKind { id, title, help, severity: Severity::Advice }
}

/// The rule with this id, in capitals or not.
pub fn rule(id: &str) -> Option<&'static FindingKind> {
    RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

/// The headline of an id; of an id that this version does not know, the id has to do.
pub fn title(id: &str) -> &'static str {
    rule(id).map_or("finding", |rule| rule.title)
}

/// All ids, for messages.
pub fn ids() -> String {
    RULES.iter().map(|rule| rule.id).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_of_the_documents_is_there_once() {
        let mut expected: Vec<String> = Vec::new();
        for (letter, count) in [
            ("H", 3),
            ("S", 3),
            ("L", 4),
            ("C", 3),
            ("K", 1),
            ("P", 1),
            ("B", 5),
            ("A", 1),
            ("M", 2),
            ("U", 1),
            ("O", 1),
            ("D", 1),
            ("R", 1),
        ] {
            expected.extend((1..=count).map(|number| format!("{letter}{number}")));
        }
        assert_eq!(ids(), expected.join(", "));
        assert!(RULES.iter().all(|rule| !rule.title.is_empty() && rule.help.ends_with('.')));
        assert_eq!(rule("h1").map(|rule| rule.id), Some("H1"));
    }
}
