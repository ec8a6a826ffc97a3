//! Groups the error codes of AscendCL by what a caller can do about them.
//!
//! The groups are defined here and nowhere else. A test requires that every code of the headers has one.

use ascendcl_sys::constants::*;
use std::fmt;

/// The cause of an [`Error`](crate::Error), for programs that react to errors.
///
/// AscendCL has more than 200 codes. A kind groups those that call for one reaction; [`Error::code`] and
/// [`Error::name`] keep the exact code.
///
/// [`Error::code`]: crate::Error::code
/// [`Error::name`]: crate::Error::name
///
/// ```
/// use ascendcl::{Context, DeviceBuffer, ErrorKind, Result};
///
/// /// Allocates half as much until it fits.
/// fn alloc_largest(context: &Context, mut len: usize) -> Result<DeviceBuffer<u8>> {
///     loop {
///         match context.alloc_uninit(len) {
///             Err(error) if error.kind() == ErrorKind::OutOfMemory && len > 1 => len /= 2,
///             result => return result,
///         }
///     }
/// }
///
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let buffer = alloc_largest(&context, 1 << 40)?;
/// assert!(buffer.len() < 1 << 40);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is invalid: a null pointer, a length, an address, an alignment, a format.
    InvalidArgument,
    /// A handle or id does not name a live object of the expected type.
    InvalidHandle,
    /// The thread has no current context, or the object belongs to another context.
    InvalidContext,
    /// The device does not exist.
    DeviceNotFound,
    /// The library was not found or is not initialized.
    NotInitialized,
    /// The object or the library is in a state that does not allow the call, such as an event that was not recorded
    /// or a feature that was already started.
    InvalidState,
    /// The call is not allowed because of a graph capture, or the captured graph is invalid.
    Capture,
    /// The library, the chip or the library version does not support the call.
    NotSupported,
    /// The process may not perform the operation.
    PermissionDenied,
    /// Device or host memory is exhausted.
    OutOfMemory,
    /// Another resource is exhausted: streams, events, notifies, queue entries.
    ResourceExhausted,
    /// A wait or a task did not finish in time.
    Timeout,
    /// The work was aborted before it finished.
    Aborted,
    /// A task of a stream failed when it executed: a copy, a kernel, a graph.
    TaskFailed,
    /// The hardware reported a fault: an uncorrectable memory error or a broken link.
    HardwareFault,
    /// The device does not respond. It has to be reset.
    DeviceLost,
    /// A file cannot be opened, read, written or parsed.
    File,
    /// The runtime or the driver failed internally.
    Internal,
    /// The code is not one of the AscendCL headers.
    Unknown,
}

impl ErrorKind {
    /// Returns the kind of an AscendCL error code.
    ///
    /// ```
    /// use ascendcl::{ErrorKind, sys};
    ///
    /// assert_eq!(ErrorKind::from_code(sys::ACL_ERROR_RT_MEMORY_ALLOCATION), ErrorKind::OutOfMemory);
    /// assert_eq!(ErrorKind::from_code(-1), ErrorKind::Unknown);
    /// ```
    #[must_use]
    pub fn from_code(code: i32) -> ErrorKind {
        let kinds = [caller, state, resource, execution, model, internal].into_iter();
        kinds.flat_map(|kind_of| kind_of(code)).next().unwrap_or(ErrorKind::Unknown)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::InvalidArgument => "invalid argument",
            ErrorKind::InvalidHandle => "invalid handle",
            ErrorKind::InvalidContext => "invalid context",
            ErrorKind::DeviceNotFound => "device not found",
            ErrorKind::NotInitialized => "not initialized",
            ErrorKind::InvalidState => "invalid state",
            ErrorKind::Capture => "not allowed during graph capture",
            ErrorKind::NotSupported => "not supported",
            ErrorKind::PermissionDenied => "permission denied",
            ErrorKind::OutOfMemory => "out of memory",
            ErrorKind::ResourceExhausted => "resource exhausted",
            ErrorKind::Timeout => "timed out",
            ErrorKind::Aborted => "aborted",
            ErrorKind::TaskFailed => "task failed",
            ErrorKind::HardwareFault => "hardware fault",
            ErrorKind::DeviceLost => "device lost",
            ErrorKind::File => "file error",
            ErrorKind::Internal => "internal error",
            ErrorKind::Unknown => "unknown error",
        })
    }
}

