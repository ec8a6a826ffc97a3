//! The routines for AArch64, in assembly, with the 16-byte registers that every such processor has.
//!
//! They are leaf code between two labels: no stack, no calls, only caller-saved registers, and the return address stays
//! in its register. The fault handler can therefore resume from a fault at any instruction between the labels at
//! `softacl_bytes_fault`, which returns 1 to the caller.
//!
//! Longer vectors are deliberately not used: copies that bypass the cache are limited by memory, not by registers.

use super::span::Span;
use std::arch::{asm, global_asm};

/// The available sets of routines.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Neon,
}

#[cfg(test)]
impl Kernel {
    pub(super) const ALL: [Kernel; 1] = [Kernel::Neon];

    /// True if this processor supports it.
    pub(super) fn is_supported(self) -> bool {
        std::arch::is_aarch64_feature_detected!("neon")
    }

    pub(super) fn select(self) {}
}

/// Selects the routines for this processor. Does nothing: one set exists.
pub(super) fn prepare() {}

/// True if `copy_four` may be used.
#[inline]
pub(super) fn takes_four() -> bool {
    true
}

/// Orders stores that bypassed the cache before all later accesses.
#[inline]
pub(super) fn fence() {
    // SAFETY: a barrier accesses no memory.
    unsafe { asm!("dmb ishst", options(nostack, preserves_flags)) }
}

/// Prefetches a cache line for reading. Every address is allowed.
#[inline]
pub(super) fn prefetch_read(address: usize) {
    // SAFETY: a prefetch never faults and has no visible effect.
    unsafe { asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly)) }
}

/// Prefetches a cache line for writing. Every address is allowed.
#[inline]
pub(super) fn prefetch_write(address: usize) {
    // SAFETY: as for `prefetch_read`.
    unsafe { asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly)) }
}

unsafe extern "C" {
    #[link_name = "softacl_bytes_copy"]
    pub(super) unsafe fn copy(target: *mut u8, source: *const u8, len: usize) -> u32;
    #[link_name = "softacl_bytes_copy_streaming"]
    pub(super) unsafe fn copy_streaming(target: *mut u8, source: *const u8, len: usize) -> u32;
    /// Copies `len` bytes, a multiple of 128 and at least 512, from each of four sources to each of four targets: 128
    /// bytes of each in turn. Prefetches the sources of the next call.
    #[link_name = "softacl_bytes_copy_four"]
    pub(super) unsafe fn copy_four(addresses: *const Four, len: usize) -> u32;
    /// Copies the spans from `first` up to `end` while they have 16 to 64 bytes, and writes the first that is not
    /// copied to `next`. Prefetches later spans.
    #[link_name = "softacl_bytes_copy_short"]
    pub(super) unsafe fn copy_short(first: *const Span, end: *const Span, next: *mut *const Span) -> u32;
    #[link_name = "softacl_bytes_fill"]
    pub(super) unsafe fn fill(target: *mut u8, byte: u8, len: usize) -> u32;
    #[link_name = "softacl_bytes_fill_words"]
    pub(super) unsafe fn fill_words(target: *mut u32, word: u32, count: usize) -> u32;

    fn softacl_bytes_begin();
    fn softacl_bytes_end();
    fn softacl_bytes_fault();
}

/// Start and end of the code that may fault, and the address where execution resumes after a fault.
pub fn code_range() -> (usize, usize, usize) {
    (
        softacl_bytes_begin as *const () as usize,
        softacl_bytes_end as *const () as usize,
        softacl_bytes_fault as *const () as usize,
    )
}

/// The arguments of `copy_four`: targets, sources, and the sources of the next call.
#[repr(C)]
pub(super) struct Four {
    pub(super) targets: [usize; 4],
    pub(super) sources: [usize; 4],
    pub(super) next: [usize; 4],
}

