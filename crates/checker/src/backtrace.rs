//! Backtraces of the program.
//!
//! Capturing is cheap: it stores return addresses or, under Python, the frames of the interpreter. Symbolization
//! happens when the report is built.

use crate::finding::{Backtrace, Frame};
use crate::python;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// Maximum number of return addresses. Runtime frames come first, then those of the program.
const MAX_FRAMES: usize = 32;

/// A captured backtrace that is not symbolized yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct RawBacktrace {
    /// Shared by all captures at one call site.
    addresses: Arc<[usize]>,
    python: Box<[python::Line]>,
}

impl RawBacktrace {
    /// Captures the backtrace of the calling thread inside an API call.
    pub(crate) fn capture() -> RawBacktrace {
        RawBacktrace::with(python::lines())
    }

    /// Captures the backtrace of the calling thread outside of API calls.
    pub(crate) fn capture_outside_call() -> RawBacktrace {
        RawBacktrace::with(python::lines_outside_call())
    }

    /// Uses the Python frames, or the native stack if there are none.
    fn with(python: Box<[python::Line]>) -> RawBacktrace {
        let addresses = if python.is_empty() { cached_addresses() } else { Arc::default() };
        RawBacktrace { addresses, python }
    }

    pub(crate) fn is_python(&self) -> bool {
        !self.python.is_empty()
    }

    /// Hash of the backtrace.
    pub(crate) fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Symbolizes the backtrace. Runtime frames, up to and including `function`, are left out.
    pub(crate) fn resolve(&self, function: Option<&str>, names: &mut SymbolCache) -> Backtrace {
        if !self.python.is_empty() {
            let frame = |line: &python::Line| Frame {
                function: Some(line.function.clone()),
                file: Some(line.file.clone()),
                line: Some(line.line),
                ..Frame::default()
            };
            return Backtrace { frames: self.python.iter().map(frame).collect() };
        }
        let mut frames: Vec<Frame> = self.addresses.iter().flat_map(|address| names.at(*address).to_vec()).collect();
        // Drop the API function and everything it called.
        let is_called = |frame: &Frame| function.is_some_and(|name| frame.function.as_deref() == Some(name));
        if let Some(called) = frames.iter().position(is_called) {
            frames.drain(..=called);
        }
        let program = frames.iter().position(|frame| !is_runtime_frame(frame)).unwrap_or(frames.len());
        frames.drain(..program);
        // Drop the runtime frames that called a function of the program, such as a host function.
        if let Some(end) = frames.iter().position(is_runtime_frame) {
            frames.truncate(end);
        }
        // Drop the innermost frames of the safe Rust crate. Outer ones may surround a closure of the program and
        // stay.
        let is_safe_crate = |frame: &Frame| {
            frame.function.as_deref().is_some_and(|name| name.trim_start_matches('<').starts_with("ascendcl::"))
        };
        let program = frames.iter().position(|frame| !is_safe_crate(frame)).unwrap_or(0);
        frames.drain(..program);
        let is_start = |frame: &Frame| {
            matches!(
                frame.function.as_deref(),
                Some("__libc_start_main" | "__libc_start_call_main" | "_start" | "clone3")
            )
        };
        if let Some(end) = frames.iter().position(is_start) {
            frames.truncate(end);
        }
        Backtrace { frames }
    }
}

/// The backtrace of code that a signal interrupted. Capturing it allocates nothing, except under Python, whose own
/// signal handlers run between two instructions of the interpreter.
pub(crate) struct InterruptedBacktrace {
    addresses: [usize; MAX_FRAMES],
    from: usize,
    count: usize,
    python: Box<[python::Line]>,
}

impl InterruptedBacktrace {
    /// Captures the backtrace of the code at an address, in the handler of the signal that interrupted it.
    pub(crate) fn capture(code: usize) -> InterruptedBacktrace {
        let python = python::lines_outside_call();
        if !python.is_empty() {
            return InterruptedBacktrace { addresses: [0; MAX_FRAMES], from: 0, count: 0, python };
        }
        let (mut addresses, count) = addresses();
        // The frames before it are the handler. `+ 1` because symbolization subtracts 1 from return addresses.
        let from = addresses[..count].iter().position(|address| *address == code);
        if let Some(from) = from {
            addresses[from] += 1;
        }
        InterruptedBacktrace { addresses, from: from.unwrap_or(0), count, python }
    }
}

impl From<InterruptedBacktrace> for RawBacktrace {
    fn from(captured: InterruptedBacktrace) -> RawBacktrace {
        RawBacktrace { addresses: captured.addresses[captured.from..captured.count].into(), python: captured.python }
    }
}

