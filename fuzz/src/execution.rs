//! Execution of one input in a child process.
//!
//! An input is a list of call seeds; each seed determines one call. The input passes if every call returns, none
//! panics, and no canary memory changes.

use crate::api::{FUNCTIONS, Function, index_of};
use crate::arena::Arena;
use crate::arguments::{ArgumentGenerator, ValuePool, is_handle};
use crate::progress::Progress;
use ascendcl_capi as acl;
use fastrand::Rng;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::Mutex;
use std::time::Duration;

/// An input: a list of calls. Its text form, one line per program, is stored in the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    pub style: Style,
    /// Call seeds of each program. Programs run one after the other; the threads of one program run concurrently.
    pub programs: Vec<Vec<u64>>,
}

/// How calls are generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Any function with any values.
    AnyCall,
    /// Implemented functions with mostly valid values, which reach deep into the engine.
    Sequences,
}

impl Style {
    /// Returns the name of the fuzz target.
    pub fn name(self) -> &'static str {
        match self {
            Style::AnyCall => "c-interface",
            Style::Sequences => "sequences",
        }
    }

    /// Returns the style of a fuzz target. `None` if the name is unknown.
    pub fn of(name: &str) -> Option<Style> {
        [Style::AnyCall, Style::Sequences].into_iter().find(|style| style.name() == name)
    }
}

impl Input {
    /// Generates an input from a seed.
    pub fn random(style: Style, seed: u64) -> Input {
        let mut rng = Rng::with_seed(seed);
        let programs = (0..rng.usize(1..40)).map(|_| (0..rng.usize(5..150)).map(|_| rng.u64(..)).collect());
        Input { style, programs: programs.collect() }
    }

    pub fn calls(&self) -> usize {
        self.programs.iter().map(Vec::len).sum()
    }

    /// Formats the input as text.
    pub fn write(&self) -> String {
        let lines = self
            .programs
            .iter()
            .map(|program| program.iter().map(|seed| format!("{seed:x}")).collect::<Vec<_>>().join(" "));
        std::iter::once(self.style.name().to_owned()).chain(lines).collect::<Vec<_>>().join("\n") + "\n"
    }

    /// Parses the text form. `None` if it is malformed.
    pub fn read(text: &str) -> Option<Input> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let style = Style::of(lines.next()?)?;
        let numbers = |line: &str| line.split_whitespace().map(|seed| u64::from_str_radix(seed, 16).ok()).collect();
        Some(Input { style, programs: lines.map(numbers).collect::<Option<_>>()? })
    }
}

/// Device or pinned memory that no call names and that must not change.
struct Canary {
    address: *mut c_void,
    /// Address at which the host may read it.
    view: usize,
    pinned: bool,
}

/// Bytes of a canary.
const CANARY_SIZE: usize = 5000;

impl Canary {
    fn byte(&self, index: usize) -> u8 {
        (index * 7 + 13) as u8 ^ u8::from(self.pinned)
    }

    fn new(pinned: bool) -> Canary {
        let mut address = ptr::null_mut();
        // SAFETY: `address` receives the result.
        let code = unsafe {
            if pinned {
                acl::memory::aclrtMallocHost(&mut address, CANARY_SIZE)
            } else {
                acl::memory::aclrtMalloc(&mut address, CANARY_SIZE, 0)
            }
        };
        assert_eq!(code, 0, "a canary could not be allocated");
        let mut view = address;
        // SAFETY: `view` receives the result.
        let code = if pinned { 0 } else { unsafe { acl::extension::softaclHostView(address, CANARY_SIZE, &mut view) } };
        assert_eq!(code, 0, "a canary cannot be mapped for the host");
        let canary = Canary { address, view: view as usize, pinned };
        let bytes: Vec<u8> = (0..CANARY_SIZE).map(|index| canary.byte(index)).collect();
        // SAFETY: both sides are `CANARY_SIZE` bytes long.
        let code = unsafe { acl::copy::aclrtMemcpy(address, CANARY_SIZE, bytes.as_ptr().cast(), CANARY_SIZE, 4) };
        assert_eq!(code, 0, "a canary could not be filled");
        canary
    }

