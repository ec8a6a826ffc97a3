//! Virtual memory: reserved addresses, physical memory, mappings, shareable handles.

use crate::entry::{Out, array, export, out, require};
use ascendcl_sys::*;
use softacl_engine::{Caller, Error, MemoryLocation, PhysicalRequest, Result, Rights, fail};
use softacl_faults::system::try_collect;
use std::ffi::c_void;

/// `aclrtMemAttr` of the DDR kinds, which devices do not offer here.
const DDR: [i32; 5] = [ACL_DDR_MEM, ACL_DDR_MEM_HUGE, ACL_DDR_MEM_NORMAL, ACL_DDR_MEM_P2P_HUGE, ACL_DDR_MEM_P2P_NORMAL];
const GIGANTIC: [i32; 4] = [ACL_HBM_MEM_HUGE1G, ACL_HBM_MEM_P2P_HUGE1G, ACL_MEM_HUGE1G, ACL_MEM_P2P_HUGE1G];
const HUGE_PAGE: usize = 2 << 20;
const GIANT_PAGE: usize = 1 << 30;
/// `ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION`.
const ANY_PROCESS: u64 = 1;

export! {
    fn aclrtReserveMemAddress(
        pointer: *mut *mut c_void, size: usize, alignment: usize, wish: *mut c_void, flags: u64,
    ) |caller| {
        let pointer = check_reservation(pointer, size, flags)?;
        require(caller, "aclrtReserveMemAddress")?;
        reserve(caller, pointer, size, alignment, wish)
    }

    fn aclrtReserveMemAddressNoUCMemory(
        pointer: *mut *mut c_void, size: usize, alignment: usize, wish: *mut c_void, flags: u64,
    ) |caller| {
        let pointer = check_reservation(pointer, size, flags)?;
        require(caller, "aclrtReserveMemAddressNoUCMemory")?;
        if wish.is_null() || !size.is_multiple_of(GIANT_PAGE) {
            return fail(Error::Parameter(format!(
                "expectPtr is {wish:?} and size is {size}: an address is required, and a multiple of {GIANT_PAGE}"
            )));
        }
        // The advised addresses are beyond what is reserved here.
        reserve(caller, pointer, size, alignment, std::ptr::null_mut())
    }

    fn aclrtReleaseMemAddress(pointer: *mut c_void) |caller| {
        let address = require_non_null(pointer, "virPtr")?;
        require(caller, "aclrtReleaseMemAddress")?;
        caller.release_addresses(address)
    }

    fn aclrtMallocPhysical(
        handle: *mut aclrtDrvMemHandle, size: usize, properties: *const aclrtPhysicalMemProp, flags: u64,
    ) |caller| {
        let handle = out(handle, "handle")?;
        let (home, attribute) = check_properties(properties)?;
        if size == 0 || flags != 0 {
            return fail(Error::Argument(format!("size is {size} and flags are {flags}: size must not be 0, flags must")));
        }
        require(caller, "aclrtMallocPhysical")?;
        let granularity = granularity(attribute);
        let made = caller.make_physical(PhysicalRequest { size, location: home, attribute, granularity })?;
        give(caller, handle, made)
    }

    fn aclrtFreePhysical(handle: aclrtDrvMemHandle) |caller| {
        let handle = require_non_null(handle, "handle")?;
        require(caller, "aclrtFreePhysical")?;
        caller.free_physical(handle)
    }

    fn aclrtMapMem(pointer: *mut c_void, size: usize, offset: usize, handle: aclrtDrvMemHandle, flags: u64) |caller| {
        let (address, handle) = check_mapping(pointer, size, handle, flags)?;
        require(caller, "aclrtMapMem")?;
        caller.map(address, size, offset, handle, true)
    }

    fn aclrtMemMapNoAccess(
        pointer: *mut c_void, size: usize, offset: usize, handle: aclrtDrvMemHandle, flags: u64,
    ) |caller| {
        let (address, handle) = check_mapping(pointer, size, handle, flags)?;
        require(caller, "aclrtMemMapNoAccess")?;
        caller.map(address, size, offset, handle, false)
    }

    fn aclrtUnmapMem(pointer: *mut c_void) |caller| {
        let address = require_non_null(pointer, "virPtr")?;
        require(caller, "aclrtUnmapMem")?;
        caller.unmap(address)
    }

    /// Checked by the runtime layer alone: NULL is 107000.
    fn aclrtMemSetAccess(pointer: *mut c_void, size: usize, entries: *mut aclrtMemAccessDesc, count: usize) |caller| {
        if pointer.is_null() || entries.is_null() || count == 0 || size == 0 {
            return fail(Error::Parameter("virPtr or desc is NULL, or size or count is 0".to_owned()));
        }
        require(caller, "aclrtMemSetAccess")?;
        let entries = array(entries.cast_const(), count, "desc")?.unwrap_or(&[]);
        let grants = try_collect(entries.iter().map(grant), "access rights")?;
        caller.grant_access(pointer as usize, size, &grants)
    }

    fn aclrtMemGetAccess(pointer: *mut c_void, location: *mut aclrtMemLocation, flags: *mut u64) |caller| {
        if pointer.is_null() || location.is_null() || flags.is_null() {
            return fail(Error::Parameter("virPtr, location or flag is NULL".to_owned()));
        }
        require(caller, "aclrtMemGetAccess")?;
        let location = array(location.cast_const(), 1, "location")?.unwrap_or(&[])[0];
        let rights = caller.access(pointer as usize, runtime_home(location)?)?;
        out(flags, "flag")?.set(flags_of(rights) as u64)
    }

    fn aclrtMemGetAllocationGranularity(
        properties: *mut aclrtPhysicalMemProp, option: i32, granule: *mut usize,
    ) |caller| {
        let (home, attribute) = check_properties(properties.cast_const())?;
        let granule = out(granule, "granularity")?;
        if ![ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED].contains(&option) {
            return fail(Error::Argument(format!("{option} is neither the minimum (0) nor the recommended granularity (1)")));
        }
        require(caller, "aclrtMemGetAllocationGranularity")?;
        if let MemoryLocation::Device(device) = home {
            caller.machine().logical_device(device.into())?;
        }
        granule.set(granularity(attribute))
    }

    fn aclrtMemRetainAllocationHandle(pointer: *mut c_void, handle: *mut aclrtDrvMemHandle) |caller| {
        let (address, handle) = (require_non_null(pointer, "virPtr")?, out(handle, "handle")?);
        require(caller, "aclrtMemRetainAllocationHandle")?;
        let held = caller.retain_physical(address)?;
        give(caller, handle, held)
    }

    fn aclrtMemGetAllocationPropertiesFromHandle(
        handle: aclrtDrvMemHandle, properties: *mut aclrtPhysicalMemProp,
    ) |caller| {
        let (handle, properties) = (require_non_null(handle, "handle")?, out(properties, "prop")?);
        require(caller, "aclrtMemGetAllocationPropertiesFromHandle")?;
        let (home, attribute) = caller.physical_properties(handle)?;
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
        handle: aclrtDrvMemHandle, kind: i32, flags: u64, shareable: *mut u64,
    ) |caller| {
        let (handle, shareable) = (require_non_null(handle, "handle")?, out(shareable, "shareableHandle")?);
        if kind != ACL_MEM_HANDLE_TYPE_NONE {
            return fail(Error::Argument(format!("handleType {kind} is not ACL_MEM_HANDLE_TYPE_NONE")));
        }
        require(caller, "aclrtMemExportToShareableHandle")?;
        check_export_flags(flags)?;
        shareable.set(caller.share_physical(handle, flags != ANY_PROCESS)?)
    }

    fn aclrtMemExportToShareableHandleV2(
        handle: aclrtDrvMemHandle, flags: u64, kind: i32, shareable: *mut c_void,
    ) |caller| {
        let (handle, _) = (require_non_null(handle, "handle")?, require_non_null(shareable, "shareableHandle")?);
        require(caller, "aclrtMemExportToShareableHandleV2")?;
        check_export_flags(flags)?;
        match check_form(caller, kind)? {
            HandleFormat::Number => {
                out(shareable.cast::<u64>(), "shareableHandle")?.set(caller.share_physical(handle, flags != ANY_PROCESS)?)
            }
            HandleFormat::Fabric => {
                let mut data = [0; 128];
                let text = caller.share_physical_by_text(handle, flags != ANY_PROCESS)?;
                data[..text.len()].copy_from_slice(text.as_bytes());
                out(shareable.cast::<aclrtMemFabricHandle>(), "shareableHandle")?.set(aclrtMemFabricHandle { data })
            }
        }
    }

    fn aclrtMemImportFromShareableHandle(shareable: u64, device: i32, handle: *mut aclrtDrvMemHandle) |caller| {
        let handle = out(handle, "handle")?;
        require(caller, "aclrtMemImportFromShareableHandle")?;
        let held = caller.import_physical(shareable, device.into())?;
        give(caller, handle, held)
    }

    fn aclrtMemImportFromShareableHandleV2(
        shareable: *mut c_void, kind: i32, flags: u64, handle: *mut aclrtDrvMemHandle,
    ) |caller| {
        require_non_null(shareable, "shareableHandle")?;
        let handle = out(handle, "handle")?;
        require(caller, "aclrtMemImportFromShareableHandleV2")?;
        if flags != 0 {
            return fail(Error::Parameter(format!("flags are {flags}, and must be 0")));
        }
        let held = match check_form(caller, kind)? {
            HandleFormat::Number => caller.import_physical_here(number(shareable)?)?,
            HandleFormat::Fabric => caller.import_physical_by_text(&fabric(shareable)?)?,
        };
        give(caller, handle, held)
    }

    fn aclrtMemSetPidToShareableHandle(shareable: u64, processes: *mut i32, count: usize) |caller| {
        let processes = check_processes(processes, count)?;
        require(caller, "aclrtMemSetPidToShareableHandle")?;
        caller.allow_physical_processes(shareable, &processes)
    }

    fn aclrtMemSetPidToShareableHandleV2(
        shareable: *mut c_void, kind: i32, processes: *mut i32, count: usize,
    ) |caller| {
        require_non_null(shareable, "shareableHandle")?;
        let processes = check_processes(processes, count)?;
        require(caller, "aclrtMemSetPidToShareableHandleV2")?;
        match check_form(caller, kind)? {
            HandleFormat::Number => caller.allow_physical_processes(number(shareable)?, &processes),
            HandleFormat::Fabric => caller.allow_physical_processes_by_text(&fabric(shareable)?, &processes),
        }
    }
}

