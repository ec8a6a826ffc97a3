//! The fake library: the functions that the safe layer calls, implemented on memory of the test process, and the
//! functions that run a test on it.
//!
//! It records an error for memory and handles that are used after they were freed, or freed twice.

use ascendcl::raw::{self, Functions};
use ascendcl::sys::{
    ACL_ERROR_RT_INVALID_HANDLE, ACL_ERROR_RT_NO_STREAM_RESOURCE, ACL_ERROR_RT_PARAM_INVALID, ACL_ERROR_RT_SYS_DMA,
};
use ascendcl::{Context, Device, Error};
use std::alloc::{Layout, alloc, dealloc};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// State of the fake library. Handles are integers.
#[derive(Default)]
pub struct Fake {
    pub last_handle: usize,
    pub contexts: Vec<usize>,
    pub streams: BTreeMap<usize, VecDeque<Task>>,
    /// For each event, the streams that record it.
    pub events: BTreeMap<usize, Vec<usize>>,
    /// Live allocations and their sizes.
    pub memory: BTreeMap<usize, usize>,
    /// Codes that the next waits return without waiting.
    pub refused_waits: VecDeque<i32>,
    /// Codes that the next waits return after waiting.
    pub failures: VecDeque<i32>,
    /// Number of next copies that are rejected.
    pub rejected_copies: usize,
    /// Number of next copies that fail when they execute.
    pub failing_copies: usize,
    /// Called by the next call that queues a copy, before it returns.
    pub during_copy: Option<Box<dyn FnOnce() + Send>>,
    /// Set by tests that drop pending futures: the stream is destroyed only after a waiter thread has released it.
    pub ends_late: bool,
    /// For each stream with a failed task, the code that the next wait returns.
    pub failed: BTreeMap<usize, i32>,
    /// Incorrect uses of the library.
    pub errors: Vec<String>,
}

pub enum Task {
    Copy { target: usize, source: usize, bytes: usize },
    Fill { target: usize, bytes: usize, byte: u8 },
    Record,
    Wait { event: usize },
    Fail,
}

static FAKE: Mutex<Option<Fake>> = Mutex::new(None);
/// Held by the thread that executes tasks, so that they execute in order.
static EXECUTING: Mutex<()> = Mutex::new(());
/// Held by the running test: the tests share one library and count its allocations.
static TEST: Mutex<()> = Mutex::new(());

/// Accesses the state of the fake library.
pub fn with<T>(run: impl FnOnce(&mut Fake) -> T) -> T {
    let mut fake = FAKE.lock().unwrap_or_else(PoisonError::into_inner);
    run(fake.get_or_insert_default())
}

/// Returns `true` if a range is inside a live allocation, and records an error otherwise.
fn check(fake: &mut Fake, address: usize, bytes: usize) -> bool {
    let contains = |(start, size): (&usize, &usize)| *start <= address && address + bytes <= start + size;
    let is_live = fake.memory.range(..=address).next_back().is_some_and(contains);
    if !is_live {
        fake.errors.push(format!("{bytes} bytes at {address:#x} are used but not allocated"));
    }
    is_live
}

/// Executes all queued tasks of a stream.
pub fn finish(stream: usize) {
    let _executing = pause();
    drain(stream);
}

/// Executes all queued tasks of a stream; the caller holds `EXECUTING`. For an event wait, the tasks of the recording
/// streams are executed first.
fn drain(stream: usize) {
    while let Some(task) = with(|fake| fake.streams.get_mut(&stream).and_then(VecDeque::pop_front)) {
        match task {
            Task::Copy { target, source, bytes } => with(|fake| {
                if check(fake, target, bytes) && check(fake, source, bytes) {
                    // SAFETY: `check` has found both ranges in live allocations.
                    unsafe { std::ptr::copy(source as *const u8, target as *mut u8, bytes) };
                }
            }),
            Task::Fill { target, bytes, byte } => with(|fake| {
                if check(fake, target, bytes) {
                    // SAFETY: `check` has found the range in a live allocation.
                    unsafe { std::ptr::write_bytes(target as *mut u8, byte, bytes) };
                }
            }),
            Task::Record => {}
            Task::Wait { event } => {
                let recorders = with(|fake| {
                    let recorders = fake.events.get(&event).cloned();
                    recorders.unwrap_or_else(|| {
                        fake.errors.push("a stream waits for a destroyed event".to_owned());
                        Vec::new()
                    })
                });
                recorders.into_iter().for_each(drain);
            }
            Task::Fail => with(|fake| {
                fake.failed.entry(stream).or_insert(ACL_ERROR_RT_SYS_DMA);
            }),
        }
    }
}

