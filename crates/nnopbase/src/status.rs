//! Status codes, and where the sentence about an error goes.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::LazyLock;
use std::{fmt, ptr};

/// Result of a function of this interface.
pub type Status = i32;

pub const SUCCESS: Status = 0;

/// Why a call failed.
#[derive(Debug)]
pub enum Failure {
    /// A required pointer is NULL.
    Null(&'static str),
    Invalid(String),
    /// An executor, or what it should change, is NULL.
    NullExecutor(&'static str),
    /// The runtime refused a task, or this library does not have the operator.
    Runtime(String),
    /// A mistake in this library.
    Inner(String),
}

impl Failure {
    pub fn code(&self) -> Status {
        match self {
            Failure::Null(_) => 161_001,
            Failure::Invalid(_) => 161_002,
            Failure::NullExecutor(_) => 561_103,
            Failure::Runtime(_) => 361_001,
            Failure::Inner(_) => 561_000,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Null(name) | Failure::NullExecutor(name) => write!(f, "{name} is NULL"),
            Failure::Invalid(text) | Failure::Runtime(text) | Failure::Inner(text) => f.write_str(text),
        }
    }
}

/// Returns the status of a call and reports its failure.
pub fn finish(function: &str, result: Result<(), Failure>) -> Status {
    match result {
        Ok(()) => SUCCESS,
        Err(failure) => {
            report(function, &failure);
            failure.code()
        }
    }
}

/// Returns a new handle, or NULL after a failure, which is reported.
pub fn finish_handle(function: &str, result: Result<usize, Failure>) -> *mut c_void {
    match result {
        Ok(handle) => handle as *mut c_void,
        Err(failure) => {
            report(function, &failure);
            ptr::null_mut()
        }
    }
}

/// Function of `libascendcl.so` that stores a message for `aclGetRecentErrMsg`.
type Reporter = unsafe extern "C" fn(*const c_char);

/// Found at run time: this library works without the runtime, too, and then nothing can read a message.
static REPORTER: LazyLock<Option<Reporter>> = LazyLock::new(|| {
    // SAFETY: the symbol has this type.
    runtime_symbol(c"softaclReportError").map(|symbol| unsafe { std::mem::transmute::<*mut c_void, Reporter>(symbol) })
});

/// Finds a function of the runtime, if the process has loaded it.
pub fn runtime_symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the names are strings; the flag only finds a library that is already loaded.
    let symbol = unsafe {
        let mut symbol = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        if symbol.is_null() {
            let library = libc::dlopen(c"libascendcl.so".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
            if !library.is_null() {
                symbol = libc::dlsym(library, name.as_ptr());
            }
        }
        symbol
    };
    (!symbol.is_null()).then_some(symbol)
}

#[cold]
fn report(function: &str, failure: &Failure) {
    let Some(reporter) = *REPORTER else { return };
    if let Ok(text) = CString::new(format!("[EZ0001] {function} failed with {}: {failure}.", failure.code())) {
        // SAFETY: the text is a string that lives during the call.
        unsafe { reporter(text.as_ptr()) };
    }
}
