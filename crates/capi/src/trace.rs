//! The trace of this process: recorded if SOFTACL_TRACE names a file.
//!
//! A file whose name ends in `.log` is the log itself, from which `softacl trace` makes the trace; it is complete at
//! any time. Any other file gets the trace when the process ends. Recording and formats are in `softacl_tracer`; this
//! module decides when and where they are written.

use crate::{config, machine_cell};
use softacl_tracer::Tracer;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
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

/// Creates the file. One that stays empty belongs to a process that ended abnormally.
fn open(limit: u64, path: &Path) -> io::Result<Tracer> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    let tracer = if is_log(path) { Tracer::with_file(limit, file) } else { Tracer::new(limit) }?;
    Ok(if config::is_timed() { tracer.with_clock(virtual_ns) } else { tracer })
}

/// The time of the virtual clock, on the calling thread.
fn virtual_ns() -> u64 {
    machine_cell::fast().and_then(softacl_engine::Machine::virtual_ns).unwrap_or(0)
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
    file.flush()
}

/// Prints a warning. Ignores write errors: stderr may be closed at exit.
fn warn(what: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "softacl: {what}");
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
