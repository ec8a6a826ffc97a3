//! The fake library: the functions that the safe level calls, over memory of the test. Whatever is used and not there, or freed
//! twice, is a mistake that it remembers. What runs a test on it is here too; the tests are not.

use ascendcl::raw::{self, Functions};
use ascendcl::{Context, Device, Error};
use std::alloc::{Layout, alloc, dealloc};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// What the fake library knows. Handles are numbers.
#[derive(Default)]
pub struct Fake {
    pub last_handle: usize,
    pub contexts: Vec<usize>,
    pub streams: BTreeMap<usize, VecDeque<Task>>,
    /// The streams that have to pass an event.
    pub events: BTreeMap<usize, Vec<usize>>,
    /// Live allocations and their sizes.
    pub memory: BTreeMap<usize, usize>,
    /// Codes that the next waits return, without waiting.
    pub refusals: VecDeque<i32>,
    /// Codes that the next waits return, after waiting.
    pub failures: VecDeque<i32>,
    /// Copies that are refused.
    pub refused_copies: usize,
    /// Copies that will fail when they run.
    pub bad_copies: usize,
    /// What happens in the next call that queues a copy, before it returns.
    pub meanwhile: Option<Box<dyn FnOnce() + Send>>,
    /// Futures are given up: the stream ends when the thread that waits on their behalf is done with it.
    pub ends_late: bool,
    /// What the next wait for a stream will tell.
    pub failed: BTreeMap<usize, i32>,
    pub mistakes: Vec<String>,
}

pub enum Task {
    Copy { target: usize, source: usize, bytes: usize },
    Fill { target: usize, bytes: usize, byte: u8 },
    Record,
    Wait { event: usize },
    Fail,
}

static FAKE: Mutex<Option<Fake>> = Mutex::new(None);
/// One thread runs tasks at a time, so that they are done in order.
static RUNNING: Mutex<()> = Mutex::new(());
/// One test at a time: they count.
static TURN: Mutex<()> = Mutex::new(());

pub fn with<T>(run: impl FnOnce(&mut Fake) -> T) -> T {
    let mut fake = FAKE.lock().unwrap_or_else(PoisonError::into_inner);
    run(fake.get_or_insert_default())
}

/// A copy whose memory is gone is the mistake that everything here is about.
fn check(fake: &mut Fake, address: usize, bytes: usize) -> bool {
    let lies_in = |(start, size): (&usize, &usize)| *start <= address && address + bytes <= start + size;
    let is_fine = fake.memory.range(..=address).next_back().is_some_and(lies_in);
    if !is_fine {
        fake.mistakes.push(format!("{bytes} bytes at {address:#x} are used and not there"));
    }
    is_fine
}

/// Runs what a stream has queued.
pub fn finish(stream: usize) {
    let _running = stop();
    drain(stream);
}

/// The same, for who may. Events are passed at once: the streams that record them run first.
fn drain(stream: usize) {
    while let Some(task) = with(|fake| fake.streams.get_mut(&stream).and_then(VecDeque::pop_front)) {
        match task {
            Task::Copy { target, source, bytes } => with(|fake| {
                if check(fake, target, bytes) && check(fake, source, bytes) {
                    // SAFETY: both are in live allocations, as just checked.
                    unsafe { std::ptr::copy(source as *const u8, target as *mut u8, bytes) };
                }
            }),
            Task::Fill { target, bytes, byte } => with(|fake| {
                if check(fake, target, bytes) {
                    // SAFETY: as above.
                    unsafe { std::ptr::write_bytes(target as *mut u8, byte, bytes) };
                }
            }),
            Task::Record => {}
            Task::Wait { event } => {
                let recorders = with(|fake| {
                    let recorders = fake.events.get(&event).cloned();
                    recorders.unwrap_or_else(|| {
                        fake.mistakes.push("an event is waited for that is gone".to_owned());
                        Vec::new()
                    })
                });
                recorders.into_iter().for_each(drain);
            }
            Task::Fail => with(|fake| {
                fake.failed.entry(stream).or_insert(507_013);
            }),
        }
    }
}

fn queue(stream: *mut c_void, task: Task) -> i32 {
    with(|fake| match fake.streams.get_mut(&(stream as usize)) {
        Some(tasks) => {
            tasks.push_back(task);
            0
        }
        None => 107_017,
    })
}

fn handle(fake: &mut Fake) -> usize {
    fake.last_handle += 16;
    fake.last_handle
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 64).expect("a size that can be")
}

fn allocate(bytes: usize) -> *mut c_void {
    // SAFETY: the crate never asks for nothing.
    let memory = unsafe { alloc(layout(bytes)) };
    with(|fake| fake.memory.insert(memory as usize, bytes));
    memory.cast()
}

