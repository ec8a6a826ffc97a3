//! What commands print: to which stream, in which colors and widths, how much of it, and report files. Write failures are
//! errors, not panics.

use crate::library;
use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Serialize;
use std::ffi::CString;
use std::fmt::Display;
use std::fs::{self, File, Permissions};
use std::io::{self, IsTerminal as _, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

static HAS_COLOR: AtomicBool = AtomicBool::new(false);
static HAS_COLOR_ON_STDERR: AtomicBool = AtomicBool::new(false);
static IS_QUIET: AtomicBool = AtomicBool::new(false);
static IS_VERBOSE: AtomicBool = AtomicBool::new(false);

/// Decides, for all commands, which streams get colors and how much is printed.
pub fn set_up(color: Color, is_quiet: bool, is_verbose: bool) {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let is_plain = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
    HAS_COLOR.store(wants_color(color, io::stdout().is_terminal(), is_plain), Ordering::Relaxed);
    HAS_COLOR_ON_STDERR.store(wants_color(color, io::stderr().is_terminal(), is_plain), Ordering::Relaxed);
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
    IS_VERBOSE.store(is_verbose, Ordering::Relaxed);
}

fn wants_color(color: Color, is_terminal: bool, is_plain: bool) -> bool {
    match color {
        Color::Auto => is_terminal && !is_plain,
        Color::Always => true,
        Color::Never => false,
    }
}

/// True if standard output gets colors.
pub fn has_color() -> bool {
    HAS_COLOR.load(Ordering::Relaxed)
}

pub fn has_color_on_stderr() -> bool {
    HAS_COLOR_ON_STDERR.load(Ordering::Relaxed)
}

/// True if only results and errors are wanted: no progress, summaries, notes or hints.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// True if nothing is to be left out.
pub fn is_verbose() -> bool {
    IS_VERBOSE.load(Ordering::Relaxed)
}

/// True if a status line may be shown while a command works.
pub fn shows_progress() -> bool {
    io::stderr().is_terminal() && !is_quiet()
}

/// Prints text beside the result to stderr, unless only results are wanted.
pub fn eprint_summary(text: impl Display) {
    if !is_quiet() {
        eprint_line(text);
    }
}

fn colored(code: u8, text: &str) -> String {
    if has_color() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

pub fn red(text: &str) -> String {
    colored(31, text)
}

pub fn green(text: &str) -> String {
    colored(32, text)
}

pub fn yellow(text: &str) -> String {
    colored(33, text)
}

/// Returns the width of the terminal behind a file, if it is one.
pub fn width(file: impl AsFd) -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call fills the structure.
    let result = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &mut size) };
    (result == 0 && size.ws_col > 0).then(|| size.ws_col.into())
}

/// Shortens the lines of a table to the width of the terminal.
pub fn fit(table: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return table.to_owned() };
    let fits = |line: &str| line.chars().count() <= width;
    let shortened = |line: &str| line.chars().take(width.saturating_sub(1)).chain(['…']).collect::<String>();
    table.lines().map(|line| if fits(line) { line.to_owned() } else { shortened(line) } + "\n").collect()
}

/// Returns the version with what a bug report needs: commit, target and library.
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let library = library::path().map_or_else(|error| format!("{error:#}"), |path| path.display().to_string());
        format!(
            "{}\ncommit: {}\ntarget: {}\nlibrary: {library}",
            env!("CARGO_PKG_VERSION"),
            env!("SOFTACL_COMMIT"),
            env!("SOFTACL_TARGET")
        )
    });
    &VERSION
}

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

/// A report file that keeps what it contains until there is something to write.
pub struct ReportFile {
    file: Option<File>,
    path: PathBuf,
    /// True if the file did not exist. It is then removed unless something is written.
    is_new: bool,
}

impl ReportFile {
    /// Opens a file; `-` is stdout.
    pub fn open(path: &Path) -> Result<ReportFile> {
        let is_new = !is_stdout(path) && fs::symlink_metadata(path).is_err();
        let file = match is_stdout(path) {
            true => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            false => File::options().write(true).create(true).truncate(false).open(path),
        };
        let file = file.with_context(|| format!("could not write {}", path.display()))?;
        Ok(ReportFile { file: Some(file), path: path.to_owned(), is_new })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_stdout(&self) -> bool {
        is_stdout(&self.path)
    }

    /// Identifies a regular file. `None` for other files, such as a terminal, which accept any number of reports.
    pub fn id(&self) -> Option<(u64, u64)> {
        let status = self.file.as_ref()?.metadata().ok().filter(|status| status.is_file())?;
        Some((status.dev(), status.ino()))
    }

    /// Replaces the contents.
    pub fn write(mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        let mut file = self.file.take().expect("the file is open until it is written");
        // Only a regular file has a length; what a program wrote to stdout before stays.
        let is_regular = !self.is_stdout() && file.metadata().is_ok_and(|status| status.is_file());
        let emptied = if is_regular { file.set_len(0) } else { Ok(()) };
        emptied.and_then(|()| write(&mut file)).with_context(|| format!("could not write {}", self.path.display()))
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        if self.is_new && self.file.is_some() {
            // Nothing is lost if the empty file stays.
            let _ = fs::remove_file(&self.path);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_for_terminals_unless_an_option_decides() {
        for (color, is_terminal, is_plain, wanted) in [
            (Color::Auto, true, false, true),
            (Color::Auto, true, true, false),
            (Color::Auto, false, false, false),
            (Color::Always, false, true, true),
            (Color::Never, true, false, false),
        ] {
            assert_eq!(wants_color(color, is_terminal, is_plain), wanted, "{color:?} {is_terminal} {is_plain}");
        }
    }

    #[test]
    fn lines_of_tables_end_at_the_edge_of_the_terminal() {
        let table = "name    value\nlong name 1234\n";
        assert_eq!(fit(table, None), table);
        assert_eq!(fit(table, Some(13)), "name    value\nlong name 12…\n");
    }
}
