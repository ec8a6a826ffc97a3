//! Managed memory: allocation, hints, prefetches, attributes.

use crate::argument::{Argument as _, InMutPtr, NonNullArg, OutPtr, UntypedPtr};
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Advice, Error, ManagedHints, ManagedLocation, Result, fail, segv};
use softacl_faults::system::try_collect;
use std::ffi::c_void;

/// Locations in the attributes that are a device id: the host, and none.
const HOST: i32 = -1;
const NOWHERE: i32 = -2;

export! {
    fn aclrtMemAllocManaged(pointer: OutPtr<*mut c_void>, size: u64, flag: u32) |call| {
        if size == 0 {
            return fail(Error::Argument("size is 0".to_owned()));
        }
        call.require_supported()?;
        if flag != ACL_RT_MEM_ATTACH_GLOBAL as u32 {
            return fail(Error::Parameter(format!("flag {flag} is not ACL_RT_MEM_ATTACH_GLOBAL (1)")));
        }
        let address = call.allocate_managed(size as usize)?;
        pointer.set_or(address as *mut c_void, || drop(call.free(address)))
    }

    fn aclrtMemManagedAdvise(
        pointer: NonNullArg<*const c_void>, size: u64, advise: i32, place: aclrtMemManagedLocation
    ) |call| {
        call.require_supported()?;
        let advice = match advise {
            ACL_MEM_ADVISE_SET_READ_MOSTLY => Advice::ReadMostly(true),
            ACL_MEM_ADVISE_UNSET_READ_MOSTLY => Advice::ReadMostly(false),
            ACL_MEM_ADVISE_SET_PREFERRED_LOCATION => Advice::PreferredLocation(Some(location(place)?)),
            ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION => Advice::PreferredLocation(None),
            ACL_MEM_ADVISE_SET_ACCESSED_BY => Advice::AccessedBy(location(place)?),
            ACL_MEM_ADVISE_UNSET_ACCESSED_BY => Advice::NotAccessedBy(location(place)?),
            _ => return fail(Error::Parameter(format!("advice {advise} is not in 0 to 5"))),
        };
        call.advise_managed(pointer.address(), size as usize, advice)
    }

    fn aclrtMemManagedPrefetchAsync(
        pointer: NonNullArg<*const c_void>, size: usize, place: aclrtMemManagedLocation, flags: u32,
        stream: aclrtStream
    ) |call| {
        call.require_supported()?;
        check_flags(flags.into())?;
        call.prefetch_managed(&[(pointer.address(), size, location(place)?)], stream as usize)
    }

    fn aclrtMemManagedPrefetchBatchAsync(
        pointers: InMutPtr<usize>, sizes: InMutPtr<usize>, count: usize, places: InMutPtr<aclrtMemManagedLocation>,
        firsts: InMutPtr<usize>, place_count: usize, flags: u64, stream: aclrtStream
    ) |call| {
        call.require_supported()?;
        check_flags(flags)?;
        let guard = segv::enter();
        let (pointers, sizes) = (pointers.array(count, &guard)?, sizes.array(count, &guard)?);
        let (places, firsts) = (places.array(place_count, &guard)?, firsts.array(place_count, &guard)?);
        let is_ascending = firsts.is_sorted_by(|one, next| one < next);
        if firsts.first() != Some(&0) || !is_ascending || firsts.last().is_none_or(|last| *last >= count) {
            return fail(Error::Parameter(format!(
                "prefetchLocIdxs must start with 0, ascend, and stay below the {count} ranges"
            )));
        }
        let places = try_collect(places.iter().map(|place| location(*place)), "locations")?;
        let range = |index: usize| {
            let place = firsts.partition_point(|first| *first <= index) - 1;
            Ok((pointers[index], sizes[index], places[place]))
        };
        call.prefetch_managed(&try_collect((0..count).map(range), "ranges")?, stream as usize)
    }

    fn aclrtMemManagedGetAttr(
        attribute: i32, pointer: NonNullArg<*const c_void>, size: usize, data: UntypedPtr, data_size: usize
    ) |call| {
        call.require_supported()?;
        write_attribute(&call.managed_hints(pointer.address(), size)?, attribute, data.output(), data_size)
    }

    fn aclrtMemManagedGetAttrs(
        attributes: InMutPtr<i32>, count: usize, pointer: NonNullArg<*const c_void>, size: usize,
        data: InMutPtr<*mut c_void>, data_sizes: InMutPtr<usize>
    ) |call| {
        call.require_supported()?;
        let guard = segv::enter();
        let (attributes, places) = (attributes.array(count, &guard)?, data.array(count, &guard)?);
        let sizes = data_sizes.array(count, &guard)?;
        if count == 0 {
            return fail(Error::Parameter("numAttributes is 0".to_owned()));
        }
        let hints = call.managed_hints(pointer.address(), size)?;
        for (index, attribute) in attributes.iter().enumerate() {
            // SAFETY: the program passes the place inside the array that it permits to read.
            let place = unsafe { UntypedPtr::from_program(places[index], "data") }?;
            write_attribute(&hints, *attribute, place.output(), sizes[index])?;
        }
        Ok(())
    }
}

