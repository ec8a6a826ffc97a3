//! The checker of this process: installed if SOFTACL_CHECK is set, reported when the process ends.
//!
//! With SOFTACL_CHECK_DIR the report goes there as `PID.json`, for `softacl check` to read. Without
//! it the report is printed, and a process with proven findings ends with code 2.

use crate::{config, crash_report, faults, machine_cell};
use softacl_checker::finding::Report;
use softacl_checker::report::{Outcome, text};
use softacl_checker::{Checker, RunInfo};
use softacl_engine::{Config, Machine, Schedule};
use softacl_memory::without_size_signal;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

static INSTALLED: OnceLock<Installed> = OnceLock::new();

const INTERRUPTED: &str = "a signal handler has ended the process in the middle of a call, before anything was proven; \
                           there is no report";

/// Exit code of a process with proven findings.
const PROVEN: i32 = 2;

/// The checker and the run that it observes.
struct Installed {
    checker: Arc<Checker>,
    /// What the configuration determines. The rest is added to the report.
    run: RunInfo,
}

impl Installed {
    fn new(config: &Config) -> Installed {
        let seed = match config.schedule {
            Schedule::Random(seed) => Some(seed),
            _ => None,
        };
        let soc = config.profile.soc.clone();
        let run = RunInfo { soc, schedule: config.schedule.to_string(), seed, ..RunInfo::default() };
        Installed { checker: Arc::default(), run }
    }
}

/// Creates the checker of a machine with this configuration, if the environment enables it.
pub(crate) fn install(config: &Config) -> Option<Arc<Checker>> {
    let installed = config::is_checker_enabled().then(|| INSTALLED.get_or_init(|| Installed::new(config)))?;
    let checker = Arc::clone(&installed.checker);
    // An empty file marks the process as checked. If it stays empty, the process ended abnormally.
    if let Some(directory) = config::check_directory()
        && let Err(error) =
            without_size_signal(|| std::fs::write(directory.join(format!("{}.json", std::process::id())), ""))
    {
        warn(format_args!("{} cannot be written, so there will be no report: {error}", directory.display()));
    }
    softacl_checker::interposer::attach(on_syscall_buffer, on_wait_object, on_handler_installed, crash_report::flush);
    checker.on_first_proven(|| crash_report::arm(report_abnormal_exit));
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
    if let Some(checker) = checker().filter(|_| !machine_cell::is_forked()) {
        checker.wait_object_used(start as usize, size);
    }
}

/// Called by the interposer after the program installed a handler for faults.
extern "C" fn on_handler_installed() {
    // A forked process has nothing in flight.
    if !machine_cell::is_forked() {
        softacl_memory::segv::reinstall_handlers();
    }
}

pub(crate) fn checker() -> Option<&'static Checker> {
    INSTALLED.get().map(|installed| installed.checker.as_ref())
}

/// Returns the findings so far.
pub(crate) fn report() -> Option<Report> {
    report_on(false)
}

/// Builds the report. In a process that is being terminated, leaks and unobserved errors are omitted.
fn report_on(is_abnormal_exit: bool) -> Option<Report> {
    let Installed { checker, run } = INSTALLED.get()?;
    // No task has failed on a machine that is being created.
    let unobserved = machine_cell::get().transpose().ok()?.map(Machine::unobserved_failures).unwrap_or_default();
    Some(checker.report(RunInfo {
        faults: faults::summary(),
        unobserved: unobserved.iter().map(ToString::to_string).collect(),
        is_abnormal_exit,
        ..run.clone()
    }))
}

/// Writes the report, once. Returns `true` if anything was proven and printed.
pub(crate) fn report_once() -> bool {
    write_report(false)
}

/// Writes the report of a process that ends abnormally. Returns `true` if anything was proven and printed.
fn report_abnormal_exit() -> bool {
    // A panic cannot be reported any more.
    std::panic::catch_unwind(|| write_report(true)).unwrap_or(false)
}

fn write_report(is_abnormal_exit: bool) -> bool {
    if !crash_report::claim() {
        return false;
    }
    let Some(report) = report_on(is_abnormal_exit) else { return false };
    match config::check_directory() {
        Some(directory) => {
            if let Err(error) = write(&report, directory) {
                warn(format_args!("the checker report could not be written: {error}"));
            }
            false
        }
        None => {
            let is_proven = report.is_proven();
            let mut stderr = std::io::stderr().lock();
            let color = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let text = text::render(&Outcome::of(report), text::Options { color, verbose: false });
            // Ignores write errors: stderr may be closed at exit, or a file that may not grow.
            let _ = without_size_signal(|| stderr.write_all(text.as_bytes()));
            is_proven
        }
    }
}

/// Prints a warning. Ignores write errors: stderr may be closed at exit, or a file that may not grow.
fn warn(what: std::fmt::Arguments<'_>) {
    let _ = without_size_signal(|| writeln!(std::io::stderr(), "softacl: {what}"));
}

fn write(report: &Report, directory: PathBuf) -> std::io::Result<()> {
    // Written under another name and renamed, because a reader may open the file at any time.
    let name = format!("{}.json", report.pid);
    let part = directory.join(format!("{name}.part"));
    let image = serde_json::to_vec(report)?;
    without_size_signal(|| std::fs::write(&part, image))?;
    std::fs::rename(part, directory.join(name))
}

/// Runs when the process ends, after the exit handlers and destructors of the program.
extern "C" fn at_exit() {
    // A forked process that made no call has no report.
    if machine_cell::is_forked() {
        return;
    }
    if checker().is_some_and(Checker::is_lock_abandoned) {
        // The report thread, which exists if something is proven, can still allocate memory.
        crash_report::flush();
        match crash_report::outcome() {
            Some(is_proven) => end(is_proven),
            None => warn(format_args!("{INTERRUPTED}")),
        }
        return;
    }
    if config::check_directory().is_none() || checker().is_none() {
        // A panic cannot be reported any more.
        let _ = std::panic::catch_unwind(faults::print_summary);
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
