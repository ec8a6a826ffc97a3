//! Kernel functions whose C side takes strings or structs.
//!
//! softacl cannot load kernels. The arguments are converted, so that wrong ones raise pyACL's errors. Then the C
//! function is called without arguments for its code, which reports that it is not implemented.

use crate::arguments::{ArgKind, argument_error, exactly, read, read_arg, text};
use crate::function::add as define;
use crate::library;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyTuple};
use std::ffi::CString;

/// Python name, C name, arguments (`P` handle, `u` unsigned, `s` string, `O` anything), number of results.
const ROWS: &[(&str, &str, &str, usize)] = &[
    ("binary_get_function", "aclrtBinaryGetFunction", "Ps", 1),
    ("binary_load_from_file", "aclrtBinaryLoadFromFile", "sO", 1),
    ("binary_load_from_data", "aclrtBinaryLoadFromData", "PPO", 1),
    ("register_cpu_func", "aclrtRegisterCpuFunc", "Pss", 1),
    ("get_function_name", "aclrtGetFunctionName", "Pu", 1),
    ("launch_kernel_v2", "aclrtLaunchKernelV2", "PuPPOP", 0),
    ("launch_kernel_with_config", "aclrtLaunchKernelWithConfig", "PuPOPP", 0),
    ("launch_kernel_with_host_args", "aclrtLaunchKernelWithHostArgs", "PuPOPPOP", 0),
];

pub fn add(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    for (name, c_name, kinds, results) in ROWS {
        let function = library::function(&CString::new(*c_name).expect("no zeros"));
        define(rt, name, &format!("{name}(...)\n\nCalls {c_name}, which is not implemented."), move |arguments| {
            let py = arguments.py();
            check(&format!("acl.rt.{name}"), kinds, arguments)?;
            let code = function.code(&[]);
            if *results == 0 {
                return Ok(code.into_pyobject(py)?.into_any());
            }
            let mut items = vec![0; *results];
            items.push(code);
            Ok(PyTuple::new(py, items)?.into_any())
        })?;
    }

    // The only pyACL function that raises an exception if the runtime returns an error.
    let function = library::function(c"aclrtGetGroupInfoDetail");
    define(
        rt,
        "get_group_info_detail",
        "get_group_info_detail(info, group_id, attr) -> (list, ret)",
        move |arguments| {
            check("acl.rt.get_group_info_detail", "Pii", arguments)?;
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

/// Checks number and types of the arguments. Returns pyACL's error if one does not fit.
fn check(name: &str, kinds: &str, arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
    if arguments.len() != kinds.len() {
        return Err(argument_error(name));
    }
    for (kind, value) in kinds.chars().zip(arguments.iter()) {
        let is_valid = match kind {
            'P' => read(ArgKind::Word, &value).is_some(),
            'u' => read(ArgKind::Unsigned, &value).is_some(),
            'i' => read(ArgKind::Int, &value).is_some(),
            's' => text(&value).is_some(),
            _ => true,
        };
        if !is_valid {
            return Err(argument_error(name));
        }
    }
    Ok(())
}
