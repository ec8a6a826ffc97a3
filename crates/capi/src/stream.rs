//! Streams.

use crate::argument::{InMutPtr, NonNullArg, OutPtr};
use crate::entry::{Call, export, timeout};
use ascendcl_sys::*;
use softacl_engine::{Error, LOWEST_PRIORITY, Result, StreamOptions, fail};
use std::ffi::c_void;

/// Valid flags. Unknown bits are ignored, as the runtime does.
const FLAGS: u32 = 0x3f;

export! {
    fn aclrtCreateStream(stream: OutPtr<aclrtStream>) |call| {
        create(call, stream, StreamOptions::default())
    }

    fn aclrtCreateStreamWithConfig(stream: OutPtr<aclrtStream>, priority: u32, flag: u32) |call| {
        create(call, stream, StreamOptions { priority, flags: flag & FLAGS })
    }

    fn aclrtGetStreamAvailableNum(count: OutPtr<u32>) |call| {
        call.require_supported()?;
        count.set(call.available_streams()?)
    }

    fn aclrtDestroyStream(stream: aclrtStream) |call| { call.destroy_stream(stream as usize) }
    fn aclrtDestroyStreamForce(stream: aclrtStream) |call| { call.destroy_stream_by_force(stream as usize) }
    fn aclrtSynchronizeStream(stream: aclrtStream) |call| { call.synchronize_stream(stream as usize, -1) }

    fn aclrtSynchronizeStreamWithTimeout(stream: aclrtStream, ms: i32) |call| {
        call.synchronize_stream(stream as usize, timeout(ms)?)
    }

    fn aclrtStreamQuery(stream: aclrtStream, status: OutPtr<i32>) |call| {
        let finished = call.is_stream_finished(stream as usize)?;
        status.set(if finished { ACL_STREAM_STATUS_COMPLETE } else { ACL_STREAM_STATUS_NOT_READY })
    }

    fn aclrtSetStreamFailureMode(stream: aclrtStream, mode: u64) |call| { set_failure_mode(call, stream, mode) }

    fn aclrtStreamGetId(stream: aclrtStream, id: OutPtr<i32>) |call| {
        id.set(call.stream_id(stream as usize)?)
    }

    fn aclrtStreamGetPriority(stream: aclrtStream, priority: OutPtr<u32>) |call| {
        priority.set(call.stream_options(stream as usize)?.priority)
    }

    fn aclrtStreamGetFlags(stream: aclrtStream, flags: OutPtr<u32>) |call| {
        flags.set(call.stream_options(stream as usize)?.flags)
    }

    /// NULL is the default stream, on products and versions that accept it.
    fn aclrtStreamAbort(stream: aclrtStream) |call| {
        let config = call.machine().config();
        if stream.is_null() && !config.cann.abort_default_stream.include(config.profile.chip) {
            return fail(Error::Null("stream"));
        }
        call.require_supported()?;
        call.abort_stream(stream as usize)
    }

    fn aclrtStreamStop(stream: NonNullArg) |call| {
        call.require_supported()?;
        call.stop_stream(stream.address())
    }

    fn aclrtSetStreamAttribute(stream: aclrtStream, attribute: i32, value: InMutPtr<aclrtStreamAttrValue>) |call| {
        let value = value.read()?.words;
        let raw = stream as usize;
        match attribute {
            ACL_STREAM_ATTR_FAILURE_MODE => {
                set_failure_mode(call, stream, u64::from(value[0]) | u64::from(value[1]) << 32)
            }
            ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK => call.change_stream_settings(raw, |s| s.overflow_check = value[0]),
            ACL_STREAM_ATTR_USER_CUSTOM_TAG => call.change_stream_settings(raw, |s| s.custom_tag = value[0]),
            ACL_STREAM_ATTR_CACHE_OP_INFO => call.change_stream_settings(raw, |s| s.cache_op_info = value[0]),
            ACL_STREAM_ATTR_PRIORITY => call.set_stream_priority(raw, value[0]),
            _ => fail(Error::Argument(format!("stream attribute {attribute} does not exist"))),
        }
    }

    fn aclrtGetStreamAttribute(stream: aclrtStream, attribute: i32, value: OutPtr<aclrtStreamAttrValue>) |call| {
        let raw = stream as usize;
        let settings = call.stream_settings(raw)?;
        let word = match attribute {
            ACL_STREAM_ATTR_FAILURE_MODE => u32::from(call.stops_on_failure(raw)?),
            ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK => settings.overflow_check,
            ACL_STREAM_ATTR_USER_CUSTOM_TAG => settings.custom_tag,
            ACL_STREAM_ATTR_CACHE_OP_INFO => settings.cache_op_info,
            ACL_STREAM_ATTR_PRIORITY => call.stream_options(raw)?.priority,
            _ => return fail(Error::Argument(format!("stream attribute {attribute} does not exist"))),
        };
        value.set(aclrtStreamAttrValue { words: [word, 0, 0, 0] })
    }

    fn aclrtDeviceGetStreamPriorityRange(least: OutPtr<i32>, greatest: OutPtr<i32>) |_call| {
        least.set(LOWEST_PRIORITY as i32)?;
        greatest.set(0)
    }
}

fn create(call: Call<'_>, stream: OutPtr<aclrtStream>, traits: StreamOptions) -> Result<()> {
    let key = call.create_stream(traits)?;
    stream.set_or(key.raw() as *mut c_void, || drop(call.destroy_stream(key.raw())))
}

fn set_failure_mode(call: Call<'_>, stream: aclrtStream, mode: u64) -> Result<()> {
    match i32::try_from(mode) {
        Ok(ACL_CONTINUE_ON_FAILURE) => call.set_stop_on_failure(stream as usize, false),
        Ok(ACL_STOP_ON_FAILURE) => call.set_stop_on_failure(stream as usize, true),
        _ => fail(Error::Parameter(format!("failure mode {mode} is neither 0 (continue) nor 1 (stop)"))),
    }
}
