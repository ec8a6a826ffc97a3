//! Launches: a plan becomes a task of a stream, which runs it in steps.

use crate::communicator::Communicator;
use crate::failure::Failure;
use crate::plan::Plan;
use crate::run::Run;
use crate::runtime::{self, Operation, Range};
use ascendcl_sys::ACL_ERROR_INTERNAL_ERROR;
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a task needs. A captured task has one run per run of its graph.
struct Launch {
    communicator: Arc<Communicator>,
    plan: Arc<Plan>,
    runs: AtomicU64,
}

/// Result of a step that has to be continued.
const PENDING: c_int = -1;

static OPERATION: Operation = Operation {
    size: size_of::<Operation>(),
    begin: begin_run,
    step: step_run,
    is_ready: is_run_ready,
    describe: describe_run,
    end: end_run,
    waits_inside,
};

/// Queues a plan on a stream, as a task that accesses the given ranges.
pub fn launch(
    communicator: &Arc<Communicator>,
    plan: Plan,
    ranges: &[Range],
    name: &str,
    stream: *mut c_void,
) -> Result<(), Failure> {
    let runtime = runtime::runtime()?;
    let launch = Launch { communicator: Arc::clone(communicator), plan: Arc::new(plan), runs: AtomicU64::new(0) };
    let argument = Box::into_raw(Box::new(launch)).cast();
    let label = CString::new(name).unwrap_or_default();
    // SAFETY: the functions take what `begin_run` returns, and the argument is released by `release_launch`, once. The
    // ranges and the name live during the call.
    let code = unsafe {
        (runtime.launch_operation)(
            stream,
            &raw const OPERATION,
            argument,
            Some(release_launch),
            ranges.as_ptr(),
            ranges.len(),
            label.as_ptr(),
        )
    };
    match code {
        0 => Ok(()),
        code => Err(Failure::Runtime(format!("the stream does not accept {name}: aclError {code}"))),
    }
}

unsafe extern "C" fn begin_run(launch: *mut c_void) -> *mut c_void {
    // SAFETY: the argument of `launch`, which is released after the last run has ended.
    let launch = unsafe { &*launch.cast::<Launch>() };
    let number = launch.runs.fetch_add(1, Ordering::Relaxed);
    let run = Run::new(Arc::clone(&launch.communicator), Arc::clone(&launch.plan), number);
    Box::into_raw(Box::new(run)).cast()
}

unsafe extern "C" fn step_run(run: *mut c_void) -> c_int {
    // SAFETY: the run that `begin_run` returned, which lives until `end_run`.
    let run = unsafe { &*run.cast::<Run>() };
    match catch_unwind(AssertUnwindSafe(|| run.step())) {
        Ok(Ok(true)) => 0,
        Ok(Ok(false)) => PENDING,
        Ok(Err(failure)) => failure.code,
        Err(_) => ACL_ERROR_INTERNAL_ERROR,
    }
}

unsafe extern "C" fn is_run_ready(run: *mut c_void) -> c_int {
    // SAFETY: as in `step_run`.
    let run = unsafe { &*run.cast::<Run>() };
    // After a panic, a step reports it.
    c_int::from(catch_unwind(AssertUnwindSafe(|| run.is_ready())).unwrap_or(true))
}

unsafe extern "C" fn describe_run(run: *mut c_void, text: *mut c_char, size: usize) -> usize {
    // SAFETY: as in `step_run`.
    let run = unsafe { &*run.cast::<Run>() };
    let description = catch_unwind(AssertUnwindSafe(|| run.describe())).unwrap_or_default();
    let len = description.len().min(size);
    // SAFETY: the caller has `size` bytes for the text.
    unsafe { std::ptr::copy_nonoverlapping(description.as_ptr(), text.cast(), len) };
    len
}

unsafe extern "C" fn waits_inside(run: *mut c_void) -> c_int {
    // SAFETY: as in `step_run`.
    let run = unsafe { &*run.cast::<Run>() };
    match catch_unwind(AssertUnwindSafe(|| run.waits_inside())) {
        Ok(true) => run.limit().map_or(0, |limit| c_int::try_from(limit.as_secs()).unwrap_or(0)),
        _ => PENDING,
    }
}

unsafe extern "C" fn end_run(run: *mut c_void) {
    // SAFETY: the run that `begin_run` returned; this is called once.
    drop(unsafe { Box::from_raw(run.cast::<Run>()) });
}

unsafe extern "C" fn release_launch(launch: *mut c_void) {
    // SAFETY: the argument of `launch`; this is called once, after all runs have ended.
    drop(unsafe { Box::from_raw(launch.cast::<Launch>()) });
}
