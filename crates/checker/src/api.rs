//! Properties of API functions that the checks depend on.
//!
//! This is the only file of the checker that looks at the names of functions. Checks ask for properties.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ApiFunction(&'static str);

impl From<&'static str> for ApiFunction {
    fn from(name: &'static str) -> ApiFunction {
        ApiFunction(name)
    }
}

impl fmt::Display for ApiFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl ApiFunction {
    pub(crate) fn name(self) -> &'static str {
        self.0
    }

    /// Queries state. A query may fail without consequences, and is allowed after `aclFinalize`.
    pub(crate) fn is_query(self) -> bool {
        self.0.starts_with("aclrtGet")
    }

    /// Must not be called after `aclFinalize` (L2).
    pub(crate) fn needs_runtime(self) -> bool {
        self.0.starts_with("aclrt") && !self.is_query()
    }

    /// Makes a context current in the calling thread.
    pub(crate) fn selects_context(self) -> bool {
        matches!(self.0, "aclrtSetDevice" | "aclrtSetCurrentContext" | "aclrtCreateContext")
    }

    /// Resets a device, which destroys its objects and releases its memory.
    pub(crate) fn resets_device(self) -> bool {
        self.0.starts_with("aclrtResetDevice")
    }

    /// Allocates or frees memory: the program reacts to a failed allocation (R1).
    pub(crate) fn manages_memory(self) -> bool {
        self.0.contains("Malloc") || self.0.contains("Free")
    }

    /// Copies or sets memory: the program reacts to a failed copy (O1, B2).
    pub(crate) fn writes_memory(self) -> bool {
        self.0.contains("Memcpy") || self.0.contains("Memset")
    }

    /// Reads an error or an error message (O1).
    pub(crate) fn reads_error(self) -> bool {
        self.0.contains("Err")
    }

    /// Waits for work of the device.
    pub(crate) fn synchronizes(self) -> bool {
        self.0.contains("Synchronize")
    }

    /// Submits work to a stream.
    pub(crate) fn is_asynchronous(self) -> bool {
        self.0.contains("Async")
    }

    /// Copies a batch of ranges.
    pub(crate) fn is_batch_copy(self) -> bool {
        self.0.contains("MemcpyBatch")
    }

    /// Requires aligned addresses according to its documentation (A1).
    pub(crate) fn requires_alignment(self) -> bool {
        self.0.starts_with("aclrtMemcpyAsync")
    }

    /// Is deprecated (D1). Called on every entry, so negative answers are cached by the address of the name.
    pub(crate) fn is_deprecated(self) -> bool {
        const CACHE_SIZE: usize = 64;
        static NOT_DEPRECATED: [AtomicUsize; CACHE_SIZE] = [const { AtomicUsize::new(0) }; CACHE_SIZE];
        let key = self.0.as_ptr() as usize ^ self.0.len() << 48;
        let cached = &NOT_DEPRECATED[key / 4 % CACHE_SIZE];
        if cached.load(Ordering::Relaxed) == key {
            return false;
        }
        let is_deprecated = ascendcl_sys::manifest::function(self.0).is_some_and(|function| function.deprecated);
        if !is_deprecated {
            cached.store(key, Ordering::Relaxed);
        }
        is_deprecated
    }

    /// Replacement of a deprecated function. `None` if the documentation names none.
    pub(crate) fn replacement(self) -> Option<&'static str> {
        Some(match self.0 {
            "aclrtMemcpyAsyncWithCondition" => "aclrtMemcpyAsync",
            "aclrtQueryEvent" => "aclrtQueryEventStatus",
            "aclrtSetExceptionInfoCallback" => "aclrtExceptionInfoCallbackRegister",
            "aclrtGetVersion" | "aclsysGetCANNVersion" => "aclsysGetVersionStr or aclsysGetVersionNum",
            "aclmdlRIDebugPrint" => "aclmdlRIDebugJsonPrint",
            _ => return None,
        })
    }
}
