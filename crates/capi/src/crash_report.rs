//! Last words: a process that crashes, is asked to end, or leaves without its exit handlers still tells what was proven.
//!
//! Whoever ends a process may hold any lock, so nothing is told on its thread. Another thread does that while the first
//! one waits for it, but not for ever. That thread is started when something is proven: a clean process has none.
//! Killed with SIGKILL, a process tells nothing.

use crate::check;
use softacl_engine::{segv, start_thread};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

/// The process that has the thread; one that was forked has it no more.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// What the thread is to do, and has done. Waited for with a futex, which signal handlers may.
static STAGE: AtomicU32 = AtomicU32::new(IDLE);
/// Whether the report has something proven that nobody else will tell.
static IS_PROVEN: AtomicBool = AtomicBool::new(false);
const IDLE: u32 = 0;
const REQUESTED: u32 = 1;
const DONE: u32 = 2;
/// How long a process that ends waits: whoever ends it may hold a lock that the report needs.
const WRITE_TIMEOUT: libc::timespec = libc::timespec { tv_sec: 3, tv_nsec: 0 };
/// Signals that end a process. Faults are the engine's, which says when it gives up.
const FATAL: [libc::c_int; 7] =
    [libc::SIGABRT, libc::SIGFPE, libc::SIGILL, libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Something was proven for the first time: from now on there is something to lose.
pub(crate) fn arm() {
    let run = || {
        while STAGE.load(Ordering::Acquire) == IDLE {
            wait(IDLE, None);
        }
        IS_PROVEN.store(check::report_abnormal_exit(), Ordering::Relaxed);
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
        // SAFETY: asking fills the action, and zeroes are a valid one; the handler has the signature that an action
        // without SA_SIGINFO asks for. Whoever has a handler of its own keeps it.
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

/// A signal ends the process. Its action is the default again when it comes here.
extern "C" fn on_fatal_signal(signal: libc::c_int) {
    flush();
    // SAFETY: sends to this very thread, and has no other conditions.
    unsafe { libc::raise(signal) };
}

/// The process is about to end: waits until the thread has told what there is, or has had its time. May be called in
/// signal handlers, and in a child that shares our memory.
pub(crate) extern "C" fn flush() {
    // SAFETY: asking for the identity of the process has no conditions.
    if OWNER.load(Ordering::Acquire) != unsafe { libc::getpid() } || check::is_reported() {
        return;
    }
    if STAGE.compare_exchange(IDLE, REQUESTED, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        wake();
    }
    // More than one thread may end the process; and a wait may end early.
    for _ in 0..2 {
        if STAGE.load(Ordering::Acquire) == DONE {
            return;
        }
        wait(REQUESTED, Some(&WRITE_TIMEOUT));
    }
}

/// What `check::tell` said of the report, if the thread has come that far.
pub(crate) fn outcome() -> Option<bool> {
    (STAGE.load(Ordering::Acquire) == DONE).then(|| IS_PROVEN.load(Ordering::Relaxed))
}

fn wait(stage: u32, timeout: Option<&libc::timespec>) {
    let timeout = timeout.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the futex and the time live for the whole call. All ways in which it ends early are the caller's.
    unsafe {
        libc::syscall(libc::SYS_futex, STAGE.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, stage, timeout)
    };
}

fn wake() {
    // SAFETY: the futex lives for the whole call.
    unsafe {
        libc::syscall(libc::SYS_futex, STAGE.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, libc::c_int::MAX)
    };
}
