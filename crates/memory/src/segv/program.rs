//! Fallible access to memory that the program passed: pointers for results, arrays and texts.
//!
//! The functions use the byte routines, whose faults become errors, and share their contract: the program passed
//! the address and thereby allows the access; that it is mapped is not required. Except for [`try_write`], the caller
//! holds a [`FaultGuard`](super::FaultGuard).

use super::address_space::consulted;
use super::guard::enter;
use crate::bytes::{self, Span};

/// The smallest page size of any system.
const PAGE: usize = 4096;
/// Distance above our frame within which an address counts as being on the stack of the caller.
const STACK: usize = 64 << 10;

/// Writes a result to an address that the program passed. Returns `false` if the address is not writable.
///
/// # Safety
///
/// The program passed the address to the call in progress, and so allows the access. It need not be mapped.
pub unsafe fn try_write(address: usize, value: &[u8]) -> bool {
    // Most results are variables on the stack, just above our frame. They are mapped and need no guard.
    let is_near = address.wrapping_sub(&raw const value as usize) < STACK;
    let _guard = (!is_near).then(enter);
    // SAFETY: the caller's promise; see `# Safety`.
    unsafe { bytes::write(address, value) }.is_ok()
}

/// Returns `true` if an array that the program passed can be read. Reads one byte of every page. An array in memory of
/// the machine ends with its allocation, because all of that memory can be read.
///
/// # Safety
///
/// The program passed the address to the call in progress, and so allows the access. It need not be mapped.
pub unsafe fn is_readable(address: usize, len: usize) -> bool {
    let Some(last) = address.checked_add(len.max(1) - 1) else { return false };
    let mut at = address;
    loop {
        // SAFETY: the caller's promise; see `# Safety`.
        if unsafe { bytes::read::<1>(at) }.is_err() {
            return false;
        }
        let next = (at | (PAGE - 1)).wrapping_add(1);
        if next == 0 || next > last {
            return true;
        }
        if at == address && !is_in_allocation(address, len) {
            return false;
        }
        at = next;
    }
}

/// True if a range is not in memory of the machine, or in one allocation there.
fn is_in_allocation(address: usize, len: usize) -> bool {
    consulted().and_then(|space| space.allocated_from(address)).is_none_or(|bytes| len <= bytes)
}

/// Reads a NUL-terminated string that the program passed, without its NUL. `None` if it is not readable or longer than
/// `limit` bytes.
///
/// # Safety
///
/// The program passed the address to the call in progress, and so allows the access. It need not be mapped.
pub unsafe fn try_read_c_str(address: usize, limit: usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() <= limit {
        // SAFETY: the caller's promise; see `# Safety`.
        match unsafe { bytes::read::<1>(address.checked_add(text.len())?) } {
            Ok([0]) => return Some(text),
            Ok([byte]) => text.push(byte),
            Err(_) => return None,
        }
    }
    None
}

/// Fills a buffer from memory of the program. Returns `false` if not all of it is readable.
///
/// # Safety
///
/// The program passed the address to the call in progress, and so allows the access. It need not be mapped.
pub unsafe fn try_read(address: usize, buffer: &mut [u8]) -> bool {
    // SAFETY: the caller's promise; see `# Safety`.
    unsafe { bytes::copy(Span { target: buffer.as_mut_ptr() as usize, source: address, len: buffer.len() }) }.is_ok()
}
