//! The checker of this process: installed when SOFTACL_CHECK asks for it, heard at the end.
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

/// The code with which a process ends that has proven findings.
const PROVEN: i32 = 2;

/// Makes the checker, if the environment asks for one.
pub(crate) fn install() -> Option<Arc<Checker>> {
    let checker = config::is_checker_enabled().then(|| Arc::clone(CHECKER.get_or_init(Arc::default)))?;
    // An empty file says that this process is checked: if it stays empty, the process has ended badly.
    if let Some(directory) = config::check_directory()
        && let Err(error) = std::fs::write(directory.join(format!("{}.json", std::process::id())), "")
    {
        eprintln!("softacl: {} cannot be written, so there will be no report: {error}", directory.display());
    }
    softacl_checker::interposer::attach(on_syscall_buffer, on_wait_object, on_handler_installed, crash_report::flush);
    checker.on_first_proven(crash_report::arm);
    Some(checker)
}

/// The interposer: memory is about to be given to the system.
unsafe extern "C" fn on_syscall_buffer(start: *const c_void, size: usize, is_write: c_int, function: *const c_char) {
    let Some(checker) = checker() else { return };
    // SAFETY: the names of the functions are constants of the interposer, which is never unloaded.
    let name: &'static CStr = unsafe { CStr::from_ptr(function) };
    checker.syscall_access(start as usize, size, is_write != 0, name.to_str().unwrap_or("system call"));
}

/// The interposer: a thread is about to use an object on which threads wait.
unsafe extern "C" fn on_wait_object(start: *const c_void, size: usize) {
    // A process that was forked may have inherited a lock of ours that is held.
    if let Some(checker) = checker().filter(|_| !crate::process::is_forked()) {
        checker.wait_object_used(start as usize, size);
    }
}

/// The interposer: the program has installed a handler for faults.
extern "C" fn on_handler_installed() {
    // A process that was forked has nothing in flight.
    if !crate::process::is_forked() {
        softacl_engine::segv::reinstall_handlers();
    }
}

pub(crate) fn checker() -> Option<&'static Checker> {
    CHECKER.get().map(Arc::as_ref)
}

/// What was found so far.
pub(crate) fn report() -> Option<Report> {
    report_on(false)
}

/// The same; of a process that is cut short not all was to be expected.
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
        faults: crate::faults::account(),
        unobserved: machine.unobserved_failures().iter().map(ToString::to_string).collect(),
        is_abnormal_exit,
    }))
}

/// Whether everything was told.
pub(crate) fn is_reported() -> bool {
    IS_REPORTED.load(Ordering::Relaxed)
}

/// Tells what was found, once. Returns whether anything was proven.
pub(crate) fn report_once() -> bool {
    write_report(false)
}

/// The same in a process that ends in the middle of its work.
pub(crate) fn report_abnormal_exit() -> bool {
    // Nobody is left to tell should this fail.
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
                eprintln!("softacl: the report of the checker could not be written: {error}");
            }
            false
        }
        None => {
            let is_proven = report.is_proven();
            let mut stderr = std::io::stderr().lock();
            let colour = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
            // There is nobody left to tell that standard error is gone.
            let _ = stderr
                .write_all(text::render(&Outcome::of(report), text::Options { color: colour, verbose: false }).as_bytes());
            is_proven
        }
    }
}

fn write(report: &Report, directory: PathBuf) -> std::io::Result<()> {
    // Whole or not at all: the reader may look at any time.
    let name = format!("{}.json", report.pid);
    let part = directory.join(format!("{name}.part"));
    std::fs::write(&part, serde_json::to_vec(report)?)?;
    std::fs::rename(part, directory.join(name))
}

/// Runs when the process ends, after the program's own exit handlers and destructors.
extern "C" fn at_exit() {
    // A process that was forked and has not called us has nothing to tell.
    if crate::process::is_forked() {
        return;
    }
    if checker().is_some_and(Checker::is_lock_abandoned) {
        // Another thread can allocate memory, if something is proven and there is one.
        crash_report::flush();
        match crash_report::outcome() {
            Some(is_proven) => end(is_proven),
            // There is nobody left to tell that standard error is gone.
            None => drop(writeln!(std::io::stderr(), "softacl: {INTERRUPTED}")),
        }
        return;
    }
    if config::check_directory().is_none() || checker().is_none() {
        // Nobody is left to tell should this fail.
        let _ = std::panic::catch_unwind(crate::faults::print_summary);
    }
    if checker().is_none() {
        return;
    }
    end(std::panic::catch_unwind(report_once).unwrap_or(false));
}

/// The process ends with a code of its own if something is proven that nobody else will tell.
fn end(is_proven: bool) {
    if is_proven {
        // SAFETY: flushes what the program has printed, then ends the process as exit would do next.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(PROVEN);
        }
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
