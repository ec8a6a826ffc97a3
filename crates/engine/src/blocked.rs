//! Threads of the program that wait inside a call, and threads that run a host function. Entered only by threads that
//! are about to park, so that a wait that finds its work done costs nothing.

use crate::observer::{BlockedOn, StreamPosition};
use softacl_sync::facade::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use std::sync::OnceLock;

/// A thread that waits inside a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockedThread {
    /// Distinguishes this wait from all others of the process.
    pub id: u64,
    /// The id that the system gives the thread.
    pub thread: i32,
    pub on: BlockedOn,
    /// True if the wait has a timeout.
    pub is_bounded: bool,
}

/// A thread that runs code of the program as a task of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningFunction {
    pub thread: i32,
    pub at: StreamPosition,
}

/// All of them.
#[derive(Default)]
pub(crate) struct BlockedThreads {
    next: AtomicU64,
    waits: Mutex<Vec<BlockedThread>>,
    functions: Mutex<Vec<RunningFunction>>,
    /// Called when a thread is entered.
    pub(crate) on_enter: OnceLock<fn()>,
    /// The program shares something with other processes, whose threads and streams may wait for this one.
    pub(crate) is_sharing: AtomicBool,
}

impl BlockedThreads {
    /// Enters the calling thread until the guard is dropped.
    pub(crate) fn enter(&self, on: BlockedOn, is_bounded: bool) -> BlockedGuard<'_> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.waits).push(BlockedThread { id, thread: thread_id(), on, is_bounded });
        self.emit_entered();
        BlockedGuard { threads: self, id }
    }

    /// Enters the calling thread as one that runs the host function of a task, until the guard is dropped.
    pub(crate) fn run_function(&self, at: StreamPosition) -> FunctionGuard<'_> {
        let function = RunningFunction { thread: thread_id(), at };
        lock(&self.functions).push(function);
        self.emit_entered();
        FunctionGuard { threads: self, function }
    }

    pub(crate) fn emit_entered(&self) {
        if let Some(call) = self.on_enter.get() {
            call();
        }
    }

    /// The threads that wait, in the order in which they began.
    pub(crate) fn waits(&self) -> Vec<BlockedThread> {
        lock(&self.waits).clone()
    }

    /// The threads that run host functions.
    pub(crate) fn functions(&self) -> Vec<RunningFunction> {
        lock(&self.functions).clone()
    }
}

/// A wait in progress.
pub(crate) struct BlockedGuard<'a> {
    threads: &'a BlockedThreads,
    id: u64,
}

impl Drop for BlockedGuard<'_> {
    fn drop(&mut self) {
        lock(&self.threads.waits).retain(|wait| wait.id != self.id);
    }
}

/// A host function in progress.
pub(crate) struct FunctionGuard<'a> {
    threads: &'a BlockedThreads,
    function: RunningFunction,
}

impl Drop for FunctionGuard<'_> {
    fn drop(&mut self) {
        lock(&self.threads.functions).retain(|function| *function != self.function);
    }
}

/// The id that the system gives the calling thread.
fn thread_id() -> i32 {
    // SAFETY: the call has no preconditions and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}
