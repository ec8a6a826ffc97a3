//! The trace of this process: recorded if SOFTACL_TRACE names a file, written when the process ends.
//!
//! Recording and file format are in `softacl_tracer`; this module decides when and where the trace is written.

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
    // An empty file marks the process as traced. If it stays empty, the process ended abnormally. The path is absolute,
    // because the program may change its directory.
    let path = std::path::absolute(name.replace("%p", &std::process::id().to_string()));
    match path.and_then(|path| File::create(&path).map(|_| path)) {
        Ok(path) => Ok(Some(Arc::clone(&TRACE.get_or_init(|| (Arc::new(Tracer::new(limit)), path)).0))),
        Err(error) => {
            warn(format_args!("SOFTACL_TRACE: {name} cannot be written, so there will be no trace: {error}"));
            Ok(None)
        }
    }
}

/// The tracer that the environment enabled.
pub(crate) fn active() -> Option<Arc<Tracer>> {
    TRACE.get().map(|(tracer, _)| Arc::clone(tracer))
}

fn write(tracer: &Tracer, path: &Path) -> io::Result<()> {
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
    match std::panic::catch_unwind(|| write(tracer, path)) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => warn(format_args!("the trace {} could not be written: {error}", path.display())),
        Err(_) => warn(format_args!("the trace could not be written; this is a defect of softacl")),
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
