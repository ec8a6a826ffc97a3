//! Standard output and report files. Write failures are errors, not panics.

use anyhow::{Context, Result};
use serde::Serialize;
use std::ffi::CString;
use std::fmt::Display;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
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

/// True if a path of a report means stdout.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Prints a value as JSON to a file; `-` is stdout.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    match is_stdout(path) {
        true => print(text),
        false => fs::write(path, text).with_context(|| format!("could not write {}", path.display())),
    }
}

/// Opens a file for appending.
pub fn append(path: &Path) -> Result<File> {
    let file = File::options().append(true).create(true).open(path);
    file.with_context(|| format!("could not write {}", path.display()))
}

/// Standard error as a file, for the output of a program.
pub fn stderr() -> Result<File> {
    io::stderr().as_fd().try_clone_to_owned().map(File::from).context("could not duplicate standard error")
}

/// Opens a report file; `-` is stdout. Callers open reports before they run the program, so that a wrong path does not
/// waste the run.
pub fn open(path: &Path) -> Result<File> {
    let file = match is_stdout(path) {
        true => io::stdout().as_fd().try_clone_to_owned().map(File::from),
        false => File::create(path),
    };
    file.with_context(|| format!("could not write {}", path.display()))
}

/// Creates a temporary directory for the reports of a program's processes. Dropping it removes the directory.
pub fn directory(prefix: &str) -> Result<TempDir> {
    directory_in(&std::env::temp_dir(), prefix)
}

/// Creates such a directory in a directory other than that of temporary files.
pub fn directory_in(parent: &Path, prefix: &str) -> Result<TempDir> {
    // Reports are private to the user.
    let private = Permissions::from_mode(0o700);
    let builder = &mut tempfile::Builder::new();
    builder.prefix(prefix).permissions(private).tempdir_in(parent).context("could not create a temporary directory")
}

/// Returns the free bytes of the file system that contains a path. `None` if the path does not exist.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut status = MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path is a C string, and the call fills the structure; zeroes are valid for it.
    let (result, status) = unsafe { (libc::statvfs(path.as_ptr(), status.as_mut_ptr()), status.assume_init()) };
    (result == 0).then(|| status.f_bavail * status.f_frsize)
}
