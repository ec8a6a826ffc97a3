//! The routines for x86-64, in assembly.
//!
//! They are leaf code between two labels: no stack, no calls, only caller-saved registers. The fault handler can
//! therefore resume from a fault at any instruction between the labels at `softacl_bytes_fault`, which returns 1 to the
//! caller. This is why they are written in assembly: a compiler gives no such guarantee.
//!
//! Registers of 32 and 64 bytes are used if the processor has them. A byte next to the code selects them, because the
//! code after a fault depends on it too.

use super::span::Span;
use std::arch::{asm, global_asm};
use std::sync::atomic::{AtomicU8, Ordering};

/// The sets of routines, by the widest registers that they use. The assembly depends on the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kernel {
    Sse2 = 0,
    Avx2 = 1,
    Avx512 = 2,
}

impl Kernel {
    #[cfg(test)]
    pub(super) const ALL: [Kernel; 3] = [Kernel::Sse2, Kernel::Avx2, Kernel::Avx512];

    /// True if this processor supports it.
    pub(super) fn is_supported(self) -> bool {
        match self {
            Kernel::Sse2 => true,
            Kernel::Avx2 => is_x86_feature_detected!("avx2"),
            Kernel::Avx512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx2"),
        }
    }

    /// True if it is faster on this processor. The first processors with registers of 64 bytes slow down when they use
    /// them; later ones, which do not, have this extension too.
    fn is_preferred(self) -> bool {
        self.is_supported() && (self != Kernel::Avx512 || is_x86_feature_detected!("avx512vbmi2"))
    }

    pub(super) fn select(self) {
        // SAFETY: the byte is defined below and only accessed as a single byte.
        unsafe { &KERNEL }.store(self as u8, Ordering::Relaxed);
    }
}

/// Selects the routines for this processor. Before the first call they use registers of 16 bytes.
pub(super) fn prepare() {
    let best = [Kernel::Avx512, Kernel::Avx2].into_iter().find(|kernel| kernel.is_preferred());
    best.unwrap_or(Kernel::Sse2).select();
}

/// True if `copy_four` may be used.
#[inline]
pub(super) fn takes_four() -> bool {
    // SAFETY: as in `select`.
    unsafe { &KERNEL }.load(Ordering::Relaxed) != Kernel::Sse2 as u8
}

/// Orders stores that bypassed the cache before all later accesses.
#[inline]
pub(super) fn fence() {
    // SAFETY: a fence accesses no memory.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) }
}

/// Prefetches a cache line for reading. Every address is allowed.
#[inline]
pub(super) fn prefetch_read(address: usize) {
    // SAFETY: a prefetch never faults and has no visible effect.
    unsafe { asm!("prefetcht0 [{}]", in(reg) address, options(nostack, preserves_flags, readonly)) }
}

/// Prefetches a cache line for writing. Every address is allowed.
#[inline]
pub(super) fn prefetch_write(address: usize) {
    // SAFETY: as for `prefetch_read`; processors without this instruction ignore it.
    unsafe { asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly)) }
}

