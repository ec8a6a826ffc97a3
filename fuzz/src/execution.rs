//! The life of one fuzzing process: a list of genes, each of which is a call. It ends with 0 when every call has
//! come back, none has panicked, and the bytes that nobody addressed are as they were.

use crate::arena::Arena;
use crate::arguments::{ArgumentGenerator, ValuePool, is_handle};
use crate::interface::{FUNCTIONS, Function, number};
use crate::progress::Progress;
use ascendcl_capi as acl;
use fastrand::Rng;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::Mutex;
use std::time::Duration;

/// What a life is made of. A line of text each, so that it can be kept as a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    pub style: Style,
    /// Programs; the threads of a program run at the same time.
    pub programs: Vec<Vec<u64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Any function, any values.
    Interface,
    /// Functions that are implemented, values that are mostly right: far into the engine.
    Sequences,
}

impl Style {
    pub fn name(self) -> &'static str {
        match self {
            Style::Interface => "c-interface",
            Style::Sequences => "sequences",
        }
    }

    pub fn of(name: &str) -> Option<Style> {
        [Style::Interface, Style::Sequences].into_iter().find(|style| style.name() == name)
    }
}

impl Input {
    pub fn random(style: Style, seed: u64) -> Input {
        let mut rng = Rng::with_seed(seed);
        let programs = (0..rng.usize(1..40)).map(|_| (0..rng.usize(5..150)).map(|_| rng.u64(..)).collect());
        Input { style, programs: programs.collect() }
    }

    pub fn calls(&self) -> usize {
        self.programs.iter().map(Vec::len).sum()
    }

    pub fn write(&self) -> String {
        let lines = self
            .programs
            .iter()
            .map(|program| program.iter().map(|gene| format!("{gene:x}")).collect::<Vec<_>>().join(" "));
        std::iter::once(self.style.name().to_owned()).chain(lines).collect::<Vec<_>>().join("\n") + "\n"
    }

    pub fn read(text: &str) -> Option<Input> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let style = Style::of(lines.next()?)?;
        let numbers = |line: &str| line.split_whitespace().map(|gene| u64::from_str_radix(gene, 16).ok()).collect();
        Some(Input { style, programs: lines.map(numbers).collect::<Option<_>>()? })
    }
}

/// Device and pinned memory that is in nobody's arguments.
struct Canary {
    address: *mut c_void,
    /// Where the host may look at it.
    view: usize,
    pinned: bool,
}

const WITNESS: usize = 5000;

impl Canary {
    fn byte(&self, index: usize) -> u8 {
        (index * 7 + 13) as u8 ^ u8::from(self.pinned)
    }

    fn new(pinned: bool) -> Canary {
        let mut address = ptr::null_mut();
        // SAFETY: a result of ours.
        let code = unsafe {
            if pinned {
                acl::memory::aclrtMallocHost(&mut address, WITNESS)
            } else {
                acl::memory::aclrtMalloc(&mut address, WITNESS, 0)
            }
        };
        assert_eq!(code, 0, "a canary could not be allocated");
        let mut view = address;
        // SAFETY: a result of ours.
        let code = if pinned { 0 } else { unsafe { acl::extension::softaclHostView(address, WITNESS, &mut view) } };
        assert_eq!(code, 0, "a canary cannot be seen");
        let witness = Canary { address, view: view as usize, pinned };
        let bytes: Vec<u8> = (0..WITNESS).map(|index| witness.byte(index)).collect();
        // SAFETY: both sides have the length.
        let code = unsafe { acl::copy::aclrtMemcpy(address, WITNESS, bytes.as_ptr().cast(), WITNESS, 4) };
        assert_eq!(code, 0, "a canary could not be filled");
        witness
    }

    /// Why it is not as it was. The bytes are looked at without a call: those have their own reasons to refuse, such
    /// as captures and failed contexts.
    fn corruption(&self) -> Option<String> {
        let kind = if self.pinned { "pinned" } else { "device" };
        let changed = (0..WITNESS).find(|index| {
            // SAFETY: within the allocation, at the address where the host may look. If it is gone, that is a finding.
            let byte = unsafe { (self.view as *const u8).add(*index).read_volatile() };
            byte != self.byte(*index)
        });
        changed.map(|index| format!("byte {index} of {kind} memory that no call named has changed"))
    }
}

