//! Accesses that no memory answers, handled where the kernel reports them.
//!
//! Two cases are ours. A fault inside the byte routines becomes an error of the copy: some range of
//! the program was not accessible. A touch of a device address by host code is told on standard
//! error, with the allocation, and then takes its course as on hardware. Everything else goes to
//! whoever handled it before.
//!
//! The handler itself does not allocate. It takes one lock, `INSTALL`, and only to reinstall the SIGTRAP handler before
//! a single step. With an observer that guards pinned memory (the checker), a fault in pinned memory runs
//! `Observer::touched` in the handler, which does more: it takes locks of the observer, allocates, changes page
//! protection, and may wait for another thread (Python frames, at most 100 ms). This is sound because the faulting
//! instruction accesses pinned memory at a program address: the observer never does that while it holds one of these
//! locks, and the allocator keeps no data there. All asynchronous signals are blocked during the handler. Before a
//! fault ends the process, the handler calls the `on_fatal` hook.

use crate::bytes::{self, Span};
use crate::machine::Machine;
use crate::memory::Memory;
use crate::observer::FaultAction;
use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

static WATCHED: AtomicPtr<Memory> = AtomicPtr::new(ptr::null_mut());
/// The machine whose observer protects pinned memory.
static OBSERVED: AtomicPtr<Machine> = AtomicPtr::new(ptr::null_mut());
/// What handled each signal before us: address of the handler and whether it takes the details.
static PREVIOUS: [Previous; SIGNALS.len()] = [const { Previous::new() }; SIGNALS.len()];
static INSTALL: Mutex<()> = Mutex::new(());
/// A fault ends the process: handlers stay as they are.
static IS_TERMINATING: AtomicBool = AtomicBool::new(false);
/// Called before a fault ends the process; null without one.
static ON_FATAL: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// The fault that was passed on last and has not come back: thread, address, and where the stack was.
/// Seeing it again deeper in the same stack means that whoever handles it called us.
static LAST_FORWARDED: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
/// How much deeper: less is the same depth, as when a handler has jumped out; more is another stack.
const DEEPER: std::ops::Range<usize> = 256..1 << 20;
const FAULTS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];
const SIGNALS: [i32; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP];

/// Our handler of a signal.
fn handler_for(signal: i32) -> usize {
    let handler = if signal == libc::SIGTRAP { trap } else { handle };
    handler as *const () as usize
}

struct Previous {
    handler: AtomicUsize,
    flags: AtomicUsize,
    /// The signals that it wants to have blocked.
    mask: AtomicU64,
}

impl Previous {
    const fn new() -> Self {
        Previous { handler: AtomicUsize::new(libc::SIG_DFL), flags: AtomicUsize::new(0), mask: AtomicU64::new(0) }
    }
}

thread_local! {
    /// The signals that the interrupted code had blocked before it was let through for one instruction.
    static BLOCKED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Makes touches of this machine's device addresses speak. The newest machine is the watched one.
pub fn set_diagnosed_machine(machine: &Machine) {
    WATCHED.store(ptr::from_ref(&machine.memory).cast_mut(), Ordering::Release);
    if machine.is_guarded() {
        OBSERVED.store(ptr::from_ref(machine).cast_mut(), Ordering::Release);
    }
    ensure_installed();
}

/// Writes a value to an address that the program gave for a result. `false`: it is not writable.
pub fn try_write(address: usize, value: &[u8]) -> bool {
    // Most results are variables on the stack, just above us, which are there.
    let is_near = address.wrapping_sub(&raw const value as usize) < STACK;
    let _hearing = (!is_near).then(enter);
    bytes::write(address, value).is_ok()
}

/// How far above us the stack of a caller is looked for.
const STACK: usize = 64 << 10;

/// Whether an array that the program gave can be read: one byte of every page is tried.
pub fn is_readable(address: usize, len: usize) -> bool {
    let Some(last) = address.checked_add(len.max(1) - 1) else { return false };
    let mut at = address;
    loop {
        if bytes::read::<1>(at).is_err() {
            return false;
        }
        let next = (at | (PAGE - 1)).wrapping_add(1);
        if next == 0 || next > last {
            return true;
        }
        at = next;
    }
}

/// Reads a text that the program gave, without its terminating zero. `None`: it is not readable, or
/// longer than `limit`.
pub fn try_read_c_str(address: usize, limit: usize) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() <= limit {
        match bytes::read::<1>(address.checked_add(text.len())?) {
            Ok([0]) => return Some(text),
            Ok([byte]) => text.push(byte),
            Err(_) => return None,
        }
    }
    None
}