fn check_flags(flags: u64) -> Result<()> {
    if flags == 0 { Ok(()) } else { fail(Error::Parameter(format!("flags are {flags}, and must be 0"))) }
}

fn location(given: aclrtMemManagedLocation) -> Result<ManagedLocation> {
    match (given.r#type, u32::try_from(given.id)) {
        (ACL_MEM_LOCATIONTYPE_DEVICE, Ok(device)) => Ok(ManagedLocation::Device(device)),
        (ACL_MEM_LOCATIONTYPE_HOST, _) => Ok(ManagedLocation::Host),
        (ACL_MEM_LOCATIONTYPE_HOST_NUMA, Ok(_)) => Ok(ManagedLocation::HostNode(given.id)),
        (ACL_MEM_LOCATIONTYPE_HOST_NUMA_CURRENT, _) => Ok(ManagedLocation::HostNode(current_node())),
        (kind, _) => fail(Error::Parameter(format!("location type {kind} with id {} does not exist", given.id))),
    }
}

/// The NUMA node on which the calling thread runs.
fn current_node() -> i32 {
    let (mut processor, mut node) = (0_u32, 0_u32);
    // SAFETY: both places are valid, and the third argument is unused since Linux 2.6.24.
    unsafe { libc::syscall(libc::SYS_getcpu, &raw mut processor, &raw mut node, 0) };
    node as i32
}

/// Writes an attribute. All have 4 bytes; the devices with access are an array of them.
fn write_attribute(hints: &ManagedHints, attribute: i32, data: OutPtr<i32>, size: usize) -> Result<()> {
    let [preferred, prefetched] = [hints.preferred, hints.last_prefetch];
    let value = match attribute {
        ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY => i32::from(hints.is_read_mostly),
        ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => return write_devices(hints, data, size),
        ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION => device_id(preferred),
        ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE => type_and_id(preferred).0,
        ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID => type_and_id(preferred).1,
        ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION => device_id(prefetched),
        ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE => type_and_id(prefetched).0,
        ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID => type_and_id(prefetched).1,
        _ => return fail(Error::Parameter(format!("range attribute {attribute} is not in 1 to 8"))),
    };
    if size != size_of::<i32>() {
        return fail(Error::Parameter(format!("range attribute {attribute} has 4 bytes, not {size}")));
    }
    data.set(value)
}

/// Writes as many devices with access as fit, and marks the rest as unused.
fn write_devices(hints: &ManagedHints, data: OutPtr<i32>, size: usize) -> Result<()> {
    let count = size / size_of::<i32>();
    if count == 0 || !size.is_multiple_of(size_of::<i32>()) {
        return fail(Error::Parameter(format!("{size} bytes are not an array of device ids, which have 4 bytes")));
    }
    // Before the first element is written: a wrong size is usually huge.
    data.check_array(count)?;
    let ids = hints.accessed_by.iter().map(|location| device_id(Some(*location)));
    ids.chain(std::iter::repeat(NOWHERE)).take(count).enumerate().try_for_each(|(index, id)| data.set_at(index, id))
}

fn device_id(location: Option<ManagedLocation>) -> i32 {
    match location {
        Some(ManagedLocation::Device(device)) => device as i32,
        Some(ManagedLocation::Host | ManagedLocation::HostNode(_)) => HOST,
        None => NOWHERE,
    }
}

fn type_and_id(location: Option<ManagedLocation>) -> (i32, i32) {
    match location {
        Some(ManagedLocation::Device(device)) => (ACL_MEM_LOCATIONTYPE_DEVICE, device as i32),
        Some(ManagedLocation::Host) => (ACL_MEM_LOCATIONTYPE_HOST, 0),
        Some(ManagedLocation::HostNode(node)) => (ACL_MEM_LOCATIONTYPE_HOST_NUMA, node),
        None => (ACL_MEM_LOCATIONTYPE_INVALID, 0),
    }
}