fn recent_message() -> String {
    let text = acl::error::aclGetRecentErrMsg();
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the function promises a text.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Functions after which memory may be gone, or the process is not what it was.
const ENDS: &[&str] =
    &["aclrtResetDevice", "aclrtResetDeviceForce", "aclFinalize", "aclFinalizeReference", "aclrtDestroyContext"];

struct Execution {
    known: Mutex<ValuePool>,
    progress: Progress,
    style: Style,
    /// Whether a function is called at all.
    is_chosen: Vec<bool>,
    ended: std::sync::atomic::AtomicBool,
}

/// Lives; the error is what went wrong.
pub fn live(genes: &Input, progress: Progress, tells: bool) -> Result<(), String> {
    set_device(0);
    let mut rng = Rng::with_seed(1);
    let mut known = ValuePool::default();
    let mut witnesses = Vec::new();
    for size in [64, 4096, 5000, 100_000] {
        for pinned in [false, true] {
            let neighbour = Canary::new(pinned);
            known.add_memory(&mut rng, neighbour.address as usize, size.min(WITNESS));
            witnesses.push(Canary::new(pinned));
        }
    }
    let implemented = |function: &Function| {
        let state = ascendcl_sys::manifest::function(function.name).map(|function| function.state);
        !matches!(state, Some(ascendcl_sys::Support::Absent(_)))
    };
    let is_chosen = FUNCTIONS.iter().map(|function| genes.style == Style::Interface || implemented(function)).collect();
    let life = Execution { known: known.into(), progress, style: genes.style, is_chosen, ended: false.into() };
    std::thread::spawn(move || unblock_waits(progress));
    let mut first = 0;
    for program in &genes.programs {
        let threads =
            if life.style == Style::Sequences && program.first().is_some_and(|gene| gene % 4 == 0) { 3 } else { 1 };
        let share = program.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let parts = program.chunks(share).enumerate();
            let started: Vec<_> = parts
                .map(|(part, calls)| {
                    let (life, first) = (&life, first + part * share);
                    scope.spawn(move || life.run(first, calls, tells))
                })
                .collect();
            started.into_iter().try_for_each(|thread| thread.join().map_err(|_| "the fuzzer panicked".to_owned())?)
        })?;
        first += program.len();
        if life.ended.load(std::sync::atomic::Ordering::Relaxed) {
            progress.program_done();
            return Ok(());
        }
        set_device(0);
        if let Some(complaint) = witnesses.iter().find_map(Canary::corruption) {
            return Err(complaint);
        }
        progress.program_done();
    }
    Ok(())
}

impl Execution {
    fn run(&self, first: usize, genes: &[u64], tells: bool) -> Result<(), String> {
        let arena = Arena::new();
        set_device(0);
        for (index, gene) in genes.iter().enumerate() {
            let mut rng = Rng::with_seed(*gene);
            // The number of a function does not depend on how many are implemented, so that kept lives stay the same.
            let function = loop {
                let function = rng.usize(..FUNCTIONS.len());
                if self.is_chosen[function] {
                    break function;
                }
            };
            let is_end = ENDS.contains(&FUNCTIONS[function].name);
            // Most lives go on.
            if is_end && rng.u32(0..8) != 0 {
                continue;
            }
            self.call(&mut rng, &arena, first + index, function, tells)?;
            if is_end {
                self.ended.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
        if arena.is_intact() { Ok(()) } else { Err("memory in front of the arguments has changed".to_owned()) }
    }

    fn call(&self, rng: &mut Rng, arena: &Arena, gene: usize, index: usize, tells: bool) -> Result<(), String> {
        let function = &FUNCTIONS[index];
        let sane = match self.style {
            Style::Interface => [10, 50, 80][rng.usize(..3)],
            Style::Sequences => [97, 90][rng.usize(..2)],
        };
        let words = ArgumentGenerator { rng, arena, known: &self.pool(), valid_percent: sane }.arguments(function);
        if tells {
            eprintln!("call {gene}: {}({})", function.name, shown(&words));
        }
        self.progress.begin(gene, index);
        let result = function.call(&words);
        let succeeded = function.answers_code && result as i32 == 0;
        self.progress.end(index, succeeded);
        if tells {
            eprintln!("  gives {}", result as i32);
        }
        if function.answers_code && result as i32 == 500_000 {
            return Err(format!("{} panicked inside: {}", function.name, recent_message()));
        }
        self.record_results(rng, arena, function, &words, result);
        Ok(())
    }

    fn record_results(&self, rng: &mut Rng, arena: &Arena, function: &Function, words: &[Vec<u64>], result: u64) {
        let mut known = self.pool();
        if function.name == "aclCreateDataBuffer" {
            known.add_handle(rng, "aclDataBuffer*", result);
        }
        if !function.answers_code || result as i32 != 0 {
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
                known.add_memory(rng, arena.read_word(slot) as usize, size);
            } else if is_handle(kind) {
                known.add_handle(rng, kind, arena.read_word(slot));
            }
        }
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, ValuePool> {
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn shown(words: &[Vec<u64>]) -> String {
    let words = words.iter().map(|words| words.iter().map(|word| format!("{word:#x}")).collect::<Vec<_>>().join("|"));
    words.collect::<Vec<_>>().join(", ")
}

fn set_device(device: i32) {
    // SAFETY: takes a number.
    unsafe { acl::device::aclrtSetDevice(device) };
}

/// Ends waits that the program itself has made endless: a value that nobody writes, an event of a stuck stream.
fn unblock_waits(progress: Progress) {
    let abort = &FUNCTIONS[number("aclrtDeviceTaskAbort")];
    loop {
        let seen = progress.calls();
        std::thread::sleep(Duration::from_millis(150));
        if progress.function().is_some() && progress.calls() == seen {
            for device in 0..2 {
                set_device(device);
                abort.call(&[vec![device as u64], vec![100]]);
            }
        }
    }
}
