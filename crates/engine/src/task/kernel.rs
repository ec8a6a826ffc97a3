//! Kernels: tasks that run code of the program on declared ranges.
//!
//! A kernel is a move, because all it may do is read and write memory: it waits for nothing and orders nothing. So
//! workers and waiting threads run it like a copy, a graph can run it any number of times, and everything that judges
//! a copy by its ranges judges a kernel the same way. What the code does beyond its ranges is not known here.
//!
//! Code that depends on other processes or on other streams is an operation: it runs in steps, see `task::operation`.

use smallvec::SmallVec;
use softacl_errors::{Code, Error, Result, fail};
use softacl_memory::Memory;
use softacl_memory::touch::Touch;
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::fmt;
use std::sync::Arc;

/// Ranges of a kernel. Most kernels access few, which then need no separate allocation.
pub type Ranges = SmallVec<[Touch; 4]>;

/// Result of a step that has to be continued.
pub const PENDING: Code = -1;

/// The functions of an operation. Every run of the task has its own state.
#[derive(Debug, Clone, Copy)]
pub struct OperationTable {
    /// Begins a run, in the order of the stream. Returns its state.
    pub begin: unsafe extern "C" fn(argument: *mut c_void) -> *mut c_void,
    /// Continues a run. Returns 0 at its end, `PENDING`, or the code with which the task fails.
    pub step: unsafe extern "C" fn(run: *mut c_void) -> Code,
    /// Returns 1 if a step can continue the run. Called at any time between `begin` and `end`, with locks held.
    pub is_ready: unsafe extern "C" fn(run: *mut c_void) -> i32,
    /// Writes what the run waits for, or why it failed. Returns the length of the text.
    pub describe: unsafe extern "C" fn(run: *mut c_void, text: *mut c_char, size: usize) -> usize,
    /// Ends a run, finished or not. Called once.
    pub end: unsafe extern "C" fn(run: *mut c_void),
    /// Returns `PENDING` if another process may continue a run that waits. Otherwise only this process can, and the
    /// result is the time limit of the run in seconds, 0 for none. `None` is an operation that does not know.
    pub waits_inside: Option<unsafe extern "C" fn(run: *mut c_void) -> i32>,
}

/// The code of a kernel: a function, and its argument, which is released when this value is dropped.
///
/// A pair of C functions instead of a closure, because everything that launches kernels does so through the C API, and
/// because a launch then takes one allocation.
pub struct KernelCode {
    body: Body,
    argument: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// How the code of a kernel runs.
enum Body {
    /// In one piece.
    Function(unsafe extern "C" fn(*mut c_void) -> Code),
    /// In steps.
    Operation(OperationTable),
}

// SAFETY: `new` requires that both functions may be called on any thread.
unsafe impl Send for KernelCode {}
// SAFETY: as above; a shared reference only calls the function.
unsafe impl Sync for KernelCode {}

impl KernelCode {
    /// # Safety
    ///
    /// `function` may be called with `argument` on any thread, any number of times until `release` is called; two runs of
    /// a graph may call it at the same time. `release` may be called once, on any thread, after that.
    pub unsafe fn new(
        function: unsafe extern "C" fn(*mut c_void) -> Code,
        argument: *mut c_void,
        release: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> KernelCode {
        KernelCode { body: Body::Function(function), argument, release }
    }

    /// Code that runs in steps.
    ///
    /// # Safety
    ///
    /// The functions of the table may be called as [`OperationTable`] says, on any thread. `release` may be called once,
    /// on any thread, after all runs have ended.
    pub unsafe fn in_steps(
        table: OperationTable,
        argument: *mut c_void,
        release: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> KernelCode {
        KernelCode { body: Body::Operation(table), argument, release }
    }

    /// Runs the code. Returns 0, or the code with which the task fails.
    fn run(&self) -> Code {
        match &self.body {
            // SAFETY: the promise of `new`.
            Body::Function(function) => unsafe { function(self.argument) },
            // The executor runs operations in steps, and a sub-graph, which cannot, refuses them.
            Body::Operation(_) => ascendcl_sys::ACL_ERROR_INTERNAL_ERROR,
        }
    }

    /// The functions and the argument of code that runs in steps.
    pub(super) fn operation(&self) -> Option<(OperationTable, *mut c_void)> {
        match &self.body {
            Body::Function(_) => None,
            Body::Operation(table) => Some((*table, self.argument)),
        }
    }
}

impl Drop for KernelCode {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the promise of `new`; this is the end of the only value that has the argument.
            unsafe { release(self.argument) }
        }
    }
}

/// A kernel with everything it needs. Dropped when no task and no graph can run it again.
pub(crate) struct Kernel {
    pub(crate) name: Arc<str>,
    pub(crate) code: KernelCode,
    /// What the code reads and writes, as backing addresses.
    pub(crate) ranges: Ranges,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).field("ranges", &self.ranges).finish_non_exhaustive()
    }
}

thread_local! {
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// True if the current thread runs the code of a kernel.
pub(crate) fn is_running() -> bool {
    IS_RUNNING.get()
}

/// Runs a part of the code of a kernel on this thread.
pub(super) fn while_running<T>(run: impl FnOnce() -> T) -> T {
    let outer = IS_RUNNING.replace(true);
    let result = run();
    IS_RUNNING.set(outer);
    result
}

impl Kernel {
    pub(crate) fn run(&self) -> Result<()> {
        match while_running(|| self.code.run()) {
            0 => Ok(()),
            code => fail(Error::Kernel { name: self.name.to_string(), code }),
        }
    }

    /// True if the code runs in steps.
    pub(crate) fn is_operation(&self) -> bool {
        self.code.operation().is_some()
    }

    /// True if a range meets the `len` bytes with the backing address `start`.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        self.ranges.iter().any(|range| range.address < start + len && start < range.address + range.len)
    }

    /// The ranges as program addresses.
    pub(crate) fn accesses(&self, memory: &Memory) -> Vec<Touch> {
        self.ranges.iter().map(|range| memory.touch(range.address, range.len, range.mode)).collect()
    }

    /// Number of bytes in all ranges.
    pub(crate) fn bytes(&self) -> usize {
        self.ranges.iter().map(|range| range.len).sum()
    }
}
