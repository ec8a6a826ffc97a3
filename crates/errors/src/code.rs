//! The code of every error.

use crate::error::{Code, Error};
use ascendcl_sys::*;

/// Defines [`Error::code`] and [`RETURNED_CODES`] from one table. The compiler rejects a table that lacks a variant.
macro_rules! code_table {
    ($($code:ident => $variants:pat),+ $(,)?) => {
        impl Error {
            /// The `aclError` that the C API returns for this error.
            pub fn code(&self) -> Code {
                use Error::*;
                match self {
                    $($variants => $code,)+
                    Injected { code, .. } | Kernel { code, .. } | Operation { code, .. } => *code,
                    Entry { error, .. } => error.code(),
                }
            }
        }

        /// Every code that [`Error::code`] can return. Injected errors and kernels can return any other code as well.
        pub const RETURNED_CODES: &[Code] = &[$($code),+];
    };
}

code_table! {
    ACL_ERROR_INVALID_PARAM => Null(_) | Argument(_),
    ACL_ERROR_INVALID_QUEUE_ID => QueueId(_),
    ACL_ERROR_FEATURE_UNSUPPORTED => PeerFlags(_),
    ACL_ERROR_RT_PARAM_INVALID =>
        Parameter(_) | NotAContext(_) | Capacity { .. } | Range(_) | NotAllocated { .. } | PinnedNotAllocated { .. }
        | NotDeviceMemory { .. } | NotMapped { .. } | NotAStart { .. } | WrongFree { .. },
    ACL_ERROR_RT_INVALID_DEVICEID => Device { .. },
    ACL_ERROR_RT_CONTEXT_NULL => NoContext,
    ACL_ERROR_RT_STREAM_CONTEXT => OtherContext { .. } | OtherDevice { .. },
    ACL_ERROR_RT_MODEL_CONTEXT => OtherContextGraph,
    ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID => NoTimestamp(..),
    ACL_ERROR_RT_ADDR_UNALIGNED => Unaligned { .. },
    ACL_ERROR_RT_FILE_WRITE => FileWrite(_),
    ACL_ERROR_RT_STREAM_SUBSCRIBE => AlreadySubscribed,
    ACL_ERROR_RT_THREAD_SUBSCRIBE => ThreadNotSubscribed(_),
    ACL_ERROR_RT_STREAM_NO_CB_REG => NoCallbackThread,
    ACL_ERROR_RT_INVALID_MEMORY_TYPE => MemoryAttribute(_),
    ACL_ERROR_RT_INVALID_HANDLE => Handle { .. },
    ACL_ERROR_RT_TASK_TIMEOUT => WaitTimeout(..),
    ACL_ERROR_RT_DEVICE_TASK_ABORT => Aborting(_),
    ACL_ERROR_RT_STREAM_ABORT => StreamAborted(_),
    ACL_ERROR_RT_CAPTURE_DEPENDENCY => CaptureDependency,
    ACL_ERROR_RT_STREAM_UNJOINED => Unjoined,
    ACL_ERROR_RT_MODEL_CAPTURED => GraphCapturing,
    ACL_ERROR_RT_STREAM_CAPTURED => Capturing(_),
    ACL_ERROR_RT_EVENT_CAPTURED => EventCaptured,
    ACL_ERROR_RT_STREAM_NOT_CAPTURED => NotCapturing,
    ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT => CaptureForbids,
    ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT => CaptureDefault,
    ACL_ERROR_STREAM_CAPTURE_CONFLICT => CaptureConflict,
    ACL_ERROR_STREAM_TASK_GROUP_STATUS => GroupState(_),
    ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED => NotOrigin,
    ACL_ERROR_RT_MODEL_RUNNING => GraphRunning(_) | AbortInsideGraph(_),
    ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD => CaptureThread,
    ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY => ShortArray { .. },
    ACL_ERROR_RT_MODEL_UPDATE_FAILED => UpdateFailed(_),
    ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC => CaptureBlocks,
    ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING => SubGraphCapturing,
    ACL_ERROR_RT_FEATURE_NOT_SUPPORT => Unsupported { .. } | HostToHost | Feature(_) | NoHandle(_),
    ACL_ERROR_RT_MEMORY_ALLOCATION => OutOfMemory { .. } | NoHostBuffer { .. },
    ACL_ERROR_RT_NO_EVENT_RESOURCE => NoEvent { .. },
    ACL_ERROR_RT_NO_STREAM_RESOURCE => NoStream { .. },
    ACL_ERROR_RT_RESOURCE_ALLOC_FAIL => NoSharedStream { .. },
    ACL_ERROR_RT_NO_NOTIFY_RESOURCE => NoNotify { .. },
    ACL_ERROR_RT_QUEUE_EMPTY => QueueEmpty(_),
    ACL_ERROR_RT_QUEUE_FULL => QueueFull(_),
    ACL_ERROR_RT_INTERNAL_ERROR => NotRecorded(_),
    ACL_ERROR_RT_CONTEXT_RELEASE_ERROR => NotRetained(_) | ContextGone,
    ACL_ERROR_RT_MODEL_EXECUTE => InGraph(_),
    ACL_ERROR_RT_REPORT_TIMEOUT => ReportTimeout(_),
    ACL_ERROR_RT_SYS_DMA => DeviceCopy(_),
    ACL_ERROR_RT_TS_ERROR => DeviceTask(_),
    ACL_ERROR_RT_DEV_SETUP_ERROR => Setup(_),
    ACL_ERROR_RT_STREAM_SYNC_TIMEOUT => StreamTimeout(_),
    ACL_ERROR_RT_EVENT_SYNC_TIMEOUT => EventTimeout(_),
    ACL_ERROR_RT_DRV_INTERNAL_ERROR =>
        NoPeerAccess { .. } | MappedBetweenDevices | Remote | NotAllowed { .. } | NoImport { .. } | Inaccessible { .. },
    ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED => CaptureInvalid,
    ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED => AlreadyRegistered { .. },
    ACL_ERROR_HOST_MEMORY_NOT_REGISTERED => NotRegistered(_),
    ACL_ERROR_INTERNAL_ERROR => Internal(_),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_returned_code_is_listed_once_and_has_a_name() {
        for (index, code) in RETURNED_CODES.iter().enumerate() {
            assert!(!RETURNED_CODES[..index].contains(code), "{code} is listed twice");
            assert!(CODES.iter().any(|(value, _)| value == code), "{code} has no name");
        }
    }

    #[test]
    fn injected_error_returns_its_own_code() {
        let injected = Error::Injected { code: ACL_ERROR_RT_LINK_ERROR, what: String::new() };
        assert_eq!(injected.code(), ACL_ERROR_RT_LINK_ERROR);
    }
}
