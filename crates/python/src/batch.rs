//! Batch copies from Python: a softacl extension that pyACL does not have.
//!
//! Addresses and sizes are lists of integers or contiguous buffers of 64-bit integers. Numpy arrays are used in place.
//! Attributes are dictionaries with the C field names.

use crate::arguments::{ArgKind, exactly, read_arg, word};
use crate::function::add as define;
use crate::library::{self, Function};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule, PyTuple};

/// Fail index when no entry is to blame.
const NO_FAIL_INDEX: u64 = u64::MAX;

/// 64-bit numbers of the caller: collected from a list, or used in place.
enum Words<'py> {
    Collected(Vec<u64>),
    InPlace { address: u64, count: usize, _owner: Bound<'py, PyAny> },
}

impl Words<'_> {
    fn address(&self) -> u64 {
        match self {
            Words::Collected(words) => words.as_ptr() as u64,
            Words::InPlace { address, .. } => *address,
        }
    }

    fn count(&self) -> usize {
        match self {
            Words::Collected(words) => words.len(),
            Words::InPlace { count, .. } => *count,
        }
    }
}

/// Reads a list or a buffer of 64-bit numbers. `name` is the parameter, for error messages.
fn words<'py>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Words<'py>> {
    let wrong = |why: &str| {
        PyTypeError::new_err(format!(
            "{name} must be a list of integers or a contiguous buffer of 64-bit integers: {why}"
        ))
    };
    if let Ok(list) = value.cast::<PyList>() {
        let collected = list
            .iter()
            .map(|item| word(&item).ok_or_else(|| wrong("an element is not an int")))
            .collect::<PyResult<_>>()?;
        return Ok(Words::Collected(collected));
    }
    if let Ok(interface) = value.getattr("__array_interface__") {
        let interface = interface.cast_into::<PyDict>().map_err(|_| wrong("its array interface is not a dict"))?;
        let field = |key: &str| interface.get_item(key)?.ok_or_else(|| wrong("its array interface is incomplete"));
        let kind: String = field("typestr")?.extract()?;
        let shape: Vec<usize> = field("shape")?.extract()?;
        let strides = interface.get_item("strides")?.filter(|strides| !strides.is_none());
        if !["<u8", "<i8"].contains(&kind.as_str()) || shape.len() != 1 || strides.is_some() {
            return Err(wrong("it is not one-dimensional, contiguous and of 64-bit integers"));
        }
        let (address, _read_only): (u64, bool) = field("data")?.extract()?;
        return Ok(Words::InPlace { address, count: shape[0], _owner: value.clone() });
    }
    // Any other buffer, such as array.array, is collected through a memoryview.
    let view =
        value.py().import("builtins")?.getattr("memoryview")?.call1((value,)).map_err(|_| wrong("it is neither"))?;
    if view.getattr("itemsize")?.extract::<usize>()? != 8 {
        return Err(wrong("its elements are not 8 bytes long"));
    }
    let numbers = view.call_method0("tolist")?.cast_into::<PyList>().map_err(|_| wrong("it is neither"))?;
    let collected = numbers
        .iter()
        .map(|item| word(&item).ok_or_else(|| wrong("an element is not an int")))
        .collect::<PyResult<_>>()?;
    Ok(Words::Collected(collected))
}

/// Converts dictionaries to `aclrtMemcpyBatchAttr`, 32 bytes each.
fn attributes(value: &Bound<'_, PyAny>) -> PyResult<Vec<[u32; 8]>> {
    let list = value.cast::<PyList>().map_err(|_| PyTypeError::new_err("attrs must be a list of dicts"))?;
    list.iter()
        .map(|item| {
            let dict = item.cast_into::<PyDict>().map_err(|_| PyTypeError::new_err("an attribute must be a dict"))?;
            let mut words = [0u32; 8];
            for (start, key) in [(0, "dstLoc"), (2, "srcLoc")] {
                let location =
                    dict.get_item(key)?.ok_or_else(|| PyValueError::new_err(format!("an attribute lacks {key}")))?;
                let location = location
                    .cast_into::<PyDict>()
                    .map_err(|_| PyTypeError::new_err(format!("{key} must be a dict")))?;
                for (offset, field) in ["id", "type"].iter().enumerate() {
                    words[start + offset] = match location.get_item(field)? {
                        Some(number) => number.extract()?,
                        None => 0,
                    };
                }
            }
            if let Some(reserved) = dict.get_item("rsv")? {
                let mut bytes = [0u8; 16];
                for (byte, value) in bytes.iter_mut().zip(reserved.try_iter()?) {
                    *byte = value?.extract()?;
                }
                for (word, chunk) in words[4..].iter_mut().zip(bytes.as_chunks::<4>().0) {
                    *word = u32::from_ne_bytes(*chunk);
                }
            }
            Ok(words)
        })
        .collect()
}

/// Calls a batch copy function. `stream` is `None` for the blocking one.
fn copy<'py>(
    function: Function,
    name: &str,
    arguments: &Bound<'py, PyTuple>,
    stream: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = arguments.py();
    let item = |index| arguments.get_item(index);
    let lists = [
        words("dsts", &item(0)?)?,
        words("dest_maxs", &item(1)?)?,
        words("srcs", &item(2)?)?,
        words("sizes", &item(3)?)?,
    ];
    let attributes = attributes(&item(4)?)?;
    let starts = words("attrs_indexes", &item(5)?)?;
    let count = lists[3].count();
    if lists.iter().any(|list| list.count() != count) {
        return Err(PyValueError::new_err(format!(
            "{name}: dsts, dest_maxs, srcs and sizes must have the same length"
        )));
    }
    if starts.count() != attributes.len() {
        return Err(PyValueError::new_err(format!("{name}: attrs and attrs_indexes must have the same length")));
    }
    let mut fail_index = NO_FAIL_INDEX;
    let words = [
        lists[0].address(),
        lists[1].address(),
        lists[2].address(),
        lists[3].address(),
        count as u64,
        attributes.as_ptr() as u64,
        starts.address(),
        attributes.len() as u64,
        &raw mut fail_index as u64,
        stream.unwrap_or(0),
    ];
    let code = py.detach(|| function.code(&words));
    Ok((fail_index, code).into_pyobject(py)?.into_any())
}

pub fn add(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    let function = library::function(c"aclrtMemcpyBatch");
    let doc = "memcpy_batch(dsts, dest_maxs, srcs, sizes, attrs, attrs_indexes) -> (fail_index, ret)\n\n\
        A softacl extension, not part of pyACL.";
    define(rt, "memcpy_batch", doc, move |arguments| {
        const NAME: &str = "acl.rt.memcpy_batch";
        let [_, _, _, _, _, _] = exactly(NAME, arguments)?;
        copy(function, NAME, arguments, None)
    })?;
    let function = library::function(c"aclrtMemcpyBatchAsync");
    let doc = "memcpy_batch_async(dsts, dest_maxs, srcs, sizes, attrs, attrs_indexes, stream) -> (fail_index, ret)\n\n\
        A softacl extension, not part of pyACL.";
    define(rt, "memcpy_batch_async", doc, move |arguments| {
        const NAME: &str = "acl.rt.memcpy_batch_async";
        let [_, _, _, _, _, _, stream] = exactly(NAME, arguments)?;
        let stream = read_arg(NAME, ArgKind::Word, &stream)?;
        copy(function, NAME, arguments, Some(stream))
    })
}
