//! Proven findings are reported even if the program crashes or exits early.

mod built;

use built::program;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn check(program: &Path, end: &str) -> (Output, Value) {
    let file = program.with_extension("json");
    // A hang is a failure, not an endless test.
    let output = Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_softacl"), "check", "--fail-on", "never", "--json"])
        .arg(&file)
        .arg("--")
        .arg(program)
        .arg(end)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    let json = serde_json::from_slice(&std::fs::read(file).expect("a report")).expect("JSON");
    (output, json)
}

#[test]
fn findings_survive_crashes_signals_and_early_exit() {
    let (_directory, program) = program("crash_report");
    for (end, code) in
        [("abort", 134), ("crash", 139), ("term", 143), ("_exit", 3), ("quick_exit", 3), ("children", 3), ("return", 3)]
    {
        let (output, json) = check(&program, end);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{end}: {stderr}");
        let ids: Vec<&str> =
            json["findings"].as_array().unwrap().iter().filter_map(|found| found["id"].as_str()).collect();
        // Leaks count only if the program ended normally.
        let has_ended = matches!(end, "children" | "return");
        assert_eq!((ids[0], ids.contains(&"L4")), ("H1", has_ended), "{end}: {stderr}");
        assert!(!stderr.contains("left no report") && !stderr.contains("without a report"), "{end}: {stderr}");
    }
}

#[test]
fn exit_from_a_signal_handler_neither_hangs_nor_loses_findings() {
    let (_directory, program) = program("crash_report");
    for _ in 0..10 {
        let (output, json) = check(&program, "interrupted");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), json["findings"][0]["id"].as_str()), (Some(9), Some("H1")), "{stderr}");
    }
}

#[test]
fn early_exit_without_findings_is_noted() {
    let (_directory, program) = program("crash_report");
    let (output, json) = check(&program, "nothing proven");
    assert_eq!((output.status.code(), json["findings"].as_array().map(Vec::len)), (Some(3), Some(0)));
    assert!(json["notes"][0].as_str().is_some_and(|note| note.contains("before anything was proven")), "{json}");
}
