//! Memory of the program, accessed through the system: an address that is not mapped is an error and not a fault.

use crate::status::Failure;
use std::ffi::c_void;
use std::io;
use std::mem::size_of;

/// Numbers that can be read from the bytes of the program: every bit pattern is a value.
pub trait Plain: Copy + Default {}
impl Plain for i64 {}
impl Plain for usize {}
impl Plain for f32 {}
impl Plain for u8 {}

/// Reads an array of the program. NULL is accepted if the array is empty.
pub fn read_array<T: Plain>(address: usize, count: u64, name: &'static str) -> Result<Vec<T>, Failure> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if address == 0 {
        return Err(Failure::Null(name));
    }
    let unreadable = || Failure::Invalid(format!("{name}: {count} elements at {address:#x} cannot be read"));
    let count = usize::try_from(count).map_err(|_| unreadable())?;
    let bytes =
        count.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= isize::MAX as usize).ok_or_else(unreadable)?;
    // Tested before memory for all elements is requested: a wrong number is usually huge.
    let mut last = 0_u8;
    let end = address.checked_add(bytes - 1).ok_or_else(unreadable)?;
    transfer(Direction::Read, end, (&raw mut last).cast(), 1).map_err(|_| unreadable())?;
    let mut values: Vec<T> = Vec::new();
    values.try_reserve_exact(count).map_err(|_| unreadable())?;
    values.resize(count, T::default());
    transfer(Direction::Read, address, values.as_mut_ptr().cast(), bytes).map_err(|_| unreadable())?;
    Ok(values)
}

/// Writes a result to an address of the program.
pub fn write<T>(address: usize, value: T, name: &'static str) -> Result<(), Failure> {
    if address == 0 {
        return Err(Failure::Null(name));
    }
    let mut value = value;
    transfer(Direction::Write, address, (&raw mut value).cast(), size_of::<T>())
        .map_err(|_| Failure::Invalid(format!("{name}: {address:#x} cannot be written")))
}

/// Reads a string that ends with a zero byte, of at most `limit` bytes.
pub fn read_text(address: usize, limit: usize, name: &'static str) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    while text.len() < limit {
        match read_array::<u8>(address + text.len(), 1, name)?[0] {
            0 => break,
            byte => text.push(byte),
        }
    }
    Ok(text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

/// Copies bytes between memory of this library and an address of the program.
fn transfer(direction: Direction, address: usize, ours: *mut c_void, bytes: usize) -> io::Result<()> {
    let mut done = 0;
    while done < bytes {
        let rest = bytes - done;
        let local = libc::iovec { iov_base: ours.wrapping_byte_add(done), iov_len: rest };
        let remote = libc::iovec { iov_base: (address + done) as *mut c_void, iov_len: rest };
        // SAFETY: the local range belongs to a variable of the caller; the system checks the remote one.
        let moved = unsafe {
            let process = libc::getpid();
            match direction {
                Direction::Read => libc::process_vm_readv(process, &local, 1, &remote, 1, 0),
                Direction::Write => libc::process_vm_writev(process, &local, 1, &remote, 1, 0),
            }
        };
        match usize::try_from(moved) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Ok(moved) => done += moved,
            Err(_) => {
                let error = io::Error::last_os_error();
                if !matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) {
                    return Err(error);
                }
                // A sandbox forbids the call. The headers promise that the pointers are valid.
                // SAFETY: both ranges have `rest` bytes, as the program promises by passing them.
                unsafe { copy(direction, remote.iov_base, local.iov_base, rest) };
                return Ok(());
            }
        }
    }
    Ok(())
}

/// # Safety
///
/// Both ranges are valid for `bytes` bytes.
unsafe fn copy(direction: Direction, theirs: *mut c_void, ours: *mut c_void, bytes: usize) {
    let (source, target) = if direction == Direction::Read { (theirs, ours) } else { (ours, theirs) };
    // SAFETY: promised by the caller.
    unsafe { std::ptr::copy(source.cast::<u8>(), target.cast::<u8>(), bytes) };
}

/// Returns a copy of numbers that the program frees with C++ `delete[]`.
pub fn array_for_delete(values: &[i64]) -> Result<*mut i64, Failure> {
    let bytes = size_of_val(values).max(1);
    // SAFETY: the symbol is operator new[](size_t) of the C++ library that the program uses, which may be a replaced
    // one. A process without it has no `delete[]` either, and frees with `free`.
    let memory = unsafe {
        let new = libc::dlsym(libc::RTLD_DEFAULT, c"_Znam".as_ptr());
        match new.is_null() {
            true => libc::malloc(bytes),
            false => std::mem::transmute::<*mut c_void, extern "C" fn(usize) -> *mut c_void>(new)(bytes),
        }
    };
    if memory.is_null() {
        return Err(Failure::Invalid(format!("no memory for {bytes} bytes")));
    }
    // SAFETY: the memory is new and has room for the values.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), memory.cast(), values.len()) };
    Ok(memory.cast())
}

/// Frees an array of [`array_for_delete`] that the program does not get.
pub fn delete_array(array: *mut i64) {
    // SAFETY: as in `array_for_delete`: operator delete[](void *), or `free`.
    unsafe {
        let delete = libc::dlsym(libc::RTLD_DEFAULT, c"_ZdaPv".as_ptr());
        match delete.is_null() {
            true => libc::free(array.cast()),
            false => std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void)>(delete)(array.cast()),
        }
    }
}
