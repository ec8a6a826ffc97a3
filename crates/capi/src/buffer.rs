//! Data buffers (an address with a length), and the sizes and conversions of data types.

use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail};
use softacl_sync::handle::{HandleKind, Key, Slots};
use std::ffi::c_void;
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The object behind an `aclDataBuffer*`. The pointer is a key, so a stale or foreign one is not found.
#[derive(Default)]
pub struct DataBuffer(Mutex<(usize, usize)>);

impl HandleKind for DataBuffer {
    const NUMBER: u8 = 4;
}

static BUFFERS: LazyLock<Slots<DataBuffer>> = LazyLock::new(Slots::default);

/// Applies `access` to a live buffer. `None` if there is none behind the pointer.
fn with<T>(buffer: *const c_void, access: impl FnOnce(&mut (usize, usize)) -> T) -> Option<T> {
    let found = BUFFERS.get(Key::from_raw(buffer as usize)?)?;
    Some(access(&mut found.0.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn not_live(buffer: *const c_void) -> Result<()> {
    fail(Error::Argument(format!("{buffer:?} is not a live data buffer")))
}

/// Returns address and length of a live buffer.
pub(crate) fn contents(buffer: *const c_void) -> Option<(usize, usize)> {
    with(buffer, |contents| *contents)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclCreateDataBuffer(data: *mut c_void, size: usize) -> *mut c_void {
    let fill =
        |buffer: &DataBuffer, _| *buffer.0.lock().unwrap_or_else(PoisonError::into_inner) = (data as usize, size);
    BUFFERS.insert(fill).map_or(ptr::null_mut(), |key| key.raw() as *mut c_void)
}

export! {
    fn aclDestroyDataBuffer(buffer: *const c_void) {
        match Key::from_raw(buffer as usize) {
            Some(key) if BUFFERS.remove(key) => Ok(()),
            _ => not_live(buffer),
        }
    }

    fn aclUpdateDataBuffer(buffer: *mut c_void, data: *mut c_void, size: usize) {
        with(buffer, |contents| *contents = (data as usize, size)).map_or_else(|| not_live(buffer), Ok)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn aclGetDataBufferAddr(buffer: *const c_void) -> *mut c_void {
    with(buffer, |(data, _)| *data as *mut c_void).unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub extern "C" fn aclGetDataBufferSize(buffer: *const c_void) -> u32 {
    with(buffer, |(_, size)| *size as u32).unwrap_or(0)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclGetDataBufferSizeV2(buffer: *const c_void) -> usize {
    with(buffer, |(_, size)| *size).unwrap_or(0)
}

/// Returns the bytes of an element, or 0 for types that are smaller than a byte or have no size.
#[unsafe(no_mangle)]
pub extern "C" fn aclDataTypeSize(data_type: i32) -> usize {
    match data_type {
        ACL_INT8 | ACL_UINT8 | ACL_BOOL | ACL_HIFLOAT8 | ACL_FLOAT8_E5M2 | ACL_FLOAT8_E4M3FN | ACL_FLOAT8_E8M0 => 1,
        ACL_FLOAT16 | ACL_INT16 | ACL_UINT16 | ACL_BF16 => 2,
        ACL_FLOAT | ACL_INT32 | ACL_UINT32 | ACL_COMPLEX32 => 4,
        ACL_INT64 | ACL_UINT64 | ACL_DOUBLE | ACL_COMPLEX64 => 8,
        ACL_COMPLEX128 => 16,
        _ => 0,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn aclFloat16ToFloat(value: u16) -> f32 {
    softacl_engine::half_to_float(value)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclFloatToFloat16(value: f32) -> u16 {
    softacl_engine::float_to_half(value)
}
