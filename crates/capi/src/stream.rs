//! Streams.

use crate::entry::{export, out, require, timeout};
use ascendcl_sys::*;
use softacl_engine::{Caller, Error, Result, StreamOptions, fail};
use std::ffi::c_void;

/// Flags that exist; unknown bits are ignored, as the runtime does.
const FLAGS: u32 = 0x3f;
/// 0 is the highest priority.
const LOWEST_PRIORITY: u32 = 7;

export! {
    fn aclrtCreateStream(stream: *mut aclrtStream) |caller| {
        create(caller, stream, StreamOptions::default())
    }

    fn aclrtCreateStreamWithConfig(stream: *mut aclrtStream, priority: u32, flag: u32) |caller| {
        create(caller, stream, StreamOptions { priority: priority.min(LOWEST_PRIORITY), flags: flag & FLAGS })
    }

    fn aclrtDestroyStream(stream: aclrtStream) |caller| { caller.destroy_stream(stream as usize) }
    fn aclrtDestroyStreamForce(stream: aclrtStream) |caller| { caller.destroy_stream_by_force(stream as usize) }
    fn aclrtSynchronizeStream(stream: aclrtStream) |caller| { caller.synchronize_stream(stream as usize, -1) }

    fn aclrtSynchronizeStreamWithTimeout(stream: aclrtStream, ms: i32) |caller| {
        caller.synchronize_stream(stream as usize, timeout(ms)?)
    }

    fn aclrtStreamQuery(stream: aclrtStream, status: *mut i32) |caller| {
        let status = out(status, "status")?;
        let finished = caller.is_stream_finished(stream as usize)?;
        status.set(if finished { ACL_STREAM_STATUS_COMPLETE } else { ACL_STREAM_STATUS_NOT_READY })
    }

    fn aclrtSetStreamFailureMode(stream: aclrtStream, mode: u64) |caller| { set_failure_mode(caller, stream, mode) }

    fn aclrtStreamGetId(stream: aclrtStream, id: *mut i32) |caller| {
        let id = out(id, "streamId")?;
        id.set(caller.stream_id(stream as usize)?)
    }

    fn aclrtStreamGetPriority(stream: aclrtStream, priority: *mut u32) |caller| {
        let priority = out(priority, "priority")?;
        priority.set(caller.stream_options(stream as usize)?.priority)
    }

    fn aclrtStreamGetFlags(stream: aclrtStream, flags: *mut u32) |caller| {
        let flags = out(flags, "flags")?;
        flags.set(caller.stream_options(stream as usize)?.flags)
    }

    fn aclrtStreamAbort(stream: aclrtStream) |caller| {
        if stream.is_null() {
            return fail(Error::Null("stream"));
        }
        require(caller, "aclrtStreamAbort")?;
        caller.abort_stream(stream as usize)
    }

    fn aclrtStreamStop(stream: aclrtStream) |caller| {
        if stream.is_null() {
            return fail(Error::Null("stream"));
        }
        require(caller, "aclrtStreamStop")?;
        caller.abort_stream(stream as usize)
    }

    fn aclrtSetStreamAttribute(stream: aclrtStream, attribute: i32, value: *mut aclrtStreamAttrValue) |caller| {
        let value = crate::entry::array(value.cast_const(), 1, "value")?.ok_or(Error::Null("value"))?[0].words;
        let raw = stream as usize;
        match attribute {
            ACL_STREAM_ATTR_FAILURE_MODE => set_failure_mode(caller, stream, u64::from(value[0]) | u64::from(value[1]) << 32),
            ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK => caller.change_stream_settings(raw, |s| s.overflow_check = value[0]),
            ACL_STREAM_ATTR_USER_CUSTOM_TAG => caller.change_stream_settings(raw, |s| s.custom_tag = value[0]),
            ACL_STREAM_ATTR_CACHE_OP_INFO => caller.change_stream_settings(raw, |s| s.cache_op_info = value[0]),
            ACL_STREAM_ATTR_PRIORITY => caller.set_stream_priority(raw, value[0].min(LOWEST_PRIORITY)),
            _ => fail(Error::Argument(format!("stream attribute {attribute} does not exist"))),
        }
    }

    fn aclrtGetStreamAttribute(stream: aclrtStream, attribute: i32, value: *mut aclrtStreamAttrValue) |caller| {
        let value = out(value, "value")?;
        let raw = stream as usize;
        let settings = caller.stream_settings(raw)?;
        let word = match attribute {
            ACL_STREAM_ATTR_FAILURE_MODE => u32::from(caller.stops_on_failure(raw)?),
            ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK => settings.overflow_check,
            ACL_STREAM_ATTR_USER_CUSTOM_TAG => settings.custom_tag,
            ACL_STREAM_ATTR_CACHE_OP_INFO => settings.cache_op_info,
            ACL_STREAM_ATTR_PRIORITY => caller.stream_options(raw)?.priority,
            _ => return fail(Error::Argument(format!("stream attribute {attribute} does not exist"))),
        };
        value.set(aclrtStreamAttrValue { words: [word, 0, 0, 0] })
    }

    fn aclrtDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) |_caller| {
        let (least, greatest) = (out(least, "leastPriority")?, out(greatest, "greatestPriority")?);
        least.set(LOWEST_PRIORITY as i32)?;
        greatest.set(0)
    }
}

fn create(caller: Caller<'_>, stream: *mut aclrtStream, traits: StreamOptions) -> Result<()> {
    let stream = out(stream, "stream")?;
    let key = caller.create_stream(traits)?;
    stream.set(key.raw() as *mut c_void).inspect_err(|_| {
        // Nobody will ever know the handle.
        let _ = caller.destroy_stream(key.raw());
    })
}

fn set_failure_mode(caller: Caller<'_>, stream: aclrtStream, mode: u64) -> Result<()> {
    match i32::try_from(mode) {
        Ok(ACL_CONTINUE_ON_FAILURE) => caller.set_stop_on_failure(stream as usize, false),
        Ok(ACL_STOP_ON_FAILURE) => caller.set_stop_on_failure(stream as usize, true),
        _ => fail(Error::Parameter(format!("failure mode {mode} is neither 0 (continue) nor 1 (stop)"))),
    }
}
