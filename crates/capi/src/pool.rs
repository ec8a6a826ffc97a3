//! Memory pools with allocation and release in stream order.

use crate::entry::{array, export, out, require};
use ascendcl_sys::*;
use softacl_engine::{Error, PoolAttribute, Result, fail};
use std::ffi::c_void;

export! {
    fn aclrtMemPoolCreate(pool: *mut aclrtMemPool, properties: *const aclrtMemPoolProps) |caller| {
        let place = out(pool, "memPool")?;
        let properties = array(properties, 1, "poolProps")?.ok_or(Error::Null("poolProps"))?[0];
        let aclrtMemPoolProps { allocType, location, maxSize, reserved, .. } = properties;
        if allocType != ACL_MEM_ALLOCATION_TYPE_PINNED {
            return fail(Error::Argument(format!("allocType {allocType} is not PINNED")));
        }
        if location.r#type != ACL_MEM_LOCATION_TYPE_DEVICE {
            return fail(Error::Argument(format!("location type {} is not DEVICE", location.r#type)));
        }
        if reserved != [0; 32] {
            return fail(Error::Argument("not all reserved bytes are 0".to_owned()));
        }
        require(caller, "aclrtMemPoolCreate")?;
        let key = caller.create_pool(location.id.into(), maxSize)?;
        place.set(key.raw() as *mut c_void).inspect_err(|_| {
            // Nobody will ever know the handle.
            let _ = caller.destroy_pool(key.raw());
        })
    }

    fn aclrtMemPoolDestroy(pool: aclrtMemPool) |caller| {
        let pool = require_non_null(pool, "memPool")?;
        require(caller, "aclrtMemPoolDestroy")?;
        caller.destroy_pool(pool)
    }

    fn aclrtMemPoolSetAttr(pool: aclrtMemPool, attribute: i32, value: *mut c_void) |caller| {
        let pool = require_non_null(pool, "memPool")?;
        require_non_null(value, "value")?;
        require(caller, "aclrtMemPoolSetAttr")?;
        let (attribute, is_wide) = attribute_of(attribute)?;
        let null = || Error::Null("value");
        let value = if is_wide {
            array(value.cast_const().cast::<u64>(), 1, "value")?.ok_or_else(null)?[0]
        } else {
            array(value.cast_const().cast::<u32>(), 1, "value")?.ok_or_else(null)?[0].into()
        };
        caller.set_pool_attribute(pool, attribute, value)
    }

    fn aclrtMemPoolGetAttr(pool: aclrtMemPool, attribute: i32, value: *mut c_void) |caller| {
        let pool = require_non_null(pool, "memPool")?;
        require_non_null(value, "value")?;
        require(caller, "aclrtMemPoolGetAttr")?;
        let (attribute, is_wide) = attribute_of(attribute)?;
        let found = caller.pool_attribute(pool, attribute)?;
        if is_wide { out(value.cast::<u64>(), "value")?.set(found) } else { out(value.cast::<u32>(), "value")?.set(found as u32) }
    }

    fn aclrtMemPoolMallocAsync(pointer: *mut *mut c_void, size: usize, pool: aclrtMemPool, stream: aclrtStream) |caller| {
        let place = out(pointer, "ptr")?;
        let pool = require_non_null(pool, "memPool")?;
        let stream = require_non_null(stream, "stream")?;
        require(caller, "aclrtMemPoolMallocAsync")?;
        if size == 0 {
            return place.set(std::ptr::null_mut());
        }
        let address = caller.allocate_from_pool(pool, size, stream)?;
        place.set(address as *mut c_void).inspect_err(|_| {
            // Nobody will ever know the address.
            let _ = caller.free_to_pool(address, stream);
        })
    }

    fn aclrtMemPoolFreeAsync(pointer: *mut c_void, stream: aclrtStream) |caller| {
        let address = require_non_null(pointer, "ptr")?;
        let stream = require_non_null(stream, "stream")?;
        require(caller, "aclrtMemPoolFreeAsync")?;
        caller.free_to_pool(address, stream)
    }

    fn aclrtMemPoolTrimTo(pool: aclrtMemPool, keep: usize) |caller| {
        let pool = require_non_null(pool, "memPool")?;
        require(caller, "aclrtMemPoolTrimTo")?;
        caller.trim_pool(pool, keep)
    }
}

/// An attribute, and whether its value has 64 bits.
fn attribute_of(attribute: i32) -> Result<(PoolAttribute, bool)> {
    Ok(match attribute {
        ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES => (PoolAttribute::FollowEvents, false),
        ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC => (PoolAttribute::Opportunistic, false),
        ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES => (PoolAttribute::InternalDependencies, false),
        ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD => (PoolAttribute::Threshold, true),
        ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT => (PoolAttribute::Reserved, true),
        ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH => (PoolAttribute::ReservedHigh, true),
        ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT => (PoolAttribute::Used, true),
        ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH => (PoolAttribute::UsedHigh, true),
        _ => return fail(Error::Parameter(format!("pool attribute {attribute} is not in 1 to 8"))),
    })
}

fn require_non_null(pointer: *mut c_void, name: &'static str) -> Result<usize> {
    if pointer.is_null() { fail(Error::Null(name)) } else { Ok(pointer as usize) }
}