    /// Describes how the memory changed. `None` if it did not. Reads the bytes without an API call, which could fail
    /// for other reasons, such as captures and failed contexts.
    fn corruption(&self) -> Option<String> {
        let kind = if self.pinned { "pinned" } else { "device" };
        let changed = (0..CANARY_SIZE).find(|index| {
            // SAFETY: within the allocation, at its host address. If it has been unmapped, the crash is a finding.
            let byte = unsafe { (self.view as *const u8).add(*index).read_volatile() };
            byte != self.byte(*index)
        });
        changed.map(|index| format!("byte {index} of {kind} memory that no call named has changed"))
    }
}

/// Returns the message of the last failed call.
fn recent_message() -> String {
    let text = acl::error::aclGetRecentErrMsg();
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the function returns a zero-terminated string.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Functions that release memory or shut down the runtime. Canaries are not checked after them.
const TEARDOWN_FUNCTIONS: &[&str] =
    &["aclrtResetDevice", "aclrtResetDeviceForce", "aclFinalize", "aclFinalizeReference", "aclrtDestroyContext"];

/// State of the execution of one input.
struct Execution {
    pool: Mutex<ValuePool>,
    progress: Progress,
    style: Style,
    /// True for each function that may be called.
    is_chosen: Vec<bool>,
    /// Set after a teardown function was called.
    torn_down: std::sync::atomic::AtomicBool,
}

/// Executes an input. The error describes the failure.
pub fn execute(input: &Input, progress: Progress, verbose: bool) -> Result<(), String> {
    set_device(0);
    let mut rng = Rng::with_seed(1);
    let mut pool = ValuePool::default();
    let mut canaries = Vec::new();
    for size in [64, 4096, 5000, 100_000] {
        for pinned in [false, true] {
            let neighbor = Canary::new(pinned);
            pool.add_memory(&mut rng, neighbor.address as usize, size.min(CANARY_SIZE));
            canaries.push(Canary::new(pinned));
        }
    }
    let implemented = |function: &Function| {
        let state = ascendcl_sys::manifest::function(function.name).map(|function| function.state);
        !matches!(state, Some(ascendcl_sys::Support::Absent(_)))
    };
    let is_chosen = FUNCTIONS.iter().map(|function| input.style == Style::AnyCall || implemented(function)).collect();
    let execution = Execution { pool: pool.into(), progress, style: input.style, is_chosen, torn_down: false.into() };
    std::thread::spawn(move || unblock_waits(progress));
    let mut first = 0;
    for program in &input.programs {
        let threads = if execution.style == Style::Sequences && program.first().is_some_and(|seed| seed % 4 == 0) {
            3
        } else {
            1
        };
        let share = program.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let parts = program.chunks(share).enumerate();
            let started: Vec<_> = parts
                .map(|(part, calls)| {
                    let (execution, first) = (&execution, first + part * share);
                    scope.spawn(move || execution.run(first, calls, verbose))
                })
                .collect();
            started.into_iter().try_for_each(|thread| thread.join().map_err(|_| "the fuzzer panicked".to_owned())?)
        })?;
        first += program.len();
        if execution.torn_down.load(std::sync::atomic::Ordering::Relaxed) {
            progress.program_done();
            return Ok(());
        }
        set_device(0);
        if let Some(corruption) = canaries.iter().find_map(Canary::corruption) {
            return Err(corruption);
        }
        progress.program_done();
    }
    Ok(())
}

