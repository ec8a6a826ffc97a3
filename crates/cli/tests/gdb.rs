//! `softacl check --gdb` with the real gdb. Skipped if gdb is not installed; with `SOFTACL_GDB=required`, a missing gdb is
//! a failure.

mod built;

use built::program;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Types commands at the prompt of gdb. Returns the exit code and the whole output, or `None` without gdb.
fn debug(arguments: &[&str], program: &std::path::Path, mode: &str, typed: &str) -> Option<(Option<i32>, String)> {
    if Command::new("gdb").arg("--version").output().is_err() {
        let is_required = std::env::var_os("SOFTACL_GDB").is_some_and(|value| value == "required");
        assert!(!is_required, "SOFTACL_GDB=required, but gdb is not installed (apt-get install gdb)");
        eprintln!("skipped: gdb is not installed (apt-get install gdb)");
        return None;
    }
    // A hang is a failure, not an endless test.
    let mut child = Command::new("timeout")
        .args(["120", env!("CARGO_BIN_EXE_softacl"), "check", "--gdb"])
        .args(arguments)
        .arg("--")
        .arg(program)
        .arg(mode)
        .env("DEBUGINFOD_URLS", "")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().unwrap().write_all(typed.as_bytes()).expect("gdb reads");
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.code(), String::from_utf8_lossy(&text).into_owned()))
}

#[test]
fn findings_are_reported_and_gdb_stops_only_at_breakpoints() {
    let (_directory, program) = program("crash_report");
    let Some((code, text)) = debug(&[], &program, "return", "break main\nrun\nprint argc\ncontinue\nquit\n") else {
        return;
    };
    assert!(text.contains("Breakpoint 1, main") && text.contains("$1 = 2"), "{text}");
    assert!(!text.contains("received signal"), "gdb stops at no signal: {text}");
    assert!(text.contains("PROVEN H1") && text.contains("crash_report.c:"), "{text}");
    assert_eq!(code, Some(2), "{text}");
}

#[test]
fn exit_code_is_that_of_the_findings() {
    let (_directory, program) = program("crash_report");
    let Some((code, text)) = debug(&["--error-exitcode", "99"], &program, "nothing proven", "run\nquit\n") else {
        return;
    };
    assert_eq!(code, Some(99), "{text}");
    assert!(text.contains("; the program exited with 3"), "{text}");
}
