//! Table of the functions that only pass integers, one row each.
//!
//! A signature lists the C arguments in order. Letters are inputs as in the specification (`P` pointer, size or
//! handle; `i` int; `u` unsigned; `l` 64-bit int). `>` marks results, which come first in the Python tuple, in C order,
//! before the code. As in pyACL, a function without inputs ignores its arguments.

use crate::arguments::{self, ArgKind};
use crate::function;
use crate::library::{self, Function, MAX_WORDS};
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyTuple};
use std::ffi::CString;

/// Python name, C name, signature.
pub type Row = (&'static str, &'static str, &'static str);

pub const TOP: &[Row] = &[
    ("finalize", "aclFinalize", ""),
    ("finalize_reference", "aclFinalizeReference", ">P"),
    ("get_version", "aclrtGetVersion", ">i >i >i"),
    ("get_device_capability", "aclGetDeviceCapability", "u i >l"),
    ("get_cann_attribute", "aclGetCannAttribute", "i >i"),
    ("destroy_data_buffer", "aclDestroyDataBuffer", "P"),
    ("update_data_buffer", "aclUpdateDataBuffer", "P P P"),
];

pub const MEDIA: &[Row] = &[("dvpp_malloc", "aclrtMalloc", ">P P"), ("dvpp_free", "aclrtFree", "P")];

pub const RT: &[Row] = &[
    // Device
    ("set_device", "aclrtSetDevice", "i"),
    ("reset_device", "aclrtResetDevice", "i"),
    ("reset_device_force", "aclrtResetDeviceForce", "i"),
    ("get_device", "aclrtGetDevice", ">i"),
    ("get_device_count", "aclrtGetDeviceCount", ">u"),
    ("get_run_mode", "aclrtGetRunMode", ">i"),
    ("get_device_info", "aclrtGetDeviceInfo", "u u >l"),
    ("query_device_status", "aclrtQueryDeviceStatus", "i >i"),
    ("device_can_access_peer", "aclrtDeviceCanAccessPeer", ">i i i"),
    ("device_enable_peer_access", "aclrtDeviceEnablePeerAccess", "i u"),
    ("device_disable_peer_access", "aclrtDeviceDisablePeerAccess", "i"),
    ("device_peer_access_status", "aclrtDevicePeerAccessStatus", "i i >i"),
    ("device_get_bare_tgid", "aclrtDeviceGetBareTgid", ">i"),
    ("device_get_stream_priority_range", "aclrtDeviceGetStreamPriorityRange", ">i >i"),
    ("get_device_capability", "aclrtGetDeviceCapability", "i u >i"),
    ("get_devices_topo", "aclrtGetDevicesTopo", "u u >P"),
    ("device_task_abort", "aclrtDeviceTaskAbort", "i u"),
    ("set_ts_device", "aclrtSetTsDevice", "i"),
    ("set_device_sat_mode", "aclrtSetDeviceSatMode", "i"),
    ("get_device_sat_mode", "aclrtGetDeviceSatMode", ">i"),
    ("get_device_res_limit", "aclrtGetDeviceResLimit", "i u >u"),
    ("set_device_res_limit", "aclrtSetDeviceResLimit", "i u u"),
    ("reset_device_res_limit", "aclrtResetDeviceResLimit", "i"),
    ("get_logic_dev_id_by_user_dev_id", "aclrtGetLogicDevIdByUserDevId", "i >i"),
    ("get_user_dev_id_by_logic_dev_id", "aclrtGetUserDevIdByLogicDevId", "i >i"),
    ("get_logic_dev_id_by_phy_dev_id", "aclrtGetLogicDevIdByPhyDevId", "i >i"),
    ("get_phy_dev_id_by_logic_dev_id", "aclrtGetPhyDevIdByLogicDevId", "i >i"),
    ("device_set_limit", "aclrtDeviceSetLimit", "i P"),
    ("device_get_limit", "aclrtDeviceGetLimit", "i >P"),
    ("synchronize_device", "aclrtSynchronizeDevice", ""),
    ("synchronize_device_with_timeout", "aclrtSynchronizeDeviceWithTimeout", "i"),
    ("set_group", "aclrtSetGroup", "i"),
    // Context
    ("create_context", "aclrtCreateContext", ">P i"),
    ("destroy_context", "aclrtDestroyContext", "P"),
    ("set_context", "aclrtSetCurrentContext", "P"),
    ("get_context", "aclrtGetCurrentContext", ">P"),
    ("ctx_get_current_default_stream", "aclrtCtxGetCurrentDefaultStream", ">P"),
    ("set_sys_param_opt", "aclrtSetSysParamOpt", "i l"),
    ("ctx_set_sys_param_opt", "aclrtCtxSetSysParamOpt", "i l"),
    ("get_sys_param_opt", "aclrtGetSysParamOpt", "i >l"),
    ("ctx_get_sys_param_opt", "aclrtCtxGetSysParamOpt", "i >l"),
    ("get_overflow_status", "aclrtGetOverflowStatus", "P P P"),
    ("reset_overflow_status", "aclrtResetOverflowStatus", "P"),
    // Stream
    ("create_stream", "aclrtCreateStream", ">P"),
    ("create_stream_with_config", "aclrtCreateStreamWithConfig", ">P i i"),
    ("destroy_stream", "aclrtDestroyStream", "P"),
    ("destroy_stream_force", "aclrtDestroyStreamForce", "P"),
    ("synchronize_stream", "aclrtSynchronizeStream", "P"),
    ("synchronize_stream_with_timeout", "aclrtSynchronizeStreamWithTimeout", "P i"),
    ("stream_query", "aclrtStreamQuery", "P >i"),
    ("stream_abort", "aclrtStreamAbort", "P"),
    ("stream_get_id", "aclrtStreamGetId", "P >i"),
    ("get_stream_available_num", "aclrtGetStreamAvailableNum", ">u"),
    ("set_stream_failure_mode", "aclrtSetStreamFailureMode", "P u"),
    ("set_stream_overflow_switch", "aclrtSetStreamOverflowSwitch", "P u"),
    ("get_stream_overflow_switch", "aclrtGetStreamOverflowSwitch", "P >u"),
    ("get_stream_res_limit", "aclrtGetStreamResLimit", "P u >u"),
    ("set_stream_res_limit", "aclrtSetStreamResLimit", "P u u"),
    ("reset_stream_res_limit", "aclrtResetStreamResLimit", "P"),
    ("use_stream_res_in_current_thread", "aclrtUseStreamResInCurrentThread", "P"),
    ("unuse_stream_res_in_current_thread", "aclrtUnuseStreamResInCurrentThread", "P"),
    ("get_res_in_current_thread", "aclrtGetResInCurrentThread", "u >u"),
    ("get_thread_last_task_id", "aclrtGetThreadLastTaskId", ">u"),
    // Event
    ("create_event", "aclrtCreateEvent", ">P"),
    ("create_event_with_flag", "aclrtCreateEventWithFlag", ">P u"),
    ("create_event_ex_with_flag", "aclrtCreateEventExWithFlag", ">P u"),
    ("destroy_event", "aclrtDestroyEvent", "P"),
    ("record_event", "aclrtRecordEvent", "P P"),
    ("reset_event", "aclrtResetEvent", "P P"),
    ("synchronize_event", "aclrtSynchronizeEvent", "P"),
    ("synchronize_event_with_timeout", "aclrtSynchronizeEventWithTimeout", "P i"),
    ("stream_wait_event", "aclrtStreamWaitEvent", "P P"),
    ("query_event", "aclrtQueryEvent", "P >i"),
    ("query_event_status", "aclrtQueryEventStatus", "P >i"),
    ("query_event_wait_status", "aclrtQueryEventWaitStatus", "P >i"),
    ("event_elapsed_time", "aclrtEventElapsedTime", ">f P P"),
    ("event_get_timestamp", "aclrtEventGetTimestamp", "P >P"),
    ("get_event_avail_num", "aclrtGetEventAvailNum", ">u"),
    ("set_op_wait_timeout", "aclrtSetOpWaitTimeout", "u"),
    ("set_op_execute_time_out", "aclrtSetOpExecuteTimeOut", "u"),
    ("set_op_execute_timeout_v2", "aclrtSetOpExecuteTimeOutV2", "P >P"),
    ("get_op_timeout_interval", "aclrtGetOpTimeOutInterval", ">P"),
    ("get_op_execute_timeout", "aclrtGetOpExecuteTimeout", ">u"),
    // Memory
    ("malloc", "aclrtMalloc", ">P P i"),
    ("malloc_align32", "aclrtMallocAlign32", ">P P i"),
    ("malloc_cached", "aclrtMallocCached", ">P P i"),
    ("mem_flush", "aclrtMemFlush", "P P"),
    ("mem_invalidate", "aclrtMemInvalidate", "P P"),
    ("free", "aclrtFree", "P"),
    ("malloc_host", "aclrtMallocHost", ">P P"),
    ("free_host", "aclrtFreeHost", "P"),
    ("get_mem_info", "aclrtGetMemInfo", "i >P >P"),
    ("host_register", "aclrtHostRegister", "P P i >P"),
    ("host_unregister", "aclrtHostUnregister", "P"),
    ("host_get_device_pointer", "aclrtHostGetDevicePointer", "P >P u"),
    ("host_register_v2", "aclrtHostRegisterV2", "P P u"),
    // Copy and set
    ("memcpy", "aclrtMemcpy", "P P P P i"),
    ("memcpy_async", "aclrtMemcpyAsync", "P P P P i P"),
    ("memcpy_async_with_condition", "aclrtMemcpyAsyncWithCondition", "P P P P i P"),
    ("memcpy2d", "aclrtMemcpy2d", "P P P P P P i"),
    ("memcpy2d_async", "aclrtMemcpy2dAsync", "P P P P P P i P"),
    ("get_memcpy_desc_size", "aclrtGetMemcpyDescSize", "i >P"),
    ("memcpy_async_with_desc", "aclrtMemcpyAsyncWithDesc", "P i P"),
    ("memset", "aclrtMemset", "P P i P"),
    ("memset_async", "aclrtMemsetAsync", "P P i P P"),
    ("reduce_async", "aclrtReduceAsync", "P P P i i P P"),
    ("cmo_async", "aclrtCmoAsync", "P P i P"),
    ("value_write", "aclrtValueWrite", "P P u P"),
    ("value_wait", "aclrtValueWait", "P P u P"),
    // Callbacks
    ("subscribe_report", "aclrtSubscribeReport", "P P"),
    ("unsubscribe_report", "aclrtUnSubscribeReport", "P P"),
    ("process_report", "aclrtProcessReport", "i"),
    ("get_task_id_from_exception_info", "aclrtGetTaskIdFromExceptionInfo", "P"),
    ("get_stream_id_from_exception_info", "aclrtGetStreamIdFromExceptionInfo", "P"),
    ("get_thread_id_from_exception_info", "aclrtGetThreadIdFromExceptionInfo", "P"),
    ("get_device_id_from_exception_info", "aclrtGetDeviceIdFromExceptionInfo", "P"),
    ("get_error_code_from_exception_info", "aclrtGetErrorCodeFromExceptionInfo", "P"),
    ("peek_at_last_error", "aclrtPeekAtLastError", "i"),
    ("get_last_error", "aclrtGetLastError", "i"),
    // Notify
    ("create_notify", "aclrtCreateNotify", ">P P"),
    ("destroy_notify", "aclrtDestroyNotify", "P"),
    ("record_notify", "aclrtRecordNotify", "P P"),
    ("get_notify_id", "aclrtGetNotifyId", "P >u"),
    // Virtual memory
    ("reserve_mem_address", "aclrtReserveMemAddress", ">P P P P P"),
    ("release_mem_address", "aclrtReleaseMemAddress", "P"),
    ("free_physical", "aclrtFreePhysical", "P"),
    ("map_mem", "aclrtMapMem", "P P P P P"),
    ("unmap_mem", "aclrtUnmapMem", "P"),
    ("mem_export_to_shareable_handle", "aclrtMemExportToShareableHandle", "P i P >P"),
    ("mem_import_from_shareable_handle", "aclrtMemImportFromShareableHandle", "P i >P"),
    // Allocators, groups and kernels. `kernels` has those with strings and structs.
    ("allocator_destroy_desc", "aclrtAllocatorDestroyDesc", "P"),
    ("allocator_set_obj_to_desc", "aclrtAllocatorSetObjToDesc", "P P"),
    ("allocator_set_alloc_func_to_desc", "aclrtAllocatorSetAllocFuncToDesc", "P P"),
    ("allocator_set_free_func_to_desc", "aclrtAllocatorSetFreeFuncToDesc", "P P"),
    ("allocator_set_alloc_advise_func_to_desc", "aclrtAllocatorSetAllocAdviseFuncToDesc", "P P"),
    ("allocator_set_get_addr_from_block_func_to_desc", "aclrtAllocatorSetGetAddrFromBlockFuncToDesc", "P P"),
    ("allocator_register", "aclrtAllocatorRegister", "P P"),
    ("allocator_unregister", "aclrtAllocatorUnregister", "P"),
    ("allocator_get_by_stream", "aclrtAllocatorGetByStream", "P >P >P >P >P >P >P"),
    ("destroy_group_info", "aclrtDestroyGroupInfo", "P"),
    ("get_all_group_info", "aclrtGetAllGroupInfo", "P"),
    ("destroy_binary", "aclrtDestroyBinary", "P"),
    ("binary_load", "aclrtBinaryLoad", "P >P"),
    ("binary_unload", "aclrtBinaryUnLoad", "P"),
    ("binary_get_dev_address", "aclrtBinaryGetDevAddress", "P >P >P"),
    ("binary_get_function_by_entry", "aclrtBinaryGetFunctionByEntry", "P P >P"),
    ("get_function_addr", "aclrtGetFunctionAddr", "P >P >P"),
    ("get_function_size", "aclrtGetFunctionSize", "P >P >P"),
    ("kernel_args_get_handle_mem_size", "aclrtKernelArgsGetHandleMemSize", "P >P"),
    ("kernel_args_get_mem_size", "aclrtKernelArgsGetMemSize", "P P >P"),
    ("kernel_args_init", "aclrtKernelArgsInit", "P >P"),
    ("kernel_args_init_by_user_mem", "aclrtKernelArgsInitByUserMem", "P P P P"),
    ("kernel_args_append", "aclrtKernelArgsAppend", "P P P >P"),
    ("kernel_args_append_place_holder", "aclrtKernelArgsAppendPlaceHolder", "P >P"),
    ("kernel_args_get_place_holder_buffer", "aclrtKernelArgsGetPlaceHolderBuffer", "P P P >P"),
    ("kernel_args_para_update", "aclrtKernelArgsParaUpdate", "P P P P"),
    ("kernel_args_finalize", "aclrtKernelArgsFinalize", "P"),
    ("launch_kernel", "aclrtLaunchKernel", "P u P P P"),
];

/// A token of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignaturePart {
    Input(ArgKind),
    Output(Output),
}

