//! Memory of the program that is no device memory: arrays of counts, configurations, names and results. It is accessed
//! through the system, so that a wild pointer is an error and not a crash.

use crate::failure::Failure;
use std::ffi::{CStr, c_char, c_void};
use std::io;

/// Reads `count` values. Every bit pattern of `T` must be a value.
pub fn read<T: Copy + Default>(address: *const T, count: usize, name: &str) -> Result<Vec<T>, Failure> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if address.is_null() {
        return Err(Failure::null(name));
    }
    let mut values = vec![T::default(); count];
    transfer(Direction::Read, address as usize, values.as_mut_ptr().cast(), count * size_of::<T>())
        .map_err(|_| Failure::Pointer(format!("{name}: {count} elements at {address:p} cannot be read")))?;
    Ok(values)
}

/// Writes bytes of a result.
pub fn write_bytes(address: *mut c_void, bytes: &[u8], name: &str) -> Result<(), Failure> {
    if address.is_null() {
        return Err(Failure::null(name));
    }
    transfer(Direction::Write, address as usize, bytes.as_ptr().cast_mut().cast(), bytes.len())
        .map_err(|_| Failure::Pointer(format!("{name}: {address:p} cannot be written")))
}

/// Writes a number or a handle.
pub fn write<T: Copy>(address: *mut T, value: T, name: &str) -> Result<(), Failure> {
    // SAFETY: the bytes of a value that lives during the call; the numbers and handles that are written have no padding.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
    write_bytes(address.cast(), bytes, name)
}

/// Reads a string of at most `max` bytes.
pub fn text(address: *const c_char, max: usize, name: &str) -> Result<String, Failure> {
    if address.is_null() {
        return Err(Failure::null(name));
    }
    let mut bytes: Vec<u8> = Vec::new();
    while bytes.len() < max {
        // Up to the end of a page, because the next one need not be mapped.
        let at = address as usize + bytes.len();
        let part = (4096 - at % 4096).min(max - bytes.len());
        bytes.extend(read::<u8>(at as *const u8, part, name)?);
        if let Ok(found) = CStr::from_bytes_until_nul(&bytes) {
            return Ok(found.to_string_lossy().into_owned());
        }
    }
    Err(Failure::Parameter(format!("{name} has more than {max} characters")))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

/// Copies bytes between memory of this library and an address of the program.
fn transfer(direction: Direction, address: usize, ours: *mut c_void, bytes: usize) -> io::Result<()> {
    let local = libc::iovec { iov_base: ours, iov_len: bytes };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: bytes };
    // SAFETY: the local range belongs to a variable of the caller; the system checks the remote one.
    let moved = unsafe {
        let process = libc::getpid();
        match direction {
            Direction::Read => libc::process_vm_readv(process, &local, 1, &remote, 1, 0),
            Direction::Write => libc::process_vm_writev(process, &local, 1, &remote, 1, 0),
        }
    };
    if moved == bytes as isize {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if moved >= 0 || !matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // A sandbox forbids the call. The headers promise that the pointers are valid.
    let (source, target) = if direction == Direction::Read { (remote.iov_base, ours) } else { (ours, remote.iov_base) };
    // SAFETY: both ranges have `bytes` bytes, as the program promises by passing them.
    unsafe { std::ptr::copy(source.cast::<u8>(), target.cast::<u8>(), bytes) };
    Ok(())
}
