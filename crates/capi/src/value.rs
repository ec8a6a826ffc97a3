//! Values that streams write and wait for, and cache maintenance.

use crate::argument::NonNullArg;
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Error, ValueCondition, fail};

export! {
    fn aclrtValueWrite(address: NonNullArg, value: u64, flag: u32, stream: aclrtStream) |call| {
        if flag != 0 {
            return fail(Error::Parameter(format!("flag {flag} is not 0")));
        }
        call.require_supported()?;
        call.write_value(address.address(), value, stream as usize)
    }

    fn aclrtValueWait(address: NonNullArg, value: u64, flag: u32, stream: aclrtStream) |call| {
        let condition = match i32::try_from(flag) {
            Ok(ACL_STREAM_WAIT_VALUE_GEQ) => ValueCondition::AtLeast,
            Ok(ACL_STREAM_WAIT_VALUE_EQ) => ValueCondition::Equal,
            Ok(ACL_STREAM_WAIT_VALUE_AND) => ValueCondition::And,
            Ok(ACL_STREAM_WAIT_VALUE_NOR) => ValueCondition::Nor,
            _ => return fail(Error::Parameter(format!("flag {flag} is not in 0 to 3"))),
        };
        call.require_supported()?;
        call.wait_value(address.address(), value, condition, stream as usize)
    }

    /// Queues a task that does nothing, because softacl models no caches. The range is ignored.
    fn aclrtCmoAsync(_source: NonNullArg, size: usize, kind: i32, stream: aclrtStream) |call| {
        if size == 0 {
            return fail(Error::Argument("size is 0".to_owned()));
        }
        call.require_supported()?;
        if kind != ACL_RT_CMO_TYPE_PREFETCH {
            return fail(Error::Feature(format!("cache operation {kind} is not supported, only 0 (prefetch) is")));
        }
        call.queue_cache_op(stream as usize)
    }
}
