//! The interposer, in a program that installs its hooks as the checker does.

mod built;

use built::program;
use std::process::{Command, Stdio};

#[test]
fn interposer_reports_system_calls_before_they_run() {
    let (_directory, program) = program("interposer");
    let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
        .args(["check", "--allow-unchecked", "--"])
        .arg(&program)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn program_signals_do_not_disturb_single_stepping() {
    let (_directory, program) = program("signals");
    for (mode, code) in [("timer", 0), ("blocked", 0), ("late handler", 55)] {
        for schedule in ["early", "late"] {
            let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
                .args(["check", "--schedule", schedule, "--"])
                .arg(&program)
                .arg(mode)
                .stdin(Stdio::null())
                .output()
                .expect("the program starts");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{mode} {schedule}: {stderr}");
            assert!(stderr.contains("0 proven"), "{mode} {schedule}: {stderr}");
        }
    }
}