/// True for frames of the runtime library and of the interposer. If the runtime is linked statically, only the API
/// function's name identifies its frames.
fn is_runtime_frame(frame: &Frame) -> bool {
    frame.module.as_ref().is_some_and(is_runtime_module)
}

/// True if a function belongs to the runtime library or to the interposer.
pub(crate) fn is_runtime_address(address: usize) -> bool {
    module(address).0.as_ref().is_some_and(is_runtime_module)
}

fn is_runtime_module(module_name: &String) -> bool {
    static RUNTIME: OnceLock<Option<String>> = OnceLock::new();
    let runtime =
        RUNTIME.get_or_init(|| module(is_runtime_frame as *const () as usize).0.filter(|name| name.contains(".so")));
    runtime.as_ref() == Some(module_name) || module_name.ends_with(INTERPOSER)
}

/// File name of the interposer library.
const INTERPOSER: &str = "libsoftacl_interposer.so";

/// Return addresses of the calling thread. Does not allocate, because signal handlers call it.
pub(crate) fn addresses() -> ([usize; MAX_FRAMES], usize) {
    let mut unwind = CachedUnwind::default();
    unwind.unwind();
    (unwind.addresses, unwind.count)
}

/// Return addresses of the calling thread, from a per-thread cache: a program calls from few call sites. Not for
/// signal handlers.
fn cached_addresses() -> Arc<[usize]> {
    let marker = std::hint::black_box(0_u8);
    let depth = (&raw const marker) as usize;
    CACHED
        .try_with(|cached| {
            let mut cached = cached.borrow_mut();
            if let Some((_, shared)) = cached.iter().find(|(unwind, _)| unwind.depth == depth && unwind.is_current()) {
                return Arc::clone(shared);
            }
            let mut unwind = CachedUnwind { depth, ..CachedUnwind::default() };
            unwind.unwind();
            let shared: Arc<[usize]> = unwind.addresses[..unwind.count].into();
            if unwind.is_current() {
                if cached.len() == MAX_CACHED {
                    cached.remove(0);
                }
                cached.push((unwind, Arc::clone(&shared)));
            }
            shared
        })
        // The thread-local cache of an ending thread is already destroyed.
        .unwrap_or_else(|_| {
            let (addresses, count) = addresses();
            addresses[..count].into()
        })
}

/// Number of unwinds in the cache of a thread.
const MAX_CACHED: usize = 8;

thread_local! {
    /// Each unwind with its shared addresses.
    static CACHED: RefCell<Vec<(CachedUnwind, Arc<[usize]>)>> = const { RefCell::new(Vec::new()) };
}

/// An unwind that can be reused while the stack is unchanged.
#[derive(Debug)]
struct CachedUnwind {
    /// Stack address of the capture.
    depth: usize,
    addresses: [usize; MAX_FRAMES],
    /// Stack slot of each return address.
    slots: [usize; MAX_FRAMES],
    count: usize,
}

impl Default for CachedUnwind {
    fn default() -> Self {
        CachedUnwind { depth: 0, addresses: [0; MAX_FRAMES], slots: [0; MAX_FRAMES], count: 0 }
    }
}

impl CachedUnwind {
    fn unwind(&mut self) {
        // SAFETY: only this thread unwinds its own stack. Interrupted code has unwind tables like any other code.
        unsafe {
            backtrace::trace_unsynchronized(|frame| {
                let address = frame.ip() as usize;
                if address == 0 {
                    return true;
                }
                self.addresses[self.count] = address;
                self.slots[self.count] = (frame.sp() as usize).wrapping_sub(size_of::<usize>());
                self.count += 1;
                self.count < MAX_FRAMES
            });
        }
    }

    /// True if the return addresses above the current frame are unchanged. Then the unwind is unchanged as well,
    /// because each address determines the size of the next frame.
    fn is_current(&self) -> bool {
        let mut above = self.depth;
        let frames = self.slots.iter().zip(&self.addresses).take(self.count);
        for (slot, address) in frames.skip_while(|(slot, _)| **slot <= self.depth) {
            if *slot <= above || *slot - above > MAX_FRAME_BYTES || slot % size_of::<usize>() != 0 {
                return false;
            }
            // SAFETY: the stack is mapped between the current frame and any outer frame.
            if unsafe { std::ptr::read_volatile(*slot as *const usize) } != *address {
                return false;
            }
            above = *slot;
        }
        above > self.depth
    }
}

/// Upper bound of a frame size. A larger distance means another stack.
const MAX_FRAME_BYTES: usize = 256 << 10;

/// Cache of symbolized frames for one report. Most operations come from few call sites.
#[derive(Debug, Default)]
pub(crate) struct SymbolCache {
    frames: HashMap<usize, Vec<Frame>>,
    /// Frames have a module and an offset only, which takes no time.
    is_brief: bool,
}