/// Codes for mistakes in the arguments of a call.
fn caller(code: i32) -> Option<ErrorKind> {
    Some(match code {
        ACL_ERROR_INVALID_PARAM
        | ACL_ERROR_RT_PARAM_INVALID
        | ACL_ERROR_MEMORY_ADDRESS_UNALIGNED
        | ACL_ERROR_RT_ADDR_UNALIGNED
        | ACL_ERROR_RT_INVALID_MEMORY_TYPE
        | ACL_ERROR_RT_INVALID_MALLOC_TYPE
        | ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY
        | ACL_ERROR_RT_INVALID_SYMBOL
        | ACL_ERROR_RT_INVALID_DEVICE_FUNCTION
        | ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL
        | ACL_ERROR_RT_INVALID_DIEID
        | ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG
        | ACL_ERROR_INVALID_DUMP_CONFIG
        | ACL_ERROR_INVALID_PROFILING_CONFIG => ErrorKind::InvalidArgument,
        ACL_ERROR_INVALID_RESOURCE_HANDLE
        | ACL_ERROR_RT_INVALID_HANDLE
        | ACL_ERROR_INVALID_MODEL_ID
        | ACL_ERROR_INVALID_BUNDLE_MODEL_ID
        | ACL_ERROR_INVALID_QUEUE_ID
        | ACL_ERROR_RT_SYMBOL_NOT_FOUND
        | ACL_ERROR_RT_KERNEL_LOOKUP
        | ACL_ERROR_KERNEL_NOT_FOUND
        | ACL_ERROR_OP_NOT_FOUND => ErrorKind::InvalidHandle,
        ACL_ERROR_RT_CONTEXT_NULL
        | ACL_ERROR_RT_STREAM_CONTEXT
        | ACL_ERROR_RT_MODEL_CONTEXT
        | ACL_ERROR_RT_LABEL_CONTEXT
        | ACL_ERROR_RT_CONTEXT_RELEASE_ERROR => ErrorKind::InvalidContext,
        ACL_ERROR_INVALID_DEVICE | ACL_ERROR_RT_INVALID_DEVICEID | ACL_ERROR_RT_NO_DEVICE => ErrorKind::DeviceNotFound,
        ACL_ERROR_INVALID_FILE
        | ACL_ERROR_WRITE_FILE
        | ACL_ERROR_INVALID_FILE_SIZE
        | ACL_ERROR_PARSE_FILE
        | ACL_ERROR_FILE_MISSING_ATTR
        | ACL_ERROR_FILE_ATTR_INVALID
        | ACL_ERROR_INVALID_OPP_PATH
        | ACL_ERROR_RT_FILE_OPEN
        | ACL_ERROR_RT_FILE_WRITE => ErrorKind::File,
        _ => return None,
    })
}

