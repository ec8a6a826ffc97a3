//! Values that streams write and wait for, and operations on caches.

use crate::entry::{export, require};
use ascendcl_sys::*;
use softacl_engine::{Error, Result, ValueCondition, fail};
use std::ffi::c_void;

export! {
    fn aclrtValueWrite(address: *mut c_void, value: u64, flag: u32, stream: aclrtStream) |caller| {
        let address = require_non_null(address, "devAddr")?;
        if flag != 0 {
            return fail(Error::Parameter(format!("flag {flag} is not 0")));
        }
        require(caller, "aclrtValueWrite")?;
        caller.write_value(address, value, stream as usize)
    }

    fn aclrtValueWait(address: *mut c_void, value: u64, flag: u32, stream: aclrtStream) |caller| {
        let address = require_non_null(address, "devAddr")?;
        let condition = match i32::try_from(flag) {
            Ok(ACL_STREAM_WAIT_VALUE_GEQ) => ValueCondition::AtLeast,
            Ok(ACL_STREAM_WAIT_VALUE_EQ) => ValueCondition::Equal,
            Ok(ACL_STREAM_WAIT_VALUE_AND) => ValueCondition::And,
            Ok(ACL_STREAM_WAIT_VALUE_NOR) => ValueCondition::Nor,
            _ => return fail(Error::Parameter(format!("flag {flag} is not in 0 to 3"))),
        };
        require(caller, "aclrtValueWait")?;
        caller.wait_value(address, value, condition, stream as usize)
    }

    /// There are no caches: a task that does nothing. The range and the type are not looked at.
    fn aclrtCmoAsync(source: *mut c_void, size: usize, _kind: i32, stream: aclrtStream) |caller| {
        require_non_null(source, "src")?;
        if size == 0 {
            return fail(Error::Argument("size is 0".to_owned()));
        }
        require(caller, "aclrtCmoAsync")?;
        caller.queue_cache_op(stream as usize)
    }
}

fn require_non_null(pointer: *mut c_void, name: &'static str) -> Result<usize> {
    if pointer.is_null() { fail(Error::Null(name)) } else { Ok(pointer as usize) }
}
