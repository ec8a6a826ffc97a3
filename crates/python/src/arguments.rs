//! Argument conversion as in pyACL: strict about types, wrapping where C wraps.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};

/// Conversion of one argument. `table` and `kernels` map the letters of the specification to these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// A pointer, size or handle: an exact `int` (or subclass), taken modulo 2^64.
    Word,
    /// A signed 32-bit number; accepts anything with `__index__`.
    Int,
    /// An unsigned 32-bit number, taken modulo 2^32.
    Unsigned,
    /// A signed 64-bit number.
    Long,
}

/// Converts an argument to a word. `None` if its type or value does not fit.
pub fn read(kind: ArgKind, value: &Bound<'_, PyAny>) -> Option<u64> {
    match kind {
        ArgKind::Word => word(value),
        ArgKind::Int => index(value)?.extract::<i32>().ok().map(|number| number as u64),
        ArgKind::Unsigned => word(&index(value)?).map(|number| number & 0xffff_ffff),
        ArgKind::Long => index(value)?.extract::<i64>().ok().map(|number| number as u64),
    }
}

/// Converts an exact `int`, modulo 2^64.
pub fn word(value: &Bound<'_, PyAny>) -> Option<u64> {
    if !value.is_instance_of::<PyInt>() {
        return None;
    }
    if let Ok(number) = value.extract::<u64>() {
        return Some(number);
    }
    let masked = value.call_method1("__and__", (u64::MAX,)).ok()?;
    masked.extract().ok()
}

/// Returns the value as an `int`, through `__index__` if necessary.
fn index<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    if value.is_instance_of::<PyInt>() {
        return Some(value.clone());
    }
    value.call_method0("__index__").ok()
}

/// Converts a `str`. `None` for other types and for strings that contain a zero.
pub fn text(value: &Bound<'_, PyAny>) -> Option<String> {
    let text = value.cast::<PyString>().ok()?.to_cow().ok()?.into_owned();
    (!text.contains('\0')).then_some(text)
}

/// Returns exactly `N` arguments, or pyACL's error.
pub fn exactly<'py, const N: usize>(name: &str, arguments: &Bound<'py, PyTuple>) -> PyResult<[Bound<'py, PyAny>; N]> {
    let all: Vec<Bound<'py, PyAny>> = arguments.iter().collect();
    all.try_into().map_err(|_| argument_error(name))
}

/// Converts one argument of a function, or returns pyACL's error.
pub fn read_arg(name: &str, kind: ArgKind, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    read(kind, value).ok_or_else(|| argument_error(name))
}

/// Returns the error for wrong arguments, with the text that pyACL uses for this function.
pub fn argument_error(name: &str) -> PyErr {
    let words = match name.strip_prefix("acl.rt.").unwrap_or(name) {
        "stream_query"
        | "set_stream_attribute"
        | "peek_at_last_error"
        | "synchronize_event_with_timeout"
        | "malloc_with_cfg"
        | "set_op_wait_timeout"
        | "cmo_async" => "args parse failed!",
        "get_stream_res_limit" | "set_stream_res_limit" | "reset_stream_res_limit" | "host_get_device_pointer" => {
            "parse failed"
        }
        "set_sys_param_opt" | "get_sys_param_opt" => "args parse faild",
        _ => "args parse failed",
    };
    PyTypeError::new_err(format!("{name} {words}"))
}
