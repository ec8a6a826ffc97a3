//! Where in the program something was asked for.
//!
//! Capturing is cheap: return addresses, and under Python the frames of the interpreter. Names, files
//! and lines are looked up when the report is made.

use crate::finding::{Backtrace, Frame};
use crate::python;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// Return addresses that are kept: ours come first, then those of the program.
const DEPTH: usize = 32;

/// A place that was captured and not looked up yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct RawBacktrace {
    /// Shared by all that was asked for at one place.
    addresses: Arc<[usize]>,
    python: Box<[python::Line]>,
}

impl RawBacktrace {
    /// The place of the calling thread.
    pub(crate) fn capture() -> RawBacktrace {
        RawBacktrace::with(python::lines())
    }

    /// The place of the calling thread when it is in no call of the interface.
    pub(crate) fn capture_outside_call() -> RawBacktrace {
        RawBacktrace::with(python::lines_outside())
    }

    /// Frames of Python, or those of the thread where there are none.
    fn with(python: Box<[python::Line]>) -> RawBacktrace {
        let addresses = if python.is_empty() { remembered() } else { Arc::default() };
        RawBacktrace { addresses, python }
    }

    /// The place of interrupted code, in a signal handler.
    pub(crate) fn interrupted(code: usize) -> RawBacktrace {
        let python = python::lines_outside();
        if !python.is_empty() {
            return RawBacktrace { addresses: Arc::default(), python };
        }
        let (mut addresses, count) = addresses();
        // What comes before is the handler. The instruction itself counts, not the one before it.
        let from = addresses[..count].iter().position(|address| *address == code);
        if let Some(from) = from {
            addresses[from] += 1;
        }
        RawBacktrace { addresses: addresses[from.unwrap_or(0)..count].into(), python }
    }

    pub(crate) fn is_python(&self) -> bool {
        !self.python.is_empty()
    }

    /// Equal for the same place.
    pub(crate) fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Looks names, files and lines up. Frames of the runtime itself, down to `function`, are left out.
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
        // The function that the program has called, and what it called in turn.
        let is_called = |frame: &Frame| function.is_some_and(|name| frame.function.as_deref() == Some(name));
        if let Some(called) = frames.iter().position(is_called) {
            frames.drain(..=called);
        }
        let program = frames.iter().position(|frame| !is_runtime_frame(frame)).unwrap_or(frames.len());
        frames.drain(..program);
        // Further out is what has called a function of the program.
        if let Some(end) = frames.iter().position(is_runtime_frame) {
            frames.truncate(end);
        }
        // The safe Rust crate is not the program. Further out it may be again, around a body that it was given.
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

/// Whether a frame is in the runtime's library, or in that of the interposer. Where the runtime is part of the program only
/// the name of the called function tells.
fn is_runtime_frame(frame: &Frame) -> bool {
    static RUNTIME: OnceLock<Option<String>> = OnceLock::new();
    let runtime =
        RUNTIME.get_or_init(|| module(is_runtime_frame as *const () as usize).0.filter(|name| name.contains(".so")));
    let is_runtime = |module: &String| runtime.as_ref() == Some(module) || module.ends_with(INTERPOSER);
    frame.module.as_ref().is_some_and(is_runtime)
}

/// The library of the interposer.
const INTERPOSER: &str = "libsoftacl_interposer.so";

/// The return addresses of the calling thread. Allocates nothing: it is called in signal handlers.
pub(crate) fn addresses() -> ([usize; DEPTH], usize) {
    let mut walk = CachedUnwind::default();
    walk.unwind();
    (walk.addresses, walk.count)
}

/// The same, remembered: a program calls from few places again and again. Not for signal handlers.
fn remembered() -> Arc<[usize]> {
    let here = std::hint::black_box(0_u8);
    let depth = (&raw const here) as usize;
    WALKS
        .try_with(|walks| {
            let mut walks = walks.borrow_mut();
            if let Some((_, kept)) = walks.iter().find(|(walk, _)| walk.depth == depth && walk.holds()) {
                return Arc::clone(kept);
            }
            let mut walk = CachedUnwind { depth, ..CachedUnwind::default() };
            walk.unwind();
            let kept: Arc<[usize]> = walk.addresses[..walk.count].into();
            if walk.holds() {
                if walks.len() == WALKED {
                    walks.remove(0);
                }
                walks.push((walk, Arc::clone(&kept)));
            }
            kept
        })
        // A thread that is about to end has no memory of its own any more.
        .unwrap_or_else(|_| {
            let (addresses, count) = addresses();
            addresses[..count].into()
        })
}

/// Walks that a thread remembers.
const WALKED: usize = 8;

thread_local! {
    /// Each with its addresses, for whoever asks.
    static WALKS: RefCell<Vec<(CachedUnwind, Arc<[usize]>)>> = const { RefCell::new(Vec::new()) };
}

/// A way up the stack of a thread.
#[derive(Debug)]
struct CachedUnwind {
    /// Where the stack was.
    depth: usize,
    addresses: [usize; DEPTH],
    /// Where on the stack each of them was found.
    slots: [usize; DEPTH],
    count: usize,
}

impl Default for CachedUnwind {
    fn default() -> Self {
        CachedUnwind { depth: 0, addresses: [0; DEPTH], slots: [0; DEPTH], count: 0 }
    }
}

impl CachedUnwind {
    fn unwind(&mut self) {
        // SAFETY: unwinding this very thread while nobody else unwinds it; it may be interrupted code,
        // whose frames have unwind tables like any others.
        unsafe {
            backtrace::trace_unsynchronized(|frame| {
                let address = frame.ip() as usize;
                if address == 0 {
                    return true;
                }
                self.addresses[self.count] = address;
                self.slots[self.count] = (frame.sp() as usize).wrapping_sub(size_of::<usize>());
                self.count += 1;
                self.count < DEPTH
            });
        }
    }