impl Execution {
    /// Makes the calls of one thread. `first` is the position of its first call in the input.
    fn run(&self, first: usize, seeds: &[u64], verbose: bool) -> Result<(), String> {
        let arena = Arena::new();
        set_device(0);
        for (index, seed) in seeds.iter().enumerate() {
            let mut rng = Rng::with_seed(*seed);
            // The drawn index does not depend on which functions are implemented, so that corpus inputs stay stable.
            let function = loop {
                let function = rng.usize(..FUNCTIONS.len());
                if self.is_chosen[function] {
                    break function;
                }
            };
            let is_teardown = TEARDOWN_FUNCTIONS.contains(&FUNCTIONS[function].name);
            // Skip most teardowns, so that most inputs run to their end.
            if is_teardown && rng.u32(0..8) != 0 {
                continue;
            }
            self.call(&mut rng, &arena, first + index, function, verbose)?;
            if is_teardown {
                self.torn_down.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
        if arena.is_intact() { Ok(()) } else { Err("memory before the arguments has changed".to_owned()) }
    }

    /// Generates the arguments, makes the call and records its results.
    fn call(&self, rng: &mut Rng, arena: &Arena, position: usize, index: usize, verbose: bool) -> Result<(), String> {
        let function = &FUNCTIONS[index];
        let valid_percent = match self.style {
            Style::AnyCall => [10, 50, 80][rng.usize(..3)],
            Style::Sequences => [97, 90][rng.usize(..2)],
        };
        let words = ArgumentGenerator { rng, arena, pool: &self.pool(), valid_percent }.arguments(function);
        if verbose {
            eprintln!("call {position}: {}({})", function.name, format_words(&words));
        }
        self.progress.begin(position, index);
        let result = function.call(&words);
        let succeeded = function.returns_code && result as i32 == 0;
        self.progress.end(index, succeeded);
        if verbose {
            eprintln!("  returns {}", result as i32);
        }
        if function.returns_code && result as i32 == 500_000 {
            return Err(format!("{} panicked: {}", function.name, recent_message()));
        }
        self.record_results(rng, arena, function, &words, result);
        Ok(())
    }

    /// Adds returned handles and addresses to the pool.
    fn record_results(&self, rng: &mut Rng, arena: &Arena, function: &Function, words: &[Vec<u64>], result: u64) {
        let mut pool = self.pool();
        if function.name == "aclCreateDataBuffer" {
            pool.add_handle(rng, "aclDataBuffer*", result);
        }
        if !function.returns_code || result as i32 != 0 {
            return;
        }
        let size = function.parameters.iter().zip(words).find(|(parameter, _)| parameter.name.ends_with("ize"));
        let size = size.map_or(4096, |(_, words)| (words[0] as usize).min(64 << 20));
        for (position, (parameter, words)) in function.parameters.iter().zip(words).enumerate() {
            let slot = arena.slot(position);
            let Some(kind) = parameter.pointee() else { continue };
            if words[0] as usize != slot {
                continue;
            }
            if kind == "void*" && position == 0 && function.name.contains("lloc") | function.name.contains("Reserve") {
                pool.add_memory(rng, arena.read_word(slot) as usize, size);
            } else if is_handle(kind) {
                pool.add_handle(rng, kind, arena.read_word(slot));
            }
        }
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, ValuePool> {
        self.pool.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn format_words(words: &[Vec<u64>]) -> String {
    let words = words.iter().map(|words| words.iter().map(|word| format!("{word:#x}")).collect::<Vec<_>>().join("|"));
    words.collect::<Vec<_>>().join(", ")
}

fn set_device(device: i32) {
    // SAFETY: takes an integer.
    unsafe { acl::device::aclrtSetDevice(device) };
}

/// Ends waits that the input made endless: for a value that is never written, or an event of a stuck stream.
fn unblock_waits(progress: Progress) {
    let abort = &FUNCTIONS[index_of("aclrtDeviceTaskAbort")];
    loop {
        let last = progress.calls();
        std::thread::sleep(Duration::from_millis(150));
        if progress.function().is_some() && progress.calls() == last {
            for device in 0..2 {
                set_device(device);
                abort.call(&[vec![device as u64], vec![100]]);
            }
        }
    }
}
