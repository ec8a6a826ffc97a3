//! Device memory that is shared with other processes by a text key.

use crate::argument::{InMutPtr, NonNullArg, OutPtr, TextPtr};
use crate::entry::export;
use crate::virtual_memory::check_processes;
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail};
use std::ffi::{c_char, c_void};

export! {
    fn aclrtIpcMemGetExportKey(pointer: NonNullArg, size: usize, key: OutPtr<c_char>, len: usize, flags: u64) |call| {
        call.require_supported()?;
        check_flags(flags, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION as u64)?;
        if size == 0 {
            return fail(Error::Parameter("size is 0: there are no bytes to export".to_owned()));
        }
        if len < KEY_SIZE {
            return fail(Error::Parameter(format!("a key takes {KEY_SIZE} bytes, and len is {len}")));
        }
        // Tests the place for the key before anything is shared.
        key.set(0)?;
        let exported = call.export_range(pointer.address(), size, flags == 0)?;
        let image: Vec<u8> = exported.bytes().chain([0]).collect();
        key.write(&image).inspect_err(|_| drop(call.close_range(&exported)))
    }

    fn aclrtIpcMemSetImportPid(key: TextPtr, processes: InMutPtr<i32>, count: usize) |call| {
        let key = key.read()?;
        let processes = check_processes(processes, count)?;
        call.require_supported()?;
        call.allow_processes(&key, &processes)
    }

    fn aclrtIpcMemImportByKey(pointer: OutPtr<*mut c_void>, key: TextPtr, flags: u64) |call| {
        let key = key.read()?;
        call.require_supported()?;
        check_flags(flags, ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS as u64)?;
        let address = call.import_range(&key, flags != 0)?;
        pointer.set_or(address as *mut c_void, || drop(call.close_range(&key)))
    }

    fn aclrtIpcMemClose(key: TextPtr) |call| {
        let key = key.read()?;
        call.require_supported()?;
        call.close_range(&key)
    }
}

/// Bytes of a key: 64 letters and a zero (specification 7).
const KEY_SIZE: usize = 65;

fn check_flags(flags: u64, known: u64) -> Result<()> {
    if flags & !known == 0 { Ok(()) } else { fail(Error::Parameter(format!("flags {flags} are not 0 or {known}"))) }
}
