//! Functions whose C side has structs, arrays or strings, which are dictionaries, lists and strings in Python.

use crate::arguments::{ArgKind, argument_error, exactly, read_arg, text, word};
use crate::function::add as define;
use crate::library;
use crate::toplevel::from_buffer;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyModule};
use std::ffi::CString;

/// Maximum number of memory faults per call.
const MAX_FAULTS: u64 = 4096;

pub fn add(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    device(rt)?;
    objects(rt)?;
    faults_and_groups(rt)?;
    stream(rt)?;
    memory(rt)?;
    descriptions(rt)?;
    exports(rt)?;
    imports(rt)?;
    permissions(rt)?;
    notifies(rt)?;
    physical(rt)
}

/// Adds the functions that describe a device.
fn device(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    let function = library::function(c"aclrtGetDeviceUtilizationRate");
    define(
        rt,
        "get_device_utilization_rate",
        "get_device_utilization_rate(device) -> (dict, ret)",
        move |arguments| {
            let py = arguments.py();
            const NAME: &str = "acl.rt.get_device_utilization_rate";
            let [device] = exactly(NAME, arguments)?;
            let mut info = [0u32; 6];
            let code = function.code(&[read_arg(NAME, ArgKind::Int, &device)?, info.as_mut_ptr() as u64]);
            let dict = PyDict::new(py);
            for (index, key) in
                ["cube_utilization", "vector_utilization", "aicpu_utilization", "memory_utilization"].iter().enumerate()
            {
                dict.set_item(key, info[index] as i32)?;
            }
            dict.set_item("utilization_extend", 0)?;
            Ok((dict, code).into_pyobject(py)?.into_any())
        },
    )?;

    let function = library::function(c"aclrtDeviceGetUuid");
    define(rt, "device_get_uuid", "device_get_uuid(device) -> ({'bytes': [16 ints]}, ret)", move |arguments| {
        let py = arguments.py();
        let [device] = exactly("acl.rt.device_get_uuid", arguments)?;
        let mut bytes = [0u8; 16];
        let code =
            function.code(&[read_arg("acl.rt.device_get_uuid", ArgKind::Int, &device)?, bytes.as_mut_ptr() as u64]);
        let dict = PyDict::new(py);
        dict.set_item("bytes", PyList::new(py, bytes)?)?;
        Ok((dict, code).into_pyobject(py)?.into_any())
    })?;

    let function = library::function(c"aclrtGetPrimaryCtxState");
    define(rt, "get_primary_ctx_state", "get_primary_ctx_state(device) -> (active, flags, ret)", move |arguments| {
        let [device] = exactly("acl.rt.get_primary_ctx_state", arguments)?;
        let (mut flags, mut active) = (0u32, 0i32);
        let device = read_arg("acl.rt.get_primary_ctx_state", ArgKind::Int, &device)?;
        let code = function.code(&[device, &raw mut flags as u64, &raw mut active as u64]);
        Ok((active, flags, code).into_pyobject(arguments.py())?.into_any())
    })
}

/// Adds the functions that create an object.
fn objects(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    // These return a handle without a code; 0 is a failure.
    for (name, c_name, inputs) in [
        ("allocator_create_desc", c"aclrtAllocatorCreateDesc", 0),
        ("create_group_info", c"aclrtCreateGroupInfo", 0),
        ("create_binary", c"aclrtCreateBinary", 2),
    ] {
        let function = library::function(c_name);
        define(rt, name, &format!("{name}(...) -> handle"), move |arguments| {
            let dotted = format!("acl.rt.{name}");
            if inputs > 0 && arguments.len() != inputs {
                return Err(argument_error(&dotted));
            }
            let mut words = [0; library::MAX_WORDS];
            for (cell, value) in words.iter_mut().zip(arguments.iter().take(inputs)) {
                *cell = read_arg(&dotted, ArgKind::Word, &value)?;
            }
            Ok(function.call(&words).into_pyobject(arguments.py())?.into_any())
        })?;
    }
    Ok(())
}

