//! Example report for the tests of the renderers.

use crate::finding::{
    Actor, Backtrace, Bytes, Finding, Frame, Mode, Participant, ProcessAccesses, Report, ReportedOperation, Severity,
};
use crate::unjudged::{Subject, Unjudged};

/// An entry about operations that were not judged.
pub fn unjudged() -> Unjudged {
    let reason = "the memory is not watched".to_owned();
    Unjudged { findings: vec!["H1".into(), "H3".into()], what: Subject::Copy, count: 3, reason }
}

/// A report with one H1 (count 3) and one P1 (count 12).
pub fn report() -> Report {
    let copy = operation(
        7,
        "copy of 4096 bytes from pinned host memory to device 0",
        Some("aclrtMemcpyAsync"),
        Actor::Stream { stream: 2, sequence: 5 },
        &[("upload", 42), ("step", 90), ("main", 120)],
        (100.0, Some(900.0), Some(930.0), Some(940.0)),
        vec![
            bytes(
                0x7f00_0000,
                4096,
                Mode::Read,
                "bytes 0 to 4095 of the 8192 bytes of pinned host memory at 0x7f000000",
            ),
            bytes(0x12_0000_0000, 4096, Mode::Write, "bytes 0 to 4095 of the 4096 bytes of memory of device 0"),
        ],
    );
    let write = operation(
        9,
        "write by the program",
        None,
        Actor::Thread { thread: 1 },
        &[("fill<int>", 51), ("main", 121)],
        (400.0, None, None, None),
        vec![bytes(0x7f00_000c, 1024, Mode::Write, "bytes 12 to 1035 of the 8192 bytes of pinned host memory")],
    );
    let pageable = operation(
        3,
        "copy of 64 bytes from pageable host memory to device 0",
        Some("aclrtMemcpyAsync"),
        Actor::Stream { stream: 1, sequence: 1 },
        &[("offload", 60)],
        (20.0, Some(21.0), Some(60.0), Some(60.0)),
        Vec::new(),
    );
    let wait = operation(
        12,
        "wait for stream 2",
        Some("aclrtSynchronizeStream"),
        Actor::Thread { thread: 1 },
        &[("main", 130)],
        (880.0, Some(880.0), Some(940.0), None),
        Vec::new(),
    );
    Report {
        program: vec!["./app".into(), "--name=two words".into()],
        pid: 1234,
        version: "0.1.0".into(),
        soc: "Ascend910B3".into(),
        schedule: "late".into(),
        seed: None,
        faults: vec![],
        findings: vec![
            Finding {
                id: "H1".into(),
                severity: Severity::Proven,
                message:
                    "1024 of 4096 bytes of the source changed after the copy was submitted, the first at offset 12"
                        .into(),
                fix: "call aclrtSynchronizeStream for stream 2 before the write".into(),
                count: 3,
                operations: vec![participant("the copy", &copy), participant("the write", &write)],
                fingerprint: "H1 app.c:42 app.c:51".into(),
            },
            Finding {
                id: "P1".into(),
                severity: Severity::Advice,
                message: "the copy blocked for 39 us, because its source is pageable".into(),
                fix: "allocate the buffer with aclrtMallocHost".into(),
                count: 12,
                operations: vec![participant("the copy", &pageable)],
                fingerprint: "P1 app.c:60".into(),
            },
        ],
        suppressed: 0,
        notes: Vec::new(),
        unjudged: Vec::new(),
        waits: None,
        shared: ProcessAccesses::default(),
        timeline: vec![pageable, copy, write, wait],
    }
}

fn participant(role: &str, operation: &ReportedOperation) -> Participant {
    Participant { role: role.into(), operation: operation.clone() }
}

fn bytes(address: u64, len: u64, mode: Mode, what: &str) -> Bytes {
    Bytes { address, len, mode, what: what.into() }
}

type Times = (f64, Option<f64>, Option<f64>, Option<f64>);

fn operation(
    number: u64,
    what: &str,
    function: Option<&str>,
    actor: Actor,
    frames: &[(&str, u32)],
    (submitted, started, finished, waited): Times,
    ranges: Vec<Bytes>,
) -> ReportedOperation {
    let frame = |(function, line): &(&str, u32)| Frame {
        function: Some((*function).into()),
        file: Some("/no/such/app.c".into()),
        line: Some(*line),
        module: Some("/no/such/app".into()),
        offset: 0x1000,
    };
    ReportedOperation {
        number,
        what: what.into(),
        function: function.map(str::to_owned),
        actor,
        thread: 1,
        ranges,
        place: Backtrace { frames: frames.iter().map(frame).collect() },
        submitted,
        started,
        finished,
        waited,
    }
}