/// Reads bytes of the program into a buffer. `false`: they are not all readable.
pub fn try_read(address: usize, buffer: &mut [u8]) -> bool {
    bytes::copy(Span { target: buffer.as_mut_ptr() as usize, source: address, len: buffer.len() }).is_ok()
}

/// The smallest page of any system.
const PAGE: usize = 4096;

/// The memory goes away.
pub(crate) fn forget(memory: &Memory) {
    let ours = ptr::from_ref(memory).cast_mut();
    if WATCHED.compare_exchange(ours, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        OBSERVED.store(ptr::null_mut(), Ordering::Release);
    }
}

/// Faults of this thread come to our handler until this is dropped.
#[must_use = "dropping it gives the program its signal mask back"]
pub struct FaultGuard(Option<libc::sigset_t>);

/// Sees to it that faults of this thread come to us: the program may have put a handler of its own
/// above ours, and may have blocked the signals, where the kernel would end the process.
pub fn enter() -> FaultGuard {
    ensure_installed();
    let mut faults = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is made and filled here; the calls only read and write these two sets, and
    // zeroes are a valid set in any case.
    let (before, was_deaf) = unsafe {
        libc::sigemptyset(faults.as_mut_ptr());
        for signal in FAULTS {
            libc::sigaddset(faults.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, faults.as_ptr(), before.as_mut_ptr());
        let before = before.assume_init();
        (before, FAULTS.iter().any(|signal| libc::sigismember(&before, *signal) == 1))
    };
    FaultGuard(was_deaf.then_some(before))
}

impl Drop for FaultGuard {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: it is the mask that this thread had.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
        }
    }
}

/// Puts the handlers of faults in place, above those that the program may have installed since.
pub(crate) fn ensure_installed() {
    ensure(&FAULTS);
}

/// The same before memory is protected: such a touch is always this one signal.
pub(crate) fn ensure_guarding() {
    ensure(&[libc::SIGSEGV]);
}

fn ensure(signals: &[i32]) {
    if signals.iter().all(|signal| current(*signal).sa_sigaction == handler_for(*signal)) {
        return;
    }
    let _guard = INSTALL.lock();
    install(signals);
}

/// The program has installed a handler of its own. Whoever is told so while we install ours is told of ours.
pub fn reinstall_handlers() {
    if IS_TERMINATING.load(Ordering::Acquire) {
        return;
    }
    if let Ok(_guard) = INSTALL.try_lock() {
        install(&FAULTS);
    }
}

/// Puts handlers in place where they are not. Under the lock.
fn install(signals: &[i32]) {
    for signal in signals {
        let there = current(*signal);
        if there.sa_sigaction == handler_for(*signal) {
            continue;
        }
        let previous = previous(*signal);
        previous.handler.store(there.sa_sigaction, Ordering::Relaxed);
        previous.flags.store(there.sa_flags as usize, Ordering::Relaxed);
        previous.mask.store(bits(&there.sa_mask), Ordering::Relaxed);
        let mut action = there;
        action.sa_sigaction = handler_for(*signal);
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | (there.sa_flags & libc::SA_NODEFER);
        // Another handler of the program could fault, or jump away from under our locks.
        action.sa_mask = set(!synchronous());
        // SAFETY: it is a complete action whose handler has the signature that SA_SIGINFO asks for.
        unsafe { libc::sigaction(*signal, &action, ptr::null_mut()) };
    }
}

/// A set of signals as the kernel has it: a bit for each.
fn bits(set: &libc::sigset_t) -> u64 {
    // SAFETY: on Linux a set begins with the 64 bits that the kernel knows.
    unsafe { ptr::from_ref(set).cast::<u64>().read_unaligned() }
}

