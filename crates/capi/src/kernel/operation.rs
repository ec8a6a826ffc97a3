//! `softaclLaunchOperation`: kernels that run in steps, because they depend on others.

use crate::argument::{Argument, InPtr, Raw, TextPtr};
use crate::entry;
use crate::kernel::{KernelRange, KernelRelease, read_ranges, shared_name};
use ascendcl_sys::{Function, aclError, aclrtStream, rows};
use softacl_engine::segv::{self, FaultGuard};
use softacl_engine::{Error, KernelCode, KernelRequest, OperationTable, Result, fail};
use std::ffi::{c_char, c_void};

/// `softaclOperation` in the header, without the functions that may be absent.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub size: usize,
    pub begin: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>,
    pub step: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
    pub is_ready: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
    pub describe: Option<unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> usize>,
    pub end: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// The whole `softaclOperation`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct WholeOperation {
    required: Operation,
    waits_inside: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
}

/// Reads the table of an operation. Programs that were built with an older header pass a shorter structure.
fn table(operation: InPtr<Operation>, guard: &FaultGuard) -> Result<OperationTable> {
    let required = operation.array(1, guard)?[0];
    let waits_inside = if required.size == size_of::<Operation>() {
        None
    } else if required.size == size_of::<WholeOperation>() {
        operation.cast::<WholeOperation>().array(1, guard)?[0].waits_inside
    } else {
        return fail(Error::Argument(format!(
            "operation has size {}, but softaclOperation has {}",
            required.size,
            size_of::<WholeOperation>()
        )));
    };
    let absent = |name| Box::new(Error::Null(name));
    Ok(OperationTable {
        begin: required.begin.ok_or_else(|| absent("operation->begin"))?,
        step: required.step.ok_or_else(|| absent("operation->step"))?,
        is_ready: required.is_ready.ok_or_else(|| absent("operation->isReady"))?,
        describe: required.describe.ok_or_else(|| absent("operation->describe"))?,
        end: required.end.ok_or_else(|| absent("operation->end"))?,
        waits_inside,
    })
}

/// The argument of an operation, released when this value is dropped.
struct Released(*mut c_void, KernelRelease);

impl Drop for Released {
    fn drop(&mut self) {
        if let Some(release) = self.1 {
            // SAFETY: the header says that the argument is released exactly once, also if the call fails.
            unsafe { release(self.0) }
        }
    }
}

/// Queues an operation. As in `softaclLaunchKernel`, the argument belongs to the operation from the start of the call on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softaclLaunchOperation(
    stream: aclrtStream,
    operation: *const Operation,
    argument: *mut c_void,
    release: KernelRelease,
    ranges: *const KernelRange,
    count: usize,
    name: *const c_char,
) -> aclError {
    const ROW: &Function = rows::softaclLaunchOperation;
    let argument = Released(argument, release);
    let words = || [stream.word(), 0, 0, 0, 0, count as u64, 0];
    entry::enter(ROW, words, move || {
        // Moved into the body, so that it is dropped whether or not the body runs.
        let argument = argument;
        entry::with_call(ROW, move |call| {
            // SAFETY: these are the arguments of this call; the header says what they permit.
            let (operation, ranges, name): (Option<InPtr<Operation>>, Option<InPtr<KernelRange>>, TextPtr) = unsafe {
                (
                    Argument::from_program(operation, "operation")?,
                    Argument::from_program(ranges, "ranges")?,
                    Argument::from_program(name, "name")?,
                )
            };
            let guard = segv::enter_often();
            let Some(operation) = operation else { return fail(Error::Null("operation")) };
            let table = table(operation, &guard)?;
            let (ranges, name) = (read_ranges(ranges, count, &guard)?, shared_name(name, &guard)?);
            let argument = std::mem::ManuallyDrop::new(argument);
            // SAFETY: the header says how these functions are called, and that the argument is then released once.
            let code = unsafe { KernelCode::in_steps(table, argument.0, argument.1) };
            call.launch_kernel(KernelRequest { name, code, ranges }, stream as usize)
        })
    })
}