/// Codes for calls that the state of the library or of an object does not allow.
fn state(code: i32) -> Option<ErrorKind> {
    Some(match code {
        ACL_ERROR_UNINITIALIZE | ACL_ERROR_GE_EXEC_NOT_INIT => ErrorKind::NotInitialized,
        ACL_ERROR_REPEAT_INITIALIZE
        | ACL_ERROR_RT_REPEATED_INIT
        | ACL_ERROR_REPEAT_FINALIZE
        | ACL_ERROR_REPEAT_SUBSCRIBE
        | ACL_ERROR_STREAM_NOT_SUBSCRIBE
        | ACL_ERROR_THREAD_NOT_SUBSCRIBE
        | ACL_ERROR_RT_STREAM_SUBSCRIBE
        | ACL_ERROR_RT_THREAD_SUBSCRIBE
        | ACL_ERROR_RT_STREAM_NO_CB_REG
        | ACL_ERROR_GROUP_NOT_SET
        | ACL_ERROR_GROUP_NOT_CREATE
        | ACL_ERROR_RT_GROUP_NOT_SET
        | ACL_ERROR_RT_GROUP_NOT_CREATE
        | ACL_ERROR_RT_SYSPARAMOPT_NOT_SET
        | ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID
        | ACL_ERROR_RT_STREAM_MODEL
        | ACL_ERROR_RT_MODEL_RUNNING
        | ACL_ERROR_RT_STREAM_NOT_COMPLETE
        | ACL_ERROR_RT_EVENT_NOT_COMPLETE
        | ACL_ERROR_RT_STREAM_TASK_EMPTY
        | ACL_ERROR_RT_QUEUE_EMPTY
        | ACL_ERROR_RT_END_OF_SEQUENCE
        | ACL_ERROR_RT_RINGBUFFER_NOT_INIT
        | ACL_ERROR_RT_RINGBUFFER_NO_DATA
        | ACL_ERROR_RT_KERNEL_DUPLICATE
        | ACL_ERROR_RT_KERNEL_UNREGISTERING
        | ACL_ERROR_RT_DIE_MODE_NOT_SET
        | ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED
        | ACL_ERROR_HOST_MEMORY_NOT_REGISTERED
        | ACL_ERROR_RELATIVE_RESOURCE_NOT_CLEARED
        | ACL_ERROR_RESOURCE_NOT_MATCH
        | ACL_ERROR_BIN_SELECTOR_NOT_REGISTERED
        | ACL_ERROR_BIN_SELECTOR_ALREADY_REGISTERED
        | ACL_ERROR_KERNEL_ALREADY_REGISTERED
        | ACL_ERROR_PROF_ALREADY_RUN
        | ACL_ERROR_PROF_NOT_RUN
        | ACL_ERROR_PROF_REPEAT_SUBSCRIBE
        | ACL_ERROR_PROF_API_CONFLICT
        | ACL_ERROR_DUMP_ALREADY_RUN
        | ACL_ERROR_DUMP_NOT_RUN => ErrorKind::InvalidState,
        ACL_ERROR_RT_CAPTURE_DEPENDENCY
        | ACL_ERROR_RT_STREAM_UNJOINED
        | ACL_ERROR_RT_MODEL_CAPTURED
        | ACL_ERROR_RT_STREAM_CAPTURED
        | ACL_ERROR_RT_EVENT_CAPTURED
        | ACL_ERROR_RT_STREAM_NOT_CAPTURED
        | ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT
        | ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT
        | ACL_ERROR_STREAM_CAPTURE_CONFLICT
        | ACL_ERROR_STREAM_TASK_GROUP_STATUS
        | ACL_ERROR_STREAM_TASK_GROUP_INTR
        | ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED
        | ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD
        | ACL_ERROR_RT_MODEL_UPDATE_FAILED
        | ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC
        | ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING
        | ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED => ErrorKind::Capture,
        _ => return None,
    })
}

/// Codes for missing features, rights and resources.
fn resource(code: i32) -> Option<ErrorKind> {
    Some(match code {
        ACL_ERROR_RT_FEATURE_NOT_SUPPORT
        | ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP
        | ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED
        | ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT
        | ACL_ERROR_RT_SOC_VERSION
        | ACL_ERROR_API_NOT_SUPPORT
        | ACL_ERROR_FEATURE_UNSUPPORTED
        | ACL_ERROR_PROF_MODULES_UNSUPPORTED
        | ACL_ERROR_UNSUPPORTED_DATA_TYPE
        | ACL_ERROR_UNSUPPORTED_JPEG
        | ACL_ERROR_OP_UNSUPPORTED_DYNAMIC
        | ACL_ERROR_COMPILING_STUB_MODE => ErrorKind::NotSupported,
        ACL_ERROR_RT_NO_PERMISSION => ErrorKind::PermissionDenied,
        ACL_ERROR_BAD_ALLOC
        | ACL_ERROR_RT_MEMORY_ALLOCATION
        | ACL_ERROR_RT_DEVICE_OOM
        | ACL_ERROR_GE_MEMORY_ALLOCATION => ErrorKind::OutOfMemory,
        ACL_ERROR_STORAGE_OVER_LIMIT
        | ACL_ERROR_RT_RESOURCE_ALLOC_FAIL
        | ACL_ERROR_RT_NO_EVENT_RESOURCE
        | ACL_ERROR_RT_NO_STREAM_RESOURCE
        | ACL_ERROR_RT_NO_NOTIFY_RESOURCE
        | ACL_ERROR_RT_NO_MODEL_RESOURCE
        | ACL_ERROR_RT_NO_CDQ_RESOURCE
        | ACL_ERROR_RT_OVER_LIMIT
        | ACL_ERROR_RT_QUEUE_FULL
        | ACL_ERROR_RT_STREAM_TASK_FULL
        | ACL_ERROR_RT_PROGRAM_USE_OUT => ErrorKind::ResourceExhausted,
        _ => return None,
    })
}

