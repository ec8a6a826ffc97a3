//! Kernels: code that runs as a task of a stream, with declared ranges.
//!
//! | module | contents |
//! | --- | --- |
//! | this one | `softaclLaunchKernel`: a C function with its ranges |
//! | `operation` | `softaclLaunchOperation`: code that runs in steps |
//! | `library` | CPU versions of kernels by name, from libraries of the user |
//! | `function` | kernel binaries, and the functions that programs look up in them |
//! | `list` | argument lists, and the block that a kernel receives |
//! | `arguments` | `aclrtKernelArgs*`: the functions of argument lists |
//! | `launch` | `aclrtLaunchKernel*`: a function with its arguments |

pub mod arguments;
pub mod function;
pub mod launch;
pub mod library;
pub mod list;
pub mod operation;

use crate::argument::{Argument, InPtr, Raw, TextPtr};
use crate::entry;
use ascendcl_sys::{Function, aclError, aclrtStream, rows};
use softacl_engine::observer::{Mode, Touch};
use softacl_engine::segv::{self, FaultGuard};
use softacl_engine::{Error, KernelCode, KernelRanges, KernelRequest, Result, fail};
use std::cell::RefCell;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

const READ: u32 = 1;
/// The access of a range that the kernel writes.
pub const WRITE: u32 = 2;

/// A range that a kernel accesses: `softaclRange` in the header.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelRange {
    pointer: *mut c_void,
    size: usize,
    /// A combination of `READ` and `WRITE`.
    access: u32,
}

impl KernelRange {
    pub(crate) const EMPTY: KernelRange = KernelRange { pointer: std::ptr::null_mut(), size: 0, access: READ };

    pub fn new(pointer: *mut c_void, size: usize, access: u32) -> KernelRange {
        KernelRange { pointer, size, access }
    }

    pub(crate) fn address(&self) -> usize {
        self.pointer as usize
    }

    pub(crate) fn len(&self) -> usize {
        self.size
    }
}

pub type KernelFunction = Option<unsafe extern "C" fn(*mut c_void) -> i32>;
pub type KernelRelease = Option<unsafe extern "C" fn(*mut c_void)>;

/// Queues a kernel. `release` is called exactly once, also if the call fails: the argument belongs to the kernel from
/// the start of the call on. That is why this function has no `export!`, whose body does not run after every failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclLaunchKernel(
    stream: aclrtStream,
    function: KernelFunction,
    argument: *mut c_void,
    release: KernelRelease,
    ranges: *const KernelRange,
    count: usize,
    name: *const c_char,
) -> aclError {
    const ROW: &Function = rows::softaclLaunchKernel;
    // SAFETY: the header says that these functions are called with this argument, on any thread.
    let code = unsafe { KernelCode::new(function.unwrap_or(absent), argument, release) };
    let words = || [stream.word(), 0, 0, 0, 0, count as u64, 0];
    entry::enter(ROW, words, move || {
        // Moved into the body, so that it is dropped whether or not the body runs.
        let code = code;
        entry::with_call(ROW, move |call| {
            if function.is_none() {
                return fail(Error::Null("function"));
            }
            // SAFETY: these are the arguments of this call; the header says what they permit.
            let (ranges, name): (Option<InPtr<KernelRange>>, TextPtr) =
                unsafe { (Argument::from_program(ranges, "ranges")?, Argument::from_program(name, "name")?) };
            let guard = segv::enter_often();
            let (ranges, name) = (read_ranges(ranges, count, &guard)?, shared_name(name, &guard)?);
            call.launch_kernel(KernelRequest { name, code, ranges }, stream as usize)
        })
    })
}

/// Stands in for a function that is NULL, in a launch that is refused.
extern "C" fn absent(_: *mut c_void) -> i32 {
    ascendcl_sys::ACL_ERROR_INTERNAL_ERROR
}

/// Reads the ranges that the program passed.
fn read_ranges(ranges: Option<InPtr<KernelRange>>, count: usize, guard: &FaultGuard) -> Result<KernelRanges> {
    let Some(ranges) = ranges else {
        return if count == 0 { Ok(KernelRanges::new()) } else { fail(Error::Null("ranges")) };
    };
    touches_of(ranges.array(count, guard)?)
}

/// Converts ranges. One that is read and written becomes two accesses.
pub(crate) fn touches_of(ranges: &[KernelRange]) -> Result<KernelRanges> {
    let mut touches = KernelRanges::new();
    for (index, range) in ranges.iter().enumerate() {
        if range.access == 0 || range.access > READ | WRITE {
            return fail(Error::Argument(format!(
                "range {index} has access {}: use SOFTACL_READ, SOFTACL_WRITE, or both",
                range.access
            )));
        }
        let accesses = [(READ, Mode::Read), (WRITE, Mode::Write)];
        touches.extend(accesses.iter().filter(|(bit, _)| range.access & bit != 0).map(|(_, mode)| Touch {
            address: range.pointer as usize,
            len: range.size,
            mode: *mode,
        }));
    }
    Ok(touches)
}

/// Reads a name. Launches share it: programs launch few kernels many times.
fn shared_name(name: TextPtr, guard: &FaultGuard) -> Result<Arc<str>> {
    thread_local! {
        static LAST: RefCell<Arc<str>> = RefCell::new(Arc::from(""));
    }
    LAST.with_borrow_mut(|last| {
        if !name.equals(last, guard) {
            *last = Arc::from(name.read()?);
        }
        Ok(Arc::clone(last))
    })
}
