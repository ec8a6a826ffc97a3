//! Standard output and report files. Write failures are errors, not panics.

use anyhow::{Context, Result};
use std::fmt::Display;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tempfile::TempDir;

/// Prints text to stdout.
pub fn print(text: impl Display) -> Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "{text}").and_then(|()| out.flush()).context("could not write to standard output")
}

/// Prints a line to stderr and ignores write errors; the exit code carries the result.
pub fn eprint_line(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Opens a report file; `-` is stdout. Callers open reports before they run the program, so that a wrong path does not
/// waste the run.
pub fn open(path: &Path) -> Result<File> {
    let file = match path == Path::new("-") {
        true => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        false => File::create(path),
    };
    file.with_context(|| format!("could not write {}", path.display()))
}

/// Creates a temporary directory for the reports of a program's processes. Dropping it removes the directory.
pub fn directory(prefix: &str) -> Result<TempDir> {
    // Reports are private to the user.
    let private = Permissions::from_mode(0o700);
    let builder = &mut tempfile::Builder::new();
    builder.prefix(prefix).permissions(private).tempdir().context("could not create a temporary directory")
}
