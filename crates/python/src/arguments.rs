//! Reading arguments as pyACL reads them: strict about types, wrapping where C would.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};

/// How one argument is read; the letters are those of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// A pointer, size or handle: an exact `int` (or subclass), taken modulo 2^64.
    Word,
    /// A signed 32-bit number; anything with `__index__`.
    Int,
    /// An unsigned 32-bit number, taken modulo 2^32.
    Unsigned,
    /// A signed 64-bit number.
    Long,
}

/// Reads an argument into a word. `None`: it does not fit.
pub fn read(kind: ArgKind, value: &Bound<'_, PyAny>) -> Option<u64> {
    match kind {
        ArgKind::Word => word(value),
        ArgKind::Int => index(value)?.extract::<i32>().ok().map(|number| number as u64),
        ArgKind::Unsigned => word(&index(value)?).map(|number| number & 0xffff_ffff),
        ArgKind::Long => index(value)?.extract::<i64>().ok().map(|number| number as u64),
    }
}

/// An exact `int` modulo 2^64.
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

fn index<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    if value.is_instance_of::<PyInt>() {
        return Some(value.clone());
    }
    value.call_method0("__index__").ok()
}

/// A `str` without a zero in it.
pub fn text(value: &Bound<'_, PyAny>) -> Option<String> {
    let text = value.cast::<PyString>().ok()?.to_cow().ok()?.into_owned();
    (!text.contains('\0')).then_some(text)
}

/// Exactly `N` arguments, or pyACL's error.
pub fn exactly<'py, const N: usize>(name: &str, arguments: &Bound<'py, PyTuple>) -> PyResult<[Bound<'py, PyAny>; N]> {
    let all: Vec<Bound<'py, PyAny>> = arguments.iter().collect();
    all.try_into().map_err(|_| argument_error(name))
}

/// Reads one argument of a function, or pyACL's error.
pub fn read_arg(name: &str, kind: ArgKind, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    read(kind, value).ok_or_else(|| argument_error(name))
}

/// The error for wrong arguments, in the words that pyACL has for this function.
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
