//! Programs in C that find the library at run time, built for a test.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Builds `tests/NAME.c`.
pub fn program(name: &str) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().expect("a directory");
    let program = place.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(format!("{name}.c"));
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = Command::new(&compiler)
        .args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .args([&program, &source])
        .arg("-ldl")
        .status();
    assert!(built.is_ok_and(|status| status.success()), "{compiler} could not make the program");
    (place, program)
}
