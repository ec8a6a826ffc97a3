//! The signal handlers: installation, dispatch, recovery and forwarding.

use super::address_space::{AddressSpace, FaultAction, consulted};
use super::registers::{interrupted_mask, is_write, program_counter, resume_at};
use super::signals::{bit, bits, set, synchronous};
use crate::bytes;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// The action of each signal that was installed before ours.
static PREVIOUS: [Previous; SIGNALS.len()] = [const { Previous::new() }; SIGNALS.len()];
/// Serializes installation.
static INSTALL: Mutex<()> = Mutex::new(());
/// Set when a fault is about to end the process. Handlers are not reinstalled then.
static IS_TERMINATING: AtomicBool = AtomicBool::new(false);
/// Callback before a fault ends the process; null without one.
static ON_FATAL: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// The fault that was forwarded last and whose handler has not returned: thread, address, and stack pointer. The same
/// fault deeper in the same stack means that the previous handler called ours.
static LAST_FORWARDED: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
/// Stack distance of a nested fault. Less is the same depth, as after a handler jumped out; more is another stack.
const NESTED: std::ops::Range<usize> = 256..1 << 20;
/// The signals of a faulting access.
pub(super) const FAULTS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];
/// All signals that we handle.
const SIGNALS: [i32; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP];

/// Our handler of a signal.
fn handler_for(signal: i32) -> usize {
    let handler = if signal == libc::SIGTRAP { trap } else { handle };
    handler as *const () as usize
}

/// A signal action, readable in a handler.
struct Previous {
    handler: AtomicUsize,
    flags: AtomicUsize,
    /// The signals that are blocked while it runs.
    mask: AtomicU64,
}

impl Previous {
    const fn new() -> Self {
        Previous { handler: AtomicUsize::new(libc::SIG_DFL), flags: AtomicUsize::new(0), mask: AtomicU64::new(0) }
    }
}

thread_local! {
    /// The signal mask of the interrupted code before its single step; `None` outside a step.
    static MASK_BEFORE_STEP: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Installs the fault handlers, above those that the program may have installed since.
pub fn ensure_installed() {
    ensure(&FAULTS);
}

/// Installs the SIGSEGV handler. Sufficient before memory is protected: an access to protected memory raises only
/// SIGSEGV.
pub fn ensure_guarding() {
    ensure(&[libc::SIGSEGV]);
}

/// Installs the handlers of `signals` that are not current.
fn ensure(signals: &[i32]) {
    if signals.iter().all(|signal| current(*signal).sa_sigaction == handler_for(*signal)) {
        return;
    }
    let _guard = INSTALL.lock();
    install(signals);
}

/// Reinstalls our handlers after the program installed its own. Calls caused by our own installation are ignored.
pub fn reinstall_handlers() {
    if IS_TERMINATING.load(Ordering::Acquire) {
        return;
    }
    if let Ok(_guard) = INSTALL.try_lock() {
        install(&FAULTS);
    }
}

/// Installs the handlers of `signals` that are not current. The caller holds `INSTALL`.
fn install(signals: &[i32]) {
    for signal in signals {
        let found = current(*signal);
        if found.sa_sigaction == handler_for(*signal) {
            continue;
        }
        let previous = previous(*signal);
        previous.handler.store(found.sa_sigaction, Ordering::Relaxed);
        previous.flags.store(found.sa_flags as usize, Ordering::Relaxed);
        previous.mask.store(bits(&found.sa_mask), Ordering::Relaxed);
        let mut action = found;
        action.sa_sigaction = handler_for(*signal);
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | (found.sa_flags & libc::SA_NODEFER);
        // Block all asynchronous signals: another handler of the program could fault, or jump out while a lock is held.
        action.sa_mask = set(!synchronous());
        // SAFETY: the action is complete, and `handler_for` returns a function with the signature that SA_SIGINFO
        // requires.
        unsafe { libc::sigaction(*signal, &action, ptr::null_mut()) };
    }
}

/// The previous action of one of our signals.
fn previous(signal: i32) -> &'static Previous {
    let index = SIGNALS.iter().position(|known| *known == signal);
    &PREVIOUS[index.expect("one of our signals")]
}

