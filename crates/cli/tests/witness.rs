//! The witness, in a program that listens to it as the checker does.

mod built;

use built::program;
use std::process::{Command, Stdio};

#[test]
fn calls_that_reach_the_system_are_told_before_they_happen() {
    let (_place, program) = program("witness");
    let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
        .args(["check", "--"])
        .arg(&program)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn signals_handlers_and_masks_of_the_program_come_between_no_touch() {
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
