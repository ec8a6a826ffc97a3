//! The boundary of exported functions: codes, and where the sentence about an error goes.

use crate::failure::{Failure, HcclResult, SUCCESS};
use crate::runtime;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of an exported function. Returns its code and reports its failure; a panic does not leave the library.
pub fn enter(function: &str, body: impl FnOnce() -> Result<(), Failure>) -> HcclResult {
    let result = catch_unwind(AssertUnwindSafe(body));
    match result.unwrap_or_else(|_| Err(Failure::Internal("a defect of libhccl.so; please report it".to_owned()))) {
        Ok(()) => SUCCESS,
        Err(failure) => {
            report(function, &failure);
            failure.code()
        }
    }
}

#[cold]
fn report(function: &str, failure: &Failure) {
    let prefix = if matches!(failure, Failure::Timeout(_) | Failure::Remote(_)) { "EI0006" } else { "EI0003" };
    let text = format!("[{prefix}] {function} failed with {}: {failure}.", failure.code());
    if let (Ok(runtime), Ok(text)) = (runtime::runtime(), CString::new(text)) {
        // SAFETY: the text is a string that lives during the call.
        unsafe { (runtime.report_error)(text.as_ptr()) };
    }
}

/// Returns a sentence for every code.
#[unsafe(no_mangle)]
pub extern "C" fn HcclGetErrorString(code: HcclResult) -> *const c_char {
    match code {
        0 => c"no error",
        1 => c"parameter error",
        2 => c"empty or invalid pointer",
        3 => c"memory error",
        4 => c"internal error",
        5 => c"feature not supported",
        6 => c"resource not found",
        7 => c"resource not available",
        8 => c"system call failed",
        9 => c"timeout",
        10 => c"could not open a file",
        11 => c"could not connect by TCP",
        12 => c"could not connect by RoCE",
        13 => c"transfer by TCP failed",
        14 => c"transfer by RoCE failed",
        15 => c"runtime function failed",
        16 => c"driver function failed",
        17 => c"profiling function failed",
        18 => c"CCE function failed",
        19 => c"network function failed",
        20 => c"operation in progress, try again",
        21 => c"remote rank failed",
        22 => c"communicator is suspending",
        _ => c"unknown error",
    }
    .as_ptr()
}
