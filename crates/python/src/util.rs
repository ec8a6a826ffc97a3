//! `acl.util`: addresses of Python objects, and threads.
//!
//! numpy is imported by the functions that need it, not when the module is imported.

use crate::arguments::{ArgKind, argument_error, exactly, read_arg, word};
use crate::function::add as define;
use crate::library;
use pyo3::exceptions::{PyRuntimeError, PySystemExit, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyModule, PyTuple};
use std::collections::HashMap;
use std::os::unix::thread::JoinHandleExt;
use std::sync::Mutex;
use std::thread::JoinHandle;

/// Threads that were started and not joined, by pthread id. A thread returns the name of the exception that ended it.
static THREADS: Mutex<Option<HashMap<u64, JoinHandle<Option<String>>>>> = Mutex::new(None);

pub fn add(util: &Bound<'_, PyModule>) -> PyResult<()> {
    define(
        util,
        "bytes_to_ptr",
        "bytes_to_ptr(b: bytes) -> int\n\nThe address of the bytes, without a copy; keep the object alive.",
        |arguments| {
            let [value] = exactly("acl.util.bytes_to_ptr", arguments)?;
            let bytes =
                value.cast::<PyBytes>().map_err(|_| PyValueError::new_err("bytes_to_ptr needs a bytes object"))?;
            Ok((bytes.as_bytes().as_ptr() as u64).into_pyobject(arguments.py())?.into_any())
        },
    )?;
    define(util, "ptr_to_bytes", "ptr_to_bytes(ptr, size) -> bytes\n\nA copy.", |arguments| {
        const NAME: &str = "acl.util.ptr_to_bytes";
        let [pointer, size] = exactly(NAME, arguments)?;
        let (pointer, size) = (read_arg(NAME, ArgKind::Word, &pointer)?, read_arg(NAME, ArgKind::Word, &size)?);
        if pointer == 0 || size > isize::MAX as u64 {
            return Err(PyValueError::new_err(format!("{size} bytes at {pointer:#x} cannot be read")));
        }
        Ok(PyBytes::new(arguments.py(), &library::bytes_at(pointer, size as usize)).into_any())
    })?;
    arrays(util)?;
    threads(util)
}

/// Issues a Python warning.
fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let category = py.import("builtins")?.getattr("Warning")?;
    py.import("warnings")?.call_method1("warn", (text, category, 1))?;
    Ok(())
}

/// Returns the numpy module if the value is an array. `name` is the function, for the error.
fn ndarray<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let numpy = value.py().import("numpy")?;
    if !value.is_instance(&numpy.getattr("ndarray")?)? {
        return Err(PyValueError::new_err(format!("{name} needs a numpy array")));
    }
    Ok(numpy.into_any())
}

fn is_contiguous(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    array.getattr("flags")?.getattr("c_contiguous")?.extract()
}

fn data<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    array.getattr("ctypes")?.getattr("data")
}

fn arrays(util: &Bound<'_, PyModule>) -> PyResult<()> {
    define(
        util,
        "numpy_to_ptr",
        "numpy_to_ptr(array) -> int\n\nThe address of the array's data; keep the array alive.",
        |arguments| {
            let [array] = exactly("acl.util.numpy_to_ptr", arguments)?;
            ndarray(&array, "numpy_to_ptr")?;
            warn(arguments.py(), "numpy_to_ptr will be deprecated; use bytes_to_ptr or array.ctypes.data")?;
            if !is_contiguous(&array)? {
                warn(arguments.py(), "the array is not C-contiguous")?;
            }
            data(&array)
        },
    )?;
    define(
        util,
        "numpy_contiguous_to_ptr",
        "numpy_contiguous_to_ptr(array) -> (int, array)\n\nKeep the returned array alive.",
        |arguments| {
            let py = arguments.py();
            let [array] = exactly("acl.util.numpy_contiguous_to_ptr", arguments)?;
            let numpy = ndarray(&array, "numpy_contiguous_to_ptr")?;
            warn(py, "numpy_contiguous_to_ptr will be deprecated; use numpy.ascontiguousarray")?;
            let contiguous =
                if is_contiguous(&array)? { array } else { numpy.call_method1("ascontiguousarray", (array,))? };
            Ok(PyTuple::new(py, [data(&contiguous)?, contiguous])?.into_any())
        },
    )?;
    define(
        util,
        "ptr_to_numpy",
        "ptr_to_numpy(ptr, shape: tuple, npy_type) -> array\n\n\
         A view: writes change the memory. The view does not keep the memory alive.",
        |arguments| {
            const NAME: &str = "acl.util.ptr_to_numpy";
            let py = arguments.py();
            let [pointer, shape, kind] = exactly(NAME, arguments)?;
            let (pointer, kind) = (read_arg(NAME, ArgKind::Word, &pointer)?, read_arg(NAME, ArgKind::Int, &kind)?);
            let shape = shape.cast_into::<PyTuple>().map_err(|_| PyValueError::new_err("shape must be a tuple"))?;
            let mut dimensions = Vec::new();
            for item in shape.iter() {
                dimensions.push(word(&item).ok_or_else(|| PyTypeError::new_err("shape must contain integers"))?);
            }
            warn(py, "ptr_to_numpy will be deprecated; use ptr_to_bytes and numpy.frombuffer")?;
            let numpy = py.import("numpy")?;
            let dtype = numpy.getattr("dtype")?.call1((type_name(kind)?,))?;
            let item_size: u64 = dtype.getattr("itemsize")?.extract()?;
            let size = dimensions.iter().try_fold(item_size, |size, dimension| size.checked_mul(*dimension));
            let size = size
                .filter(|size| *size <= isize::MAX as u64)
                .ok_or_else(|| PyValueError::new_err("the shape is too large"))?;
            let ctypes = py.import("ctypes")?;
            let array_type = ctypes.getattr("c_char")?.mul(size)?;
            let memory = array_type.call_method1("from_address", (pointer,))?;
            let flat = numpy.call_method1("frombuffer", (memory, dtype))?;
            flat.call_method1("reshape", (PyList::new(py, dimensions)?,))
        },
    )
}

