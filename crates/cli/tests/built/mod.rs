//! Builds the C programs of the tests. They load the library at run time.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Builds `tests/NAME.c` in a temporary directory.
pub fn program(name: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(format!("{name}.c"));
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = Command::new(&compiler)
        .args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .args([&program, &source])
        .arg("-ldl")
        .status();
    assert!(built.is_ok_and(|status| status.success()), "{compiler} could not build the program");
    (directory, program)
}