fn free(memory: *mut c_void) -> i32 {
    match with(|fake| fake.memory.remove(&(memory as usize))) {
        // SAFETY: allocated with this layout, and taken out of the list just now.
        Some(bytes) => unsafe { dealloc(memory.cast(), layout(bytes)) },
        None => with(|fake| fake.mistakes.push(format!("{memory:?} is freed and not there"))),
    }
    0
}

/// Declares the functions of the fake library, and how they are found.
macro_rules! library {
    ($(fn $name:ident($($arg:ident: $kind:ty),*) $body:block)*) => {
        #[allow(non_snake_case, clippy::too_many_arguments)]
        mod library {
            use super::*;
            $(pub unsafe extern "C" fn $name($($arg: $kind),*) -> i32 $body)*
        }
        fn find(name: &CStr) -> *const c_void {
            match name.to_str().expect("names are ASCII") {
                $(stringify!($name) => library::$name as *const c_void,)*
                "aclGetRecentErrMsg" => nothing_said as *const c_void,
                _ => std::ptr::null(),
            }
        }
    };
}

unsafe extern "C" fn nothing_said() -> *const c_char {
    std::ptr::null()
}

/// Writes a result.
fn give<T>(place: *mut T, value: T) -> i32 {
    // SAFETY: the crate passes a place for the result.
    unsafe { place.write(value) };
    0
}

library! {
    fn aclrtGetDeviceCount(count: *mut u32) { give(count, 2) }
    fn aclrtCreateContext(context: *mut *mut c_void, _device: i32) {
        let made = with(|fake| {
            let made = handle(fake);
            fake.contexts.push(made);
            made
        });
        give(context, made as *mut c_void)
    }
    fn aclrtDestroyContext(context: *mut c_void) {
        with(|fake| fake.contexts.retain(|other| *other != context as usize));
        0
    }
    fn aclrtSetCurrentContext(context: *mut c_void) { with(|fake| if fake.contexts.contains(&(context as usize)) { 0 } else { 107_000 }) }
    fn aclrtCreateStream(stream: *mut *mut c_void) {
        let made = with(|fake| {
            let made = handle(fake);
            fake.streams.insert(made, VecDeque::new());
            made
        });
        give(stream, made as *mut c_void)
    }
    fn aclrtDestroyStream(stream: *mut c_void) {
        with(|fake| {
            if fake.streams.remove(&(stream as usize)).is_none_or(|tasks| !tasks.is_empty()) {
                fake.mistakes.push("a stream is destroyed at work, or twice".to_owned());
            }
        });
        0
    }
    fn aclrtSynchronizeStream(stream: *mut c_void) {
        if let Some(code) = with(|fake| fake.refusals.pop_front()) {
            return code;
        }
        finish(stream as usize);
        let failed = with(|fake| fake.failures.pop_front().or_else(|| fake.failed.remove(&(stream as usize))));
        if failed.is_some() {
            // Who is told of a failure is slow to write it down: others must not get past it meanwhile.
            (0..10).for_each(|_| std::thread::yield_now());
        }
        failed.unwrap_or(0)
    }
    fn aclrtStreamQuery(stream: *mut c_void, status: *mut i32) {
        give(status, i32::from(with(|fake| fake.streams.get(&(stream as usize)).is_some_and(|tasks| !tasks.is_empty()))))
    }
    fn aclrtCreateEventExWithFlag(event: *mut *mut c_void, _flag: u32) {
        let made = with(|fake| {
            let made = handle(fake);
            fake.events.insert(made, Vec::new());
            made
        });
        give(event, made as *mut c_void)
    }
    fn aclrtRecordEvent(event: *mut c_void, stream: *mut c_void) {
        with(|fake| fake.events.get_mut(&(event as usize)).map(|recorders| recorders.push(stream as usize)));
        queue(stream, Task::Record)
    }
    fn aclrtStreamWaitEvent(stream: *mut c_void, event: *mut c_void) {
        queue(stream, Task::Wait { event: event as usize })
    }
    fn aclrtSynchronizeEvent(event: *mut c_void) {
        let recorders = with(|fake| fake.events.get(&(event as usize)).cloned());
        recorders.into_iter().flatten().for_each(finish);
        0
    }
    fn aclrtDestroyEvent(event: *mut c_void) {
        with(|fake| {
            if fake.events.remove(&(event as usize)).is_none() {
                fake.mistakes.push("an event is destroyed twice".to_owned());
            }
        });
        0
    }
    fn aclrtMalloc(memory: *mut *mut c_void, bytes: usize, _policy: i32) { give(memory, allocate(bytes)) }
    fn aclrtMallocHost(memory: *mut *mut c_void, bytes: usize) { give(memory, allocate(bytes)) }
    fn aclrtFree(memory: *mut c_void) { free(memory) }
    fn aclrtFreeHost(memory: *mut c_void) { free(memory) }
    fn aclrtMemset(target: *mut c_void, _room: usize, byte: i32, bytes: usize) {
        with(|fake| if check(fake, target as usize, bytes) {
            // SAFETY: in a live allocation, as just checked.
            unsafe { std::ptr::write_bytes(target.cast::<u8>(), byte as u8, bytes) }
        });
        0
    }
    fn aclrtMemcpy(target: *mut u8, _room: usize, source: *const u8, bytes: usize, _kind: i32) {
        // SAFETY: a slice of the caller and memory of the crate.
        unsafe { std::ptr::copy(source, target, bytes) };
        0
    }
    fn aclrtMemcpyAsync(target: *mut c_void, _room: usize, source: *const c_void, bytes: usize, _kind: i32, stream: *mut c_void) {
        let is_refused = with(|fake| {
            let is_refused = fake.refused_copies > 0;
            fake.refused_copies -= usize::from(is_refused);
            is_refused
        });
        let is_bad = with(|fake| {
            let is_bad = fake.bad_copies > 0;
            fake.bad_copies -= usize::from(is_bad);
            is_bad
        });
        // A refused copy is queued all the same, as one whose later part could not be queued.
        let copy = Task::Copy { target: target as usize, source: source as usize, bytes };
        queue(stream, if is_bad { Task::Fail } else { copy });
        if let Some(meanwhile) = with(|fake| fake.meanwhile.take()) {
            meanwhile();
        }
        if is_refused { 207_008 } else { 0 }
    }
    fn aclrtMemsetAsync(target: *mut c_void, _room: usize, byte: i32, bytes: usize, stream: *mut c_void) {
        queue(stream, Task::Fill { target: target as usize, bytes, byte: byte as u8 })
    }
    fn aclrtMemcpy2dAsync(
        target: *mut c_void, target_pitch: usize, source: *const c_void, source_pitch: usize, width: usize, height: usize, _kind: i32,
        stream: *mut c_void
    ) {
        (0..height).for_each(|row| {
            let (target, source) = (target as usize + row * target_pitch, source as usize + row * source_pitch);
            queue(stream, Task::Copy { target, source, bytes: width });
        });
        0
    }
    fn aclrtDeviceEnablePeerAccess(_peer: i32, _flags: u32) { 0 }
}