/// Adds the functions for memory faults and groups.
fn faults_and_groups(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    let function = library::function(c"aclrtGetMemUceInfo");
    define(rt, "get_mem_uce_info", "get_mem_uce_info(device, count) -> (list, ret)", move |arguments| {
        const NAME: &str = "acl.rt.get_mem_uce_info";
        let py = arguments.py();
        let [device, count] = exactly(NAME, arguments)?;
        let (device, count) = (read_arg(NAME, ArgKind::Int, &device)?, read_arg(NAME, ArgKind::Word, &count)?);
        if count > MAX_FAULTS {
            return Err(PyValueError::new_err(format!("at most {MAX_FAULTS} faults can be requested, not {count}")));
        }
        let mut infos = vec![[0u64; 16]; count as usize];
        let mut found = 0u64;
        let code = function.code(&[device, infos.as_mut_ptr() as u64, count, &raw mut found as u64]);
        let list = PyList::empty(py);
        for info in infos.iter().take(found as usize) {
            let dict = PyDict::new(py);
            dict.set_item("addr", info[0])?;
            dict.set_item("len", info[1])?;
            dict.set_item("reserved", &info[2..])?;
            list.append(dict)?;
        }
        Ok((list, code).into_pyobject(py)?.into_any())
    })?;

    let function = library::function(c"aclrtMemUceRepair");
    define(rt, "mem_uce_repair", "mem_uce_repair(device, list) -> ret", move |arguments| {
        const NAME: &str = "acl.rt.mem_uce_repair";
        let [device, list] = exactly(NAME, arguments)?;
        let device = read_arg(NAME, ArgKind::Int, &device)?;
        let list = list
            .cast_into::<PyList>()
            .map_err(|_| PyValueError::new_err("argument 2 only support the format of list"))?;
        let mut infos = Vec::new();
        for item in list.iter() {
            let dict = item.cast_into::<PyDict>().map_err(|_| PyTypeError::new_err("an element must be a dict"))?;
            let mut info = [0u64; 16];
            (info[0], info[1]) = (number(&dict, "addr", u64::MAX)?, number(&dict, "len", u64::MAX)?);
            infos.push(info);
        }
        let code = function.code(&[device, infos.as_ptr() as u64, infos.len() as u64]);
        Ok(code.into_pyobject(arguments.py())?.into_any())
    })?;

    let function = library::function(c"aclrtGetGroupCount");
    define(rt, "get_group_count", "get_group_count(unused) -> (count, ret)", move |arguments| {
        let [unused] = exactly("acl.rt.get_group_count", arguments)?;
        read_arg("acl.rt.get_group_count", ArgKind::Int, &unused)?;
        let mut count = 0u32;
        let code = function.code(&[&raw mut count as u64]);
        Ok((count, code).into_pyobject(arguments.py())?.into_any())
    })
}

/// Returns the dictionary key of a stream attribute.
fn attribute_key(attribute: i32) -> Option<&'static str> {
    match attribute {
        1 => Some("failureMode"),
        2 => Some("overflowSwitch"),
        3 => Some("userCustomTag"),
        _ => None,
    }
}