impl SymbolCache {
    pub(crate) fn new(is_brief: bool) -> SymbolCache {
        SymbolCache { frames: HashMap::new(), is_brief }
    }

    /// Frames at a return address: more than one if calls were inlined.
    fn at(&mut self, address: usize) -> &[Frame] {
        let is_brief = self.is_brief;
        self.frames.entry(address).or_insert_with(|| if is_brief { locate(address) } else { symbolize(address) })
    }
}

fn locate(address: usize) -> Vec<Frame> {
    let (module, offset) = module(address);
    vec![Frame { module, offset, ..Frame::default() }]
}

fn symbolize(address: usize) -> Vec<Frame> {
    let (module, offset) = module(address);
    let mut frames = Vec::new();
    // Resolves the byte before the address, because the call instruction precedes the return address.
    backtrace::resolve(address as *mut c_void, |symbol| {
        frames.push(Frame {
            function: symbol.name().map(|name| readable(&name)),
            file: symbol.filename().map(|path| path.display().to_string()),
            line: symbol.lineno(),
            module: module.clone(),
            offset,
        });
    });
    if frames.is_empty() {
        frames.push(Frame { module, offset, ..Frame::default() });
    }
    frames
}

/// Demangled name. C names are not demangled, because some look like mangled ones.
fn readable(name: &backtrace::SymbolName<'_>) -> String {
    match name.as_bytes() {
        mangled if mangled.starts_with(b"_Z") || mangled.starts_with(b"_R") => format!("{name:#}"),
        plain => String::from_utf8_lossy(plain).into_owned(),
    }
}

/// File that contains an address, and the offset in it.
fn module(address: usize) -> (Option<String>, u64) {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: fills the structure when it finds the address; zeroes are valid for all of its fields.
    let (found, info) = unsafe { (libc::dladdr(address as *const c_void, info.as_mut_ptr()), info.assume_init()) };
    if found == 0 || info.dli_fname.is_null() {
        return (None, address as u64);
    }
    // SAFETY: a C string of the dynamic loader, valid while the module is loaded.
    let name = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) };
    (Some(name.to_string_lossy().into_owned()), (address - info.dli_fbase as usize) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_backtrace_contains_the_calling_line() {
        let line = line!() + 1;
        let backtrace = RawBacktrace::capture();
        // `resolve` would drop this function as a runtime frame, so symbolize directly.
        let frames: Vec<Frame> = backtrace.addresses.iter().flat_map(|address| symbolize(*address)).collect();
        let own = |frame: &&Frame| frame.file.as_deref().is_some_and(|file| file.ends_with("backtrace.rs"));
        assert!(frames.iter().filter(own).any(|frame| frame.line == Some(line)), "{frames:#?}");
        assert_eq!(backtrace.key(), backtrace.clone().key());
    }

    #[test]
    fn interrupted_instruction_is_not_the_one_before_it() {
        #[inline(never)]
        extern "C" fn interrupted() -> u32 {
            std::hint::black_box(7)
        }
        let line = line!() - 3;
        let code = interrupted as *const () as usize;
        let mut captured = InterruptedBacktrace::capture(code);
        // As if its first instruction had been interrupted.
        (captured.addresses[0], captured.from, captured.count) = (code + 1, 0, 1);
        let backtrace = RawBacktrace::from(captured);
        let frames = symbolize(backtrace.addresses[0]);
        assert!(frames.iter().any(|frame| frame.line.is_some_and(|at| at.abs_diff(line) <= 1)), "{frames:#?}");
    }

    /// Alternates between two callers: the cached unwind must equal a fresh one.
    #[test]
    fn cached_unwind_matches_a_fresh_one() {
        #[inline(never)]
        fn capture_here() -> Vec<usize> {
            let (cached, (fresh, fresh_count)) = (cached_addresses(), addresses());
            let fresh = &fresh[..fresh_count];
            let same = cached.iter().rev().zip(fresh.iter().rev()).take_while(|(one, other)| one == other).count();
            // The innermost frames differ: they belong to the two capture functions.
            assert!(same + 4 >= fresh.len() && same + 4 >= cached.len(), "{cached:x?} {fresh:x?}");
            cached[cached.len() - same..].to_vec()
        }
        #[inline(never)]
        fn one() -> Vec<usize> {
            std::hint::black_box(capture_here())
        }
        #[inline(never)]
        fn other() -> Vec<usize> {
            std::hint::black_box(capture_here())
        }
        for _ in 0..3 {
            assert_ne!(one(), other());
        }
    }
}
