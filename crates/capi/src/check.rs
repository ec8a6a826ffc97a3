//! The checker of this process: installed if SOFTACL_CHECK is set, reported when the process ends.
//!
//! With SOFTACL_CHECK_DIR the report goes there as `PID.json`, for `softacl check` to read. Without
//! it the report is printed, and a process with proven findings ends with code 2.

use crate::{config, crash_report};
use softacl_checker::finding::Report;
use softacl_checker::report::{Outcome, text};
use softacl_checker::{Checker, RunInfo};
use softacl_engine::Schedule;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static CHECKER: OnceLock<Arc<Checker>> = OnceLock::new();
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

const INTERRUPTED: &str = "a signal handler has ended the process in the middle of a call, before anything was proven; \
                           there is no report";

/// Exit code of a process with proven findings.
const PROVEN: i32 = 2;

/// Creates the checker if the environment enables it.
pub(crate) fn install() -> Option<Arc<Checker>> {
    let checker = config::is_checker_enabled().then(|| Arc::clone(CHECKER.get_or_init(Arc::default)))?;
    // An empty file marks the process as checked. If it stays empty, the process ended abnormally.
    if let Some(directory) = config::check_directory()
        && let Err(error) = std::fs::write(directory.join(format!("{}.json", std::process::id())), "")
    {
        eprintln!("softacl: {} cannot be written, so there will be no report: {error}", directory.display());
    }
    softacl_checker::interposer::attach(on_syscall_buffer, on_wait_object, on_handler_installed, crash_report::flush);
    checker.on_first_proven(crash_report::arm);
    Some(checker)
}

/// Called by the interposer before a system call accesses memory.
unsafe extern "C" fn on_syscall_buffer(start: *const c_void, size: usize, is_write: c_int, function: *const c_char) {
    let Some(checker) = checker() else { return };
    // SAFETY: the function names are constants of the interposer, which is never unloaded.
    let name: &'static CStr = unsafe { CStr::from_ptr(function) };
    checker.syscall_access(start as usize, size, is_write != 0, name.to_str().unwrap_or("system call"));
}

/// Called by the interposer before a thread uses an object on which threads wait.
unsafe extern "C" fn on_wait_object(start: *const c_void, size: usize) {
    // A forked process may have inherited a locked mutex of the checker.
    if let Some(checker) = checker().filter(|_| !crate::process::is_forked()) {
        checker.wait_object_used(start as usize, size);
    }
}

/// Called by the interposer after the program installed a handler for faults.
extern "C" fn on_handler_installed() {
    // A forked process has nothing in flight.
    if !crate::process::is_forked() {
        softacl_memory::segv::reinstall_handlers();
    }
}

pub(crate) fn checker() -> Option<&'static Checker> {
    CHECKER.get().map(Arc::as_ref)
}

/// Returns the findings so far.
pub(crate) fn report() -> Option<Report> {
    report_on(false)
}

/// Builds the report. In a process that is being terminated, leaks and unobserved errors are omitted.
fn report_on(is_abnormal_exit: bool) -> Option<Report> {
    let checker = checker()?;
    let machine = crate::process::machine().ok()?;
    let config = machine.config();
    Some(checker.report(RunInfo {
        soc: config.profile.soc.clone(),
        schedule: config.schedule.to_string(),
        seed: match config.schedule {
            Schedule::Random(seed) => Some(seed),
            _ => None,
        },
        faults: crate::faults::summary(),
        unobserved: machine.unobserved_failures().iter().map(ToString::to_string).collect(),
        is_abnormal_exit,
    }))
}

/// Returns `true` if the report was written.
pub(crate) fn is_reported() -> bool {
    IS_REPORTED.load(Ordering::Relaxed)
}

/// Writes the report, once. Returns `true` if anything was proven and printed.
pub(crate) fn report_once() -> bool {
    write_report(false)
}

/// Writes the report of a process that ends abnormally. Returns `true` if anything was proven and printed.
pub(crate) fn report_abnormal_exit() -> bool {
    // A panic cannot be reported any more.
    std::panic::catch_unwind(|| write_report(true)).unwrap_or(false)
}

fn write_report(is_abnormal_exit: bool) -> bool {
    if IS_REPORTED.swap(true, Ordering::Relaxed) {
        return false;
    }
    let Some(report) = report_on(is_abnormal_exit) else { return false };
    match config::check_directory() {
        Some(directory) => {
            if let Err(error) = write(&report, directory) {
                eprintln!("softacl: the checker report could not be written: {error}");
            }
            false
        }
        None => {
            let is_proven = report.is_proven();
            let mut stderr = std::io::stderr().lock();
            let color = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
            // Ignores write errors: stderr may be closed at exit.
            let _ = stderr
                .write_all(text::render(&Outcome::of(report), text::Options { color, verbose: false }).as_bytes());
            is_proven
        }
    }
}

fn write(report: &Report, directory: PathBuf) -> std::io::Result<()> {
    // Written under another name and renamed, because a reader may open the file at any time.
    let name = format!("{}.json", report.pid);
    let part = directory.join(format!("{name}.part"));
    std::fs::write(&part, serde_json::to_vec(report)?)?;
    std::fs::rename(part, directory.join(name))
}

/// Runs when the process ends, after the exit handlers and destructors of the program.
extern "C" fn at_exit() {
    // A forked process that made no call has no report.
    if crate::process::is_forked() {
        return;
    }
    if checker().is_some_and(Checker::is_lock_abandoned) {
        // The report thread, which exists if something is proven, can still allocate memory.
        crash_report::flush();
        match crash_report::outcome() {
            Some(is_proven) => end(is_proven),
            // Ignores write errors: stderr may be closed at exit.
            None => drop(writeln!(std::io::stderr(), "softacl: {INTERRUPTED}")),
        }
        return;
    }
    if config::check_directory().is_none() || checker().is_none() {
        // A panic cannot be reported any more.
        let _ = std::panic::catch_unwind(crate::faults::print_summary);
    }
    if checker().is_none() {
        return;
    }
    end(std::panic::catch_unwind(report_once).unwrap_or(false));
}

/// Ends the process with `PROVEN` if something was proven.
fn end(is_proven: bool) {
    if is_proven {
        // SAFETY: flushes the output of the program, then ends the process as exit would do next.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(PROVEN);
        }
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
