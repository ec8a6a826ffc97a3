//! The trace of this process: begun when SOFTACL_TRACE names a file, written when the process ends.
//!
//! What is traced and how it is written is `softacl_tracer`'s; here is when, and where to.

use crate::config;
use softacl_tracer::Tracer;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

static TRACE: OnceLock<(Arc<Tracer>, PathBuf)> = OnceLock::new();

/// Makes the tracer, if the environment asks for one.
pub(crate) fn install() -> Result<Option<Arc<Tracer>>, String> {
    let Some(name) = config::trace_file() else { return Ok(None) };
    let limit = config::trace_limit()?;
    // An empty file says that this process is traced: if it stays empty, the process has ended badly. The program
    // may change its directory before it ends.
    let path = std::path::absolute(name.replace("%p", &std::process::id().to_string()));
    match path.and_then(|path| File::create(&path).map(|_| path)) {
        Ok(path) => Ok(Some(Arc::clone(&TRACE.get_or_init(|| (Arc::new(Tracer::new(limit)), path)).0))),
        Err(error) => {
            warn(format_args!("SOFTACL_TRACE: {name} cannot be written, so there will be no trace: {error}"));
            Ok(None)
        }
    }
}

fn write(tracer: &Tracer, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path)?);
    tracer.write(&mut file)?;
    file.flush()
}

/// Nobody may be left to read it.
fn warn(what: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "softacl: {what}");
}

/// Runs when the process ends, after the program's own exit handlers and destructors.
extern "C" fn at_exit() {
    // A process that was forked and has not called us has nothing to tell.
    let Some((tracer, path)) = TRACE.get().filter(|_| !crate::process::is_forked()) else { return };
    // A limit for the size of files is told as an error then, and does not end the process.
    // SAFETY: changes how a signal is treated; the program has come to its end.
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
