//! Creates Python functions from Rust closures: named, with positional parameters only.

use crate::library;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyModule, PyTuple};
use std::ffi::CString;

/// Adds a function to a module. The closure receives the positional arguments.
pub fn add<F>(module: &Bound<'_, PyModule>, name: &'static str, doc: &str, body: F) -> PyResult<()>
where
    F: for<'py> Fn(&Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> + Send + Sync + 'static,
{
    let closure = move |arguments: &Bound<'_, PyTuple>, keywords: Option<&Bound<'_, PyDict>>| -> PyResult<Py<PyAny>> {
        if keywords.is_some_and(|keywords| !keywords.is_empty()) {
            return Err(PyTypeError::new_err(format!("{name}() takes no keyword arguments")));
        }
        library::save_frames();
        body(arguments).map(Bound::unbind)
    };
    // A function lives as long as its module, which is never unloaded, so its name and doc string may leak.
    let leak =
        |text: &str| -> &'static std::ffi::CStr { Box::leak(CString::new(text).expect("no zeros").into_boxed_c_str()) };
    let function = PyCFunction::new_closure(module.py(), Some(leak(name)), Some(leak(doc)), closure)?;
    module.add(name, function)
}
