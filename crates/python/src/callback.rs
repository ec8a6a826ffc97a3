//! Callbacks into Python: `launch_callback` and the exception callback.
//!
//! The Python function and its argument are boxed, and the C argument points to the box. The function runs inside the
//! subscriber's `process_report`, which has released the interpreter lock; it is taken again here. An exception is
//! reported through `sys.unraisablehook`, and the stream continues.

use crate::arguments::{ArgKind, argument_error, exactly, read_arg};
use crate::function::add as define;
use crate::library;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyModule;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// A Python function with its argument.
struct PyCall {
    function: Py<PyAny>,
    argument: Py<PyAny>,
}

/// Calls the boxed function and frees the box. The C callback of `launch_callback` outside a capture.
extern "C" fn run(call: *mut c_void) {
    // SAFETY: the pointer is the box that `launch_callback` passed to the library, which calls back exactly once.
    let call = unsafe { Box::from_raw(call.cast::<PyCall>()) };
    // An interpreter that is shutting down runs no code. The box is leaked then, because its objects cannot be
    // released.
    let mut call = Some(call);
    Python::try_attach(|py| {
        let Some(call) = call.take() else { return };
        if let Err(error) = call.function.call1(py, (&call.argument,)) {
            error.write_unraisable(py, Some(call.function.bind(py)));
        }
    });
    std::mem::forget(call);
}

/// Calls the boxed function and keeps the box. The C callback of `launch_callback` in a capture: every run of the graph
/// calls it, and no call reports that the graph is gone, so the box lives as long as the process.
extern "C" fn run_again(call: *mut c_void) {
    // SAFETY: the pointer is the box that `launch_callback` passed to the library and never frees.
    let call = unsafe { &*call.cast::<PyCall>() };
    Python::try_attach(|py| {
        if let Err(error) = call.function.call1(py, (&call.argument,)) {
            error.write_unraisable(py, Some(call.function.bind(py)));
        }
    });
}

pub fn add(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    let launch = library::function(c"aclrtLaunchCallback");
    let is_capturing = library::function(c"softaclIsCapturing");
    define(rt, "launch_callback", "launch_callback(fn, user_data, block_type, stream) -> ret", move |arguments| {
        const NAME: &str = "acl.rt.launch_callback";
        let [function, argument, block, stream] = exactly(NAME, arguments)?;
        let (block, stream) = (read_arg(NAME, ArgKind::Int, &block)?, read_arg(NAME, ArgKind::Word, &stream)?);
        if !function.is_callable() {
            return Err(PyTypeError::new_err("parameter must be callable"));
        }
        let call = Box::into_raw(Box::new(PyCall { function: function.unbind(), argument: argument.unbind() })) as u64;
        let code = arguments.py().detach(|| {
            let run: extern "C" fn(*mut c_void) = if is_capturing.code(&[stream]) == 1 { run_again } else { run };
            launch.code(&[run as *const () as u64, call, block, stream])
        });
        if code != 0 {
            // SAFETY: the library refused the call and did not keep the pointer.
            drop(unsafe { Box::from_raw(call as *mut PyCall) });
        }
        Ok(code.into_pyobject(arguments.py())?.into_any())
    })?;

    let set = library::function(c"aclrtSetExceptionInfoCallback");
    define(rt, "set_exception_info_callback", "set_exception_info_callback([fn]) -> ret", move |arguments| {
        if arguments.len() > 1 {
            return Err(argument_error("acl.rt.set_exception_info_callback"));
        }
        let function = arguments.get_item(0).ok().filter(|function| !function.is_none());
        if function.as_ref().is_some_and(|function| !function.is_callable()) {
            return Err(PyTypeError::new_err("parameter must be callable"));
        }
        let callback = if function.is_some() { dispatch_exception as *const () as u64 } else { 0 };
        let code = arguments.py().detach(|| set.code(&[callback]));
        if code == 0 {
            let previous = {
                let mut callback = EXCEPTION_CALLBACK.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::replace(&mut *callback, function.map(Bound::unbind))
            };
            // Dropped outside the lock: the destructor of a Python object may run arbitrary code.
            drop(previous);
        }
        Ok(code.into_pyobject(arguments.py())?.into_any())
    })
}

/// The Python function that is called for failed tasks.
static EXCEPTION_CALLBACK: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

/// Calls the registered Python function with an exception record.
extern "C" fn dispatch_exception(info: *mut c_void) {
    Python::try_attach(|py| {
        let function = {
            let callback = EXCEPTION_CALLBACK.lock().unwrap_or_else(PoisonError::into_inner);
            callback.as_ref().map(|function| function.clone_ref(py))
        };
        if let Some(function) = function
            && let Err(error) = function.call1(py, (info as usize,))
        {
            error.write_unraisable(py, Some(function.bind(py)));
        }
    });
}