global_asm!(
    ".pushsection .text.softacl_bytes,\"ax\",@progbits",
    ".p2align 6",
    ".hidden softacl_bytes_begin",
    ".globl softacl_bytes_begin",
    "softacl_bytes_begin:",
    // copy(x0 target, x1 source, x2 len): short lengths with two overlapping moves. Copies of less than 16 bytes may be
    // a value that another thread waits for: they become visible only after all earlier writes.
    ".hidden softacl_bytes_copy",
    ".globl softacl_bytes_copy",
    "softacl_bytes_copy:",
    "    add x3, x1, x2",
    "    add x4, x0, x2",
    "    cmp x2, #16",
    "    b.lo 20f",
    "    cmp x2, #32",
    "    b.hi 30f",
    "    ldr q0, [x1]",
    "    ldr q1, [x3, #-16]",
    "    str q0, [x0]",
    "    str q1, [x4, #-16]",
    "    mov w0, #0",
    "    ret",
    "20:",
    "    dmb ishst",
    "    tbz x2, #3, 21f",
    "    ldr x5, [x1]",
    "    ldr x6, [x3, #-8]",
    "    str x5, [x0]",
    "    str x6, [x4, #-8]",
    "    mov w0, #0",
    "    ret",
    "21:",
    "    tbz x2, #2, 22f",
    "    ldr w5, [x1]",
    "    ldr w6, [x3, #-4]",
    "    str w5, [x0]",
    "    str w6, [x4, #-4]",
    "    mov w0, #0",
    "    ret",
    "22:",
    "    cbz x2, 23f",
    "    lsr x8, x2, #1",
    "    ldrb w5, [x1]",
    "    ldrb w6, [x3, #-1]",
    "    ldrb w7, [x1, x8]",
    "    strb w5, [x0]",
    "    strb w7, [x0, x8]",
    "    strb w6, [x4, #-1]",
    "23:",
    "    mov w0, #0",
    "    ret",
    // 33 to 64 bytes.
    "30:",
    "    cmp x2, #64",
    "    b.hi 40f",
    "    ldp q0, q1, [x1]",
    "    ldp q2, q3, [x3, #-32]",
    "    stp q0, q1, [x0]",
    "    stp q2, q3, [x4, #-32]",
    "    mov w0, #0",
    "    ret",
    // 65 to 128 bytes.
    "40:",
    "    cmp x2, #128",
    "    b.hi 50f",
    "    ldp q0, q1, [x1]",
    "    ldp q2, q3, [x1, #32]",
    "    ldp q4, q5, [x3, #-64]",
    "    ldp q6, q7, [x3, #-32]",
    "    stp q0, q1, [x0]",
    "    stp q2, q3, [x0, #32]",
    "    stp q4, q5, [x4, #-64]",
    "    stp q6, q7, [x4, #-32]",
    "    mov w0, #0",
    "    ret",
    // Longer: 16 bytes up to an aligned target, then 128 at a time, and the last 128, which overlap.
    "50:",
    "    ldr q24, [x1]",
    "    ldp q16, q17, [x3, #-128]",
    "    ldp q18, q19, [x3, #-96]",
    "    ldp q20, q21, [x3, #-64]",
    "    ldp q22, q23, [x3, #-32]",
    "    sub x4, x4, #128",
    "    str q24, [x0]",
    "    and x5, x0, #15",
    "    sub x1, x1, x5",
    "    sub x0, x0, x5",
    "    add x1, x1, #16",
    "    add x0, x0, #16",
    "    cmp x0, x4",
    "    b.hs 52f",
    "51:",
    "    ldp q0, q1, [x1]",
    "    ldp q2, q3, [x1, #32]",
    "    ldp q4, q5, [x1, #64]",
    "    ldp q6, q7, [x1, #96]",
    "    stp q0, q1, [x0]",
    "    stp q2, q3, [x0, #32]",
    "    stp q4, q5, [x0, #64]",
    "    stp q6, q7, [x0, #96]",
    "    add x1, x1, #128",
    "    add x0, x0, #128",
    "    cmp x0, x4",
    "    b.lo 51b",
    "52:",
    "    stp q16, q17, [x4]",
    "    stp q18, q19, [x4, #32]",
    "    stp q20, q21, [x4, #64]",
    "    stp q22, q23, [x4, #96]",
    "    mov w0, #0",
    "    ret",
    // copy_streaming: whole lines of an aligned target, around the cache. The caller issues the fence.
    ".p2align 6",
    ".hidden softacl_bytes_copy_streaming",
    ".globl softacl_bytes_copy_streaming",
    "softacl_bytes_copy_streaming:",
    "    cmp x2, #256",
    "    b.lo softacl_bytes_copy",
    "    neg x3, x0",
    "    ands x3, x3, #63",
    "    b.eq 60f",
    // The bytes before the first whole line; the rest of these 64 bytes is written twice.
    "    ldp q0, q1, [x1]",
    "    ldp q2, q3, [x1, #32]",
    "    stp q0, q1, [x0]",
    "    stp q2, q3, [x0, #32]",
    "    add x1, x1, x3",
    "    add x0, x0, x3",
    "    sub x2, x2, x3",
    "60:",
    "    and x4, x2, #-64",
    "    and x2, x2, #63",
    "61:",
    "    prfm pldl1strm, [x1, #512]",
    "    ldp q0, q1, [x1]",
    "    ldp q2, q3, [x1, #32]",
    "    stnp q0, q1, [x0]",
    "    stnp q2, q3, [x0, #32]",
    "    add x1, x1, #64",
    "    add x0, x0, #64",
    "    subs x4, x4, #64",
    "    b.ne 61b",
    "    b softacl_bytes_copy",
    // copy_four(x0 addresses, x1 len): see above. The last 512 bytes of each are copied one after the other and
    // prefetch the first lines of the next call.
    ".macro softacl_bytes_move target, source, ahead, distance",
    "    prfm pldl1strm, [\\ahead, #\\distance]",
    "    prfm pldl1strm, [\\ahead, #\\distance + 64]",
    "    ldp q0, q1, [\\source]",
    "    ldp q2, q3, [\\source, #32]",
    "    ldp q4, q5, [\\source, #64]",
    "    ldp q6, q7, [\\source, #96]",
    "    add \\source, \\source, #128",
    "    stnp q0, q1, [\\target]",
    "    stnp q2, q3, [\\target, #32]",
    "    stnp q4, q5, [\\target, #64]",
    "    stnp q6, q7, [\\target, #96]",
    "    add \\target, \\target, #128",
    ".endm",
    ".macro softacl_bytes_end_of target, source, next",
    "    softacl_bytes_move \\target, \\source, \\next, 0",
    "    softacl_bytes_move \\target, \\source, \\next, 128",
    "    softacl_bytes_move \\target, \\source, \\next, 256",
    "    softacl_bytes_move \\target, \\source, \\next, 384",
    ".endm",
    ".p2align 6",
    ".hidden softacl_bytes_copy_four",
    ".globl softacl_bytes_copy_four",
    "softacl_bytes_copy_four:",
    "    ldp x2, x3, [x0]",
    "    ldp x4, x5, [x0, #16]",
    "    ldp x6, x7, [x0, #32]",
    "    ldp x8, x9, [x0, #48]",
    "    ldp x10, x11, [x0, #64]",
    "    ldp x12, x13, [x0, #80]",
    "    subs x1, x1, #512",
    "    b.eq 71f",
    "70:",
    "    softacl_bytes_move x2, x6, x6, 512",
    "    softacl_bytes_move x3, x7, x7, 512",
    "    softacl_bytes_move x4, x8, x8, 512",
    "    softacl_bytes_move x5, x9, x9, 512",
    "    subs x1, x1, #128",
    "    b.ne 70b",
    "71:",
    "    softacl_bytes_end_of x2, x6, x10",
    "    softacl_bytes_end_of x3, x7, x11",
    "    softacl_bytes_end_of x4, x8, x12",
    "    softacl_bytes_end_of x5, x9, x13",
    "    mov w0, #0",
    "    ret",
    // copy_short(x0 first, x1 end, x2 next): see above. A span is target, source, len. Prefetches the entry 12 ahead,
    // or the last one near the end.
    ".p2align 6",
    ".hidden softacl_bytes_copy_short",
    ".globl softacl_bytes_copy_short",
    "softacl_bytes_copy_short:",
    "    sub x3, x1, #24",
    "80:",
    "    add x4, x0, #288",
    "    str x0, [x2]",
    "    cmp x4, x3",
    "    csel x4, x3, x4, hi",
    "    ldp x5, x6, [x4]",
    "    prfm pstl1keep, [x5]",
    "    prfm pldl1keep, [x6]",
    "    ldp x5, x6, [x0]",
    "    ldr x7, [x0, #16]",
    "    add x9, x5, x7",
    "    add x10, x6, x7",
    "    cmp x7, #64",
    "    b.hi 83f",
    "    cmp x7, #32",
    "    b.ls 82f",
    "    ldp q0, q1, [x6]",
    "    ldp q2, q3, [x10, #-32]",
    "    stp q0, q1, [x5]",
    "    stp q2, q3, [x9, #-32]",
    "81:",
    "    add x0, x0, #24",
    "    cmp x0, x1",
    "    b.lo 80b",
    "    str x0, [x2]",
    "    mov w0, #0",
    "    ret",
    "82:",
    "    cmp x7, #16",
    "    b.lo 83f",
    "    ldr q0, [x6]",
    "    ldr q1, [x10, #-16]",
    "    str q0, [x5]",
    "    str q1, [x9, #-16]",
    "    b 81b",
    "83:",
    "    mov w0, #0",
    "    ret",
    // fill_words(x0 target, w1 word, x2 count): the length is a multiple of 4, so overlapping stores stay aligned to
    // words.
    ".p2align 4",
    ".hidden softacl_bytes_fill_words",
    ".globl softacl_bytes_fill_words",
    "softacl_bytes_fill_words:",
    "    dup v0.4s, w1",
    "    lsl x2, x2, #2",
    "    b 90f",
    // fill(x0 target, w1 byte, x2 len).
    ".p2align 4",
    ".hidden softacl_bytes_fill",
    ".globl softacl_bytes_fill",
    "softacl_bytes_fill:",
    "    dup v0.16b, w1",
    "90:",
    "    add x4, x0, x2",
    "    cmp x2, #16",
    "    b.lo 94f",
    "    cmp x2, #128",
    "    b.ls 92f",
    "    sub x5, x4, #128",
    "91:",
    "    stp q0, q0, [x0]",
    "    stp q0, q0, [x0, #32]",
    "    stp q0, q0, [x0, #64]",
    "    stp q0, q0, [x0, #96]",
    "    add x0, x0, #128",
    "    cmp x0, x5",
    "    b.lo 91b",
    // The last up to 128 bytes: whole registers, of which the last one overlaps.
    "92:",
    "    sub x5, x4, #16",
    "    cmp x0, x5",
    "    b.hs 93f",
    "    str q0, [x0], #16",
    "    b 92b",
    "93:",
    "    str q0, [x5]",
    "    mov w0, #0",
    "    ret",
    "94:",
    "    dmb ishst",
    "    tbz x2, #3, 95f",
    "    str d0, [x0]",
    "    str d0, [x4, #-8]",
    "    mov w0, #0",
    "    ret",
    "95:",
    "    tbz x2, #2, 96f",
    "    str s0, [x0]",
    "    str s0, [x4, #-4]",
    "    mov w0, #0",
    "    ret",
    "96:",
    "    cbz x2, 97f",
    "    lsr x5, x2, #1",
    "    str b0, [x0]",
    "    str b0, [x0, x5]",
    "    str b0, [x4, #-1]",
    "97:",
    "    mov w0, #0",
    "    ret",
    ".hidden softacl_bytes_end",
    ".globl softacl_bytes_end",
    "softacl_bytes_end:",
    ".p2align 4",
    ".hidden softacl_bytes_fault",
    ".globl softacl_bytes_fault",
    "softacl_bytes_fault:",
    "    dmb ishst",
    "    mov w0, #1",
    "    ret",
    ".popsection",
);
