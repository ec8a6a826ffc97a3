//! Functions of the module `acl`, outside its submodules, that do more than pass integers.

use crate::arguments::{self, ArgKind, argument_error, exactly, read_arg, text};
use crate::function::add as define;
use crate::library;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule};
use std::ffi::CString;

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let init = library::function(c"aclInit");
    define(module, "init", "init([config_path]) -> ret\n\nCalls aclInit.", move |arguments| {
        let path = match arguments.len() {
            0 => None,
            1 => Some(text(&arguments.get_item(0)?).ok_or_else(|| argument_error("acl.init"))?),
            _ => return Err(argument_error("acl.init")),
        };
        let path = path.map(|path| CString::new(path).expect("checked for zeros"));
        let address = path.as_ref().map_or(0, |path| path.as_ptr() as u64);
        let code = arguments.py().detach(|| init.code(&[address]));
        Ok(code.into_pyobject(arguments.py())?.into_any())
    })?;

    let soc_name = library::function(c"aclrtGetSocName");
    define(module, "get_soc_name", "get_soc_name() -> str or None", move |arguments| {
        let name = library::text(soc_name.call(&[0; library::MAX_WORDS]));
        Ok(name.into_pyobject(arguments.py())?.into_any())
    })?;

    let message = library::function(c"aclGetRecentErrMsg");
    define(module, "get_recent_err_msg", "get_recent_err_msg() -> str or None", move |arguments| {
        let text = library::text(message.call(&[0; library::MAX_WORDS]));
        Ok(text.into_pyobject(arguments.py())?.into_any())
    })?;

    versions(module)?;
    logging(module)?;
    values(module)
}

/// Adds the functions that return versions and attributes of the installation.
fn versions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let version = library::function(c"aclsysGetVersionStr");
    define(module, "get_version_str", "get_version_str(package) -> (version, ret)", move |arguments| {
        let [package] = exactly("acl.get_version_str", arguments)?;
        let package = text(&package).ok_or_else(|| argument_error("acl.get_version_str"))?;
        let package = CString::new(package).expect("checked for zeros");
        let mut buffer = [0u8; 128];
        let code = version.code(&[package.as_ptr() as u64, buffer.as_mut_ptr() as u64]);
        Ok((from_buffer(&buffer), code).into_pyobject(arguments.py())?.into_any())
    })?;

    let cann = library::function(c"aclsysGetCANNVersion");
    define(module, "get_cann_version", "get_cann_version(name) -> (dict, ret)", move |arguments| {
        let py = arguments.py();
        let [name] = exactly("acl.get_cann_version", arguments)?;
        let name = read_arg("acl.get_cann_version", ArgKind::Unsigned, &name)?;
        let mut buffer = [0u8; 512];
        let code = cann.code(&[name, buffer.as_mut_ptr() as u64]);
        let fields = ["version", "major_version", "minor_version", "release_version", "patch_version", "reserved"];
        let bounds = [0, 128, 192, 256, 320, 384, 512];
        let dict = PyDict::new(py);
        for (index, field) in fields.iter().enumerate() {
            dict.set_item(field, from_buffer(&buffer[bounds[index]..bounds[index + 1]]))?;
        }
        Ok((dict, code).into_pyobject(py)?.into_any())
    })?;

    let list = library::function(c"aclGetCannAttributeList");
    define(module, "get_cann_attribute_list", "get_cann_attribute_list() -> (list, count, ret)", move |arguments| {
        let py = arguments.py();
        let (mut address, mut count) = (0u64, 0u64);
        let code = list.code(&[&raw mut address as u64, &raw mut count as u64]);
        let attributes = if code == 0 { library::ints_at(address, count as usize) } else { Vec::new() };
        Ok((PyList::new(py, attributes)?, count, code).into_pyobject(py)?.into_any())
    })
}

/// Adds `app_log`.
fn logging(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let log = library::function(c"aclAppLog");
    define(module, "app_log", "app_log(level, text) -> None", move |arguments| {
        let py = arguments.py();
        let [level, message] = exactly("acl.app_log", arguments)?;
        let level = read_arg("acl.app_log", ArgKind::Int, &level)?;
        let message =
            CString::new(text(&message).ok_or_else(|| argument_error("acl.app_log"))?).expect("checked for zeros");
        let words = [
            level,
            c"app_log".as_ptr() as u64,
            c"python".as_ptr() as u64,
            0,
            c"%s".as_ptr() as u64,
            message.as_ptr() as u64,
        ];
        log.code(&words);
        Ok(py.None().into_bound(py))
    })
}

/// Adds the functions that return a value without a code.
fn values(module: &Bound<'_, PyModule>) -> PyResult<()> {
    define(module, "float16_to_float", "float16_to_float(bits) -> float", |arguments| {
        let [bits] = exactly("acl.float16_to_float", arguments)?;
        let bits = read_arg("acl.float16_to_float", ArgKind::Unsigned, &bits)? as u16;
        Ok(f64::from(library::half_to_float(bits)).into_pyobject(arguments.py())?.into_any())
    })?;
    define(module, "float_to_float16", "float_to_float16(value) -> int", |arguments| {
        let [value] = exactly("acl.float_to_float16", arguments)?;
        let value: f32 = value.extract().map_err(|_| argument_error("acl.float_to_float16"))?;
        Ok(library::float_to_half(value).into_pyobject(arguments.py())?.into_any())
    })?;
    let plain: [(&'static str, &std::ffi::CStr, &'static [ArgKind]); 5] = [
        ("data_type_size", c"aclDataTypeSize", &[ArgKind::Int]),
        ("create_data_buffer", c"aclCreateDataBuffer", &[ArgKind::Word, ArgKind::Word]),
        ("get_data_buffer_addr", c"aclGetDataBufferAddr", &[ArgKind::Word]),
        ("get_data_buffer_size", c"aclGetDataBufferSizeV2", &[ArgKind::Word]),
        ("get_data_buffer_size_v2", c"aclGetDataBufferSizeV2", &[ArgKind::Word]),
    ];
    for (name, c_name, kinds) in plain {
        let function = library::function(c_name);
        define(module, name, &format!("{name}(...) -> int"), move |arguments| {
            let dotted = || argument_error(&format!("acl.{name}"));
            if arguments.len() != kinds.len() {
                return Err(dotted());
            }
            let mut words = [0; library::MAX_WORDS];
            for (index, kind) in kinds.iter().enumerate() {
                words[index] = arguments::read(*kind, &arguments.get_item(index)?).ok_or_else(dotted)?;
            }
            Ok(function.call(&words).into_pyobject(arguments.py())?.into_any())
        })?;
    }
    Ok(())
}

/// Returns the string in a C array, which ends at the first zero or at the end of the array.
pub fn from_buffer(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}
