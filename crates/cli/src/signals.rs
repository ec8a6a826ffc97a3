//! Runs a child process and forwards signals to it: stopping `softacl check` or `softacl trace` stops the program.

use anyhow::Result;
use std::io;
use std::mem;
use std::process::{Command, ExitStatus};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// Process id of the running child, or 0.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that arrived before the child was started, or 0.
static EARLY: AtomicI32 = AtomicI32::new(0);
/// The signal that requested a stop, or 0. No further run is started then.
static STOPPED: AtomicI32 = AtomicI32::new(0);

const FORWARDED: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

/// Installs the forwarding handlers. A child starts with the default actions: handlers do not survive `exec`.
pub fn install() -> Result<()> {
    // The parent may have left SIGCHLD ignored; children could then not be waited for.
    // SAFETY: restores the default action of a signal.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    for signal in FORWARDED {
        // SAFETY: the handler only uses atomics and `kill`; the structure is initialized before use.
        let result = unsafe {
            let mut current: libc::sigaction = mem::zeroed();
            libc::sigaction(signal, ptr::null(), &mut current);
            if current.sa_sigaction == libc::SIG_IGN {
                // Ignored by the parent, for example nohup: keep it ignored, for the child too.
                continue;
            }
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = forward as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &action, ptr::null_mut())
        };
        if result != 0 {
            return Err(io::Error::last_os_error().into());
        }
    }
    Ok(())
}

extern "C" fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if signal != libc::SIGUSR1 && signal != libc::SIGUSR2 {
        STOPPED.store(signal, Ordering::SeqCst);
    }
    // SAFETY: the kernel passes a valid structure to a handler with SA_SIGINFO.
    if unsafe { (*info).si_code } == libc::SI_KERNEL {
        // From the terminal: the child is in the same process group and has received it already.
        return;
    }
    match CHILD.load(Ordering::SeqCst) {
        0 => EARLY.store(signal, Ordering::SeqCst),
        child => {
            // SAFETY: `kill` is async-signal-safe; the child is not reaped yet, so the id is not reused.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// Returns the signal that requested a stop, if one arrived.
pub fn stopped() -> Option<i32> {
    Some(STOPPED.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Process id of the running child.
pub fn child() -> Option<u32> {
    u32::try_from(CHILD.load(Ordering::SeqCst)).ok().filter(|child| *child != 0)
}

/// Runs a command to its end and returns its process id and status.
pub fn run(command: &mut Command) -> io::Result<(u32, ExitStatus)> {
    let mut child = command.spawn()?;
    let pid = child.id();
    CHILD.store(pid.cast_signed(), Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    if early != 0 {
        // SAFETY: the child is not reaped yet, so the id is not reused.
        unsafe { libc::kill(pid.cast_signed(), early) };
    }
    // Wait without reaping: the id must not be reused while signals are still forwarded to it.
    loop {
        // SAFETY: the structure is written by the call and not read.
        let result = unsafe {
            let mut info: libc::siginfo_t = mem::zeroed();
            libc::waitid(libc::P_PID, pid, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break;
        }
    }
    CHILD.store(0, Ordering::SeqCst);
    Ok((pid, child.wait()?))
}
