//! Memory: device memory, pinned and registered host memory.

use crate::argument::{Argument as _, InMutPtr, NonNullArg, OutPtr};
use crate::entry::{Call, export};
use crate::version::chars;
use ascendcl_sys::*;
use softacl_engine::{DeviceUsage, Error, MemoryKind, Result, fail, segv};
use softacl_profiles::{Chip, Form, MemoryType};
use std::ffi::c_void;

/// Bytes that the runtime adds to a request. A size near the limit overflows with them.
const PADDING: usize = 64;
/// Maximum number of attributes of an allocation; three exist. Bounds the loop for a count from uninitialized memory.
const MAX_ATTRIBUTES: usize = 1024;
/// Valid registration flags: mapped, pinned, and two that are reserved.
const REGISTER_FLAGS: u32 = REGISTER_MAPPED | REGISTER_RESERVED | REGISTER_PINNED;
const REGISTER_MAPPED: u32 = 0x2;
const REGISTER_PINNED: u32 = 0x1000_0000;
/// IO memory and read-only memory: reserved, and not supported.
const REGISTER_RESERVED: u32 = 0x4 | 0x8;
const MEMORY_ATTRIBUTES: std::ops::RangeInclusive<i32> = ACL_DDR_MEM..=ACL_MEM_P2P_HUGE1G;
/// `aclrtMemAttr` values of DDR memory.
pub(crate) const DDR: [i32; 5] =
    [ACL_DDR_MEM, ACL_DDR_MEM_HUGE, ACL_DDR_MEM_NORMAL, ACL_DDR_MEM_P2P_HUGE, ACL_DDR_MEM_P2P_NORMAL];
/// `aclrtMemAttr` values of memory in pages of 1 GiB.
pub(crate) const GIGANTIC: [i32; 4] = [ACL_HBM_MEM_HUGE1G, ACL_HBM_MEM_P2P_HUGE1G, ACL_MEM_HUGE1G, ACL_MEM_P2P_HUGE1G];
/// Bits of a policy that select the pages. The others are flags.
const PAGE_POLICY: i32 = 0xff;
/// Policies of memory that other devices access.
const P2P_POLICIES: [i32; 4] = [
    ACL_MEM_MALLOC_HUGE_FIRST_P2P,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P,
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P,
    ACL_MEM_MALLOC_HUGE1G_ONLY_P2P,
];

