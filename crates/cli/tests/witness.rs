//! The witness, in a program that listens to it as the checker does.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn calls_that_reach_the_system_are_told_before_they_happen() {
    let place = tempfile::tempdir().expect("a directory");
    let program = place.path().join("listener");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness.c");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = Command::new(&compiler)
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .args([&program, &source])
        .arg("-ldl")
        .status();
    assert!(built.is_ok_and(|status| status.success()), "{compiler} could not make the program");
    let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
        .args(["check", "--"])
        .arg(&program)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
