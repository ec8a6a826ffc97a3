//! The internal runtime, `libruntime.so`: functions whose names begin with `rt`, as far as public clients declare them.
//!
//! Each is another name of a function of the public API, with the parameters that clients declare. Rules, messages, fault
//! rules and findings are those of that function. Functions without a public prototype are absent, so that a client that
//! looks them up treats the feature as absent; `docs/guide.md` lists them.
//!
//! They are exported by `libascendcl.so` itself, because clients look them up through its handle.

use crate::{copy, device, entry, ipc, memory, peer, stream};
use ascendcl_sys::*;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{LazyLock, Mutex, Once, PoisonError};

unsafe extern "C" {
    /// Found by its symbol: the manifest decides whether it is implemented.
    fn aclrtDeviceSetLimit(limit: i32, value: usize) -> aclError;
}

/// Code of the runtime for a call: it has no code for a NULL argument other than that of a bad parameter.
fn runtime(code: aclError) -> i32 {
    if code == ACL_ERROR_INVALID_PARAM { ACL_ERROR_RT_PARAM_INVALID } else { code }
}

/// Declares functions that are other names of functions of the public API.
macro_rules! alias {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($arg:ident: $kind:ty),* $(,)?) = $body:expr;
    )*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, reason = "some functions behind the names are safe")]
        pub unsafe extern "C" fn $name($($arg: $kind),*) -> i32 {
            // SAFETY: the arguments of this call are those of the function behind it, which checks them.
            runtime(unsafe { $body })
        }
    )*};
}

alias! {
    fn rtSetDevice(device: i32) = device::aclrtSetDevice(device);
    fn rtDeviceGetBareTgid(process: *mut u32) = device::aclrtDeviceGetBareTgid(process.cast());
    fn rtGetLogicDevIdByUserDevId(user: i32, logical: *mut i32) =
        device::aclrtGetLogicDevIdByUserDevId(user, logical);

    /// Memory type and module are hints that have no counterpart. Which types are for other devices is not public, so
    /// all of them are.
    fn rtMalloc(pointer: *mut *mut c_void, size: u64, _kind: u32, _module: u16) =
        memory::aclrtMalloc(pointer, size as usize, ACL_MEM_MALLOC_HUGE_FIRST_P2P);
    fn rtFree(pointer: *mut c_void) = memory::aclrtFree(pointer);
    fn rtMallocHost(pointer: *mut *mut c_void, size: u64, _module: u16) =
        memory::aclrtMallocHost(pointer, size as usize);
    fn rtFreeHost(pointer: *mut c_void) = memory::aclrtFreeHost(pointer);

    fn rtMemcpy(target: *mut c_void, limit: u64, source: *const c_void, size: u64, kind: i32) =
        copy::aclrtMemcpy(target, limit as usize, source, size as usize, kind);
    fn rtMemcpyAsyncWithoutCheckKind(
        target: *mut c_void, limit: usize, source: *const c_void, size: usize, kind: u32, stream: aclrtStream,
    ) = copy::aclrtMemcpyAsync(target, limit, source, size, kind as i32, stream);

    fn rtStreamCreate(created: *mut aclrtStream, priority: i32) =
        stream::aclrtCreateStreamWithConfig(created, priority as u32, 0);
    fn rtStreamDestroy(stream: aclrtStream) = stream::aclrtDestroyStream(stream);
    fn rtStreamSynchronize(stream: aclrtStream) = stream::aclrtSynchronizeStream(stream);

    fn rtIpcSetMemoryName(pointer: *const c_void, size: u64, name: *mut c_char, length: u32) =
        ipc::aclrtIpcMemGetExportKey(pointer.cast_mut(), size as usize, name, length as usize, 0);
    fn rtIpcDestroyMemoryName(name: *const c_char) = ipc::aclrtIpcMemClose(name);
    fn rtIpcOpenMemory(pointer: *mut *mut c_void, name: *const c_char) = open_memory(pointer, name);
    fn rtIpcCloseMemory(pointer: *const c_void) = close_memory(pointer);
    /// The device of the pod is ignored: all processes are on one host.
    fn rtSetIpcMemorySuperPodPid(name: *const c_char, _device: u32, processes: *mut i32, count: i32) =
        ipc::aclrtIpcMemSetImportPid(name, processes, usize::try_from(count).unwrap_or(0));

    fn rtEnableP2P(device: u32, physical_peer: u32, flag: u32) = match flag {
        0 => set_peer_access(rows::aclrtDeviceEnablePeerAccess, device, physical_peer, true),
        _ => ACL_ERROR_RT_PARAM_INVALID,
    };
    fn rtDisableP2P(device: u32, physical_peer: u32) =
        set_peer_access(rows::aclrtDeviceDisablePeerAccess, device, physical_peer, false);
    fn rtGetP2PStatus(device: u32, physical_peer: u32, status: *mut u32) =
        peer::aclrtDevicePeerAccessStatus(device as i32, physical_peer as i32, status.cast());
    /// The limit is that of the current device.
    fn rtDeviceSetLimit(_device: i32, kind: i32, value: u32) = aclrtDeviceSetLimit(kind, value as usize);

    /// Only the numbers that the public function knows are answered; others are refused with 207000.
    fn rtGetDeviceInfo(device: u32, module: i32, information: i32, value: *mut i64) =
        match device_attribute(module, information) {
            Some(attribute) => device::aclrtGetDeviceInfo(device, attribute, value),
            None => ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
        };
    fn rtGetAiCoreCount(count: *mut u32) = core_count(count);
    fn rtGetSocVersion(version: *mut c_char, length: u32) = soc_version(version, length);
}

