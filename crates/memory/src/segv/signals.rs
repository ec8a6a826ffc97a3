//! Sets of signals, as the kernel represents them: one bit per signal.

use std::mem::MaybeUninit;
use std::ptr;

/// The 64 bits of a set that the kernel uses.
pub(super) fn bits(set: &libc::sigset_t) -> u64 {
    // SAFETY: on Linux a `sigset_t` starts with the 64 bits that the kernel uses, and is larger than them.
    unsafe { ptr::from_ref(set).cast::<u64>().read_unaligned() }
}

/// A set with these bits.
pub(super) fn set(bits: u64) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the 64 bits are inside the set, as in `bits`. The rest is zero, which is a valid set.
    unsafe {
        set.as_mut_ptr().cast::<u64>().write_unaligned(bits);
        set.assume_init()
    }
}

/// The bit of a signal.
pub(super) fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Signals that an instruction can cause. If one of them is blocked when it is raised, the process ends.
pub(super) fn synchronous() -> u64 {
    let signals = [libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP, libc::SIGFPE, libc::SIGILL, libc::SIGSYS];
    signals.map(bit).into_iter().fold(0, |all, one| all | one)
}