/// Adds the functions for events and stream attributes.
fn stream(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    // The only pyACL function that raises the interpreter's messages for wrong arguments.
    let function = library::function(c"aclrtGetEventId");
    define(rt, "get_event_id", "get_event_id(event) -> (id, ret)", move |arguments| {
        let count = arguments.len();
        if count != 1 {
            return Err(PyTypeError::new_err(format!("function takes exactly 1 argument ({count} given)")));
        }
        let event = word(&arguments.get_item(0)?).ok_or_else(|| PyTypeError::new_err("an integer is required"))?;
        let mut id = 0u32;
        let code = function.code(&[event, &raw mut id as u64]);
        Ok((id, code).into_pyobject(arguments.py())?.into_any())
    })?;

    let function = library::function(c"aclrtSetStreamAttribute");
    define(rt, "set_stream_attribute", "set_stream_attribute(stream, type, value: dict) -> ret", move |arguments| {
        const NAME: &str = "acl.rt.set_stream_attribute";
        let [stream, attribute, value] = exactly(NAME, arguments)?;
        let (stream, attribute) = (read_arg(NAME, ArgKind::Word, &stream)?, read_arg(NAME, ArgKind::Int, &attribute)?);
        let dict = value.cast::<PyDict>().map_err(|_| PyTypeError::new_err("the value must be a dict"))?;
        let mut words = [0u32; 4];
        match attribute_key(attribute as i32) {
            Some("failureMode") => {
                let mode = number(dict, "failureMode", u64::MAX)?;
                words[..2].copy_from_slice(&[mode as u32, (mode >> 32) as u32]);
            }
            Some(key) => words[0] = number(dict, key, u64::from(u32::MAX))? as u32,
            None => {
                if let Some(list) = dict.get_item("reserved")?.and_then(|list| list.cast_into::<PyList>().ok()) {
                    for (cell, item) in words.iter_mut().zip(list.iter()) {
                        *cell = word(&item).unwrap_or(0) as u32;
                    }
                }
            }
        }
        let code = function.code(&[stream, attribute, words.as_ptr() as u64]);
        Ok(code.into_pyobject(arguments.py())?.into_any())
    })?;

    let function = library::function(c"aclrtGetStreamAttribute");
    define(rt, "get_stream_attribute", "get_stream_attribute(stream, type) -> (dict, ret)", move |arguments| {
        const NAME: &str = "acl.rt.get_stream_attribute";
        let py = arguments.py();
        let [stream, attribute] = exactly(NAME, arguments)?;
        let (stream, attribute) = (read_arg(NAME, ArgKind::Word, &stream)?, read_arg(NAME, ArgKind::Int, &attribute)?);
        // The library writes 16 bytes that are aligned to 8.
        let mut pair = [0u64; 2];
        let code = function.code(&[stream, attribute, pair.as_mut_ptr() as u64]);
        let dict = PyDict::new(py);
        match attribute_key(attribute as i32) {
            Some("failureMode") => dict.set_item("failureMode", pair[0])?,
            Some(key) => dict.set_item(key, pair[0] as u32)?,
            None => dict.set_item(
                "reserved",
                [pair[0] as u32, (pair[0] >> 32) as u32, pair[1] as u32, (pair[1] >> 32) as u32],
            )?,
        }
        Ok((dict, code).into_pyobject(py)?.into_any())
    })
}

/// Returns an integer of a dictionary: 0 if it is missing or of another type, an error if it is too large.
fn number(dict: &Bound<'_, PyDict>, key: &str, max: u64) -> PyResult<u64> {
    match dict.get_item(key)? {
        Some(value) if value.is_instance_of::<PyInt>() => match value.extract::<u64>() {
            Ok(number) if number <= max => Ok(number),
            _ => Err(PyValueError::new_err(format!("{key} is out of range"))),
        },
        _ => Ok(0),
    }
}

/// Converts the attributes of an allocation, 12 bytes each.
fn allocation_attributes(config: &Bound<'_, PyAny>) -> PyResult<Vec<[u32; 3]>> {
    let dict = config.cast::<PyDict>().map_err(|_| PyTypeError::new_err("the configuration must be a dict"))?;
    let list = dict.get_item("attrs")?.and_then(|list| list.cast_into::<PyList>().ok());
    let count = number(dict, "numAttrs", u64::MAX)?;
    let found = list.as_ref().map_or(0, |list| list.len());
    if count != found as u64 {
        return Err(PyKeyError::new_err(format!("numAttrs is {count}, but attrs has {found} elements")));
    }
    let mut attributes = Vec::new();
    for item in list.iter().flat_map(|list| list.iter()) {
        let item = item.cast_into::<PyDict>().map_err(|_| PyTypeError::new_err("an attribute must be a dict"))?;
        let value = item.get_item("value")?.and_then(|value| value.cast_into::<PyDict>().ok());
        let mut words = [number(&item, "attr", u64::from(u32::MAX))? as u32, 0, 0];
        if let Some(value) = value {
            for key in ["moduleId", "deviceId", "vaFlag"] {
                words[1] |= number(&value, key, u64::from(u32::MAX))? as u32;
            }
        }
        attributes.push(words);
    }
    Ok(attributes)
}

