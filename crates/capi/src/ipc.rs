//! Device memory that is shared with other processes by a text key.

use crate::entry::{export, out, require, text};
use crate::virtual_memory::check_processes;
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail, segv};
use std::ffi::{c_char, c_void};

export! {
    fn aclrtIpcMemGetExportKey(pointer: *mut c_void, size: usize, key: *mut c_char, len: usize, flags: u64) |caller| {
        let address = require_non_null(pointer)?;
        let destination = out(key, "key")?;
        require(caller, "aclrtIpcMemGetExportKey")?;
        check_flags(flags, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION as u64)?;
        if size == 0 || len < KEY_SIZE {
            return fail(Error::Parameter(format!("size is {size} and len is {len}: a key takes {KEY_SIZE} bytes")));
        }
        // Before anything is shared: a place for the key.
        destination.set(0)?;
        let made = caller.export_range(address, size, flags == 0)?;
        let image: Vec<u8> = made.bytes().chain([0]).collect();
        if segv::try_write(key as usize, &image) {
            return Ok(());
        }
        caller.close_range(&made)?;
        fail(Error::Argument(format!("key points to {key:?}, where {KEY_SIZE} bytes cannot be written")))
    }

    fn aclrtIpcMemSetImportPid(key: *const c_char, processes: *mut i32, count: usize) |caller| {
        let key = read(key)?;
        let processes = check_processes(processes, count)?;
        require(caller, "aclrtIpcMemSetImportPid")?;
        caller.allow_processes(&key, &processes)
    }

    fn aclrtIpcMemImportByKey(pointer: *mut *mut c_void, key: *const c_char, flags: u64) |caller| {
        let pointer = out(pointer, "devPtr")?;
        let key = read(key)?;
        require(caller, "aclrtIpcMemImportByKey")?;
        check_flags(flags, ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS as u64)?;
        let address = caller.import_range(&key, flags != 0)?;
        pointer.set(address as *mut c_void).inspect_err(|_| {
            // Nobody will ever know the address.
            let _ = caller.close_range(&key);
        })
    }

    fn aclrtIpcMemClose(key: *const c_char) |caller| {
        let key = read(key)?;
        require(caller, "aclrtIpcMemClose")?;
        caller.close_range(&key)
    }
}

/// 64 letters and a zero (specification 7).
const KEY_SIZE: usize = 65;

fn require_non_null(pointer: *mut c_void) -> Result<usize> {
    if pointer.is_null() { fail(Error::Null("devPtr")) } else { Ok(pointer as usize) }
}

fn read(key: *const c_char) -> Result<String> {
    Ok(text(key, "key")?.ok_or(Error::Null("key"))?)
}

fn check_flags(flags: u64, known: u64) -> Result<()> {
    if flags & !known == 0 { Ok(()) } else { fail(Error::Parameter(format!("flags {flags} are not 0 or {known}"))) }
}
