//! The trace of this process: recorded if SOFTACL_TRACE names a file.
//!
//! A file whose name ends in `.log` is the log itself, from which `softacl trace` makes the trace; it is complete at
//! any time. Any other file gets the trace when the process ends, and keeps its old content before that; the
//! log is beside it, and stays there if the process is killed. Recording and formats are in `softacl_tracer`; this
//! module decides when and where they are written.

use crate::{config, machine_cell};
use softacl_memory::without_size_signal;
use softacl_tracer::Tracer;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

static TRACE: OnceLock<(Arc<Tracer>, PathBuf)> = OnceLock::new();

/// Creates the tracer if the environment enables it.
pub(crate) fn install() -> Result<Option<Arc<Tracer>>, String> {
    let Some(name) = config::trace_file() else { return Ok(None) };
    let limit = config::trace_limit()?;
    // The path is absolute, because the program may change its directory.
    let path = std::path::absolute(name.replace("%p", &std::process::id().to_string()));
    match path.and_then(|path| open(limit, &path).map(|tracer| (tracer, path))) {
        Ok((tracer, path)) => Ok(Some(Arc::clone(&TRACE.get_or_init(|| (Arc::new(tracer), path)).0))),
        Err(error) => {
            warn(format_args!("SOFTACL_TRACE: {name} cannot be written, so there will be no trace: {error}"));
            Ok(None)
        }
    }
}

/// Creates the log.
fn open(limit: u64, path: &Path) -> io::Result<Tracer> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(log_path(path))?;
    let tracer = Tracer::with_file(limit, file)?;
    let tracer = if config::is_timed() { tracer.with_clock(virtual_ns) } else { tracer };
    if let Some(duration) = config::trace_duration().map_err(io::Error::other)? {
        tracer.stop_after(duration);
    }
    if config::traces_ranges_only() {
        tracer.pause();
    }
    Ok(tracer)
}

/// The time of the virtual clock, on the calling thread.
fn virtual_ns() -> u64 {
    machine_cell::fast().and_then(softacl_engine::Machine::virtual_ns).unwrap_or(0)
}

/// Returns the path of the log. Processes that write the same trace have a log each.
fn log_path(path: &Path) -> PathBuf {
    if is_log(path) {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.log", std::process::id()));
    name.into()
}

/// Open ranges of all threads, in which a trace of ranges records.
static OPEN_RANGES: AtomicU32 = AtomicU32::new(0);

/// Continues a trace that records only ranges.
pub(crate) fn range_opened() {
    OPEN_RANGES.fetch_add(1, Ordering::SeqCst);
    if let Some(tracer) = active().filter(|_| config::traces_ranges_only()) {
        tracer.resume();
    }
}

/// Pauses such a trace when its last range is closed.
pub(crate) fn range_closed() {
    if OPEN_RANGES.fetch_sub(1, Ordering::SeqCst) == 1
        && let Some(tracer) = active().filter(|_| config::traces_ranges_only())
    {
        tracer.pause();
    }
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "log")
}

/// The tracer that the environment enabled.
pub(crate) fn active() -> Option<Arc<Tracer>> {
    TRACE.get().map(|(tracer, _)| Arc::clone(tracer))
}

/// Ends a log, or writes the trace.
fn finish(tracer: &Tracer, path: &Path) -> io::Result<()> {
    tracer.end();
    if is_log(path) {
        return Ok(());
    }
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path)?);
    tracer.write(&mut file)?;
    file.flush()?;
    // Everything in it is in the trace now.
    fs::remove_file(log_path(path))
}

/// Prints a warning. Ignores write errors: stderr may be closed at exit, or a file that may not grow.
fn warn(what: std::fmt::Arguments<'_>) {
    let _ = without_size_signal(|| writeln!(io::stderr(), "softacl: {what}"));
}

/// Runs when the process ends, after the exit handlers and destructors of the program.
extern "C" fn at_exit() {
    // A forked process that made no call has no trace.
    let Some((tracer, path)) = TRACE.get().filter(|_| !machine_cell::is_forked()) else { return };
    // A file size limit then shows as a write error and does not end the process.
    // SAFETY: changes the action of a signal; the program has ended.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    match std::panic::catch_unwind(|| finish(tracer, path)) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => warn(format_args!("the trace {} could not be written: {error}", path.display())),
        Err(_) => warn(format_args!("the trace could not be written; this is a defect of softacl")),
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