fn set(bits: u64) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: as above, and zeroes are an empty set.
    unsafe {
        set.as_mut_ptr().cast::<u64>().write_unaligned(bits);
        set.assume_init()
    }
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Signals that an instruction can cause: blocked, they end the process.
fn synchronous() -> u64 {
    let signals = [libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP, libc::SIGFPE, libc::SIGILL, libc::SIGSYS];
    signals.map(bit).into_iter().fold(0, |all, one| all | one)
}

/// The signals that the interrupted code has blocked, which are those of its thread when we return.
fn interrupted_mask(details: *mut libc::c_void) -> *mut u64 {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid context with SA_SIGINFO; of the set it fills the first 64 bits.
    unsafe { (&raw mut (*context).uc_sigmask).cast() }
}

fn previous(signal: i32) -> &'static Previous {
    let index = SIGNALS.iter().position(|known| *known == signal);
    &PREVIOUS[index.expect("only these signals are ours")]
}

fn current(signal: i32) -> libc::sigaction {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asking fills the action and changes nothing; zeroes are a valid action in any case.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init()
    }
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, details: *mut libc::c_void) {
    // SAFETY: the kernel passes valid information with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    if observe(address, details) || is_migrating(signal, address) || recover(details) {
        return;
    }
    // SAFETY: as above.
    let is_sent = unsafe { (*info).si_code } <= 0;
    // SAFETY: asking for the identity of this thread has no conditions.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as usize;
    let place = if is_sent { 0 } else { address };
    let depth = (&raw const address) as usize;
    let [passed_thread, passed_place, passed_depth] =
        LAST_FORWARDED.each_ref().map(|cell| cell.load(Ordering::Relaxed));
    let is_nested = DEEPER.contains(&passed_depth.wrapping_sub(depth));
    if (passed_thread, passed_place) == (thread, place) && is_nested {
        terminate(signal, is_sent);
        return;
    }
    for (cell, value) in LAST_FORWARDED.iter().zip([thread, place, depth]) {
        cell.store(value, Ordering::Relaxed);
    }
    if !is_sent {
        report_device_access(address);
    }
    // The instruction that was let through does something else that is wrong.
    if BLOCKED.get().is_some() {
        step(details, false);
    }
    forward(signal, info, details, is_sent);
    // It came back: if the access faults once more, that is another fault.
    LAST_FORWARDED[0].store(0, Ordering::Relaxed);
}

/// Whether the access is to device memory that is on its way into a file, and can be repeated: where
/// the engine reaches device memory everything is writable, except during that.
fn is_migrating(signal: i32, address: usize) -> bool {
    // SAFETY: the pointer is of a living machine: `forget` clears it before the memory goes.
    let Some(memory) = (unsafe { WATCHED.load(Ordering::Acquire).as_ref() }) else { return false };
    if signal != libc::SIGSEGV || !memory.is_backing(address) {
        return false;
    }
    // SAFETY: lets others run, and has no conditions.
    unsafe { libc::sched_yield() };
    true
}

