//! Copies to and from symbols of device programs. The machine code of kernels is not read, and their CPU versions have no
//! symbols, so every symbol is unknown; the arguments are checked in the documented order nevertheless.

use crate::entry::{CallError, export};
use ascendcl_sys::*;
use std::ffi::c_void;

const TO: [i32; 2] = [ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEFAULT];
const FROM: [i32; 2] = [ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEFAULT];

export! {
    fn aclrtMemcpyToSymbol(
        symbol: *const c_void, src: *const c_void, count: usize, _offset: usize, kind: i32
    ) -> Result<(), CallError> {
        look_up(count, !symbol.is_null() && !src.is_null() && TO.contains(&kind))
    }

    fn aclrtMemcpyToSymbolAsync(
        symbol: *const c_void, src: *const c_void, count: usize, _offset: usize, kind: i32, _stream: aclrtStream
    ) -> Result<(), CallError> {
        look_up(count, !symbol.is_null() && !src.is_null() && TO.contains(&kind))
    }

    fn aclrtMemcpyFromSymbol(
        dst: *mut c_void, dst_max: usize, symbol: *const c_void, count: usize, _offset: usize, kind: i32
    ) -> Result<(), CallError> {
        look_up(count, !dst.is_null() && !symbol.is_null() && count <= dst_max && FROM.contains(&kind))
    }

    fn aclrtMemcpyFromSymbolAsync(
        dst: *mut c_void, dst_max: usize, symbol: *const c_void, count: usize, _offset: usize, kind: i32,
        _stream: aclrtStream
    ) -> Result<(), CallError> {
        look_up(count, !dst.is_null() && !symbol.is_null() && count <= dst_max && FROM.contains(&kind))
    }

    fn aclrtGetSymbolAddress(symbol: *const c_void, address: *mut *mut c_void) -> Result<(), CallError> {
        look_up(1, !symbol.is_null() && !address.is_null())
    }

    fn aclrtGetSymbolSize(symbol: *const c_void, size: *mut usize) -> Result<(), CallError> {
        look_up(1, !symbol.is_null() && !size.is_null())
    }
}

/// Fails because of an invalid argument, or because the symbol does not exist. An empty copy succeeds.
fn look_up(count: usize, is_valid: bool) -> Result<(), CallError> {
    if count == 0 {
        return Ok(());
    }
    if is_valid {
        let text = "the machine code of kernels is not read, so the symbol does not exist";
        return Err(CallError::runtime_code(ACL_ERROR_RT_SYMBOL_NOT_FOUND, text));
    }
    let text = "a pointer is NULL, a size is too large or the copy kind does not fit";
    Err(CallError::code(ACL_ERROR_INVALID_PARAM, text))
}