/// Type of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Word,
    Int,
    Unsigned,
    Long,
    Float,
}

fn parse(signature: &str) -> Vec<SignaturePart> {
    let part = |token| match token {
        "P" => SignaturePart::Input(ArgKind::Word),
        "i" => SignaturePart::Input(ArgKind::Int),
        "u" => SignaturePart::Input(ArgKind::Unsigned),
        "l" => SignaturePart::Input(ArgKind::Long),
        ">P" => SignaturePart::Output(Output::Word),
        ">i" => SignaturePart::Output(Output::Int),
        ">u" => SignaturePart::Output(Output::Unsigned),
        ">l" => SignaturePart::Output(Output::Long),
        ">f" => SignaturePart::Output(Output::Float),
        other => panic!("signature token {other:?}"),
    };
    signature.split_whitespace().map(part).collect()
}

/// Adds the functions of a table to a module.
pub fn add(module: &Bound<'_, PyModule>, prefix: &str, rows: &[Row]) -> PyResult<()> {
    for (name, c_name, signature) in rows {
        let parts = parse(signature);
        let dotted = format!("{prefix}.{name}");
        let function = library::function(&CString::new(*c_name).expect("no zeros"));
        let doc = format!("{name}{}\n\nCalls {c_name}.", usage(&parts));
        function::add(module, name, &doc, move |arguments| call(function, &dotted, &parts, arguments))?;
    }
    Ok(())
}