/// Tells an observer that memory it may have protected was touched. `true`: the access is repeated.
fn observe(address: usize, details: *mut libc::c_void) -> bool {
    // SAFETY: the pointer is of a living machine: `forget` clears it before the memory goes.
    let Some(machine) = (unsafe { OBSERVED.load(Ordering::Acquire).as_ref() }) else { return false };
    let Some(probe) = machine.probe().filter(|_| machine.memory.pinned().contains(address)) else { return false };
    // SAFETY: every thread has its own error number, which the interrupted code may be about to read.
    let errno = unsafe { *libc::__errno_location() };
    let reaction = probe.touched(address, is_write(details), program_counter(details));
    if reaction == FaultAction::Step {
        ensure(&[libc::SIGTRAP]);
        step(details, true);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    reaction != FaultAction::PassOn
}

/// Whether the access that faulted was a write.
#[cfg(target_arch = "x86_64")]
fn is_write(details: *mut libc::c_void) -> bool {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid context with SA_SIGINFO.
    let error = unsafe { (&(*context).uc_mcontext.gregs)[libc::REG_ERR as usize] };
    error & 2 != 0
}

/// The kernel adds records behind the registers, each with a number and a length; one of them is the syndrome of
/// the fault.
#[cfg(target_arch = "aarch64")]
fn is_write(details: *mut libc::c_void) -> bool {
    const SYNDROME: u32 = 0x4553_5201;
    const WRITE: u64 = 1 << 6;
    const REGISTERS: usize = std::mem::offset_of!(libc::mcontext_t, pstate) + size_of::<u64>();
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid context with SA_SIGINFO; only the address of a part is taken.
    let registers = unsafe { &raw const (*context).uc_mcontext }.cast::<u8>();
    let mut offset = REGISTERS.next_multiple_of(16);
    while offset + 16 <= size_of::<libc::mcontext_t>() {
        // SAFETY: the offset is inside the context, where records begin with a multiple of 16.
        let [number, len] = unsafe { registers.add(offset).cast::<[u32; 2]>().read() };
        match (number, len) {
            // SAFETY: as above; the syndrome comes behind the head of its record.
            (SYNDROME, _) => return unsafe { registers.add(offset + 8).cast::<u64>().read() } & WRITE != 0,
            (0, _) | (_, 0) => break,
            (_, len) => offset += len as usize,
        }
    }
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn is_write(_details: *mut libc::c_void) -> bool {
    true
}

/// Where the interrupted code is.
#[cfg(target_arch = "x86_64")]
fn program_counter(details: *mut libc::c_void) -> usize {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid context with SA_SIGINFO.
    unsafe { (&(*context).uc_mcontext.gregs)[libc::REG_RIP as usize] as usize }
}

#[cfg(target_arch = "aarch64")]
fn program_counter(details: *mut libc::c_void) -> usize {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid context with SA_SIGINFO.
    unsafe { (*context).uc_mcontext.pc as usize }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn program_counter(_details: *mut libc::c_void) -> usize {
    0
}

/// Lets the interrupted code go on somewhere else.
#[cfg(target_arch = "x86_64")]
fn resume_at(code: usize, details: *mut libc::c_void) {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid context with SA_SIGINFO, which is ours to change.
    unsafe { (&mut (*context).uc_mcontext.gregs)[libc::REG_RIP as usize] = code as i64 };
}

#[cfg(target_arch = "aarch64")]
fn resume_at(code: usize, details: *mut libc::c_void) {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid context with SA_SIGINFO, which is ours to change.
    unsafe { (*context).uc_mcontext.pc = code as u64 };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn resume_at(_code: usize, _details: *mut libc::c_void) {}

/// The processor flag that traps after every instruction.
#[cfg(target_arch = "x86_64")]
const TRAP: i64 = 1 << 8;

/// Lets the interrupted code trap after its next instruction, or no longer. No handler of the program runs in
/// between: it might not come back.
#[cfg(target_arch = "x86_64")]
fn step(details: *mut libc::c_void, on: bool) {
    let context = details.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid context with SA_SIGINFO, which is ours to change.
    let (flags, mask) =
        unsafe { (&mut (&mut (*context).uc_mcontext.gregs)[libc::REG_EFL as usize], &mut *interrupted_mask(details)) };
    if on {
        *flags |= TRAP;
        // One instruction may touch two pages.
        if BLOCKED.get().is_none() {
            BLOCKED.set(Some(*mask));
        }
        *mask = !synchronous();
    } else {
        *flags &= !TRAP;
        *mask = BLOCKED.take().unwrap_or(*mask);
    }
}

/// Elsewhere programs cannot be stepped from inside; observers do not ask for it.
#[cfg(not(target_arch = "x86_64"))]
fn step(_details: *mut libc::c_void, _on: bool) {}

/// The instruction that was let through is over; traps that are not ours are passed on.
extern "C" fn trap(signal: i32, info: *mut libc::siginfo_t, details: *mut libc::c_void) {
    // SAFETY: the pointer is of a living machine: `forget` clears it before the memory goes.
    let machine = unsafe { OBSERVED.load(Ordering::Acquire).as_ref() };
    // SAFETY: the kernel passes valid information with SA_SIGINFO.
    let is_step = unsafe { (*info).si_code } == TRAP_TRACE;
    match machine.and_then(Machine::probe).filter(|_| is_step) {
        Some(probe) => {
            step(details, false);
            probe.stepped();
        }
        None => forward(signal, info, details, true),
    }
}

/// What the kernel says of a trap after one instruction.
const TRAP_TRACE: i32 = 2;

/// Lets a byte routine return an error instead. The routines are leaf code without a stack, so where they return
/// to is where their caller left it.
fn recover(details: *mut libc::c_void) -> bool {
    let (begin, end, resume) = bytes::code_range();
    let is_ours = (begin..end).contains(&program_counter(details));
    if is_ours {
        resume_at(resume, details);
    }
    is_ours
}

/// Says which device memory the host touched.
fn report_device_access(address: usize) {
    // SAFETY: the pointer is of a living machine: `forget` clears it before the memory goes.
    let Some(memory) = (unsafe { WATCHED.load(Ordering::Acquire).as_ref() }) else { return };
    let Some(device) = memory.device_of(address) else { return explain_reserved(memory, address) };
    let mut line = StackString::default();
    let _ = match memory.device_extent(address) {
        Some(extent) => writeln!(
            line,
            "softacl: the host touched device memory: address {address:#x} is byte {} of the {} bytes at {:#x} on device {device}. \
             Device pointers can only be passed to the runtime; copy the data with aclrtMemcpy.",
            address - extent.start,
            extent.size,
            extent.start
        ),
        None => writeln!(
            line,
            "softacl: the host touched device memory: address {address:#x} of device {device} belongs to no live allocation."
        ),
    };
    // SAFETY: writes bytes that we own; the result does not matter on the way down.
    unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.len) };
}

/// The same for reserved addresses. What is mapped there is behind a lock, and not told.
fn explain_reserved(memory: &Memory, address: usize) {
    if !memory.reserved.contains(address) {
        return;
    }
    let mut line = StackString::default();
    let _ = writeln!(
        line,
        "softacl: the host touched a reserved address, {address:#x}, where nothing is mapped for it. \
         Device pointers can only be passed to the runtime; copy the data with aclrtMemcpy."
    );
    // SAFETY: writes bytes that we own; the result does not matter on the way down.
    unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.len) };
}

