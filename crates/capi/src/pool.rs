//! Memory pools with allocation and release in stream order.

use crate::argument::{InPtr, NonNullArg, OutPtr, UntypedPtr};
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Error, PoolAttribute, Result, fail};
use std::ffi::c_void;

export! {
    fn aclrtMemPoolCreate(pool: OutPtr<aclrtMemPool>, properties: InPtr<aclrtMemPoolProps>) |call| {
        let properties = properties.read()?;
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
        call.require_supported()?;
        let key = call.create_pool(location.id.into(), maxSize)?;
        pool.set_or(key.raw() as *mut c_void, || drop(call.destroy_pool(key.raw())))
    }

    fn aclrtMemPoolDestroy(pool: NonNullArg) |call| {
        call.require_supported()?;
        call.destroy_pool(pool.address())
    }

    fn aclrtMemPoolSetAttr(pool: NonNullArg, attribute: i32, value: UntypedPtr) |call| {
        call.require_supported()?;
        let (attribute, is_wide) = attribute_of(attribute)?;
        let value = if is_wide { value.input::<u64>().read()? } else { value.input::<u32>().read()?.into() };
        call.set_pool_attribute(pool.address(), attribute, value)
    }

    fn aclrtMemPoolGetAttr(pool: NonNullArg, attribute: i32, value: UntypedPtr) |call| {
        call.require_supported()?;
        let (attribute, is_wide) = attribute_of(attribute)?;
        let found = call.pool_attribute(pool.address(), attribute)?;
        if is_wide { value.output::<u64>().set(found) } else { value.output::<u32>().set(found as u32) }
    }

    fn aclrtMemPoolMallocAsync(pointer: OutPtr<*mut c_void>, size: usize, pool: NonNullArg, stream: NonNullArg) |call| {
        call.require_supported()?;
        if size == 0 {
            return pointer.set(std::ptr::null_mut());
        }
        let address = call.allocate_from_pool(pool.address(), size, stream.address())?;
        pointer.set_or(address as *mut c_void, || drop(call.free_to_pool(address, stream.address())))
    }

    fn aclrtMemPoolFreeAsync(pointer: NonNullArg, stream: NonNullArg) |call| {
        call.require_supported()?;
        call.free_to_pool(pointer.address(), stream.address())
    }

    fn aclrtMemPoolTrimTo(pool: NonNullArg, keep: usize) |call| {
        call.require_supported()?;
        call.trim_pool(pool.address(), keep)
    }
}

/// Returns the attribute, and `true` if its value has 64 bits.
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