fn require_non_null(pointer: *mut c_void, name: &'static str) -> Result<usize> {
    if pointer.is_null() { fail(Error::Null(name)) } else { Ok(pointer as usize) }
}

fn give(caller: Caller<'_>, handle: Out<aclrtDrvMemHandle>, held: usize) -> Result<()> {
    handle.set(held as aclrtDrvMemHandle).inspect_err(|_| {
        // Nobody will ever know the handle.
        let _ = caller.free_physical(held);
    })
}

/// 1 is a flag of old programs, for huge pages.
fn check_reservation(pointer: *mut *mut c_void, size: usize, flags: u64) -> Result<Out<*mut c_void>> {
    let pointer = out(pointer, "virPtr")?;
    if size == 0 || flags > 1 {
        return fail(Error::Argument(format!(
            "size is {size} and flags are {flags}: size must not be 0, flags 0 or 1"
        )));
    }
    Ok(pointer)
}

fn reserve(
    caller: Caller<'_>,
    pointer: Out<*mut c_void>,
    size: usize,
    alignment: usize,
    wish: *mut c_void,
) -> Result<()> {
    if alignment != 0 {
        return fail(Error::Parameter(format!("alignment is {alignment}, and must be 0")));
    }
    let start = caller.reserve_addresses(size, (!wish.is_null()).then_some(wish as usize))?;
    pointer.set(start as *mut c_void).inspect_err(|_| {
        // Nobody will ever know the address.
        let _ = caller.release_addresses(start);
    })
}