/// Adds the allocation functions with a configuration.
fn memory(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    for (name, c_name) in
        [("malloc_with_cfg", c"aclrtMallocWithCfg"), ("malloc_for_task_scheduler", c"aclrtMallocForTaskScheduler")]
    {
        let function = library::function(c_name);
        define(rt, name, &format!("{name}(size, policy, cfg: dict) -> (pointer, ret)"), move |arguments| {
            let dotted = format!("acl.rt.{name}");
            let [size, policy, config] = exactly(&dotted, arguments)?;
            let (size, policy) = (read_arg(&dotted, ArgKind::Word, &size)?, read_arg(&dotted, ArgKind::Int, &policy)?);
            let attributes = allocation_attributes(&config)?;
            let header = [attributes.as_ptr() as u64, attributes.len() as u64];
            let config = if attributes.is_empty() { 0 } else { header.as_ptr() as u64 };
            let mut pointer = 0u64;
            let code = function.code(&[&raw mut pointer as u64, size, policy, config]);
            Ok((pointer, code).into_pyobject(arguments.py())?.into_any())
        })?;
    }

    let function = library::function(c"aclrtMallocHostWithCfg");
    define(rt, "malloc_host_with_cfg", "malloc_host_with_cfg(size, cfg: dict) -> (pointer, ret)", move |arguments| {
        const NAME: &str = "acl.rt.malloc_host_with_cfg";
        let [size, config] = exactly(NAME, arguments)?;
        let size = read_arg(NAME, ArgKind::Word, &size)?;
        let attributes = allocation_attributes(&config)?;
        let header = [attributes.as_ptr() as u64, attributes.len() as u64];
        let config = if attributes.is_empty() { 0 } else { header.as_ptr() as u64 };
        let mut pointer = 0u64;
        let code = function.code(&[&raw mut pointer as u64, size, config]);
        Ok((pointer, code).into_pyobject(arguments.py())?.into_any())
    })
}

/// Adds the functions that describe memory and copies.
fn descriptions(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    let function = library::function(c"aclrtPointerGetAttributes");
    define(rt, "pointer_get_attributes", "pointer_get_attributes(pointer) -> (dict, ret)", move |arguments| {
        let py = arguments.py();
        let [pointer] = exactly("acl.rt.pointer_get_attributes", arguments)?;
        let mut words = [0u32; 7];
        let code = function
            .code(&[read_arg("acl.rt.pointer_get_attributes", ArgKind::Word, &pointer)?, words.as_mut_ptr() as u64]);
        let location = PyDict::new(py);
        location.set_item("id", words[0])?;
        location.set_item("type", words[1])?;
        let dict = PyDict::new(py);
        dict.set_item("location", location)?;
        dict.set_item("page_size", words[2])?;
        dict.set_item("rsv", PyList::new(py, &words[3..])?)?;
        Ok((dict, code).into_pyobject(py)?.into_any())
    })?;

    let function = library::function(c"aclrtSetMemcpyDesc");
    define(
        rt,
        "set_memcpy_desc",
        "set_memcpy_desc(desc, kind, src, dst, count, config) -> (desc, ret)",
        move |arguments| {
            const NAME: &str = "acl.rt.set_memcpy_desc";
            let [desc, kind, source, target, count, config] = exactly(NAME, arguments)?;
            let desc = read_arg(NAME, ArgKind::Word, &desc)?;
            let words = [
                desc,
                read_arg(NAME, ArgKind::Int, &kind)?,
                read_arg(NAME, ArgKind::Word, &source)?,
                read_arg(NAME, ArgKind::Word, &target)?,
                read_arg(NAME, ArgKind::Word, &count)?,
                read_arg(NAME, ArgKind::Word, &config)?,
            ];
            let code = arguments.py().detach(|| function.code(&words));
            Ok((desc, code).into_pyobject(arguments.py())?.into_any())
        },
    )
}

/// Converts a list of integers, with pyACL's errors.
fn integers<T: TryFrom<u64>>(value: &Bound<'_, PyAny>, position: usize) -> PyResult<Vec<T>> {
    let list = value
        .cast::<PyList>()
        .map_err(|_| PyValueError::new_err(format!("argument {position} only support the format of list")))?;
    let wrong = || PyValueError::new_err("get values from PyList failed");
    list.iter().map(|item| word(&item).and_then(|number| T::try_from(number).ok()).ok_or_else(wrong)).collect()
}

/// Upper bound, exclusive, on the length of an export key.
const MAX_KEY: u64 = 1024;

