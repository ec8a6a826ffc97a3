//! Cache operations beyond aclrtCmoAsync: with barriers, by descriptor, and for the whole cache. softacl models no
//! device caches, so a queued operation takes its place in the stream and does nothing, and every barrier is reached
//! when the stream gets there.

use crate::argument::{InMutPtr, NonNullArg, OutPtr};
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{CACHE_DESCRIPTOR_SIZE, Error, Result, fail};
use std::ffi::c_void;

export! {
    fn aclrtCmoAsyncWithBarrier(
        source: NonNullArg, size: usize, kind: i32, _barrier: u32, stream: aclrtStream
    ) |call| {
        check_kind(kind)?;
        call.require_supported()?;
        call.check_cached_range(source.address(), size)?;
        call.queue_cache_op(stream as usize)
    }

    fn aclrtCmoWaitBarrier(info: InMutPtr<aclrtBarrierTaskInfo>, stream: aclrtStream, flag: u32) |call| {
        let info = info.read()?;
        call.require_supported()?;
        if !(1..=info.cmoInfo.len()).contains(&info.barrierNum) || flag != 0 {
            return fail(Error::Parameter(format!(
                "barrierNum is {} and flag {flag}: there must be 1 to {} barriers, and no flags",
                info.barrierNum,
                info.cmoInfo.len()
            )));
        }
        info.cmoInfo[..info.barrierNum].iter().try_for_each(|barrier| check_kind(barrier.cmoType))?;
        call.queue_cache_op(stream as usize)
    }

    fn aclrtCmoGetDescSize(size: OutPtr<usize>) |call| {
        call.require_supported()?;
        size.set(CACHE_DESCRIPTOR_SIZE)
    }

    fn aclrtCmoSetDesc(descriptor: NonNullArg, source: NonNullArg, size: usize) |call| {
        call.require_supported()?;
        call.set_cache_descriptor(descriptor.address(), source.address(), size)
    }

    fn aclrtCmoAsyncWithDesc(descriptor: NonNullArg, kind: i32, stream: aclrtStream, reserve: *const c_void) |call| {
        check_kind(kind)?;
        if !reserve.is_null() {
            return fail(Error::Argument("reserve must be NULL".to_owned()));
        }
        call.require_supported()?;
        call.check_cached_range(descriptor.address(), CACHE_DESCRIPTOR_SIZE)?;
        call.queue_cache_op(stream as usize)
    }

    fn aclrtDeviceL2CacheFlush(_reserved: *mut c_void) |call| { call.current_context().map(|_| ()) }
}

fn check_kind(kind: i32) -> Result<()> {
    if (ACL_RT_CMO_TYPE_PREFETCH..=ACL_RT_CMO_TYPE_FLUSH).contains(&kind) {
        return Ok(());
    }
    fail(Error::Argument(format!("cache operation {kind} is not in 0 to 3")))
}
