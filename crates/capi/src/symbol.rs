//! Copies to and from symbols of device programs. No device program can be loaded, so every symbol
//! is unknown; the arguments are checked in the documented order all the same.

use crate::message;
use ascendcl_sys::*;
use std::ffi::c_void;

/// Refuses with the code of the first wrong argument, or because the symbol does not exist.
fn refuse(function: &str, count: usize, arguments_are_fine: bool) -> aclError {
    if count == 0 {
        return 0;
    }
    let (code, why) = if arguments_are_fine {
        message::set_last_code(ACL_ERROR_RT_SYMBOL_NOT_FOUND);
        (ACL_ERROR_RT_SYMBOL_NOT_FOUND, "no device program is loaded, so there is no such symbol")
    } else {
        (ACL_ERROR_INVALID_PARAM, "a pointer is NULL, a size is too large or the copy kind does not fit")
    };
    crate::entry::refuse_with(function, code, why)
}

const TO: [i32; 2] = [ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEFAULT];
const FROM: [i32; 2] = [ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEFAULT];

#[unsafe(no_mangle)]
pub extern "C" fn aclrtMemcpyToSymbol(
    symbol: *const c_void,
    src: *const c_void,
    count: usize,
    _offset: usize,
    kind: i32,
) -> aclError {
    refuse("aclrtMemcpyToSymbol", count, !symbol.is_null() && !src.is_null() && TO.contains(&kind))
}

#[unsafe(no_mangle)]
pub extern "C" fn aclrtMemcpyToSymbolAsync(
    symbol: *const c_void,
    src: *const c_void,
    count: usize,
    _offset: usize,
    kind: i32,
    _stream: aclrtStream,
) -> aclError {
    refuse("aclrtMemcpyToSymbolAsync", count, !symbol.is_null() && !src.is_null() && TO.contains(&kind))
}

#[unsafe(no_mangle)]
pub extern "C" fn aclrtMemcpyFromSymbol(
    dst: *mut c_void,
    dst_max: usize,
    symbol: *const c_void,
    count: usize,
    _offset: usize,
    kind: i32,
) -> aclError {
    let fine = !dst.is_null() && !symbol.is_null() && count <= dst_max && FROM.contains(&kind);
    refuse("aclrtMemcpyFromSymbol", count, fine)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclrtMemcpyFromSymbolAsync(
    dst: *mut c_void,
    dst_max: usize,
    symbol: *const c_void,
    count: usize,
    _offset: usize,
    kind: i32,
    _stream: aclrtStream,
) -> aclError {
    let fine = !dst.is_null() && !symbol.is_null() && count <= dst_max && FROM.contains(&kind);
    refuse("aclrtMemcpyFromSymbolAsync", count, fine)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclrtGetSymbolAddress(symbol: *const c_void, address: *mut *mut c_void) -> aclError {
    refuse("aclrtGetSymbolAddress", 1, !symbol.is_null() && !address.is_null())
}

#[unsafe(no_mangle)]
pub extern "C" fn aclrtGetSymbolSize(symbol: *const c_void, size: *mut usize) -> aclError {
    refuse("aclrtGetSymbolSize", 1, !symbol.is_null() && !size.is_null())
}