/// Adds the functions that return an export key.
fn exports(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    // Python name, C name, words before the key buffer.
    for (name, c_name, before) in [
        ("ipc_mem_get_export_key", c"aclrtIpcMemGetExportKey", 2),
        ("notify_get_export_key", c"aclrtNotifyGetExportKey", 1),
    ] {
        let function = library::function(c_name);
        define(rt, name, &format!("{name}(..., len, flag) -> (key, ret)"), move |arguments| {
            let dotted = format!("acl.rt.{name}");
            if arguments.len() != before + 2 {
                return Err(argument_error(&dotted));
            }
            let mut inputs = Vec::new();
            for value in arguments.iter() {
                inputs.push(read_arg(&dotted, ArgKind::Word, &value)?);
            }
            let (len, flag) = (inputs[before], inputs[before + 1]);
            if len >= MAX_KEY {
                return Err(PyValueError::new_err(format!("the key length {len} is not below {MAX_KEY}")));
            }
            let mut key = [0u8; MAX_KEY as usize];
            let mut words = inputs[..before].to_vec();
            words.extend([key.as_mut_ptr() as u64, len, flag]);
            let code = arguments.py().detach(|| function.code(&words));
            Ok((from_buffer(&key), code).into_pyobject(arguments.py())?.into_any())
        })?;
    }
    Ok(())
}

/// Adds the functions that use export keys.
fn imports(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    for (name, c_name) in
        [("ipc_mem_import_by_key", c"aclrtIpcMemImportByKey"), ("notify_import_by_key", c"aclrtNotifyImportByKey")]
    {
        let function = library::function(c_name);
        define(rt, name, &format!("{name}(key, flag) -> (handle, ret)"), move |arguments| {
            let dotted = format!("acl.rt.{name}");
            let [key, flag] = exactly(&dotted, arguments)?;
            let key = CString::new(text(&key).ok_or_else(|| argument_error(&dotted))?).expect("checked for zeros");
            let flag = read_arg(&dotted, ArgKind::Word, &flag)?;
            let mut handle = 0u64;
            let words = [&raw mut handle as u64, key.as_ptr() as u64, flag];
            let code = arguments.py().detach(|| function.code(&words));
            Ok((handle, code).into_pyobject(arguments.py())?.into_any())
        })?;
    }

    let function = library::function(c"aclrtIpcMemClose");
    define(rt, "ipc_mem_close", "ipc_mem_close(key) -> ret", move |arguments| {
        let [key] = exactly("acl.rt.ipc_mem_close", arguments)?;
        let key =
            CString::new(text(&key).ok_or_else(|| argument_error("acl.rt.ipc_mem_close"))?).expect("checked for zeros");
        let address = key.as_ptr() as u64;
        let code = arguments.py().detach(|| function.code(&[address]));
        Ok(code.into_pyobject(arguments.py())?.into_any())
    })
}

/// Adds the functions that grant access to other processes.
fn permissions(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    let function = library::function(c"aclrtIpcMemSetImportPid");
    define(rt, "ipc_mem_set_import_pid", "ipc_mem_set_import_pid(key, pids) -> ret", move |arguments| {
        let [key, pids] = exactly("acl.rt.ipc_mem_set_import_pid", arguments)?;
        let key = text(&key).ok_or_else(|| argument_error("acl.rt.ipc_mem_set_import_pid"))?;
        let key = CString::new(key).expect("checked for zeros");
        let pids: Vec<i32> = integers(&pids, 2)?;
        let code = function.code(&[key.as_ptr() as u64, pids.as_ptr() as u64, pids.len() as u64]);
        Ok(code.into_pyobject(arguments.py())?.into_any())
    })?;

    for (name, c_name) in [
        ("notify_set_import_pid", c"aclrtNotifySetImportPid"),
        ("mem_set_pid_to_shareable_handle", c"aclrtMemSetPidToShareableHandle"),
    ] {
        let function = library::function(c_name);
        define(rt, name, &format!("{name}(handle, pids) -> ret"), move |arguments| {
            let dotted = format!("acl.rt.{name}");
            let [handle, pids] = exactly(&dotted, arguments)?;
            let handle = read_arg(&dotted, ArgKind::Word, &handle)?;
            let pids: Vec<i32> = integers(&pids, 2)?;
            let code = function.code(&[handle, pids.as_ptr() as u64, pids.len() as u64]);
            Ok(code.into_pyobject(arguments.py())?.into_any())
        })?;
    }
    Ok(())
}