/// Codes for work that was accepted and did not succeed.
fn execution(code: i32) -> Option<ErrorKind> {
    Some(match code {
        ACL_ERROR_WAIT_CALLBACK_TIMEOUT
        | ACL_ERROR_RT_WAIT_TIMEOUT
        | ACL_ERROR_RT_TASK_TIMEOUT
        | ACL_ERROR_RT_TIMEOUT
        | ACL_ERROR_RT_REPORT_TIMEOUT
        | ACL_ERROR_RT_STREAM_SYNC_TIMEOUT
        | ACL_ERROR_RT_EVENT_SYNC_TIMEOUT
        | ACL_ERROR_RT_AICORE_TIMEOUT
        | ACL_ERROR_RT_AICPU_TIMEOUT
        | ACL_ERROR_RT_VECTOR_CORE_TIMEOUT
        | ACL_ERROR_RT_FFTS_PLUS_TIMEOUT
        | ACL_ERROR_RT_CCU_TIMEOUT
        | ACL_ERROR_SNAPSHOT_LOCK_TIMEOUT
        | ACL_ERROR_GE_MODEL_EXECUTE_TIMEOUT => ErrorKind::Timeout,
        ACL_ERROR_RT_DEVICE_TASK_ABORT
        | ACL_ERROR_RT_STREAM_ABORT
        | ACL_ERROR_RT_TASK_ABORT_STOP
        | ACL_ERROR_RT_MODEL_ABORT_NORMAL => ErrorKind::Aborted,
        ACL_ERROR_RT_SYS_DMA
        | ACL_ERROR_RT_COPY_DATA
        | ACL_ERROR_RT_MODEL_EXECUTE
        | ACL_ERROR_RT_AICORE_EXCEPTION
        | ACL_ERROR_RT_AICORE_TRAP_EXCEPTION
        | ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW
        | ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW
        | ACL_ERROR_RT_AICPU_EXCEPTION
        | ACL_ERROR_RT_AICPU_DATADUMP_RSP_ERR
        | ACL_ERROR_RT_AICPU_MODEL_RSP_ERR
        | ACL_ERROR_RT_AICPU_INFO_LOAD_RSP_ERR
        | ACL_ERROR_RT_VECTOR_CORE_EXCEPTION
        | ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION
        | ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW
        | ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW
        | ACL_ERROR_RT_FFTS_PLUS_EXCEPTION
        | ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION
        | ACL_ERROR_RT_CCU_EXCEPTION
        | ACL_ERROR_RT_CDQ_BATCH_ABNORMAL
        | ACL_ERROR_RT_COMM_OP_RETRY_FAIL
        | ACL_ERROR_RT_AICORE_OVER_FLOW
        | ACL_ERROR_RT_AIVEC_OVER_FLOW
        | ACL_ERROR_RT_OVER_FLOW
        | ACL_ERROR_GE_USER_RAISE_EXCEPTION => ErrorKind::TaskFailed,
        ACL_ERROR_RT_DEVICE_MEM_ERROR
        | ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR
        | ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR
        | ACL_ERROR_RT_LINK_ERROR
        | ACL_ERROR_RT_SUSPECT_REMOTE_ERROR
        | ACL_ERROR_RT_L3_PORT_ERROR
        | ACL_ERROR_GE_SUBHEALTHY => ErrorKind::HardwareFault,
        ACL_ERROR_RT_LOST_HEARTBEAT | ACL_ERROR_RT_SOCKET_CLOSE => ErrorKind::DeviceLost,
        _ => return None,
    })
}

