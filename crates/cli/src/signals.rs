//! A child process that gets the signals that we get: who stops `softacl check` or `softacl trace` stops the program.

use anyhow::Result;
use std::io;
use std::mem;
use std::process::{Command, ExitStatus};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// The child that signals go to, if it runs.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that came before there was a child.
static EARLY: AtomicI32 = AtomicI32::new(0);
/// Whether any signal came: then there is no next run.
static STOPPED: AtomicI32 = AtomicI32::new(0);

const RELAYED: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

/// Starts to relay. A child begins with the default actions again: handlers do not survive `exec`.
pub fn install() -> Result<()> {
    // Who starts us may ignore the end of children; then there would be none to wait for.
    // SAFETY: restores the default action of a signal.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    for signal in RELAYED {
        // SAFETY: the handler only uses atomics and `kill`; the structure is initialised before use.
        let result = unsafe {
            let mut current: libc::sigaction = mem::zeroed();
            libc::sigaction(signal, ptr::null(), &mut current);
            if current.sa_sigaction == libc::SIG_IGN {
                // Ignored by whoever started us, such as nohup: so it stays, for the child too.
                continue;
            }
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = relay as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &action, ptr::null_mut())
        };
        if result != 0 {
            return Err(io::Error::last_os_error().into());
        }
    }
    Ok(())
}

extern "C" fn relay(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if signal != libc::SIGUSR1 && signal != libc::SIGUSR2 {
        STOPPED.store(signal, Ordering::SeqCst);
    }
    // SAFETY: the kernel passes a valid structure to a handler with SA_SIGINFO.
    if unsafe { (*info).si_code } == libc::SI_KERNEL {
        // From the terminal: the child is in the same group and has it already.
        return;
    }
    match CHILD.load(Ordering::SeqCst) {
        0 => EARLY.store(signal, Ordering::SeqCst),
        child => {
            // SAFETY: `kill` may be called in a handler; the child is not yet reaped, so the id is its own.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// The signal that asked us to stop, if one did.
pub fn stopped() -> Option<i32> {
    Some(STOPPED.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> io::Result<(u32, ExitStatus)> {
    let mut child = command.spawn()?;
    let pid = child.id();
    CHILD.store(pid.cast_signed(), Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    if early != 0 {
        // SAFETY: the child is ours and not yet reaped.
        unsafe { libc::kill(pid.cast_signed(), early) };
    }
    // Waits without reaping: until the relay is off, the id must not become another process.
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