unsafe extern "C" {
    #[link_name = "softacl_bytes_kernel"]
    static KERNEL: AtomicU8;

    #[link_name = "softacl_bytes_copy"]
    pub(super) unsafe fn copy(target: *mut u8, source: *const u8, len: usize) -> u32;
    #[link_name = "softacl_bytes_copy_streaming"]
    pub(super) unsafe fn copy_streaming(target: *mut u8, source: *const u8, len: usize) -> u32;
    /// Copies `len` bytes, a multiple of 128 and at least 512, from each of four sources to each of four targets, which
    /// are aligned to 64: 128 bytes of each in turn. Prefetches the sources of the next call.
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
    ".pushsection .data.softacl_bytes,\"aw\",@progbits",
    ".hidden softacl_bytes_kernel",
    ".globl softacl_bytes_kernel",
    "softacl_bytes_kernel: .byte 0",
    ".popsection",
    ".pushsection .text.softacl_bytes,\"ax\",@progbits",
    ".p2align 6",
    ".hidden softacl_bytes_begin",
    ".globl softacl_bytes_begin",
    "softacl_bytes_begin:",
    // copy(rdi target, rsi source, rdx len): short lengths with two overlapping moves.
    ".hidden softacl_bytes_copy",
    ".globl softacl_bytes_copy",
    "softacl_bytes_copy:",
    "    cmp rdx, 16",
    "    jb 20f",
    "    cmp rdx, 32",
    "    ja 30f",
    "    movups xmm0, [rsi]",
    "    movups xmm1, [rsi + rdx - 16]",
    "    movups [rdi], xmm0",
    "    movups [rdi + rdx - 16], xmm1",
    "    xor eax, eax",
    "    ret",
    "20:",
    "    cmp edx, 8",
    "    jb 21f",
    "    mov rax, [rsi]",
    "    mov rcx, [rsi + rdx - 8]",
    "    mov [rdi], rax",
    "    mov [rdi + rdx - 8], rcx",
    "    xor eax, eax",
    "    ret",
    "21:",
    "    cmp edx, 4",
    "    jb 22f",
    "    mov eax, [rsi]",
    "    mov ecx, [rsi + rdx - 4]",
    "    mov [rdi], eax",
    "    mov [rdi + rdx - 4], ecx",
    "    xor eax, eax",
    "    ret",
    "22:",
    "    test edx, edx",
    "    jz 23f",
    "    movzx eax, byte ptr [rsi]",
    "    movzx ecx, byte ptr [rsi + rdx - 1]",
    "    mov r8d, edx",
    "    shr r8d, 1",
    "    movzx r9d, byte ptr [rsi + r8]",
    "    mov [rdi], al",
    "    mov [rdi + r8], r9b",
    "    mov [rdi + rdx - 1], cl",
    "23:",
    "    xor eax, eax",
    "    ret",
    // 33 to 64 bytes.
    "30:",
    "    cmp rdx, 64",
    "    ja 40f",
    "    movups xmm0, [rsi]",
    "    movups xmm1, [rsi + 16]",
    "    movups xmm2, [rsi + rdx - 32]",
    "    movups xmm3, [rsi + rdx - 16]",
    "    movups [rdi], xmm0",
    "    movups [rdi + 16], xmm1",
    "    movups [rdi + rdx - 32], xmm2",
    "    movups [rdi + rdx - 16], xmm3",
    "    xor eax, eax",
    "    ret",
    // 65 bytes to 1 KiB: 64 at a time, the rest overlapping. Beyond that the string move is faster.
    "40:",
    "    cmp rdx, 128",
    "    jbe 42f",
    "    cmp byte ptr [rip + softacl_bytes_kernel], 1",
    "    je 45f",
    "    ja 47f",
    "42:",
    "    cmp rdx, 1024",
    "    ja 50f",
    "    movups xmm4, [rsi + rdx - 64]",
    "    movups xmm5, [rsi + rdx - 48]",
    "    movups xmm6, [rsi + rdx - 32]",
    "    movups xmm7, [rsi + rdx - 16]",
    "    lea r8, [rdi + rdx - 64]",
    "41:",
    "    movups xmm0, [rsi]",
    "    movups xmm1, [rsi + 16]",
    "    movups xmm2, [rsi + 32]",
    "    movups xmm3, [rsi + 48]",
    "    movups [rdi], xmm0",
    "    movups [rdi + 16], xmm1",
    "    movups [rdi + 32], xmm2",
    "    movups [rdi + 48], xmm3",
    "    add rsi, 64",
    "    add rdi, 64",
    "    cmp rdi, r8",
    "    jb 41b",
    "    movups [r8], xmm4",
    "    movups [r8 + 16], xmm5",
    "    movups [r8 + 32], xmm6",
    "    movups [r8 + 48], xmm7",
    "    xor eax, eax",
    "    ret",
    // 129 bytes to 8 KiB with wide registers: 128 at a time, the rest overlapping. Measured: twice as
    // fast as narrow ones up to 16 KiB, and ahead of the string move up to 8 KiB.
    "45:",
    "    cmp rdx, 8192",
    "    ja 50f",
    "    vmovdqu ymm4, [rsi + rdx - 128]",
    "    vmovdqu ymm5, [rsi + rdx - 96]",
    "    vmovdqu ymm6, [rsi + rdx - 64]",
    "    vmovdqu ymm7, [rsi + rdx - 32]",
    "    lea r8, [rdi + rdx - 128]",
    "46:",
    "    vmovdqu ymm0, [rsi]",
    "    vmovdqu ymm1, [rsi + 32]",
    "    vmovdqu ymm2, [rsi + 64]",
    "    vmovdqu ymm3, [rsi + 96]",
    "    vmovdqu [rdi], ymm0",
    "    vmovdqu [rdi + 32], ymm1",
    "    vmovdqu [rdi + 64], ymm2",
    "    vmovdqu [rdi + 96], ymm3",
    "    sub rsi, -128",
    "    sub rdi, -128",
    "    cmp rdi, r8",
    "    jb 46b",
    "    vmovdqu [r8], ymm4",
    "    vmovdqu [r8 + 32], ymm5",
    "    vmovdqu [r8 + 64], ymm6",
    "    vmovdqu [r8 + 96], ymm7",
    "    vzeroupper",
    "    xor eax, eax",
    "    ret",
    // As above, with registers of 64 bytes. Registers above the 16th need no vzeroupper.
    "47:",
    "    cmp rdx, 8192",
    "    ja 50f",
    "    vmovdqu64 zmm18, [rsi + rdx - 128]",
    "    vmovdqu64 zmm19, [rsi + rdx - 64]",
    "    lea r8, [rdi + rdx - 128]",
    "48:",
    "    vmovdqu64 zmm16, [rsi]",
    "    vmovdqu64 zmm17, [rsi + 64]",
    "    vmovdqu64 [rdi], zmm16",
    "    vmovdqu64 [rdi + 64], zmm17",
    "    sub rsi, -128",
    "    sub rdi, -128",
    "    cmp rdi, r8",
    "    jb 48b",
    "    vmovdqu64 [r8], zmm18",
    "    vmovdqu64 [r8 + 64], zmm19",
    "    xor eax, eax",
    "    ret",
    "50:",
    "    mov rcx, rdx",
    "    rep movsb",
    "    xor eax, eax",
    "    ret",
    // copy_streaming: whole lines of an aligned target, around the cache. The caller issues the fence.
    ".p2align 6",
    ".hidden softacl_bytes_copy_streaming",
    ".globl softacl_bytes_copy_streaming",
    "softacl_bytes_copy_streaming:",
    "    cmp rdx, 256",
    "    jb softacl_bytes_copy",
    "    mov rcx, rdi",
    "    neg rcx",
    "    and ecx, 63",
    "    jz 60f",
    // The bytes before the first whole line; the rest of these 64 bytes is written twice.
    "    movups xmm0, [rsi]",
    "    movups xmm1, [rsi + 16]",
    "    movups xmm2, [rsi + 32]",
    "    movups xmm3, [rsi + 48]",
    "    movups [rdi], xmm0",
    "    movups [rdi + 16], xmm1",
    "    movups [rdi + 32], xmm2",
    "    movups [rdi + 48], xmm3",
    "    add rsi, rcx",
    "    add rdi, rcx",
    "    sub rdx, rcx",
    "60:",
    "    mov r8, rdx",
    "    and r8, -64",
    "    and edx, 63",
    "    cmp byte ptr [rip + softacl_bytes_kernel], 1",
    "    jb 62f",
    "    ja 63f",
    "61:",
    "    prefetcht0 [rsi + 512]",
    "    vmovdqu ymm0, [rsi]",
    "    vmovdqu ymm1, [rsi + 32]",
    "    vmovntdq [rdi], ymm0",
    "    vmovntdq [rdi + 32], ymm1",
    "    add rsi, 64",
    "    add rdi, 64",
    "    sub r8, 64",
    "    jnz 61b",
    "    vzeroupper",
    "    jmp softacl_bytes_copy",
    "62:",
    "    prefetcht0 [rsi + 512]",
    "    movups xmm0, [rsi]",
    "    movups xmm1, [rsi + 16]",
    "    movups xmm2, [rsi + 32]",
    "    movups xmm3, [rsi + 48]",
    "    movntps [rdi], xmm0",
    "    movntps [rdi + 16], xmm1",
    "    movntps [rdi + 32], xmm2",
    "    movntps [rdi + 48], xmm3",
    "    add rsi, 64",
    "    add rdi, 64",
    "    sub r8, 64",
    "    jnz 62b",
    "    jmp softacl_bytes_copy",
    "63:",
    "    prefetcht0 [rsi + 512]",
    "    vmovdqu64 zmm16, [rsi]",
    "    vmovntdq [rdi], zmm16",
    "    add rsi, 64",
    "    add rdi, 64",
    "    sub r8, 64",
    "    jnz 63b",
    "    jmp softacl_bytes_copy",
    // copy_four(rdi addresses, rsi len): see above. Offsets count up to zero. The last 512 bytes of each are copied one
    // after the other and prefetch the first lines of the next call. Its addresses are loaded again, because all
    // registers are in use.
    ".macro softacl_bytes_move_32 target, source, ahead",
    "    prefetcht0 [\\ahead]",
    "    prefetcht0 [\\ahead + 64]",
    "    vmovdqu ymm0, [\\source + 0]",
    "    vmovdqu ymm1, [\\source + 32]",
    "    vmovdqu ymm2, [\\source + 64]",
    "    vmovdqu ymm3, [\\source + 96]",
    "    vmovntdq [\\target + 0], ymm0",
    "    vmovntdq [\\target + 32], ymm1",
    "    vmovntdq [\\target + 64], ymm2",
    "    vmovntdq [\\target + 96], ymm3",
    ".endm",
    ".macro softacl_bytes_move_64 target, source, ahead",
    "    prefetcht0 [\\ahead]",
    "    prefetcht0 [\\ahead + 64]",
    "    vmovdqu64 zmm16, [\\source + 0]",
    "    vmovdqu64 zmm17, [\\source + 64]",
    "    vmovntdq [\\target + 0], zmm16",
    "    vmovntdq [\\target + 64], zmm17",
    ".endm",
    ".macro softacl_bytes_end_of move, target, source, place",
    "    movq rsi, xmm4",
    "    mov rsi, [rsi + \\place]",
    "    \\move \\target-512, \\source-512, rsi+0",
    "    \\move \\target-384, \\source-384, rsi+128",
    "    \\move \\target-256, \\source-256, rsi+256",
    "    \\move \\target-128, \\source-128, rsi+384",
    ".endm",
    // The complete routine, with moves of one width. Defines the labels 70 and 71.
    ".macro softacl_bytes_move_four move",
    "    test rsi, rsi",
    "    jz 71f",
    "70:",
    "    \\move rcx+rsi-512, r10+rsi-512, r10+rsi",
    "    \\move rdx+rsi-512, r11+rsi-512, r11+rsi",
    "    \\move r8+rsi-512, rax+rsi-512, rax+rsi",
    "    \\move r9+rsi-512, rdi+rsi-512, rdi+rsi",
    "    sub rsi, -128",
    "    jnz 70b",
    "71:",
    "    softacl_bytes_end_of \\move, rcx, r10, 64",
    "    softacl_bytes_end_of \\move, rdx, r11, 72",
    "    softacl_bytes_end_of \\move, r8, rax, 80",
    "    softacl_bytes_end_of \\move, r9, rdi, 88",
    ".endm",
    ".p2align 6",
    ".hidden softacl_bytes_copy_four",
    ".globl softacl_bytes_copy_four",
    "softacl_bytes_copy_four:",
    "    movq xmm4, rdi",
    "    mov rcx, [rdi]",
    "    mov rdx, [rdi + 8]",
    "    mov r8, [rdi + 16]",
    "    mov r9, [rdi + 24]",
    "    mov r10, [rdi + 32]",
    "    mov r11, [rdi + 40]",
    "    mov rax, [rdi + 48]",
    "    mov rdi, [rdi + 56]",
    "    add rcx, rsi",
    "    add rdx, rsi",
    "    add r8, rsi",
    "    add r9, rsi",
    "    add r10, rsi",
    "    add r11, rsi",
    "    add rax, rsi",
    "    add rdi, rsi",
    "    neg rsi",
    "    add rsi, 512",
    "    cmp byte ptr [rip + softacl_bytes_kernel], 2",
    "    je 72f",
    "    softacl_bytes_move_four softacl_bytes_move_32",
    "    vzeroupper",
    "    xor eax, eax",
    "    ret",
    "72:",
    "    softacl_bytes_move_four softacl_bytes_move_64",
    "    xor eax, eax",
    "    ret",
    // copy_short(rdi first, rsi end, rdx next): see above. A span is target, source, len. Prefetches the entry 12
    // ahead, or the last one near the end.
    ".p2align 6",
    ".hidden softacl_bytes_copy_short",
    ".globl softacl_bytes_copy_short",
    "softacl_bytes_copy_short:",
    "    lea rcx, [rsi - 24]",
    "80:",
    "    lea rax, [rdi + 288]",
    "    mov [rdx], rdi",
    "    cmp rax, rcx",
    "    cmova rax, rcx",
    "    mov r9, [rax]",
    "    mov r10, [rax + 8]",
    "    mov r8, [rdi + 16]",
    "    prefetchw [r9]",
    "    prefetcht0 [r10]",
    "    mov r9, [rdi]",
    "    mov r10, [rdi + 8]",
    "    cmp r8, 64",
    "    ja 83f",
    "    cmp r8, 32",
    "    jbe 82f",
    "    movups xmm0, [r10]",
    "    movups xmm1, [r10 + 16]",
    "    movups xmm2, [r10 + r8 - 32]",
    "    movups xmm3, [r10 + r8 - 16]",
    "    movups [r9], xmm0",
    "    movups [r9 + 16], xmm1",
    "    movups [r9 + r8 - 32], xmm2",
    "    movups [r9 + r8 - 16], xmm3",
    "81:",
    "    add rdi, 24",
    "    cmp rdi, rsi",
    "    jb 80b",
    "    mov [rdx], rdi",
    "    xor eax, eax",
    "    ret",
    "82:",
    "    cmp r8, 16",
    "    jb 83f",
    "    movups xmm0, [r10]",
    "    movups xmm1, [r10 + r8 - 16]",
    "    movups [r9], xmm0",
    "    movups [r9 + r8 - 16], xmm1",
    "    jmp 81b",
    "83:",
    "    xor eax, eax",
    "    ret",
    ".p2align 4",
    ".hidden softacl_bytes_fill",
    ".globl softacl_bytes_fill",
    "softacl_bytes_fill:",
    "    mov eax, esi",
    "    mov rcx, rdx",
    "    rep stosb",
    "    xor eax, eax",
    "    ret",
    ".p2align 4",
    ".hidden softacl_bytes_fill_words",
    ".globl softacl_bytes_fill_words",
    "softacl_bytes_fill_words:",
    "    mov eax, esi",
    "    mov rcx, rdx",
    "    rep stosd",
    "    xor eax, eax",
    "    ret",
    ".hidden softacl_bytes_end",
    ".globl softacl_bytes_end",
    "softacl_bytes_end:",
    ".p2align 4",
    ".hidden softacl_bytes_fault",
    ".globl softacl_bytes_fault",
    "softacl_bytes_fault:",
    "    sfence",
    "    cmp byte ptr [rip + softacl_bytes_kernel], 0",
    "    je 90f",
    "    vzeroupper",
    "90:",
    "    mov eax, 1",
    "    ret",
    ".popsection",
);