/// Adds the notify functions with arrays or ranges.
fn notifies(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    let function = library::function(c"aclrtNotifyBatchReset");
    define(rt, "notify_batch_reset", "notify_batch_reset(notifies) -> ret", move |arguments| {
        let [notifies] = exactly("acl.rt.notify_batch_reset", arguments)?;
        let notifies: Vec<u64> = integers(&notifies, 1)?;
        let code = function.code(&[notifies.as_ptr() as u64, notifies.len() as u64]);
        Ok(code.into_pyobject(arguments.py())?.into_any())
    })?;

    let function = library::function(c"aclrtWaitAndResetNotify");
    define(rt, "wait_and_reset_notify", "wait_and_reset_notify(notify, stream, timeout) -> ret", move |arguments| {
        const NAME: &str = "acl.rt.wait_and_reset_notify";
        let [notify, stream, timeout] = exactly(NAME, arguments)?;
        let timeout = read_arg(NAME, ArgKind::Long, &timeout)?;
        if timeout > u64::from(u32::MAX) {
            return Err(PyTypeError::new_err("timeout must be from 0 to 4294967295"));
        }
        let words = [read_arg(NAME, ArgKind::Word, &notify)?, read_arg(NAME, ArgKind::Word, &stream)?, timeout];
        let code = arguments.py().detach(|| function.code(&words));
        Ok(code.into_pyobject(arguments.py())?.into_any())
    })
}

/// Converts a dictionary to `aclrtPhysicalMemProp`.
fn properties(value: &Bound<'_, PyAny>) -> PyResult<[u64; 4]> {
    let dict = value.cast::<PyDict>().map_err(|_| PyTypeError::new_err("the properties must be a dict"))?;
    let max = u64::from(u32::MAX);
    let mut words = [0u32; 8];
    for (index, key) in ["handleType", "allocationType", "memAttr"].iter().enumerate() {
        words[index] = number(dict, key, max)? as u32;
    }
    if let Some(location) = dict.get_item("location")?.and_then(|location| location.cast_into::<PyDict>().ok()) {
        words[3] = number(&location, "id", max)? as u32;
        words[4] = number(&location, "type", max)? as u32;
    }
    let reserve = number(dict, "reserve", u64::MAX)?;
    (words[6], words[7]) = (reserve as u32, (reserve >> 32) as u32);
    let (pairs, _) = words.as_chunks::<2>();
    Ok(std::array::from_fn(|index| u64::from(pairs[index][0]) | u64::from(pairs[index][1]) << 32))
}

/// Adds the functions for physical memory.
fn physical(rt: &Bound<'_, PyModule>) -> PyResult<()> {
    let function = library::function(c"aclrtMallocPhysical");
    define(rt, "malloc_physical", "malloc_physical(size, prop: dict, flags) -> (handle, ret)", move |arguments| {
        const NAME: &str = "acl.rt.malloc_physical";
        let [size, prop, flags] = exactly(NAME, arguments)?;
        let (size, flags) = (read_arg(NAME, ArgKind::Word, &size)?, read_arg(NAME, ArgKind::Word, &flags)?);
        let prop = properties(&prop)?;
        let mut handle = 0u64;
        let code = function.code(&[&raw mut handle as u64, size, prop.as_ptr() as u64, flags]);
        Ok((handle, code).into_pyobject(arguments.py())?.into_any())
    })?;

    let function = library::function(c"aclrtMemGetAllocationGranularity");
    define(
        rt,
        "mem_get_allocation_granularity",
        "mem_get_allocation_granularity(prop: dict, option) -> (size, ret)",
        move |arguments| {
            const NAME: &str = "acl.rt.mem_get_allocation_granularity";
            let [prop, option] = exactly(NAME, arguments)?;
            let option = read_arg(NAME, ArgKind::Int, &option)?;
            let prop = properties(&prop)?;
            let mut granularity = 0u64;
            let code = function.code(&[prop.as_ptr() as u64, option, &raw mut granularity as u64]);
            Ok((granularity, code).into_pyobject(arguments.py())?.into_any())
        },
    )
}
