//! Properties of API functions that the checks depend on.
//!
//! They come from the columns of the manifest. This is the only file of the checker that looks at the name of a
//! function, and only to recognize runtime functions (`aclrt...`) and getters (`aclrtGet...`).

use ascendcl_sys::{Family, Function};
use std::fmt;

/// A function of the API.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ApiFunction(&'static Function);

impl From<&'static Function> for ApiFunction {
    fn from(function: &'static Function) -> ApiFunction {
        ApiFunction(function)
    }
}

impl fmt::Display for ApiFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl ApiFunction {
    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    /// Reads a setting or a current object (`aclrtGet...`). It may fail without a context, and is allowed after
    /// `aclFinalize`. Narrower than the manifest's `is_query`: a query of a stream, an event or memory needs a live
    /// object.
    pub(crate) fn is_getter(self) -> bool {
        self.0.is_query && self.0.name.starts_with("aclrtGet")
    }

    /// Must not be called after `aclFinalize` (L2).
    pub(crate) fn needs_runtime(self) -> bool {
        self.0.name.starts_with("aclrt") && !self.is_getter()
    }

    /// Makes a context current in the calling thread.
    pub(crate) fn selects_context(self) -> bool {
        matches!(self.0.family, Family::CreateContext | Family::SelectContext)
    }

    /// Resets a device, which destroys its objects and releases its memory.
    pub(crate) fn resets_device(self) -> bool {
        self.0.family == Family::ResetDevice
    }

    /// Drops tasks on request (L1). `aclrtDestroyStreamForce` is the end of a stream instead.
    pub(crate) fn aborts_tasks(self) -> bool {
        matches!(self.name(), "aclrtStreamAbort" | "aclrtDeviceTaskAbort")
    }

    /// Allocates or frees memory: the program reacts to a failed allocation (R1).
    pub(crate) fn manages_memory(self) -> bool {
        matches!(self.0.family, Family::Allocation | Family::Free)
    }

    /// Copies or sets memory: the program reacts to a failed copy (O1, B2).
    pub(crate) fn writes_memory(self) -> bool {
        matches!(self.0.family, Family::Copy | Family::Plane | Family::Batch | Family::Fill)
    }

    /// Reads an error or an error message (O1).
    pub(crate) fn reads_error(self) -> bool {
        self.0.family == Family::Error
    }

    /// Waits for work of the device.
    pub(crate) fn synchronizes(self) -> bool {
        self.0.family == Family::Synchronize
    }

    /// Submits work on data to a stream.
    pub(crate) fn is_asynchronous(self) -> bool {
        self.0.is_asynchronous
    }

    /// Copies a batch of ranges.
    pub(crate) fn is_batch_copy(self) -> bool {
        self.0.family == Family::Batch
    }

    /// Requires aligned addresses according to its documentation (A1).
    pub(crate) fn requires_alignment(self) -> bool {
        self.0.family == Family::Copy && self.0.is_asynchronous
    }

    /// Is deprecated (D1).
    pub(crate) fn is_deprecated(self) -> bool {
        self.0.deprecated
    }

    /// Replacement of a deprecated function. `None` if the documentation names none.
    pub(crate) fn replacement(self) -> Option<&'static str> {
        self.0.replacement
    }
}