/// Appends a task to a stream. Returns an error code if the stream does not exist.
fn queue(stream: *mut c_void, task: Task) -> i32 {
    with(|fake| match fake.streams.get_mut(&(stream as usize)) {
        Some(tasks) => {
            tasks.push_back(task);
            0
        }
        None => ACL_ERROR_RT_INVALID_HANDLE,
    })
}

/// Returns a new handle.
fn new_handle(fake: &mut Fake) -> usize {
    fake.last_handle += 16;
    fake.last_handle
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 64).expect("the size is valid")
}

fn allocate(bytes: usize) -> *mut c_void {
    // SAFETY: the crate never requests 0 bytes.
    let memory = unsafe { alloc(layout(bytes)) };
    with(|fake| fake.memory.insert(memory as usize, bytes));
    memory.cast()
}

fn free(memory: *mut c_void) -> i32 {
    match with(|fake| fake.memory.remove(&(memory as usize))) {
        // SAFETY: allocated with this layout, and removed from the list of live allocations.
        Some(bytes) => unsafe { dealloc(memory.cast(), layout(bytes)) },
        None => with(|fake| fake.errors.push(format!("{memory:?} is freed but not allocated"))),
    }
    0
}

/// Defines the functions of the fake library and their lookup by name.
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
                "aclGetRecentErrMsg" => no_message as *const c_void,
                _ => std::ptr::null(),
            }
        }
    };
}

unsafe extern "C" fn no_message() -> *const c_char {
    std::ptr::null()
}

/// Writes a result and returns success.
fn write_result<T>(result: *mut T, value: T) -> i32 {
    // SAFETY: the crate passes a valid pointer.
    unsafe { result.write(value) };
    0
}

library! {
    fn aclrtGetDeviceCount(count: *mut u32) { write_result(count, 2) }
    fn aclrtCreateContext(context: *mut *mut c_void, _device: i32) {
        let made = with(|fake| {
            let made = new_handle(fake);
            fake.contexts.push(made);
            made
        });
        write_result(context, made as *mut c_void)
    }
    fn aclrtDestroyContext(context: *mut c_void) {
        with(|fake| fake.contexts.retain(|other| *other != context as usize));
        0
    }
    fn aclrtSetCurrentContext(context: *mut c_void) {
        let is_live = with(|fake| fake.contexts.contains(&(context as usize)));
        if is_live { 0 } else { ACL_ERROR_RT_PARAM_INVALID }
    }
    fn aclrtCreateStream(stream: *mut *mut c_void) {
        let made = with(|fake| {
            let made = new_handle(fake);
            fake.streams.insert(made, VecDeque::new());
            made
        });
        write_result(stream, made as *mut c_void)
    }
    fn aclrtDestroyStream(stream: *mut c_void) {
        with(|fake| {
            if fake.streams.remove(&(stream as usize)).is_none_or(|tasks| !tasks.is_empty()) {
                fake.errors.push("a stream is destroyed twice or with queued tasks".to_owned());
            }
        });
        0
    }
    fn aclrtSynchronizeStream(stream: *mut c_void) {
        if let Some(code) = with(|fake| fake.refused_waits.pop_front()) {
            return code;
        }
        finish(stream as usize);
        let failed = with(|fake| fake.failures.pop_front().or_else(|| fake.failed.remove(&(stream as usize))));
        if failed.is_some() {
            // Gives other threads time: they must not pass the failure before the caller has stored it.
            (0..10).for_each(|_| std::thread::yield_now());
        }
        failed.unwrap_or(0)
    }
    fn aclrtStreamQuery(stream: *mut c_void, status: *mut i32) {
        let is_busy = with(|fake| fake.streams.get(&(stream as usize)).is_some_and(|tasks| !tasks.is_empty()));
        write_result(status, i32::from(is_busy))
    }
    fn aclrtCreateEventExWithFlag(event: *mut *mut c_void, _flag: u32) {
        let made = with(|fake| {
            let made = new_handle(fake);
            fake.events.insert(made, Vec::new());
            made
        });
        write_result(event, made as *mut c_void)
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
                fake.errors.push("an event is destroyed twice".to_owned());
            }
        });
        0
    }
    fn aclrtMalloc(memory: *mut *mut c_void, bytes: usize, _policy: i32) { write_result(memory, allocate(bytes)) }
    fn aclrtMallocHost(memory: *mut *mut c_void, bytes: usize) { write_result(memory, allocate(bytes)) }
    fn aclrtFree(memory: *mut c_void) { free(memory) }
    fn aclrtFreeHost(memory: *mut c_void) { free(memory) }
    fn aclrtMemset(target: *mut c_void, _capacity: usize, byte: i32, bytes: usize) {
        with(|fake| if check(fake, target as usize, bytes) {
            // SAFETY: `check` has found the range in a live allocation.
            unsafe { std::ptr::write_bytes(target.cast::<u8>(), byte as u8, bytes) }
        });
        0
    }
    fn aclrtMemcpy(target: *mut u8, _capacity: usize, source: *const u8, bytes: usize, _kind: i32) {
        // SAFETY: the crate passes valid ranges of `bytes` bytes.
        unsafe { std::ptr::copy(source, target, bytes) };
        0
    }
    fn aclrtMemcpyAsync(
        target: *mut c_void, _capacity: usize, source: *const c_void, bytes: usize, _kind: i32, stream: *mut c_void
    ) {
        let is_rejected = with(|fake| {
            let is_rejected = fake.rejected_copies > 0;
            fake.rejected_copies -= usize::from(is_rejected);
            is_rejected
        });
        let is_failing = with(|fake| {
            let is_failing = fake.failing_copies > 0;
            fake.failing_copies -= usize::from(is_failing);
            is_failing
        });
        // A rejected copy is queued nevertheless, like a copy of which only the first part could be queued.
        let copy = Task::Copy { target: target as usize, source: source as usize, bytes };
        queue(stream, if is_failing { Task::Fail } else { copy });
        if let Some(during_copy) = with(|fake| fake.during_copy.take()) {
            during_copy();
        }
        if is_rejected { ACL_ERROR_RT_NO_STREAM_RESOURCE } else { 0 }
    }
    fn aclrtMemsetAsync(target: *mut c_void, _capacity: usize, byte: i32, bytes: usize, stream: *mut c_void) {
        queue(stream, Task::Fill { target: target as usize, bytes, byte: byte as u8 })
    }
    fn aclrtMemcpy2dAsync(
        target: *mut c_void, target_pitch: usize, source: *const c_void, source_pitch: usize, width: usize,
        height: usize, _kind: i32, stream: *mut c_void
    ) {
        (0..height).for_each(|row| {
            let (target, source) = (target as usize + row * target_pitch, source as usize + row * source_pitch);
            queue(stream, Task::Copy { target, source, bytes: width });
        });
        0
    }
    fn aclrtDeviceEnablePeerAccess(_peer: i32, _flags: u32) { 0 }
}

