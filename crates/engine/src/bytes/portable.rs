//! The routines for processors that have none of their own: correct, and without fault recovery.

use std::ptr;

/// Addresses of the code that may fault; empty here, so no fault is ever recovered.
pub(crate) fn code_range() -> (usize, usize, usize) {
    (0, 0, 0)
}

/// # Safety
/// Both ranges must be accessible.
pub(super) unsafe fn copy(target: *mut u8, source: *const u8, len: usize) -> u32 {
    // SAFETY: promised by the caller; `copy` allows overlap.
    unsafe { ptr::copy(source, target, len) };
    0
}

/// # Safety
/// Both ranges must be accessible.
pub(super) unsafe fn copy_streaming(target: *mut u8, source: *const u8, len: usize) -> u32 {
    // SAFETY: the same promise.
    unsafe { copy(target, source, len) }
}

/// # Safety
/// The range must be accessible.
pub(super) unsafe fn fill(target: *mut u8, byte: u8, len: usize) -> u32 {
    // SAFETY: promised by the caller.
    unsafe { ptr::write_bytes(target, byte, len) };
    0
}

/// # Safety
/// The range must be accessible and aligned to four bytes.
pub(super) unsafe fn fill_words(target: *mut u32, word: u32, count: usize) -> u32 {
    for index in 0..count {
        // SAFETY: promised by the caller.
        unsafe { target.add(index).write(word) };
    }
    0
}
