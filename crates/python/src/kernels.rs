//! Kernel functions whose C side takes strings or structs.
//!
//! Load options and launch attributes have no effect in softacl, so any object is accepted for them and none is passed
//! on.

use crate::arguments::{ArgKind, argument_error, exactly, read_arg, text};
use crate::function::add as define;
use crate::library::{self, Function, MAX_WORDS};
use crate::toplevel::from_buffer;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyModule, PyTuple};
use std::ffi::CString;

/// Maximum length of a function name in bytes.
const MAX_NAME: u64 = 4096;

/// Result of a function, beside its code. The C function has a pointer to it as its last parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Nothing,
    Handle,
    /// A name. The argument before it is the size of its buffer.
    Name,
}

/// Python name, C name, arguments (`P` handle, `u` unsigned, `s` string, `O` options, `H` placeholders), result.
const ROWS: &[(&str, &str, &str, Output)] = &[
    ("binary_get_function", "aclrtBinaryGetFunction", "Ps", Output::Handle),
    ("binary_load_from_file", "aclrtBinaryLoadFromFile", "sO", Output::Handle),
    ("binary_load_from_data", "aclrtBinaryLoadFromData", "PPO", Output::Handle),
    ("register_cpu_func", "aclrtRegisterCpuFunc", "Pss", Output::Handle),
    ("get_function_name", "aclrtGetFunctionName", "Pu", Output::Name),
    ("launch_kernel_v2", "aclrtLaunchKernelV2", "PuPPOP", Output::Nothing),
    ("launch_kernel_with_config", "aclrtLaunchKernelWithConfig", "PuPOPP", Output::Nothing),
    ("launch_kernel_with_host_args", "aclrtLaunchKernelWithHostArgs", "PuPOPPHP", Output::Nothing),
];

pub fn add(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    for (name, c_name, kinds, output) in ROWS {
        let function = library::function(&CString::new(*c_name).expect("no zeros"));
        define(rt, name, &format!("{name}(...)\n\nCalls {c_name}."), move |arguments| {
            call(function, &format!("acl.rt.{name}"), kinds, *output, arguments)
        })?;
    }

    // The only pyACL function that raises an exception if the runtime returns an error.
    let function = library::function(c"aclrtGetGroupInfoDetail");
    define(
        rt,
        "get_group_info_detail",
        "get_group_info_detail(info, group_id, attr) -> (list, ret)",
        move |arguments| {
            // It fails on every product, so what it would write is never read.
            let [info, group, attribute] = exactly("acl.rt.get_group_info_detail", arguments)?;
            let word = |kind, value| read_arg("acl.rt.get_group_info_detail", kind, value);
            let (mut value, mut written) = (0u64, 0usize);
            let code = function.code(&[
                word(ArgKind::Word, &info)?,
                word(ArgKind::Int, &group)?,
                word(ArgKind::Int, &attribute)?,
                &raw mut value as u64,
                size_of::<u64>() as u64,
                &raw mut written as u64,
            ]);
            Err(PyRuntimeError::new_err(format!("aclrtGetGroupInfoDetail returned {code}")))
        },
    )
}

/// Converts the arguments, calls the C function without the interpreter lock, and converts the result.
fn call<'py>(
    function: Function,
    name: &str,
    kinds: &str,
    output: Output,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = arguments.py();
    if arguments.len() != kinds.len() {
        return Err(argument_error(name));
    }
    let mut words = [0; MAX_WORDS];
    // What the words point to lives until after the call.
    let (mut texts, mut places) = (Vec::new(), Vec::new());
    for ((kind, value), word) in kinds.chars().zip(arguments.iter()).zip(&mut words) {
        *word = match kind {
            'P' => read_arg(name, ArgKind::Word, &value)?,
            'u' => read_arg(name, ArgKind::Unsigned, &value)?,
            's' => {
                let text = text(&value).and_then(|text| CString::new(text).ok()).ok_or_else(|| argument_error(name))?;
                let address = text.as_ptr() as u64;
                texts.push(text);
                address
            }
            'H' => {
                places = place_holders(&value)?;
                if places.is_empty() { 0 } else { places.as_ptr() as u64 }
            }
            _ => 0,
        };
    }
    if kinds.contains('H') && !places.is_empty() && words[kinds.len() - 1] != places.len() as u64 {
        return Err(PyValueError::new_err(format!("{name}: the list has {} placeholders", places.len())));
    }
    let (mut handle, mut text) = (0_u64, Vec::new());
    words[kinds.len()] = match output {
        Output::Nothing => 0,
        Output::Handle => &raw mut handle as u64,
        Output::Name => {
            let room = &mut words[kinds.len() - 1];
            *room = (*room).min(MAX_NAME);
            text.resize(*room as usize + 1, 0_u8);
            text.as_mut_ptr() as u64
        }
    };
    // A launch may wait for a stream, and a callback queued before it may need the interpreter.
    let code = py.detach(|| function.call(&words)) as i32;
    drop((texts, places));
    match output {
        Output::Nothing => Ok(code.into_pyobject(py)?.into_any()),
        Output::Handle => Ok((handle, code).into_pyobject(py)?.into_any()),
        Output::Name => Ok((from_buffer(&text), code).into_pyobject(py)?.into_any()),
    }
}

/// Converts a list of dictionaries to `aclrtPlaceHolderInfo`. Missing numbers are 0, as everywhere in pyACL.
fn place_holders(value: &Bound<'_, PyAny>) -> PyResult<Vec<[u32; 2]>> {
    let list = value.cast::<PyList>().map_err(|_| PyValueError::new_err("the placeholders must be a list of dicts"))?;
    let number = |dict: &Bound<'_, PyDict>, key: &str| match dict.get_item(key)? {
        Some(value) if value.is_instance_of::<PyInt>() => {
            value.extract::<u32>().map_err(|_| PyValueError::new_err(format!("{key} is out of range")))
        }
        _ => Ok(0),
    };
    let read = |item: Bound<'_, PyAny>| {
        let dict = item.cast::<PyDict>().map_err(|_| PyTypeError::new_err("a placeholder must be a dict"))?;
        Ok([number(dict, "addrOffset")?, number(dict, "dataOffset")?])
    };
    list.iter().map(read).collect()
}
