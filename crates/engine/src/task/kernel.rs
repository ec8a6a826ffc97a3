//! Kernels: tasks that run code of the program on declared ranges.
//!
//! A kernel is a move, because all it may do is read and write memory: it waits for nothing and orders nothing. So
//! workers and waiting threads run it like a copy, a graph can run it any number of times, and everything that judges
//! a copy by its ranges judges a kernel the same way. What the code does beyond its ranges is not known here.

use smallvec::SmallVec;
use softacl_errors::{Code, Error, Result, fail};
use softacl_memory::Memory;
use softacl_memory::touch::Touch;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// Ranges of a kernel. Most kernels access few, which then need no separate allocation.
pub type Ranges = SmallVec<[Touch; 4]>;

/// The code of a kernel: a function, and its argument, which is released when this value is dropped.
///
/// A pair of C functions instead of a closure, because everything that launches kernels does so through the C API, and
/// because a launch then takes one allocation.
pub struct KernelCode {
    function: unsafe extern "C" fn(*mut c_void) -> Code,
    argument: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
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
        KernelCode { function, argument, release }
    }

    /// Runs the code. Returns 0, or the code with which the task fails.
    fn run(&self) -> Code {
        // SAFETY: the promise of `new`.
        unsafe { (self.function)(self.argument) }
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

impl Kernel {
    pub(crate) fn run(&self) -> Result<()> {
        let outer = IS_RUNNING.replace(true);
        let code = self.code.run();
        IS_RUNNING.set(outer);
        match code {
            0 => Ok(()),
            code => fail(Error::Kernel { name: self.name.to_string(), code }),
        }
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