fn check_properties(properties: *const aclrtPhysicalMemProp) -> Result<(MemoryLocation, i32)> {
    let properties = array(properties, 1, "prop")?.ok_or(Error::Null("prop"))?[0];
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

fn granularity(attribute: i32) -> usize {
    if GIGANTIC.contains(&attribute) { GIANT_PAGE } else { HUGE_PAGE }
}

fn check_mapping(pointer: *mut c_void, size: usize, handle: aclrtDrvMemHandle, flags: u64) -> Result<(usize, usize)> {
    let (address, handle) = (require_non_null(pointer, "virPtr")?, require_non_null(handle, "handle")?);
    if size == 0 || flags != 0 {
        return fail(Error::Argument(format!("size is {size} and flags are {flags}: size must not be 0, flags must")));
    }
    Ok((address, handle))
}

fn grant(entry: &aclrtMemAccessDesc) -> Result<(MemoryLocation, Rights)> {
    let rights = match entry.flags {
        ACL_RT_MEM_ACCESS_FLAGS_NONE => Rights::None,
        ACL_RT_MEM_ACCESS_FLAGS_READ => Rights::Read,
        ACL_RT_MEM_ACCESS_FLAGS_READWRITE => Rights::ReadWrite,
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

/// How a shareable handle is written.
enum HandleFormat {
    Number,
    Fabric,
}

/// Fabric handles are for pods of many servers, which only the A3 forms; here they stay on one machine.
fn check_form(caller: Caller<'_>, kind: i32) -> Result<HandleFormat> {
    match kind {
        ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT => Ok(HandleFormat::Number),
        ACL_MEM_SHARE_HANDLE_TYPE_FABRIC => {
            // Reserving for a pod exists on the same products.
            require(caller, "aclrtReserveMemAddressNoUCMemory")?;
            Ok(HandleFormat::Fabric)
        }
        other => fail(Error::Parameter(format!("shareType {other} is neither DEFAULT (1) nor FABRIC (2)"))),
    }
}

fn number(shareable: *mut c_void) -> Result<u64> {
    let bytes =
        array(shareable.cast_const().cast::<[u8; 8]>(), 1, "shareableHandle")?.ok_or(Error::Null("shareableHandle"))?;
    Ok(u64::from_le_bytes(bytes[0]))
}

fn fabric(shareable: *mut c_void) -> Result<String> {
    let bytes = array(shareable.cast_const().cast::<aclrtMemFabricHandle>(), 1, "shareableHandle")?;
    let data = &bytes.ok_or(Error::Null("shareableHandle"))?[0].data;
    let text = data.split(|byte| *byte == 0).next().unwrap_or(&[]);
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// Ids of processes that are to be admitted.
pub(crate) fn check_processes(processes: *mut i32, count: usize) -> Result<Vec<u32>> {
    let list = array(processes.cast_const(), count, "pid")?.ok_or(Error::Null("pid"))?;
    if count == 0 {
        return fail(Error::Parameter("the number of processes is 0".to_owned()));
    }
    let id = |id: &i32| {
        let wrong = || Box::new(Error::Parameter(format!("{id} is not the id of a process")));
        u32::try_from(*id).ok().filter(|id| *id > 0).ok_or_else(wrong)
    };
    try_collect(list.iter().map(id), "processes")
}