/// Declares functions of queues and resources that no simulated device has. A client does not load without them.
macro_rules! refused {
    ($($name:ident)*) => {$(
        /// Takes no arguments, which the C calling conventions allow: the caller removes them.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> i32 {
            static REPORT: Once = Once::new();
            REPORT.call_once(|| {
                eprintln!(concat!("softacl: ", stringify!($name), " is not implemented; it returns 207000"));
            });
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT
        }
    )*};
}

refused!(rtStreamGetSqid rtStreamGetCqid rtGetDevResAddress);

/// Keys of opened memory by address, each with the number of times it was opened. The runtime closes by address, the
/// public API by key.
static OPENED: LazyLock<Mutex<HashMap<usize, (CString, usize)>>> = LazyLock::new(Mutex::default);

/// # Safety
///
/// The arguments are those of a call of the program.
unsafe fn open_memory(pointer: *mut *mut c_void, name: *const c_char) -> aclError {
    // This function has no flags, and the device of the owner may not be visible to this process.
    let flags = ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS as u64;
    // SAFETY: the function checks its arguments.
    let code = unsafe { ipc::aclrtIpcMemImportByKey(pointer, name, flags) };
    if code == ACL_SUCCESS {
        // SAFETY: the call that succeeded has read the name and written the pointer.
        let (name, address) = unsafe { (CStr::from_ptr(name).to_owned(), *pointer as usize) };
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        opened.entry(address).or_insert((name, 0)).1 += 1;
    }
    code
}

fn close_memory(pointer: *const c_void) -> aclError {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((name, count)) = opened.get_mut(&(pointer as usize)) else { return ACL_ERROR_RT_PARAM_INVALID };
    *count -= 1;
    let (name, is_last) = (name.clone(), *count == 0);
    if is_last {
        opened.remove(&(pointer as usize));
    }
    drop(opened);
    // SAFETY: the name is a string that lives during the call.
    unsafe { ipc::aclrtIpcMemClose(name.as_ptr()) }
}

/// Changes peer access of a device that need not be current, under the name of the public function.
fn set_peer_access(function: &'static Function, device: u32, physical_peer: u32, is_enabled: bool) -> aclError {
    entry::enter(
        function,
        || [u64::from(physical_peer), 0],
        || entry::with_call(function, |call| call.set_peer_access(device.into(), physical_peer.into(), is_enabled)),
    )
}

/// Public attribute for an information of module 0, the system.
fn device_attribute(module: i32, information: i32) -> Option<i32> {
    match (module, information) {
        (0, 18) => Some(ACL_DEV_ATTR_PHY_CHIP_ID),
        (0, 26) => Some(ACL_DEV_ATTR_SUPER_POD_DEVICE_ID),
        (0, 27) => Some(ACL_DEV_ATTR_SUPER_POD_SERVER_ID),
        (0, 29) => Some(ACL_DEV_ATTR_SUPER_POD_ID),
        _ => None,
    }
}

/// # Safety
///
/// The argument is that of a call of the program.
unsafe fn core_count(count: *mut u32) -> aclError {
    let (mut current, mut cores) = (0, 0);
    // SAFETY: both results are variables of this function.
    let code = unsafe {
        match device::aclrtGetDevice(&mut current) {
            ACL_SUCCESS => device::aclrtGetDeviceInfo(current as u32, ACL_DEV_ATTR_AICORE_CORE_NUM, &mut cores),
            code => code,
        }
    };
    if code != ACL_SUCCESS {
        return code;
    }
    // SAFETY: the program passed the pointer to the call in progress.
    unsafe { write(count.cast(), &(cores as u32).to_ne_bytes()) }
}

/// # Safety
///
/// The arguments are those of a call of the program.
unsafe fn soc_version(version: *mut c_char, length: u32) -> aclError {
    let name = device::aclrtGetSocName();
    if name.is_null() {
        return ACL_ERROR_RT_INTERNAL_ERROR;
    }
    // SAFETY: the name is a string of the library.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes_with_nul();
    if name.len() > length as usize {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    // SAFETY: the program passed the pointer to the call in progress.
    unsafe { write(version.cast(), name) }
}

/// Writes a result, or fails if the address is not writable.
///
/// # Safety
///
/// The address is an argument of a call of the program.
unsafe fn write(target: *mut u8, bytes: &[u8]) -> aclError {
    // SAFETY: the caller passes an address of the program; a fault is an error.
    let is_written = !target.is_null() && unsafe { softacl_memory::segv::try_write(target as usize, bytes) };
    if is_written { ACL_SUCCESS } else { ACL_ERROR_RT_PARAM_INVALID }
}
