//! Fault delivery on the current thread.

use super::handler::{FAULTS, ensure_installed};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;

/// Keeps fault signals unblocked and handled on this thread until it is dropped.
#[must_use = "dropping the guard restores the signal mask of the program"]
pub struct FaultGuard(Option<libc::sigset_t>);

/// Ensures that faults of this thread reach our handler: reinstalls it if the program replaced it, and unblocks the
/// signals, which would otherwise be fatal.
pub fn enter() -> FaultGuard {
    ensure_installed();
    let mut faults = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the calls read and write only these two local sets. All zeroes is a valid set, so both are initialized.
    let (before, were_blocked) = unsafe {
        libc::sigemptyset(faults.as_mut_ptr());
        for signal in FAULTS {
            libc::sigaddset(faults.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, faults.as_ptr(), before.as_mut_ptr());
        let before = before.assume_init();
        (before, FAULTS.iter().any(|signal| libc::sigismember(&before, *signal) == 1))
    };
    FaultGuard(were_blocked.then_some(before))
}

/// Like [`enter`], for calls whose cost matters: once a thread was found with its faults delivered, later calls trust
/// that. A thread that blocks SIGSEGV after its first such call, and then passes a wild pointer, is ended by the kernel.
pub fn enter_often() -> FaultGuard {
    thread_local! {
        static ARE_DELIVERED: Cell<bool> = const { Cell::new(false) };
    }
    if ARE_DELIVERED.get() {
        return FaultGuard(None);
    }
    let guard = enter();
    ARE_DELIVERED.set(guard.0.is_none());
    guard
}

impl Drop for FaultGuard {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: `before` is the complete mask that `enter` read.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
        }
    }
}