/// Calls this, in a signal handler, before a fault ends the process.
pub fn set_on_fatal(call: extern "C" fn()) {
    ON_FATAL.store(call as *mut (), Ordering::Release);
}

/// Lets the default action end the process: the access is repeated after we return, and a signal that
/// was sent is sent once more.
fn terminate(signal: i32, is_sent: bool) {
    let call = ON_FATAL.load(Ordering::Acquire);
    if !call.is_null() {
        // SAFETY: it was stored by `at_death`, as such a function.
        let call: extern "C" fn() = unsafe { std::mem::transmute(call) };
        call();
    }
    IS_TERMINATING.store(true, Ordering::Release);
    // SAFETY: restores the default action, and sends to this very thread.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if is_sent {
            libc::raise(signal);
        }
    }
}

fn forward(signal: i32, info: *mut libc::siginfo_t, details: *mut libc::c_void, is_sent: bool) {
    let previous = previous(signal);
    let handler = previous.handler.load(Ordering::Relaxed);
    let flags = previous.flags.load(Ordering::Relaxed) as i32;
    // With those signals blocked that would be without us: the handler may jump away and never come back.
    // SAFETY: the kernel passes a valid context with SA_SIGINFO.
    let interrupted = unsafe { *interrupted_mask(details) };
    let own = if flags & libc::SA_NODEFER == 0 { bit(signal) } else { 0 };
    let mask = set(interrupted | previous.mask.load(Ordering::Relaxed) | own);
    if !matches!(handler, libc::SIG_DFL | libc::SIG_IGN) {
        // SAFETY: a complete set, for this thread. The mask of the interrupted code comes back with its context.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &mask, ptr::null_mut()) };
    }
    match handler {
        libc::SIG_DFL | libc::SIG_IGN => terminate(signal, is_sent),
        handler if flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: an action with SA_SIGINFO has this signature.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, details);
        }
        handler => {
            // SAFETY: an action without SA_SIGINFO has this signature.
            let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}

/// A line of text without allocation.
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
