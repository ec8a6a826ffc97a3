//! Virtual memory: reserved addresses, physical memory, mappings, shareable handles.

use crate::argument::{InMutPtr, InPtr, NonNullArg, OutPtr, UntypedPtr};
use crate::entry::{Call, export};
use crate::memory::{DDR, GIGANTIC, require_gigantic_pages};
use ascendcl_sys::*;
use softacl_engine::{Error, MemoryLocation, PhysicalRequest, Result, Rights, fail, segv};
use softacl_faults::system::try_collect;
use std::ffi::c_void;

const HUGE_PAGE: usize = 2 << 20;
const GIANT_PAGE: usize = 1 << 30;
/// `ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION`.
const ANY_PROCESS: u64 = 1;

export! {
    fn aclrtReserveMemAddress(
        pointer: OutPtr<*mut c_void>, size: usize, alignment: usize, wish: *mut c_void, flags: u64
    ) |call| {
        check_reservation(size, flags)?;
        call.require_supported()?;
        reserve(call, pointer, size, alignment, wish)
    }

    fn aclrtReserveMemAddressNoUCMemory(
        pointer: OutPtr<*mut c_void>, size: usize, alignment: usize, wish: *mut c_void, flags: u64
    ) |call| {
        check_reservation(size, flags)?;
        call.require_supported()?;
        if wish.is_null() || !size.is_multiple_of(GIANT_PAGE) {
            return fail(Error::Parameter(format!(
                "expectPtr is {wish:?} and size is {size}: an address is required, and a multiple of {GIANT_PAGE}"
            )));
        }
        // The documented addresses are outside the range that is reserved here, so the request is ignored.
        reserve(call, pointer, size, alignment, std::ptr::null_mut())
    }

    fn aclrtReleaseMemAddress(pointer: NonNullArg) |call| {
        call.require_supported()?;
        call.release_addresses(pointer.address())
    }

    fn aclrtMallocPhysical(
        handle: OutPtr<aclrtDrvMemHandle>, size: usize, properties: InPtr<aclrtPhysicalMemProp>, flags: u64
    ) |call| {
        let (home, attribute) = check_properties(properties)?;
        if size == 0 || flags != 0 {
            let text = format!("size is {size} and flags are {flags}: size must be positive and flags 0");
            return fail(Error::Argument(text));
        }
        call.require_supported()?;
        let granularity = granularity(call, attribute)?;
        let created = call.make_physical(PhysicalRequest { size, location: home, attribute, granularity })?;
        give(call, handle, created)
    }

    fn aclrtFreePhysical(handle: NonNullArg) |call| {
        call.require_supported()?;
        call.free_physical(handle.address())
    }

    fn aclrtMapMem(pointer: NonNullArg, size: usize, offset: usize, handle: NonNullArg, flags: u64) |call| {
        check_mapping(size, flags)?;
        call.require_supported()?;
        call.map(pointer.address(), size, offset, handle.address(), true)
    }

    fn aclrtMemMapNoAccess(
        pointer: NonNullArg, size: usize, offset: usize, handle: NonNullArg, flags: u64
    ) |call| {
        check_mapping(size, flags)?;
        call.require_supported()?;
        call.map(pointer.address(), size, offset, handle.address(), false)
    }

    fn aclrtUnmapMem(pointer: NonNullArg) |call| {
        call.require_supported()?;
        call.unmap(pointer.address())
    }

    /// Only the runtime layer checks the arguments: NULL is 107000.
    fn aclrtMemSetAccess(
        pointer: *mut c_void, size: usize, entries: Option<InMutPtr<aclrtMemAccessDesc>>, count: usize
    ) |call| {
        let (Some(entries), false) = (entries, pointer.is_null() || count == 0 || size == 0) else {
            return fail(Error::Parameter("virPtr or desc is NULL, or size or count is 0".to_owned()));
        };
        call.require_supported()?;
        let guard = segv::enter();
        let grants = try_collect(entries.array(count, &guard)?.iter().map(grant), "access rights")?;
        call.grant_access(pointer as usize, size, &grants)
    }

    /// Only the runtime layer checks the arguments: NULL is 107000.
    fn aclrtMemGetAccess(
        pointer: *mut c_void, location: Option<InMutPtr<aclrtMemLocation>>, flags: Option<OutPtr<u64>>
    ) |call| {
        let (Some(location), Some(flags), false) = (location, flags, pointer.is_null()) else {
            return fail(Error::Parameter("virPtr, location or flag is NULL".to_owned()));
        };
        call.require_supported()?;
        let rights = call.access(pointer as usize, runtime_home(location.read()?)?)?;
        flags.set(flags_of(rights) as u64)
    }

    fn aclrtMemGetAllocationGranularity(
        properties: InMutPtr<aclrtPhysicalMemProp>, option: i32, granule: OutPtr<usize>
    ) |call| {
        let (home, attribute) = check_properties(properties)?;
        if ![ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED].contains(&option) {
            let text = format!("{option} is neither the minimum (0) nor the recommended granularity (1)");
            return fail(Error::Argument(text));
        }
        call.require_supported()?;
        if let MemoryLocation::Device(device) = home {
            call.machine().logical_device(device.into())?;
        }
        granule.set(granularity(call, attribute)?)
    }

    fn aclrtMemRetainAllocationHandle(pointer: NonNullArg, handle: OutPtr<aclrtDrvMemHandle>) |call| {
        call.require_supported()?;
        let held = call.retain_physical(pointer.address())?;
        give(call, handle, held)
    }

    fn aclrtMemGetAllocationPropertiesFromHandle(
        handle: NonNullArg, properties: OutPtr<aclrtPhysicalMemProp>
    ) |call| {
        call.require_supported()?;
        let (home, attribute) = call.physical_properties(handle.address())?;
        let (r#type, id) = match home {
            MemoryLocation::Device(device) => (ACL_MEM_LOCATION_TYPE_DEVICE, device),
            MemoryLocation::Host => (ACL_MEM_LOCATION_TYPE_HOST, 0),
            MemoryLocation::HostNode(node) => (ACL_MEM_LOCATION_TYPE_HOST_NUMA, node),
        };
        properties.set(aclrtPhysicalMemProp {
            handleType: ACL_MEM_HANDLE_TYPE_NONE,
            allocationType: ACL_MEM_ALLOCATION_TYPE_PINNED,
            memAttr: attribute,
            location: aclrtMemLocation { id, r#type },
            gap: 0,
            reserve: 0,
        })
    }

    fn aclrtMemExportToShareableHandle(
        handle: NonNullArg, kind: i32, flags: u64, shareable: OutPtr<u64>
    ) |call| {
        if kind != ACL_MEM_HANDLE_TYPE_NONE {
            return fail(Error::Argument(format!("handleType {kind} is not ACL_MEM_HANDLE_TYPE_NONE")));
        }
        call.require_supported()?;
        check_export_flags(flags)?;
        shareable.set(call.share_physical(handle.address(), flags != ANY_PROCESS)?)
    }

    fn aclrtMemExportToShareableHandleV2(
        handle: NonNullArg, flags: u64, kind: i32, shareable: UntypedPtr
    ) |call| {
        call.require_supported()?;
        check_export_flags(flags)?;
        match check_form(call, kind)? {
            HandleFormat::Number => {
                shareable.output::<u64>().set(call.share_physical(handle.address(), flags != ANY_PROCESS)?)
            }
            HandleFormat::Fabric => {
                let mut data = [0; 128];
                let text = call.share_physical_by_text(handle.address(), flags != ANY_PROCESS)?;
                data[..text.len()].copy_from_slice(text.as_bytes());
                shareable.output::<aclrtMemFabricHandle>().set(aclrtMemFabricHandle { data })
            }
        }
    }

    fn aclrtMemImportFromShareableHandle(shareable: u64, device: i32, handle: OutPtr<aclrtDrvMemHandle>) |call| {
        call.require_supported()?;
        let held = call.import_physical(shareable, device.into())?;
        give(call, handle, held)
    }

    fn aclrtMemImportFromShareableHandleV2(
        shareable: UntypedPtr, kind: i32, flags: u64, handle: OutPtr<aclrtDrvMemHandle>
    ) |call| {
        call.require_supported()?;
        if flags != 0 {
            return fail(Error::Parameter(format!("flags are {flags}, and must be 0")));
        }
        let held = match check_form(call, kind)? {
            HandleFormat::Number => call.import_physical_here(number(shareable)?)?,
            HandleFormat::Fabric => call.import_physical_by_text(&fabric(shareable)?)?,
        };
        give(call, handle, held)
    }

    fn aclrtMemSetPidToShareableHandle(shareable: u64, processes: InMutPtr<i32>, count: usize) |call| {
        let processes = check_processes(processes, count)?;
        call.require_supported()?;
        call.allow_physical_processes(shareable, &processes)
    }

    fn aclrtMemSetPidToShareableHandleV2(
        shareable: UntypedPtr, kind: i32, processes: InMutPtr<i32>, count: usize
    ) |call| {
        let processes = check_processes(processes, count)?;
        call.require_supported()?;
        match check_form(call, kind)? {
            HandleFormat::Number => call.allow_physical_processes(number(shareable)?, &processes),
            HandleFormat::Fabric => call.allow_physical_processes_by_text(&fabric(shareable)?, &processes),
        }
    }
}

fn give(call: Call<'_>, handle: OutPtr<aclrtDrvMemHandle>, held: usize) -> Result<()> {
    handle.set_or(held as aclrtDrvMemHandle, || drop(call.free_physical(held)))
}

/// Checks size and flags of a reservation. Flag 1 requests huge pages; old programs pass it.
fn check_reservation(size: usize, flags: u64) -> Result<()> {
    if size == 0 || flags > 1 {
        return fail(Error::Argument(format!(
            "size is {size} and flags are {flags}: size must be positive and flags 0 or 1"
        )));
    }
    Ok(())
}

fn reserve(
    call: Call<'_>,
    pointer: OutPtr<*mut c_void>,
    size: usize,
    alignment: usize,
    wish: *mut c_void,
) -> Result<()> {
    if alignment != 0 {
        return fail(Error::Parameter(format!("alignment is {alignment}, and must be 0")));
    }
    let start = call.reserve_addresses(size, (!wish.is_null()).then_some(wish as usize))?;
    pointer.set_or(start as *mut c_void, || drop(call.release_addresses(start)))
}

fn check_properties<P>(properties: InPtr<aclrtPhysicalMemProp, P>) -> Result<(MemoryLocation, i32)> {
    let properties = properties.read()?;
    let aclrtPhysicalMemProp { handleType, allocationType, memAttr, location, .. } = properties;
    if handleType != ACL_MEM_HANDLE_TYPE_NONE || allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED {
        return fail(Error::Argument(format!(
            "handleType {handleType} must be NONE (0), and allocationType {allocationType} PINNED (0)"
        )));
    }
    let Some(home) = home(location) else {
        return fail(Error::Argument(format!("location type {} is not HOST, DEVICE or HOST_NUMA", location.r#type)));
    };
    let known = (ACL_DDR_MEM..=ACL_MEM_P2P_HUGE1G).contains(&memAttr);
    if !known || matches!(home, MemoryLocation::Device(_)) && DDR.contains(&memAttr) {
        return fail(Error::Argument(format!("memAttr {memAttr} is not possible there: devices have no DDR memory")));
    }
    Ok((home, memAttr))
}

fn home(location: aclrtMemLocation) -> Option<MemoryLocation> {
    match location.r#type {
        ACL_MEM_LOCATION_TYPE_DEVICE => Some(MemoryLocation::Device(location.id)),
        ACL_MEM_LOCATION_TYPE_HOST => Some(MemoryLocation::Host),
        ACL_MEM_LOCATION_TYPE_HOST_NUMA => Some(MemoryLocation::HostNode(location.id)),
        _ => None,
    }
}

fn runtime_home(location: aclrtMemLocation) -> Result<MemoryLocation> {
    let unknown = || Error::Parameter(format!("location type {} is not HOST, DEVICE or HOST_NUMA", location.r#type));
    Ok(home(location).ok_or_else(unknown)?)
}

/// The granularity of physical memory. Memory in small pages is served in huge ones.
fn granularity(call: Call<'_>, attribute: i32) -> Result<usize> {
    if !GIGANTIC.contains(&attribute) {
        return Ok(HUGE_PAGE);
    }
    require_gigantic_pages(call)?;
    Ok(GIANT_PAGE)
}

fn check_mapping(size: usize, flags: u64) -> Result<()> {
    if size == 0 || flags != 0 {
        return fail(Error::Argument(format!(
            "size is {size} and flags are {flags}: size must be positive and flags 0"
        )));
    }
    Ok(())
}

fn grant(entry: &aclrtMemAccessDesc) -> Result<(MemoryLocation, Rights)> {
    let rights = match entry.flags {
        ACL_RT_MEM_ACCESS_FLAGS_READWRITE => Rights::ReadWrite,
        flags @ (ACL_RT_MEM_ACCESS_FLAGS_NONE | ACL_RT_MEM_ACCESS_FLAGS_READ) => {
            return fail(Error::Feature(format!(
                "access flags {flags} are not supported: only ACL_RT_MEM_ACCESS_FLAGS_READWRITE (3) is"
            )));
        }
        other => return fail(Error::Parameter(format!("access flags {other} are not 0, 1 or 3"))),
    };
    Ok((runtime_home(entry.location)?, rights))
}

fn flags_of(rights: Rights) -> i32 {
    match rights {
        Rights::None => ACL_RT_MEM_ACCESS_FLAGS_NONE,
        Rights::Read => ACL_RT_MEM_ACCESS_FLAGS_READ,
        Rights::ReadWrite => ACL_RT_MEM_ACCESS_FLAGS_READWRITE,
    }
}

fn check_export_flags(flags: u64) -> Result<()> {
    if flags <= ANY_PROCESS { Ok(()) } else { fail(Error::Parameter(format!("flags {flags} are not 0 or 1"))) }
}

/// Representation of a shareable handle.
enum HandleFormat {
    Number,
    Fabric,
}

/// Checks the format of a shareable handle. Fabric handles are for pods of several servers, which only A3 products
/// form; here they are valid on one host.
fn check_form(call: Call<'_>, kind: i32) -> Result<HandleFormat> {
    match kind {
        ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT => Ok(HandleFormat::Number),
        ACL_MEM_SHARE_HANDLE_TYPE_FABRIC => {
            // The documents list reservations for pods for the same products.
            call.require(rows::aclrtReserveMemAddressNoUCMemory)?;
            Ok(HandleFormat::Fabric)
        }
        other => fail(Error::Parameter(format!("shareType {other} is neither DEFAULT (1) nor FABRIC (2)"))),
    }
}

/// Reads a numeric handle, at any alignment.
fn number(shareable: UntypedPtr) -> Result<u64> {
    Ok(u64::from_le_bytes(shareable.input::<[u8; 8]>().read()?))
}

/// Reads a fabric handle, which is a text here.
fn fabric(shareable: UntypedPtr) -> Result<String> {
    let data = shareable.input::<aclrtMemFabricHandle>().read()?.data;
    let text = data.split(|byte| *byte == 0).next().unwrap_or(&[]);
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// Reads the ids of processes that are to be admitted.
pub(crate) fn check_processes(processes: InMutPtr<i32>, count: usize) -> Result<Vec<u32>> {
    let guard = segv::enter();
    let list = processes.array(count, &guard)?;
    if count == 0 {
        return fail(Error::Parameter("the number of processes is 0".to_owned()));
    }
    let id = |id: &i32| {
        let wrong = || Box::new(Error::Parameter(format!("{id} is not the id of a process")));
        u32::try_from(*id).ok().filter(|id| *id > 0).ok_or_else(wrong)
    };
    try_collect(list.iter().map(id), "processes")
}