/// Codes of the model and operator functions, as far as the other groups do not have them.
fn model(code: i32) -> Option<ErrorKind> {
    Some(match code {
        ACL_ERROR_DESERIALIZE_MODEL
        | ACL_ERROR_PARSE_MODEL
        | ACL_ERROR_READ_MODEL_FAILURE
        | ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID
        | ACL_ERROR_GE_PLGMGR_PATH_INVALID
        | ACL_ERROR_GE_LOAD_MODEL
        | ACL_ERROR_GE_EXEC_LOAD_MODEL_PARTITION_FAILED
        | ACL_ERROR_GE_EXEC_LOAD_WEIGHT_PARTITION_FAILED
        | ACL_ERROR_GE_EXEC_LOAD_TASK_PARTITION_FAILED
        | ACL_ERROR_GE_EXEC_LOAD_KERNEL_PARTITION_FAILED => ErrorKind::File,
        ACL_ERROR_MODEL_SIZE_INVALID
        | ACL_ERROR_MODEL_MISSING_ATTR
        | ACL_ERROR_MODEL_INPUT_NOT_MATCH
        | ACL_ERROR_MODEL_OUTPUT_NOT_MATCH
        | ACL_ERROR_MODEL_NOT_DYNAMIC
        | ACL_ERROR_OP_TYPE_NOT_MATCH
        | ACL_ERROR_OP_INPUT_NOT_MATCH
        | ACL_ERROR_OP_OUTPUT_NOT_MATCH
        | ACL_ERROR_OP_ATTR_NOT_MATCH
        | ACL_ERROR_FORMAT_NOT_MATCH
        | ACL_ERROR_NOT_STATIC_AIPP
        | ACL_ERROR_GE_PARAM_INVALID
        | ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID
        | ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID
        | ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID
        | ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID
        | ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID
        | ACL_ERROR_GE_AIPP_BATCH_EMPTY
        | ACL_ERROR_GE_AIPP_NOT_EXIST
        | ACL_ERROR_GE_AIPP_MODE_INVALID
        | ACL_ERROR_GE_OP_TASK_TYPE_INVALID
        | ACL_ERROR_GE_OP_KERNEL_TYPE_INVALID
        | ACL_ERROR_GE_FORMAT_INVALID
        | ACL_ERROR_GE_SHAPE_INVALID
        | ACL_ERROR_GE_DATATYPE_INVALID
        | ACL_ERROR_GE_DATA_NOT_ALIGNED => ErrorKind::InvalidArgument,
        ACL_ERROR_GE_EXEC_MODEL_ID_INVALID | ACL_ERROR_GE_EXEC_MODEL_QUEUE_ID_INVALID => ErrorKind::InvalidHandle,
        ACL_ERROR_GE_EXEC_LOAD_MODEL_REPEATED | ACL_ERROR_GE_REDEPLOYING => ErrorKind::InvalidState,
        ACL_ERROR_OP_LOAD_FAILED
        | ACL_ERROR_GE_EXEC_RELEASE_MODEL_DATA
        | ACL_ERROR_GE_COMMAND_HANDLE
        | ACL_ERROR_GE_GET_TENSOR_INFO
        | ACL_ERROR_GE_UNLOAD_MODEL
        | ACL_ERROR_GE_MEMORY_OPERATE_FAILED
        | ACL_ERROR_GE_DEVICE_MEMORY_OPERATE_FAILED
        | ACL_ERROR_GE_INTERNAL_ERROR
        | ACL_ERROR_GE_FAILURE => ErrorKind::Internal,
        _ => return None,
    })
}

/// Codes for failures of the runtime itself and of the driver.
fn internal(code: i32) -> Option<ErrorKind> {
    Some(match code {
        ACL_ERROR_INTERNAL_ERROR
        | ACL_ERROR_FAILURE
        | ACL_ERROR_RT_FAILURE
        | ACL_ERROR_DRV_FAILURE
        | ACL_ERROR_PROFILING_FAILURE
        | ACL_ERROR_RT_INTERNAL_ERROR
        | ACL_ERROR_RT_TS_ERROR
        | ACL_ERROR_RT_MEMORY_FREE
        | ACL_ERROR_RT_PROFILING_ERROR
        | ACL_ERROR_RT_IPC_ERROR
        | ACL_ERROR_RT_SEND_MSG
        | ACL_ERROR_RT_DEV_SETUP_ERROR
        | ACL_ERROR_RT_DEBUG_REGISTER_FAIL
        | ACL_ERROR_RT_DEBUG_UNREGISTER_FAIL
        | ACL_ERROR_RT_DIE_MODE_CHANGE_ERROR
        | ACL_ERROR_RT_DIE_SET_ERROR
        | ACL_ERROR_RT_DRV_INTERNAL_ERROR
        | ACL_ERROR_RT_AICPU_INTERNAL_ERROR
        | ACL_ERROR_SNAPSHOT_LOCK_FAILED
        | ACL_ERROR_SNAPSHOT_UNLOCK_FAILED
        | ACL_ERROR_SNAPSHOT_BACKUP_FAILED
        | ACL_ERROR_SNAPSHOT_RESTORE_FAILED
        | ACL_ERROR_SNAPSHOT_CALLBACK_FAILED
        | ACL_ERROR_SNAPSHOT_REGISTER_CALLBACK_FAILED => ErrorKind::Internal,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_headers_has_exactly_one_kind() {
        for (code, name) in CODES {
            let kinds = [caller, state, resource, execution, model, internal];
            let found: Vec<_> = kinds.iter().filter_map(|kind_of| kind_of(*code)).collect();
            assert_eq!(found.len(), 1, "{name} ({code}): {found:?}");
        }
    }

    #[test]
    fn codes_outside_the_headers_are_unknown() {
        assert_eq!(ErrorKind::from_code(0), ErrorKind::Unknown);
        assert_eq!(ErrorKind::from_code(i32::MAX), ErrorKind::Unknown);
    }
}
