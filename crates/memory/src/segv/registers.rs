//! Architecture-specific access to the state of interrupted code.
//!
//! `details` is always the third argument of a handler that is installed with `SA_SIGINFO`: a pointer to the
//! `ucontext_t` of the interrupted code. The kernel guarantees that it is valid until the handler returns, and reads it
//! back then.

use std::ffi::c_void;

/// The signal mask of the interrupted code, which its thread has again when the handler returns.
pub(super) fn interrupted_mask(details: *mut c_void) -> *mut u64 {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: `details` is valid (see the module). Only the address of the mask is taken; the kernel uses its first 64
    // bits.
    unsafe { (&raw mut (*context).uc_sigmask).cast() }
}

/// True if the faulting access was a write.
#[cfg(target_arch = "x86_64")]
pub(super) fn is_write(details: *mut c_void) -> bool {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: `details` is valid (see the module).
    let error = unsafe { (&(*context).uc_mcontext.gregs)[libc::REG_ERR as usize] };
    error & 2 != 0
}

/// True if the faulting access was a write. The kernel appends records to the registers, each with a number and a
/// length; one of them is the syndrome of the fault.
#[cfg(target_arch = "aarch64")]
pub(super) fn is_write(details: *mut c_void) -> bool {
    const SYNDROME: u32 = 0x4553_5201;
    const WRITE: u64 = 1 << 6;
    const REGISTERS: usize = std::mem::offset_of!(libc::mcontext_t, pstate) + size_of::<u64>();
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: `details` is valid (see the module). Only the address of a field is taken.
    let registers = unsafe { &raw const (*context).uc_mcontext }.cast::<u8>();
    let mut offset = REGISTERS.next_multiple_of(16);
    while offset + 16 <= size_of::<libc::mcontext_t>() {
        // SAFETY: the loop condition keeps the 8 bytes inside the context. Records are aligned to 16 bytes.
        let [number, len] = unsafe { registers.add(offset).cast::<[u32; 2]>().read() };
        match (number, len) {
            // SAFETY: as above; the syndrome follows the 8 bytes of its header.
            (SYNDROME, _) => return unsafe { registers.add(offset + 8).cast::<u64>().read() } & WRITE != 0,
            (0, _) | (_, 0) => break,
            (_, len) => offset += len as usize,
        }
    }
    true
}

/// True: the access may have been a write.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn is_write(_details: *mut c_void) -> bool {
    true
}

/// The program counter of the interrupted code.
#[cfg(target_arch = "x86_64")]
pub(super) fn program_counter(details: *mut c_void) -> usize {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: `details` is valid (see the module).
    unsafe { (&(*context).uc_mcontext.gregs)[libc::REG_RIP as usize] as usize }
}

/// The program counter of the interrupted code.
#[cfg(target_arch = "aarch64")]
pub(super) fn program_counter(details: *mut c_void) -> usize {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: `details` is valid (see the module).
    unsafe { (*context).uc_mcontext.pc as usize }
}

/// 0: not available on this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn program_counter(_details: *mut c_void) -> usize {
    0
}

/// Sets the program counter of the interrupted code.
#[cfg(target_arch = "x86_64")]
pub(super) fn resume_at(code: usize, details: *mut c_void) {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: `details` is valid and may be modified (see the module).
    unsafe { (&mut (*context).uc_mcontext.gregs)[libc::REG_RIP as usize] = code as i64 };
}

/// Sets the program counter of the interrupted code.
#[cfg(target_arch = "aarch64")]
pub(super) fn resume_at(code: usize, details: *mut c_void) {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: `details` is valid and may be modified (see the module).
    unsafe { (*context).uc_mcontext.pc = code as u64 };
}

/// Does nothing: not available on this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn resume_at(_code: usize, _details: *mut c_void) {}

/// Switches the trap after every instruction of the interrupted code on or off.
#[cfg(target_arch = "x86_64")]
pub(super) fn set_trap_flag(details: *mut c_void, on: bool) {
    const TRAP: i64 = 1 << 8;
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: `details` is valid and may be modified (see the module).
    let flags = unsafe { &mut (&mut (*context).uc_mcontext.gregs)[libc::REG_EFL as usize] };
    if on {
        *flags |= TRAP;
    } else {
        *flags &= !TRAP;
    }
}
