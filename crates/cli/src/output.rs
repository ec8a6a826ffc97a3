//! Standard output and files of reports: what cannot be written is an error that is told, not a panic.

use anyhow::{Context, Result};
use std::fmt::Display;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tempfile::TempDir;

/// Prints text as it is.
pub fn print(text: impl Display) -> Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "{text}").and_then(|()| out.flush()).context("could not write to standard output")
}

/// Tells something beside the output. Nobody may be left to read it; the exit code still tells.
pub fn eprint_line(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Opens a file for a report; `-` is standard output. To be done before a program runs: a wrong name must not cost
/// the run.
pub fn open(path: &Path) -> Result<File> {
    let file = match path == Path::new("-") {
        true => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        false => File::create(path),
    };
    file.with_context(|| format!("could not write {}", path.display()))
}

/// A directory for what the processes of a program leave. It goes when it is dropped.
pub fn directory(prefix: &str) -> Result<TempDir> {
    // What a program does is nobody else's business.
    let private = Permissions::from_mode(0o700);
    let builder = &mut tempfile::Builder::new();
    builder.prefix(prefix).permissions(private).tempdir().context("could not make a temporary directory")
}