/// Returns the usage text of a function, such as `(a1, a2, /) -> (value, ret)`.
fn usage(parts: &[SignaturePart]) -> String {
    let inputs = parts.iter().filter(|part| matches!(part, SignaturePart::Input(_))).count();
    let outputs = parts.len() - inputs;
    let names: Vec<String> = (1..=inputs).map(|n| format!("a{n}")).collect();
    let result = if outputs == 0 { "ret".to_owned() } else { format!("({}ret)", "value, ".repeat(outputs)) };
    let inputs = if names.is_empty() { String::new() } else { format!("{}, /", names.join(", ")) };
    format!("({inputs}) -> {result}")
}

/// Converts the arguments, calls the C function without the interpreter lock, and converts the results.
fn call<'py>(
    function: Function,
    name: &str,
    parts: &[SignaturePart],
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = arguments.py();
    let inputs = parts.iter().filter(|part| matches!(part, SignaturePart::Input(_))).count();
    if inputs > 0 && arguments.len() != inputs {
        return Err(arguments::argument_error(name));
    }
    let mut words = [0; MAX_WORDS];
    let mut results = [0u64; MAX_WORDS];
    let mut next = 0;
    for (index, part) in parts.iter().enumerate() {
        words[index] = match part {
            SignaturePart::Input(kind) => {
                next += 1;
                let value = arguments.get_borrowed_item(next - 1)?;
                arguments::read(*kind, &value).ok_or_else(|| arguments::argument_error(name))?
            }
            SignaturePart::Output(_) => &raw mut results[index] as u64,
        };
    }
    // Any call may wait for a stream, and a callback queued before it may need the interpreter.
    let code = py.detach(|| function.call(&words)) as i32;
    if inputs == parts.len() {
        return Ok(code.into_pyobject(py)?.into_any());
    }
    let mut tuple: Vec<Bound<'py, PyAny>> = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let SignaturePart::Output(output) = part else { continue };
        let word = results[index];
        tuple.push(match output {
            Output::Word => word.into_pyobject(py)?.into_any(),
            Output::Int => (word as i32).into_pyobject(py)?.into_any(),
            Output::Unsigned => (word as u32).into_pyobject(py)?.into_any(),
            Output::Long => (word as i64).into_pyobject(py)?.into_any(),
            Output::Float => f64::from(f32::from_bits(word as u32)).into_pyobject(py)?.into_any(),
        });
    }
    tuple.push(code.into_pyobject(py)?.into_any());
    Ok(PyTuple::new(py, tuple)?.into_any())
}
