//! Memory: device, pinned and registered.

use crate::entry::{array, export, out, require};
use crate::version::chars;
use ascendcl_sys::*;
use softacl_engine::{Caller, Error, MemoryKind, Result, fail};
use softacl_profiles::Form;
use std::ffi::c_void;

/// Room that the runtime adds to a request; a size near the limit overflows with it.
const PADDING: usize = 64;
/// Attributes of an allocation: there are three kinds. A number from memory that was never written would be walked
/// through for minutes.
const MAX_ATTRIBUTES: usize = 1024;
const DEVICE_PAGE: u32 = 2 << 20;
const HOST_PAGE: u32 = 4 << 10;
/// Registration flags that exist: mapped, IO memory, read-only, pinned.
const REGISTER_FLAGS: u32 = 0x2 | 0x4 | 0x8 | 0x1000_0000;
const REGISTER_TYPES: i32 = 0x4 | 0x8;
const REGISTER_MAPPED: u32 = 0x2;
const MEMORY_ATTRIBUTES: std::ops::RangeInclusive<i32> = 0..=17;

export! {
    fn aclrtMalloc(pointer: *mut *mut c_void, size: usize, _policy: i32) |caller| { allocate(caller, pointer, size) }
    fn aclrtMallocAlign32(pointer: *mut *mut c_void, size: usize, _policy: i32) |caller| { allocate(caller, pointer, size) }
    fn aclrtMallocCached(pointer: *mut *mut c_void, size: usize, _policy: i32) |caller| { allocate(caller, pointer, size) }

    fn aclrtMallocWithCfg(pointer: *mut *mut c_void, size: usize, _policy: i32, config: *mut aclrtMallocConfig) |caller| {
        check_config(caller, config)?;
        allocate(caller, pointer, size)
    }

    fn aclrtMallocForTaskScheduler(pointer: *mut *mut c_void, size: usize, _policy: i32, config: *mut aclrtMallocConfig) |caller| {
        check_config(caller, config)?;
        allocate(caller, pointer, size)
    }

    fn aclrtFree(pointer: *mut c_void) |caller| { caller.free(require_non_null(pointer, "devPtr")?) }

    fn aclrtFreeWithDevSync(pointer: *mut c_void) |caller| {
        let address = require_non_null(pointer, "devPtr")?;
        caller.synchronize_device(-1)?;
        caller.free(address)
    }

    fn aclrtMallocHost(pointer: *mut *mut c_void, size: usize) |caller| { allocate_host(caller, pointer, size) }

    fn aclrtMallocHostWithCfg(pointer: *mut *mut c_void, size: u64, config: *mut aclrtMallocConfig) |caller| {
        check_config(caller, config)?;
        allocate_host(caller, pointer, size as usize)
    }

    fn aclrtFreeHost(pointer: *mut c_void) |caller| { caller.free_host(require_non_null(pointer, "hostPtr")?) }

    fn aclrtFreeHostWithDevSync(pointer: *mut c_void) |caller| {
        let address = require_non_null(pointer, "hostPtr")?;
        caller.synchronize_device(-1)?;
        caller.free_host(address)
    }

    /// Not needed: there is no cache between host and device.
    fn aclrtMemFlush(pointer: *mut c_void, size: usize) |_caller| { check_cache_range(pointer, size) }
    fn aclrtMemInvalidate(pointer: *mut c_void, size: usize) |_caller| { check_cache_range(pointer, size) }

    fn aclrtGetMemInfo(attribute: i32, free: *mut usize, total: *mut usize) |caller| {
        let (free, total) = (out(free, "free")?, out(total, "total")?);
        if !MEMORY_ATTRIBUTES.contains(&attribute) {
            return fail(Error::MemoryAttribute(attribute));
        }
        let usage = caller.usage()?;
        free.set(usage.free)?;
        total.set(usage.total)
    }

    fn aclrtGetMemUsageInfo(device: i32, infos: *mut aclrtMemUsageInfo, count: usize, written: *mut usize) |caller| {
        let (infos, written) = (out(infos, "memUsageInfo")?, out(written, "outputNum")?);
        require(caller, "aclrtGetMemUsageInfo")?;
        let usage = caller.machine().device_memory(device.into())?;
        if count == 0 {
            return fail(Error::Argument("inputNum is 0".to_owned()));
        }
        infos.set(aclrtMemUsageInfo {
            name: chars("application"),
            curMemSize: usage.used as u64,
            memPeakSize: usage.peak as u64,
            reserved: [0; 8],
        })?;
        written.set(1)
    }

    /// The allocation that contains an address.
    fn aclrtMemGetAddressRange(pointer: *mut c_void, base: *mut *mut c_void, size: *mut usize) |caller| {
        let address = require_non_null(pointer, "ptr")?;
        let (start, len) = caller.extent(address)?;
        if !base.is_null() {
            out(base, "pbase")?.set(start as *mut c_void)?;
        }
        if !size.is_null() {
            out(size, "psize")?.set(len)?;
        }
        Ok(())
    }

    fn aclrtPointerGetAttributes(pointer: *const c_void, attributes: *mut aclrtPtrAttributes) |caller| {
        let address = require_non_null(pointer.cast_mut(), "ptr")?;
        let attributes = out(attributes, "attributes")?;
        let (kind, id, page) = match caller.memory_kind(address)? {
            MemoryKind::Device(device) => (ACL_MEM_LOCATION_TYPE_DEVICE, device, DEVICE_PAGE),
            MemoryKind::Pinned => (ACL_MEM_LOCATION_TYPE_HOST, 0, HOST_PAGE),
            MemoryKind::Pageable => (ACL_MEM_LOCATION_TYPE_UNREGISTERED, 0, HOST_PAGE),
        };
        attributes.set(aclrtPtrAttributes { location: aclrtMemLocation { id, r#type: kind }, pageSize: page, rsv: [0; 4] })
    }

    fn aclrtHostRegister(pointer: *mut c_void, size: u64, kind: i32, device_pointer: *mut *mut c_void) |caller| {
        let address = check_registration(pointer, size)?;
        let device_pointer = out(device_pointer, "devPtr")?;
        if kind & !REGISTER_TYPES != 0 {
            return fail(Error::Feature(format!("registration type {kind:#x} is not supported")));
        }
        caller.current_context()?;
        require_registration(caller)?;
        caller.register_host(address, size as usize, true)?;
        device_pointer.set(pointer).inspect_err(|_| {
            let _ = caller.unregister_host(address);
        })
    }

    fn aclrtHostRegisterV2(pointer: *mut c_void, size: u64, flag: u32) |caller| {
        let address = check_registration(pointer, size)?;
        require_registration(caller)?;
        if flag == 0 || flag & !REGISTER_FLAGS != 0 {
            return fail(Error::Parameter(format!("registration flags {flag:#x} are not made of {REGISTER_FLAGS:#x}")));
        }
        caller.register_host(address, size as usize, flag & REGISTER_MAPPED != 0)
    }

    fn aclrtHostUnregister(pointer: *mut c_void) |caller| {
        let address = require_non_null(pointer, "ptr")?;
        require_registration(caller)?;
        caller.unregister_host(address)
    }

    fn aclrtHostGetDevicePointer(host: *mut c_void, device: *mut *mut c_void, flag: u32) |caller| {
        let address = require_non_null(host, "pHost")?;
        let device = out(device, "pDevice")?;
        if flag != 0 {
            return fail(Error::Argument(format!("flag is {flag}, and must be 0")));
        }
        require_registration(caller)?;
        device.set(caller.mapped_address(address)? as *mut c_void)
    }

    fn aclrtHostMemMapCapabilities(device: u32, engine: i32, capability: *mut i32) |caller| {
        let capability = out(capability, "capabilities")?;
        caller.machine().logical_device(device.into())?;
        if !(0..10).contains(&engine) {
            return fail(Error::Parameter(format!("engine type {engine} is not in 0 to 9")));
        }
        require_registration(caller)?;
        capability.set(ACL_RT_HOST_MEM_MAP_SUPPORTED)
    }

    /// Mappings need no preparation here: only the arguments are checked.
    fn aclrtMemP2PMap(pointer: *mut c_void, size: usize, device: i32, flags: u64) |caller| {
        let address = require_non_null(pointer, "devPtr")?;
        if size == 0 || flags != 0 {
            return fail(Error::Argument(format!("size is {size} and flags are {flags}: size must not be 0, flags must")));
        }
        require(caller, "aclrtMemP2PMap")?;
        caller.machine().logical_device(device.into())?;
        caller.current_context()?;
        caller.host_view(address, size).map(|_| ())
    }
}

fn require_non_null(pointer: *mut c_void, name: &'static str) -> Result<usize> {
    if pointer.is_null() { fail(Error::Null(name)) } else { Ok(pointer as usize) }
}

fn check_size(size: usize) -> Result<()> {
    if size == 0 || size.checked_add(PADDING).is_none() {
        return fail(Error::Argument(format!("{size} bytes cannot be allocated")));
    }
    Ok(())
}

fn allocate(caller: Caller<'_>, pointer: *mut *mut c_void, size: usize) -> Result<()> {
    let pointer = out(pointer, "devPtr")?;
    check_size(size)?;
    let address = caller.allocate(size)?;
    pointer.set(address as *mut c_void).inspect_err(|_| {
        // Nobody will ever know the address.
        let _ = caller.free(address);
    })
}

fn allocate_host(caller: Caller<'_>, pointer: *mut *mut c_void, size: usize) -> Result<()> {
    let pointer = out(pointer, "hostPtr")?;
    check_size(size)?;
    let address = caller.allocate_host(size)?;
    pointer.set(address as *mut c_void).inspect_err(|_| {
        // Nobody will ever know the address.
        let _ = caller.free_host(address);
    })
}

/// A configuration may name the device, which must be the current one; nothing else has an effect.
fn check_config(caller: Caller<'_>, config: *mut aclrtMallocConfig) -> Result<()> {
    let Some(config) = array(config.cast_const(), 1, "cfg")? else { return Ok(()) };
    if config[0].numAttrs == 0 {
        return Ok(());
    }
    if config[0].numAttrs > MAX_ATTRIBUTES {
        return fail(Error::Argument(format!(
            "cfg->numAttrs is {}, and more than {MAX_ATTRIBUTES}",
            config[0].numAttrs
        )));
    }
    let attributes =
        array(config[0].attrs.cast_const(), config[0].numAttrs, "cfg->attrs")?.ok_or(Error::Null("cfg->attrs"))?;
    for attribute in attributes.iter().filter(|a| a.attr == ACL_RT_MEM_ATTR_DEVICE_ID) {
        let (asked, current) = (attribute.value[0], caller.device()?);
        if asked != current {
            return fail(Error::Parameter(format!(
                "the configuration names device {asked}, but device {current} is current"
            )));
        }
    }
    Ok(())
}

fn check_cache_range(pointer: *mut c_void, size: usize) -> Result<()> {
    require_non_null(pointer, "devPtr")?;
    if size == 0 { fail(Error::Argument("size is 0".to_owned())) } else { Ok(()) }
}

fn check_registration(pointer: *mut c_void, size: u64) -> Result<usize> {
    let address = require_non_null(pointer, "ptr")?;
    if size == 0 { fail(Error::Argument("size is 0".to_owned())) } else { Ok(address) }
}

fn require_registration(caller: Caller<'_>) -> Result<()> {
    let profile = &caller.machine().config().profile;
    if profile.chip.copy.host_registration && profile.form == Form::Endpoint {
        return Ok(());
    }
    fail(Error::Unsupported { what: "registering host memory", soc: profile.soc.clone() })
}