/// Runs a test on an empty fake library and returns how many allocations it leaked.
fn leaks(body: impl FnOnce(&Context)) -> usize {
    static INSTALL: Once = Once::new();
    let _turn: MutexGuard<'_, ()> = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the functions above have the signatures of the interface.
    INSTALL.call_once(|| assert!(raw::install(unsafe { Functions::look_up(find) }).is_ok()));
    assert_eq!(raw::loaded(), Ok(&raw::Origin::Installed), "no other library is on the way");
    with(|fake| *fake = Fake { last_handle: fake.last_handle, ..Fake::default() });
    let context = Device::new(0).and_then(Device::new_context).expect("the fake has a device");
    body(&context);
    drop(context);
    while with(|fake| fake.ends_late && !fake.contexts.is_empty()) {
        std::thread::yield_now();
    }
    with(|fake| {
        assert_eq!(fake.mistakes, Vec::<String>::new());
        let leaked = fake.memory.len();
        if leaked == 0 {
            assert!(fake.streams.is_empty() && fake.contexts.is_empty() && fake.events.is_empty());
        }
        // For leak checkers: what is leaked on purpose is given back here.
        for (memory, bytes) in mem::take(&mut fake.memory) {
            // SAFETY: live until now; nobody has its address any more but a forgotten value.
            unsafe { dealloc(memory as *mut u8, layout(bytes)) };
        }
        leaked
    })
}

/// What is leaked on purpose stays reachable, so that leak checkers are silent about it.
pub fn keep(thing: impl Send + 'static) {
    static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(thing));
}

/// Runs a body in which no call fails, and requires that everything is given back.
pub fn clean(body: impl FnOnce(&Context) -> Result<(), Error>) {
    leaves(0, body);
}

/// The same; so many allocations are left.
pub fn leaves(count: usize, body: impl FnOnce(&Context) -> Result<(), Error>) {
    assert_eq!(leaks(|context| body(context).expect("no call fails")), count);
}

/// While it lives, tasks do not run.
pub fn stop() -> MutexGuard<'static, ()> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