/// Returns the numpy type for a type number.
fn type_name(number: u64) -> PyResult<&'static str> {
    Ok(match number {
        0 => "bool",
        1 => "int8",
        2 => "uint8",
        3 => "int16",
        4 => "uint16",
        5 => "int32",
        6 => "uint32",
        7 | 9 => "int64",
        8 | 10 => "uint64",
        11 => "float32",
        12 => "float64",
        23 => "float16",
        other => return Err(PyValueError::new_err(format!("numpy type number {} is not supported", other as i32))),
    })
}

fn threads(util: &Bound<'_, PyModule>) -> PyResult<()> {
    define(
        util,
        "start_thread",
        "start_thread(fn, args) -> (thread_id, ret)\n\nCalls fn(args) on a new thread, or fn() when args is None.",
        |arguments| {
            let py = arguments.py();
            let count = arguments.len();
            if count != 2 {
                return Err(PyTypeError::new_err(format!("function takes exactly 2 arguments ({count} given)")));
            }
            let (function, argument) = (arguments.get_item(0)?, arguments.get_item(1)?);
            if !function.is_callable() {
                return Err(PyTypeError::new_err("parameter must be callable"));
            }
            let (function, argument) = (function.unbind(), argument.unbind());
            let run = move || {
                Python::try_attach(|py| {
                    let result =
                        if argument.is_none(py) { function.call0(py) } else { function.call1(py, (&argument,)) };
                    // As in other Python threads, SystemExit ends only the thread.
                    let error = result.err().filter(|error| !error.is_instance_of::<PySystemExit>(py))?;
                    let name = error.get_type(py).name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
                    error.print(py);
                    Some(name)
                })
                .flatten()
            };
            let started = std::thread::Builder::new().name("acl-util".to_owned()).spawn(run);
            let (id, code) = match started {
                Ok(handle) => {
                    let id = handle.as_pthread_t();
                    THREADS.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert_default().insert(id, handle);
                    (id, 0)
                }
                Err(error) => (0, error.raw_os_error().unwrap_or(-1)),
            };
            Ok((id, code).into_pyobject(py)?.into_any())
        },
    )?;
    define(util, "stop_thread", "stop_thread(thread_id) -> ret\n\nWaits for the thread to end.", |arguments| {
        let py = arguments.py();
        let [id] = exactly("acl.util.stop_thread", arguments)?;
        let id = word(&id).ok_or_else(|| argument_error("acl.util.stop_thread"))?;
        let handle = THREADS.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert_default().remove(&id);
        let Some(handle) = handle else { return Ok(libc::ESRCH.into_pyobject(py)?.into_any()) };
        match py.detach(|| handle.join()) {
            Ok(None) => Ok(0i32.into_pyobject(py)?.into_any()),
            Ok(Some(exception)) => {
                Err(PyRuntimeError::new_err(format!("exception={exception},msg=thread call failed;")))
            }
            Err(_) => Err(PyRuntimeError::new_err("the thread panicked")),
        }
    })
}