    /// Whether the addresses that are above us on the stack are still those: then the way is the same, since
    /// each of them says how far up the next one is.
    fn holds(&self) -> bool {
        let mut above = self.depth;
        let frames = self.slots.iter().zip(&self.addresses).take(self.count);
        for (slot, address) in frames.skip_while(|(slot, _)| **slot <= self.depth) {
            if *slot <= above || *slot - above > FRAME || slot % size_of::<usize>() != 0 {
                return false;
            }
            // SAFETY: between here and a frame that was found further up, the stack of a thread is mapped.
            if unsafe { std::ptr::read_volatile(*slot as *const usize) } != *address {
                return false;
            }
            above = *slot;
        }
        above > self.depth
    }
}

/// No frame is larger; beyond that another stack begins.
const FRAME: usize = 256 << 10;

/// What was looked up for a report: most of its operations come from a few places.
#[derive(Debug, Default)]
pub(crate) struct SymbolCache(HashMap<usize, Vec<Frame>>);

impl SymbolCache {
    /// The frames at a return address: more than one where calls were inlined.
    fn at(&mut self, address: usize) -> &[Frame] {
        self.0.entry(address).or_insert_with(|| symbolize(address))
    }
}

fn symbolize(address: usize) -> Vec<Frame> {
    let (module, offset) = module(address);
    let mut frames = Vec::new();
    // The call is before the address it returns to.
    backtrace::resolve((address - 1) as *mut c_void, |symbol| {
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

/// The name as the source has it. Those of C are not mangled, and some would mean something if they were.
fn readable(name: &backtrace::SymbolName<'_>) -> String {
    match name.as_bytes() {
        mangled if mangled.starts_with(b"_Z") || mangled.starts_with(b"_R") => format!("{name:#}"),
        plain => String::from_utf8_lossy(plain).into_owned(),
    }
}

/// The file that the code at an address comes from, and where in it.
fn module(address: usize) -> (Option<String>, u64) {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: fills the structure when it finds the address; zeroes are valid for all its fields.
    let (found, info) = unsafe { (libc::dladdr(address as *const c_void, info.as_mut_ptr()), info.assume_init()) };
    if found == 0 || info.dli_fname.is_null() {
        return (None, address as u64);
    }
    // SAFETY: a C string of the loader, which lives as long as the module.
    let name = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) };
    (Some(name.to_string_lossy().into_owned()), (address - info.dli_fbase as usize) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_knows_its_function_file_and_line() {
        let line = line!() + 1;
        let spot = RawBacktrace::capture();
        // This very function has the project's name in it, so it counts as ours: look before that.
        let frames: Vec<Frame> = spot.addresses.iter().flat_map(|address| symbolize(*address)).collect();
        let own = |frame: &&Frame| frame.file.as_deref().is_some_and(|file| file.ends_with("backtrace.rs"));
        assert!(frames.iter().filter(own).any(|frame| frame.line == Some(line)), "{frames:#?}");
        assert_eq!(spot.key(), spot.clone().key());
    }

    /// Two ways up to the same function, again and again: what is remembered is what unwinding finds.
    #[test]
    fn a_remembered_place_is_the_right_one() {
        #[inline(never)]
        fn capture_here() -> Vec<usize> {
            let (known, (fresh, fresh_count)) = (remembered(), addresses());
            let fresh = &fresh[..fresh_count];
            let same = known.iter().rev().zip(fresh.iter().rev()).take_while(|(one, other)| one == other).count();
            // The innermost frames are those of the two ways to ask.
            assert!(same + 4 >= fresh.len() && same + 4 >= known.len(), "{known:x?} {fresh:x?}");
            known[known.len() - same..].to_vec()
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
