//! The overflow flags of the cores. There are no cores that compute, so nothing ever overflows; a query writes the
//! status "no overflow" in stream order.

use crate::argument::{NonNullArg, OutPtr};
use crate::entry::export;
use ascendcl_sys::*;
use std::ffi::c_void;

export! {
    fn aclrtGetOverflowStatus(output: NonNullArg, size: usize, stream: aclrtStream) |call| {
        call.require_supported()?;
        call.query_overflow(output.address(), size, stream as usize)
    }

    fn aclrtResetOverflowStatus(stream: aclrtStream) |call| {
        call.require_supported()?;
        call.reset_overflow(stream as usize)
    }

    fn aclrtGetFloatOverflowStatus(output: NonNullArg, size: u64, stream: aclrtStream) |call| {
        call.query_overflow(output.address(), size as usize, stream as usize)
    }

    fn aclrtResetFloatOverflowStatus(stream: aclrtStream) |call| { call.reset_overflow(stream as usize) }

    /// The check mode selects how cores detect an overflow. No mode is documented, so all are accepted.
    fn aclrtNpuGetFloatOverFlowStatus(output: NonNullArg, size: u64, _mode: u32, stream: aclrtStream) |call| {
        call.query_overflow(output.address(), size as usize, stream as usize)
    }

    fn aclrtNpuClearFloatOverFlowStatus(_mode: u32, stream: aclrtStream) |call| {
        call.reset_overflow(stream as usize)
    }

    fn aclrtCtxGetFloatOverflowAddr(address: OutPtr<*mut c_void>) |call| {
        call.require_supported()?;
        address.set(call.overflow_address()? as *mut c_void)
    }
}