/// The installed action of a signal.
fn current(signal: i32) -> libc::sigaction {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the call only fills the local action. All zeroes is a valid action, so it is initialized in any case.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init()
    }
}

/// Handler of SIGSEGV and SIGBUS.
extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, details: *mut c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t` with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    if consult_guard(address, details) || is_migrating(signal, address) || recover(details) {
        return;
    }
    // SAFETY: as for `address`.
    let is_sent = unsafe { (*info).si_code } <= 0;
    // SAFETY: `gettid` has no preconditions.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as usize;
    let fault = if is_sent { 0 } else { address };
    let depth = (&raw const address) as usize;
    let [last_thread, last_fault, last_depth] = LAST_FORWARDED.each_ref().map(|cell| cell.load(Ordering::Relaxed));
    let is_nested = NESTED.contains(&last_depth.wrapping_sub(depth));
    if (last_thread, last_fault) == (thread, fault) && is_nested {
        terminate(signal, is_sent);
        return;
    }
    for (cell, value) in LAST_FORWARDED.iter().zip([thread, fault, depth]) {
        cell.store(value, Ordering::Relaxed);
    }
    if !is_sent {
        report_device_access(address);
    }
    // The single-stepped instruction faulted for another reason.
    if MASK_BEFORE_STEP.get().is_some() {
        step(details, false);
    }
    forward(signal, info, details, is_sent);
    // The previous handler returned: if the access faults again, that is a new fault.
    LAST_FORWARDED[0].store(0, Ordering::Relaxed);
}

/// Returns `true`, for the access to be repeated, if it is to device memory that is being moved into a file: backing
/// addresses of device memory are writable at all other times.
fn is_migrating(signal: i32, address: usize) -> bool {
    if signal != libc::SIGSEGV || !consulted().is_some_and(|space| space.is_backing(address)) {
        return false;
    }
    // SAFETY: `sched_yield` has no preconditions.
    unsafe { libc::sched_yield() };
    true
}

/// Calls the page guard for an access to memory that it may have protected. Returns `true` if the access is repeated.
fn consult_guard(address: usize, details: *mut c_void) -> bool {
    let Some(space) = consulted() else { return false };
    let Some(guard) = space.guard().filter(|guard| space.is_guarded(address) || guard.watches(address)) else {
        return false;
    };
    // The interrupted code may be about to read `errno`.
    // SAFETY: the location is valid and belongs to this thread.
    let errno = unsafe { *libc::__errno_location() };
    let action = guard.touched(address, is_write(details), program_counter(details));
    if action == FaultAction::Step {
        ensure(&[libc::SIGTRAP]);
        step(details, true);
    }
    // SAFETY: as for the read.
    unsafe { *libc::__errno_location() = errno };
    action != FaultAction::PassOn
}

/// Makes the interrupted code trap after its next instruction, or ends that. No handler of the program runs in between:
/// it might not return.
#[cfg(target_arch = "x86_64")]
fn step(details: *mut c_void, on: bool) {
    super::registers::set_trap_flag(details, on);
    // SAFETY: the kernel passes a valid context with SA_SIGINFO, so the mask inside it is valid and may be modified.
    let mask = unsafe { &mut *interrupted_mask(details) };
    if on {
        // One instruction may access two pages, so the step may already be on.
        if MASK_BEFORE_STEP.get().is_none() {
            MASK_BEFORE_STEP.set(Some(*mask));
        }
        *mask = !synchronous();
    } else {
        *mask = MASK_BEFORE_STEP.take().unwrap_or(*mask);
    }
}

/// Does nothing: on other architectures a process cannot step itself, and observers do not request it.
#[cfg(not(target_arch = "x86_64"))]
fn step(_details: *mut c_void, _on: bool) {}

/// Handler of SIGTRAP: ends a single step. Other traps are forwarded.
extern "C" fn trap(signal: i32, info: *mut libc::siginfo_t, details: *mut c_void) {
    let guard = consulted().and_then(AddressSpace::guard);
    // SAFETY: the kernel passes a valid `siginfo_t` with SA_SIGINFO.
    let is_trap = STEP_CODES.contains(&unsafe { (*info).si_code });
    match guard.filter(|_| is_trap && MASK_BEFORE_STEP.get().is_some()) {
        Some(guard) => {
            step(details, false);
            guard.stepped();
        }
        None => forward(signal, info, details, true),
    }
}

/// `si_code` of a trap after one instruction: TRAP_TRACE, or TRAP_BRKPT on a virtual host that loses the cause. That is
/// no breakpoint of the program, because the instruction of a step accesses memory.
const STEP_CODES: [i32; 2] = [2, 1];

/// Makes a byte routine return an error. The routines are leaf code without stack frames, so the return address is
/// where their caller put it. Returns `false` if the fault is not in a byte routine.
fn recover(details: *mut c_void) -> bool {
    let (begin, end, resume) = bytes::code_range();
    let is_in_routine = (begin..end).contains(&program_counter(details));
    if is_in_routine {
        resume_at(resume, details);
    }
    is_in_routine
}

/// Prints which device allocation the host accessed.
fn report_device_access(address: usize) {
    let Some(space) = consulted() else { return };
    let mut line = StackString::default();
    // Cannot fail: a line that is too long is truncated.
    let _ = space.describe(address, &mut line);
    if line.len > 0 {
        // SAFETY: `line` has `len` initialized bytes. Write errors are ignored: the process is about to end.
        unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.len) };
    }
}

/// Sets the callback before a fault ends the process. It is called in a signal handler.
pub fn set_on_fatal(call: extern "C" fn()) {
    ON_FATAL.store(call as *mut (), Ordering::Release);
}

/// Lets the default action end the process: the access is repeated after the handler returns. A signal that was sent is
/// sent again.
fn terminate(signal: i32, is_sent: bool) {
    let call = ON_FATAL.load(Ordering::Acquire);
    if !call.is_null() {
        // SAFETY: only `set_on_fatal` stores a value, which is such a function.
        let call: extern "C" fn() = unsafe { std::mem::transmute(call) };
        call();
    }
    IS_TERMINATING.store(true, Ordering::Release);
    // SAFETY: both calls have no preconditions; `raise` sends to this thread.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if is_sent {
            libc::raise(signal);
        }
    }
}

/// Calls the handler that was installed before ours, as the kernel would.
fn forward(signal: i32, info: *mut libc::siginfo_t, details: *mut c_void, is_sent: bool) {
    let previous = previous(signal);
    let handler = previous.handler.load(Ordering::Relaxed);
    let flags = previous.flags.load(Ordering::Relaxed) as i32;
    // Set the mask that the handler would have without us: it may jump out and never return.
    // SAFETY: the kernel passes a valid context with SA_SIGINFO, so the mask inside it is valid.
    let interrupted = unsafe { *interrupted_mask(details) };
    let own = if flags & libc::SA_NODEFER == 0 { bit(signal) } else { 0 };
    let mask = set(interrupted | previous.mask.load(Ordering::Relaxed) | own);
    if !matches!(handler, libc::SIG_DFL | libc::SIG_IGN) {
        // SAFETY: `mask` is a complete set. The kernel restores the mask of the interrupted code from its context.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &mask, ptr::null_mut()) };
    }
    match handler {
        libc::SIG_DFL | libc::SIG_IGN => terminate(signal, is_sent),
        handler if flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the handler of an action with SA_SIGINFO has this signature.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, details);
        }
        handler => {
            // SAFETY: the handler of an action without SA_SIGINFO has this signature.
            let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}

/// A string of fixed capacity, for use without allocation. Text beyond the capacity is cut off.
struct StackString {
    bytes: [u8; 512],
    len: usize,
}

impl Default for StackString {
    fn default() -> Self {
        StackString { bytes: [0; 512], len: 0 }
    }
}

impl fmt::Write for StackString {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let part = text.len().min(room.len());
        room[..part].copy_from_slice(&text.as_bytes()[..part]);
        self.len += part;
        Ok(())
    }
}