/// Runs a test on an empty fake library and returns the number of leaked allocations.
fn count_leaks(body: impl FnOnce(&Context)) -> usize {
    static INSTALL: Once = Once::new();
    let _test: MutexGuard<'_, ()> = TEST.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the functions above have the C signatures of their names.
    INSTALL.call_once(|| assert!(raw::install(unsafe { Functions::load_with(find) }).is_ok()));
    assert_eq!(raw::loaded(), Ok(&raw::Origin::Installed), "only the fake library is used");
    with(|fake| *fake = Fake { last_handle: fake.last_handle, ..Fake::default() });
    let context = Device::new(0).and_then(Device::new_context).expect("the fake library has two devices");
    body(&context);
    drop(context);
    while with(|fake| fake.ends_late && !fake.contexts.is_empty()) {
        std::thread::yield_now();
    }
    with(|fake| {
        assert_eq!(fake.errors, Vec::<String>::new());
        let leaked = fake.memory.len();
        if leaked == 0 {
            assert!(fake.streams.is_empty() && fake.contexts.is_empty() && fake.events.is_empty());
        }
        // Frees expected leaks, so that leak checkers do not report them.
        for (memory, bytes) in mem::take(&mut fake.memory) {
            // SAFETY: allocated with this layout. Only forgotten values still have the address.
            unsafe { dealloc(memory as *mut u8, layout(bytes)) };
        }
        leaked
    })
}

/// Keeps a value reachable, so that leak checkers do not report an expected leak.
pub fn keep(value: impl Send + 'static) {
    static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(value));
}

/// Runs a body in which no call fails, and requires that nothing is leaked.
pub fn clean(body: impl FnOnce(&Context) -> Result<(), Error>) {
    leaves(0, body);
}

/// Runs a body in which no call fails, and requires that exactly `count` allocations are leaked.
pub fn leaves(count: usize, body: impl FnOnce(&Context) -> Result<(), Error>) {
    assert_eq!(count_leaks(|context| body(context).expect("no call fails")), count);
}

/// Pauses the execution of tasks until the guard is dropped.
pub fn pause() -> MutexGuard<'static, ()> {
    EXECUTING.lock().unwrap_or_else(PoisonError::into_inner)
}