export! {
    fn aclrtMalloc(pointer: OutPtr<*mut c_void>, size: usize, policy: i32) |call| {
        allocate(call, pointer, size, policy)
    }
    fn aclrtMallocAlign32(pointer: OutPtr<*mut c_void>, size: usize, policy: i32) |call| {
        allocate(call, pointer, size, policy)
    }
    fn aclrtMallocCached(pointer: OutPtr<*mut c_void>, size: usize, policy: i32) |call| {
        allocate(call, pointer, size, policy)
    }

    fn aclrtMallocWithCfg(
        pointer: OutPtr<*mut c_void>, size: usize, policy: i32, config: Option<InMutPtr<aclrtMallocConfig>>
    ) |call| {
        check_config(call, config)?;
        allocate(call, pointer, size, policy)
    }

    fn aclrtMallocForTaskScheduler(
        pointer: OutPtr<*mut c_void>, size: usize, policy: i32, config: Option<InMutPtr<aclrtMallocConfig>>
    ) |call| {
        check_config(call, config)?;
        allocate(call, pointer, size, policy)
    }

    fn aclrtFree(pointer: NonNullArg) |call| { call.free(pointer.address()) }

    fn aclrtFreeWithDevSync(pointer: NonNullArg) |call| {
        call.synchronize_device(-1)?;
        call.free(pointer.address())
    }

    fn aclrtMallocHost(pointer: OutPtr<*mut c_void>, size: usize) |call| { allocate_host(call, pointer, size) }

    fn aclrtMallocHostWithCfg(
        pointer: OutPtr<*mut c_void>, size: u64, config: Option<InMutPtr<aclrtMallocConfig>>
    ) |call| {
        check_config(call, config)?;
        allocate_host(call, pointer, size as usize)
    }

    fn aclrtFreeHost(pointer: NonNullArg) |call| { call.free_host(pointer.address()) }

    fn aclrtFreeHostWithDevSync(pointer: NonNullArg) |call| {
        call.synchronize_device(-1)?;
        call.free_host(pointer.address())
    }

    /// No-op: softacl models no cache between host and device.
    fn aclrtMemFlush(_pointer: NonNullArg, size: usize) |_call| { require_bytes(size as u64) }
    fn aclrtMemInvalidate(_pointer: NonNullArg, size: usize) |_call| { require_bytes(size as u64) }

    fn aclrtGetMemInfo(attribute: i32, free: OutPtr<usize>, total: OutPtr<usize>) |call| {
        if !MEMORY_ATTRIBUTES.contains(&attribute) {
            return fail(Error::MemoryAttribute(attribute));
        }
        let mut usage = call.usage()?;
        if !has_memory(call.machine().config().profile.chip, attribute) {
            usage = DeviceUsage { free: 0, total: 0 };
        }
        free.set(usage.free)?;
        total.set(usage.total)
    }

    fn aclrtGetMemUsageInfo(
        device: i32, infos: OutPtr<aclrtMemUsageInfo>, count: usize, written: OutPtr<usize>
    ) |call| {
        call.require_supported()?;
        let usage = call.machine().device_memory(device.into())?;
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

    /// Checks whether all addresses have one of the types in the mask. There is no separate memory for media.
    fn aclrtCheckMemType(
        addresses: InMutPtr<usize>, count: u32, types: u32, result: OutPtr<u32>, reserve: u32
    ) |call| {
        call.require_supported()?;
        let known = (ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP | ACL_RT_MEM_TYPE_RSVD) as u32;
        if count == 0 || types == 0 || types & !known != 0 || reserve != 0 {
            return fail(Error::Parameter(format!(
                "size is {count}, memType {types:#x} and reserve {reserve}: size must be positive, memType a \
                 combination of {known:#x}, and reserve 0"
            )));
        }
        let guard = segv::enter();
        let is_device = |address: &usize| call.memory_kind(*address).is_ok_and(|(kind, _)| kind.is_device());
        let all_match = types & ACL_RT_MEM_TYPE_DEV as u32 != 0
            && addresses.array(count as usize, &guard)?.iter().all(is_device);
        result.set(all_match.into())
    }

    /// Returns the allocation that contains an address.
    fn aclrtMemGetAddressRange(
        pointer: NonNullArg, base: Option<OutPtr<*mut c_void>>, size: Option<OutPtr<usize>>
    ) |call| {
        let (start, len) = call.extent(pointer.address())?;
        if let Some(base) = base {
            base.set(start as *mut c_void)?;
        }
        if let Some(size) = size {
            size.set(len)?;
        }
        Ok(())
    }

    fn aclrtPointerGetAttributes(pointer: NonNullArg<*const c_void>, attributes: OutPtr<aclrtPtrAttributes>) |call| {
        let (place, page) = call.memory_kind(pointer.address())?;
        let (kind, id) = match place {
            MemoryKind::Device(device) => (ACL_MEM_LOCATION_TYPE_DEVICE, device),
            MemoryKind::Pinned => (ACL_MEM_LOCATION_TYPE_HOST, 0),
            MemoryKind::Pageable => (ACL_MEM_LOCATION_TYPE_UNREGISTERED, 0),
        };
        let kind = if call.is_managed(pointer.address()) { ACL_MEM_LOCATION_TYPE_MANAGED } else { kind };
        let location = aclrtMemLocation { id, r#type: kind };
        attributes.set(aclrtPtrAttributes { location, pageSize: page as u32, rsv: [0; 4] })
    }

    fn aclrtHostRegister(pointer: NonNullArg, size: u64, kind: i32, device_pointer: OutPtr<*mut c_void>) |call| {
        require_bytes(size)?;
        let address = pointer.address();
        if kind != ACL_HOST_REGISTER_MAPPED {
            return fail(Error::Feature(format!(
                "registration type {kind:#x} is not supported: only ACL_HOST_REGISTER_MAPPED (0) is"
            )));
        }
        call.current_context()?;
        require_registration(call)?;
        call.register_host(address, size as usize, true, false)?;
        device_pointer.set_or(address as *mut c_void, || drop(call.unregister_host(address)))
    }

    fn aclrtHostRegisterV2(pointer: NonNullArg, size: u64, flag: u32) |call| {
        require_bytes(size)?;
        require_registration(call)?;
        if flag == 0 || flag & !REGISTER_FLAGS != 0 {
            let why = format!("registration flags {flag:#x} are not a combination of {REGISTER_FLAGS:#x}");
            return fail(Error::Parameter(why));
        }
        if flag & REGISTER_RESERVED != 0 {
            return fail(Error::Feature(format!(
                "registration flags {flag:#x} contain IOMEMORY (0x4) or READONLY (0x8), which are reserved"
            )));
        }
        call.register_host(pointer.address(), size as usize, flag & REGISTER_MAPPED != 0, flag & REGISTER_PINNED != 0)
    }

    fn aclrtHostUnregister(pointer: NonNullArg) |call| {
        require_registration(call)?;
        call.unregister_host(pointer.address())
    }

    fn aclrtHostGetDevicePointer(host: NonNullArg, device: OutPtr<*mut c_void>, flag: u32) |call| {
        if flag != 0 {
            return fail(Error::Argument(format!("flag is {flag}, and must be 0")));
        }
        require_registration(call)?;
        device.set(call.mapped_address(host.address())? as *mut c_void)
    }

    fn aclrtHostMemMapCapabilities(device: u32, engine: i32, capability: OutPtr<i32>) |call| {
        call.machine().logical_device(device.into())?;
        if !(0..10).contains(&engine) {
            return fail(Error::Parameter(format!("engine type {engine} is not in 0 to 9")));
        }
        require_registration(call)?;
        capability.set(ACL_RT_HOST_MEM_MAP_SUPPORTED)
    }

    /// Only checks the arguments, because mappings need no preparation here.
    fn aclrtMemP2PMap(pointer: NonNullArg, size: usize, device: i32, flags: u64) |call| {
        if size == 0 || flags != 0 {
            let text = format!("size is {size} and flags are {flags}: size must be positive and flags 0");
            return fail(Error::Argument(text));
        }
        call.require_supported()?;
        call.machine().logical_device(device.into())?;
        call.current_context()?;
        call.map_for_peer(pointer.address(), size, device.into())
    }
}

fn check_size(size: usize) -> Result<()> {
    // A size of 0 wraps around to a value that is too large.
    if size.wrapping_sub(1) >= usize::MAX - PADDING {
        return fail(Error::Argument(format!("{size} bytes cannot be allocated")));
    }
    Ok(())
}

fn allocate(call: Call<'_>, pointer: OutPtr<*mut c_void>, size: usize, policy: i32) -> Result<()> {
    check_size(size)?;
    // Both policies for pages of 1 GiB.
    if policy & PAGE_POLICY & !1 == ACL_MEM_MALLOC_HUGE1G_ONLY {
        require_gigantic_pages(call)?;
    }
    let is_p2p = P2P_POLICIES.contains(&(policy & PAGE_POLICY));
    let address = if is_p2p { call.allocate_p2p(size) } else { call.allocate(size) }?;
    pointer.set_or(address as *mut c_void, || drop(call.free(address)))
}

fn allocate_host(call: Call<'_>, pointer: OutPtr<*mut c_void>, size: usize) -> Result<()> {
    check_size(size)?;
    let address = call.allocate_host(size)?;
    pointer.set_or(address as *mut c_void, || drop(call.free_host(address)))
}

/// Checks a configuration. It may name the device, which must be the current one; nothing else has an effect.
fn check_config(call: Call<'_>, config: Option<InMutPtr<aclrtMallocConfig>>) -> Result<()> {
    let Some(config) = config else { return Ok(()) };
    let aclrtMallocConfig { attrs, numAttrs: count } = config.read()?;
    if count == 0 {
        return Ok(());
    }
    if count > MAX_ATTRIBUTES {
        return fail(Error::Argument(format!("cfg->numAttrs is {count}, and more than {MAX_ATTRIBUTES}")));
    }
    // SAFETY: the program passes the array inside the struct that it permits to read.
    let attributes: InMutPtr<aclrtMallocAttribute> = unsafe { InMutPtr::from_program(attrs, "cfg->attrs") }?;
    let guard = segv::enter();
    for attribute in attributes.array(count, &guard)?.iter().filter(|a| a.attr == ACL_RT_MEM_ATTR_DEVICE_ID) {
        let (requested, current) = (attribute.value[0], call.device()?);
        if requested != current {
            return fail(Error::Parameter(format!(
                "the configuration names device {requested}, but device {current} is current"
            )));
        }
    }
    Ok(())
}

fn require_bytes(size: u64) -> Result<()> {
    if size == 0 { fail(Error::Argument("size is 0".to_owned())) } else { Ok(()) }
}

/// Fails if the chip, or the way it is attached, does not support registered host memory.
fn require_registration(call: Call<'_>) -> Result<()> {
    let profile = &call.machine().config().profile;
    if profile.chip.copy.host_registration && profile.form == Form::Endpoint {
        return Ok(());
    }
    fail(Error::Unsupported { what: "registering host memory", soc: profile.soc.clone() })
}

/// Fails if the chip has no pages of 1 GiB.
#[cold]
pub(crate) fn require_gigantic_pages(call: Call<'_>) -> Result<()> {
    let profile = &call.machine().config().profile;
    if profile.chip.gigantic_pages {
        return Ok(());
    }
    fail(Error::Unsupported { what: "memory in pages of 1 GiB", soc: profile.soc.clone() })
}

/// Returns `true` if a chip has memory with an attribute. HBM is answered by every chip, with what it has.
fn has_memory(chip: &Chip, attribute: i32) -> bool {
    match attribute {
        attribute if GIGANTIC.contains(&attribute) => chip.gigantic_pages,
        attribute if DDR.contains(&attribute) => chip.memory_type == MemoryType::Ddr,
        _ => true,
    }
}
