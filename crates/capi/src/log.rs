//! aclAppLog, the only variadic function of the API.
//!
//! Messages are printed to stderr if SOFTACL_LOG is set, to the file that SOFTACL_LOG_FILE names, and dropped otherwise.

use crate::log_file;
use std::ffi::{CStr, c_char, c_void};

const LEVELS: [&str; 4] = ["DEBUG", "INFO", "WARNING", "ERROR"];

unsafe extern "C" {
    fn vsnprintf(buffer: *mut c_char, size: usize, format: *const c_char, arguments: *mut c_void) -> i32;
}

/// Stores the variable arguments as the x86-64 System V convention does, and calls `write` with a `va_list`. Stable
/// Rust cannot define variadic functions.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn aclAppLog() {
    std::arch::naked_asm!(
        // va_list at rsp, register save area at rsp + 32; 216 keeps the stack aligned.
        "sub rsp, 216",
        "mov [rsp + 32 + 40], r9",
        "test al, al",
        "je 2f",
        "movaps [rsp + 80], xmm0",
        "movaps [rsp + 96], xmm1",
        "movaps [rsp + 112], xmm2",
        "movaps [rsp + 128], xmm3",
        "movaps [rsp + 144], xmm4",
        "movaps [rsp + 160], xmm5",
        "movaps [rsp + 176], xmm6",
        "movaps [rsp + 192], xmm7",
        "2:",
        "mov dword ptr [rsp], 40",     // five named arguments are in registers
        "mov dword ptr [rsp + 4], 48", // no named one is in a vector register
        "lea rax, [rsp + 224]",
        "mov [rsp + 8], rax",
        "lea rax, [rsp + 32]",
        "mov [rsp + 16], rax",
        "mov r9, rsp",
        "call {write}",
        "add rsp, 216",
        "ret",
        write = sym write,
    )
}

/// Stores the variable arguments as the procedure call standard of AArch64 does, and calls `write` with a `va_list`.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn aclAppLog() {
    std::arch::naked_asm!(
        // Frame at sp, va_list at sp + 16, general registers up to sp + 80, vector registers up to sp + 208.
        "stp x29, x30, [sp, #-208]!",
        "mov x29, sp",
        "str x5, [sp, #56]",
        "stp x6, x7, [sp, #64]",
        "stp q0, q1, [sp, #80]",
        "stp q2, q3, [sp, #112]",
        "stp q4, q5, [sp, #144]",
        "stp q6, q7, [sp, #176]",
        "add x8, sp, #208",
        "add x9, sp, #80",
        "stp x8, x9, [sp, #16]", // arguments on the stack, end of the general registers
        "str x8, [sp, #32]",     // end of the vector registers
        "mov w8, #-24",          // three general registers are left behind five named arguments
        "mov w9, #-128",
        "stp w8, w9, [sp, #40]",
        "add x5, sp, #16",
        "bl {write}",
        "ldp x29, x30, [sp], #208",
        "ret",
        write = sym write,
    )
}

/// Prints the format without its arguments on other architectures.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclAppLog(
    level: i32,
    function: *const c_char,
    file: *const c_char,
    line: u32,
    format: *const c_char,
) {
    write(level, function, file, line, format, std::ptr::null_mut());
}

extern "C" fn write(
    level: i32,
    function: *const c_char,
    file: *const c_char,
    line: u32,
    format: *const c_char,
    arguments: *mut c_void,
) {
    if !crate::config::logs_failures() || format.is_null() {
        return;
    }
    let mut buffer = [0 as c_char; 1024];
    let text = if arguments.is_null() {
        format
    } else {
        // SAFETY: the program promises a format that matches its arguments; the buffer has the given size.
        unsafe { vsnprintf(buffer.as_mut_ptr(), buffer.len(), format, arguments) };
        buffer.as_ptr()
    };
    let level = usize::try_from(level).ok().and_then(|level| LEVELS.get(level)).unwrap_or(&"?");
    log_file::write(&format!("[{level}] {}:{line} {}: {}", shown(file), shown(function), shown(text)));
}

fn shown(text: *const c_char) -> String {
    if text.is_null() {
        return "?".to_owned();
    }
    // SAFETY: the program promises zero-terminated texts.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
