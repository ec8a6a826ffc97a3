//! Crash report: writes proven findings when the process crashes, receives a fatal signal, or exits without running
//! exit handlers.
//!
//! The terminating thread may hold any lock, so it does not write the report. A report thread does, while the
//! terminating thread waits with a timeout. The report thread is started after the first proven finding, or when a thread
//! of the program first waits; another process has none. A process killed by SIGKILL writes no report.

use softacl_engine::{segv, start_thread};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

/// Set when the report is claimed: it is written, or being written.
static IS_CLAIMED: AtomicBool = AtomicBool::new(false);
/// Set when the report thread is started, or was refused.
static IS_ARMED: AtomicBool = AtomicBool::new(false);
/// The process that has the report thread. A forked child has none.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// State of the report thread. Waited for with a futex, which is async-signal-safe.
static STAGE: AtomicU32 = AtomicU32::new(IDLE);
/// Set if the report printed proven findings.
static IS_PROVEN: AtomicBool = AtomicBool::new(false);
const IDLE: u32 = 0;
const REQUESTED: u32 = 1;
const DONE: u32 = 2;
/// How long a terminating process waits for the report. Its thread may hold a lock that the report needs.
const WRITE_TIMEOUT: libc::timespec = libc::timespec { tv_sec: 3, tv_nsec: 0 };
/// Signals that end a process. The engine handles faults, and calls `flush` when it gives up.
const FATAL: [libc::c_int; 7] =
    [libc::SIGABRT, libc::SIGFPE, libc::SIGILL, libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Claims the report, which is written once. Returns `false` if it was claimed before.
pub(crate) fn claim() -> bool {
    !IS_CLAIMED.swap(true, Ordering::Relaxed)
}

/// Starts the report thread and installs signal handlers, once. Called after the first proven finding, and when a thread
/// of the program first waits. `write` writes the report, and returns `true` if it printed proven findings.
pub(crate) fn arm(write: fn() -> bool) {
    if IS_ARMED.swap(true, Ordering::AcqRel) {
        return;
    }
    let run = move || {
        while STAGE.load(Ordering::Acquire) == IDLE {
            wait(IDLE, None);
        }
        IS_PROVEN.store(write(), Ordering::Relaxed);
        STAGE.store(DONE, Ordering::Release);
        wake();
    };
    if let Err(error) = start_thread("softacl-report".to_owned(), run) {
        eprintln!("softacl: the system refused a thread ({error}); if the process crashes, there will be no report");
        return;
    }
    OWNER.store(std::process::id().cast_signed(), Ordering::Release);
    segv::set_on_fatal(flush);
    for signal in FATAL {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: the query fills the action, and zeroes are a valid one; the handler has the signature that an action
        // without SA_SIGINFO requires. A handler of the program is kept.
        unsafe {
            libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
            if action.assume_init_ref().sa_sigaction != libc::SIG_DFL {
                continue;
            }
            let action = action.assume_init_mut();
            action.sa_sigaction = on_fatal_signal as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND | libc::SA_NODEFER;
            libc::sigaction(signal, action, ptr::null_mut());
        }
    }
}

/// Handles a signal that ends the process. SA_RESETHAND has restored the default action.
extern "C" fn on_fatal_signal(signal: libc::c_int) {
    flush();
    // SAFETY: raise sends the signal to the calling thread and has no preconditions.
    unsafe { libc::raise(signal) };
}

/// Requests the report and waits until it is written or the timeout expires. Async-signal-safe, and allowed in a child
/// that shares the memory of this process.
pub(crate) extern "C" fn flush() {
    // SAFETY: getpid has no preconditions.
    if OWNER.load(Ordering::Acquire) != unsafe { libc::getpid() } || IS_CLAIMED.load(Ordering::Relaxed) {
        return;
    }
    if STAGE.compare_exchange(IDLE, REQUESTED, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        wake();
    }
    // Several threads may end the process, and a wait may return early.
    for _ in 0..2 {
        if STAGE.load(Ordering::Acquire) == DONE {
            return;
        }
        wait(REQUESTED, Some(&WRITE_TIMEOUT));
    }
}

/// Returns `true` if the report thread printed proven findings. `None` if it has not written the report.
pub(crate) fn outcome() -> Option<bool> {
    (STAGE.load(Ordering::Acquire) == DONE).then(|| IS_PROVEN.load(Ordering::Relaxed))
}

fn wait(stage: u32, timeout: Option<&libc::timespec>) {
    let timeout = timeout.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: futex word and timeout live for the whole call. The caller handles early returns.
    unsafe {
        libc::syscall(libc::SYS_futex, STAGE.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, stage, timeout)
    };
}

fn wake() {
    // SAFETY: the futex word lives for the whole call.
    unsafe {
        libc::syscall(libc::SYS_futex, STAGE.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, libc::c_int::MAX)
    };
}
