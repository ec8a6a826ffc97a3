//! The routines for processors that have none of their own: correct, and without fault recovery.

use super::Span;
use std::ptr;

/// Addresses of the code that may fault; empty here, so no fault is ever recovered.
pub fn code_range() -> (usize, usize, usize) {
    (0, 0, 0)
}

/// Four targets, their sources, and what will be read after those.
pub(super) struct Four {
    pub(super) targets: [usize; 4],
    pub(super) sources: [usize; 4],
    pub(super) next: [usize; 4],
}

/// The sets of routines.
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

/// There is nothing to choose.
pub(super) fn prepare() {}

/// Whether `copy_four` may be used.
pub(super) fn takes_four() -> bool {
    false
}

/// The stores of these routines need no fence.
pub(super) fn fence() {}

pub(super) fn prefetch_read(_address: usize) {}

pub(super) fn prefetch_write(_address: usize) {}

/// # Safety
/// All eight ranges must be accessible.
pub(super) unsafe fn copy_four(addresses: *const Four, len: usize) -> u32 {
    // SAFETY: promised by the caller.
    let Four { targets, sources, next: _ } = unsafe { &*addresses };
    for (target, source) in targets.iter().zip(sources) {
        // SAFETY: the same promise.
        unsafe { copy(*target as *mut u8, *source as *const u8, len) };
    }
    0
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

/// Copies spans from `first` to before `end`, and leaves `end` in `next`.
///
/// # Safety
/// The spans must lie one behind the other, with accessible ranges; `next` must be writable.
pub(super) unsafe fn copy_short(first: *const Span, end: *const Span, next: *mut *const Span) -> u32 {
    let mut at = first;
    while at < end {
        // SAFETY: promised by the caller.
        let span = unsafe { *at };
        // SAFETY: the same promise.
        unsafe { copy(span.target as *mut u8, span.source as *const u8, span.len) };
        at = at.wrapping_add(1);
    }
    // SAFETY: the same promise.
    unsafe { *next = at };
    0
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
