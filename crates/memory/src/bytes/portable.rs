//! Portable routines, for architectures without assembly routines and for Miri. They cannot recover from faults.

use super::span::Span;
use std::ptr;

/// Start and end of the code that may fault, and where execution resumes. Empty: no fault is recovered.
pub fn code_range() -> (usize, usize, usize) {
    (0, 0, 0)
}

/// The arguments of `copy_four`: targets, sources, and the sources of the next call.
pub(super) struct Four {
    pub(super) targets: [usize; 4],
    pub(super) sources: [usize; 4],
    pub(super) next: [usize; 4],
}

/// The available sets of routines.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Plain,
}

#[cfg(test)]
impl Kernel {
    pub(super) const ALL: [Kernel; 1] = [Kernel::Plain];

    pub(super) fn is_supported(self) -> bool {
        true
    }

    pub(super) fn select(self) {}
}

/// Selects the routines for this processor. Does nothing: one set exists.
pub(super) fn prepare() {}

/// True if `copy_four` may be used.
pub(super) fn takes_four() -> bool {
    false
}

/// Orders stores that bypassed the cache. Does nothing: these routines have none.
pub(super) fn fence() {}

/// Does nothing.
pub(super) fn prefetch_read(_address: usize) {}

/// Does nothing.
pub(super) fn prefetch_write(_address: usize) {}

/// Copies `len` bytes from each of four sources to each of four targets. Returns 0.
///
/// # Safety
///
/// `addresses` is valid, and all eight ranges are accessible.
pub(super) unsafe fn copy_four(addresses: *const Four, len: usize) -> u32 {
    // SAFETY: the caller guarantees that the pointer is valid.
    let Four { targets, sources, next: _ } = unsafe { &*addresses };
    for (target, source) in targets.iter().zip(sources) {
        // SAFETY: the caller guarantees that the ranges are accessible.
        unsafe { copy(*target as *mut u8, *source as *const u8, len) };
    }
    0
}

/// Copies bytes. Returns 0.
///
/// # Safety
///
/// Both ranges are accessible.
pub(super) unsafe fn copy(target: *mut u8, source: *const u8, len: usize) -> u32 {
    // SAFETY: the caller guarantees that the ranges are accessible; `ptr::copy` allows overlap.
    unsafe { ptr::copy(source, target, len) };
    0
}

/// Copies bytes. Returns 0.
///
/// # Safety
///
/// Both ranges are accessible.
pub(super) unsafe fn copy_streaming(target: *mut u8, source: *const u8, len: usize) -> u32 {
    // SAFETY: the caller guarantees that the ranges are accessible.
    unsafe { copy(target, source, len) }
}

/// Copies the spans from `first` up to `end` and writes `end` to `next`. Returns 0.
///
/// # Safety
///
/// `first` and `end` bound a slice of spans with accessible ranges, and `next` is writable.
pub(super) unsafe fn copy_short(first: *const Span, end: *const Span, next: *mut *const Span) -> u32 {
    let mut at = first;
    while at < end {
        // SAFETY: `at` is inside the slice that the caller guarantees.
        let span = unsafe { *at };
        // SAFETY: the caller guarantees that the ranges are accessible.
        unsafe { copy(span.target as *mut u8, span.source as *const u8, span.len) };
        at = at.wrapping_add(1);
    }
    // SAFETY: the caller guarantees that `next` is writable.
    unsafe { *next = at };
    0
}

/// Fills bytes. Returns 0.
///
/// # Safety
///
/// The range is accessible.
pub(super) unsafe fn fill(target: *mut u8, byte: u8, len: usize) -> u32 {
    // SAFETY: the caller guarantees that the range is accessible.
    unsafe { ptr::write_bytes(target, byte, len) };
    0
}

/// Fills 32-bit words. Returns 0.
///
/// # Safety
///
/// The range is accessible and aligned to 4 bytes.
pub(super) unsafe fn fill_words(target: *mut u32, word: u32, count: usize) -> u32 {
    for index in 0..count {
        // SAFETY: the caller guarantees that the range is accessible and aligned.
        unsafe { target.add(index).write(word) };
    }
    0
}
