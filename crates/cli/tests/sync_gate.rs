//! Regions without hidden waits, in a C program, with and without an observer.

mod built;

use built::program;
use std::process::{Command, Stdio};

#[test]
fn region_reports_waits_with_and_without_an_observer() {
    let (directory, program) = program("sync_gate");
    let trace = directory.path().join("trace.json");
    let trace = trace.to_str().unwrap();
    for command in [&["run"][..], &["run", "--schedule", "late"], &["check"], &["trace", "-o", trace]] {
        let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
            .args(command)
            .arg("--")
            .arg(&program)
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command:?}: {out}{err}");
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[..2], ["clean 0", "upload 4"], "{command:?}: {out}");
        assert!(lines[2].starts_with("upload: aclrtMemcpyAsync at "), "{out}");
        assert!(lines[2].contains("runtime.h:") && lines[2].contains("pageable"), "{out}");
        assert!(lines[2].ends_with("(3 times)"), "{out}");
        assert!(lines[3].starts_with("upload: aclrtMemset at ") && lines[3].contains("sync_gate.c:"), "{out}");
        assert_eq!(lines[4], format!("outside {}", usize::MAX), "{out}");
    }
}
