//! The checker of this process: installed if SOFTACL_CHECK is set, reported when the process ends.
//!
//! With SOFTACL_CHECK_DIR the report goes there as `PID.json`, for `softacl check` to read. Without
//! it the report is printed, and a process with proven findings ends with code 2.

use crate::{config, crash_report, faults, machine_cell};
use softacl_checker::finding::Report;
use softacl_checker::picture::Picture;
use softacl_checker::report::{Outcome, text};
use softacl_checker::{Checker, RunInfo, interposer};
use softacl_engine::{Config, Machine, Schedule};
use softacl_memory::without_size_signal;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::{IsTerminal as _, Write as _};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

static INSTALLED: OnceLock<Installed> = OnceLock::new();

const INTERRUPTED: &str = "a signal handler has ended the process in the middle of a call, before anything was proven; \
                           there is no report";

/// Exit code of a process with proven findings.
const PROVEN: i32 = 2;

/// How long a program that hangs may take to print what it has buffered.
const FLUSH_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);

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
        // Of the many runs of an exploration, few are reported in full.
        let is_brief = config.replay.as_ref().is_some_and(|replay| replay.log.is_some() && !replay.order.is_narrated);
        let run = RunInfo { soc, schedule: config.schedule.to_string(), seed, is_brief, ..RunInfo::default() };
        let checker = Arc::<Checker>::default();
        if config.replay.as_ref().is_some_and(|replay| replay.order.is_narrated) {
            checker.narrate();
        }
        Installed { checker, run }
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
    interposer::attach(&interposer::Hooks {
        begin: on_system_access,
        end: on_system_access_done,
        read: on_library_read,
        release: on_release,
        object: on_wait_object,
        handler: on_handler_installed,
        exit: crash_report::flush,
    });
    checker.on_first_proven(|| crash_report::arm(report_abnormal_exit));
    Some(checker)
}

/// Called by the interposer before a system call accesses memory.
unsafe extern "C" fn on_system_access(start: *const c_void, size: usize, is_write: c_int, function: *const c_char) {
    if let Some(checker) = checker() {
        // SAFETY: the interposer passes one of its constants.
        let name = unsafe { function_name(function) };
        checker.system_access_begins(start as usize, size, is_write != 0, name);
    }
}

/// Called by the interposer after a system call has used the first `done` bytes of memory. `usize::MAX` if that is
/// unknown.
unsafe extern "C" fn on_system_access_done(start: *const c_void, done: usize) {
    if let Some(checker) = checker() {
        checker.system_access_ends(start as usize, Some(done).filter(|done| *done != usize::MAX));
    }
}

/// Called by the interposer after a function of the C library has read memory.
unsafe extern "C" fn on_library_read(start: *const c_void, size: usize, function: *const c_char) {
    if let Some(checker) = checker() {
        // SAFETY: the interposer passes one of its constants.
        checker.library_read(start as usize, size, unsafe { function_name(function) });
    }
}

/// Called by the interposer before a function releases memory.
unsafe extern "C" fn on_release(start: *const c_void, size: usize, function: *const c_char) {
    // A forked process may have inherited a locked mutex of the checker.
    if let Some(checker) = checker().filter(|_| !machine_cell::is_forked()) {
        // SAFETY: the interposer passes one of its constants.
        checker.memory_released(start as usize, size, unsafe { function_name(function) });
    }
}

/// The name of a function.
///
/// # Safety
///
/// The text is a constant of the interposer, which is never unloaded.
unsafe fn function_name(function: *const c_char) -> &'static str {
    // SAFETY: see above.
    let name: &'static CStr = unsafe { CStr::from_ptr(function) };
    name.to_str().unwrap_or("system call")
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
    report_on(RunInfo::default())
}

/// Builds the report. In a process that is being terminated, leaks and unobserved errors are omitted.
fn report_on(end: RunInfo) -> Option<Report> {
    let Installed { checker, run } = INSTALLED.get()?;
    // No task has failed on a machine that is being created.
    let unobserved = machine_cell::get().transpose().ok()?.map(Machine::unobserved_failures).unwrap_or_default();
    Some(checker.report(RunInfo {
        faults: faults::summary(),
        unobserved: unobserved.iter().map(ToString::to_string).collect(),
        waits: machine_cell::get().and_then(Result::ok).filter(|_| end.is_abnormal_exit).and_then(waits),
        is_abnormal_exit: end.is_abnormal_exit,
        is_exit: end.is_exit,
        ..run.clone()
    }))
}

/// Who waits for whom, if a stream has work, or another process may wait for this one.
fn waits(machine: &Machine) -> Option<Picture> {
    let picture = softacl_checker::take_picture(machine, checker());
    (!picture.streams.is_empty() || machine.is_sharing()).then_some(picture)
}

/// Prepares the report of a process that is stopped while it waits.
pub(crate) fn arm_crash_report() {
    if checker().is_some() {
        crash_report::arm(report_abnormal_exit);
    }
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
    let Some(report) = report_on(RunInfo { is_abnormal_exit, is_exit: true, ..RunInfo::default() }) else {
        return false;
    };
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
            let text = text::render(&Outcome::of(report), text::Options { color, ..text::Options::default() });
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

/// Writes the report of a program that hangs, and ends the process with `PROVEN`.
pub(crate) fn end_hang() -> ! {
    report_abnormal_exit();
    // What the program printed is lost if one of the hanging threads holds the lock of its stream.
    let (done, flushed) = std::sync::mpsc::channel();
    let flush = move || {
        // SAFETY: flushes all output streams of the program.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let _ = done.send(());
    };
    if softacl_engine::start_thread("softacl-report".to_owned(), flush).is_ok() {
        let _ = flushed.recv_timeout(FLUSH_TIMEOUT);
    }
    // SAFETY: ends the process. Exit handlers may wait for the threads that hang.
    unsafe { libc::_exit(PROVEN) }
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
    if let Some(Ok(machine)) = machine_cell::get() {
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| machine.replay_end()));
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
