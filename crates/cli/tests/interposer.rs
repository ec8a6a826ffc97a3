//! The interposer, in a program that listens to it as the checker does.

mod built;

use built::program;
use std::process::{Command, Stdio};

#[test]
fn interposer_reports_system_calls_before_they_run() {
    let (_place, program) = program("interposer");
    let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
        .args(["check", "--"])
        .arg(&program)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn program_signals_do_not_disturb_single_stepping() {
    let (_place, program) = program("signals");
    for (what, code) in [("timer", 0), ("deaf", 0), ("late handler", 55)] {
        for schedule in ["early", "late"] {
            let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
                .args(["check", "--schedule", schedule, "--"])
                .arg(&program)
                .arg(what)
                .stdin(Stdio::null())
                .output()
                .expect("the program starts");
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{what} {schedule}: {told}");
            assert!(told.contains("0 proven"), "{what} {schedule}: {told}");
        }
    }
}
