//! Scalars and arrays: copies of host values.

use crate::access::{destroy, with};
use crate::objects::{Object, Scalar, element_size};
use crate::program::{read_array, write};
use crate::status::{Failure, Status, finish, finish_handle};
use crate::table::table;
use std::ffi::c_void;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclCreateScalar(value: *mut c_void, kind: i32) -> *mut c_void {
    let size = element_size(kind).ok_or_else(|| {
        Failure::Invalid(format!("dataType {kind} is not a type of scalars: it has no fixed number of bytes"))
    });
    let value = size.and_then(|size| read_array::<u8>(value as usize, size as u64, "value"));
    finish_handle("aclCreateScalar", value.and_then(|value| table().insert(Object::Scalar(Scalar { kind, value }))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclDestroyScalar(scalar: *const c_void) -> Status {
    finish("aclDestroyScalar", destroy(scalar as usize, "scalar", |object| matches!(object, Object::Scalar(_))))
}

/// Declares creation, destruction and size of an array.
macro_rules! array {
    ($kind:ident of $element:ty: $create:ident, $destroy:ident, $size:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $create(value: *const c_void, size: u64) -> *mut c_void {
            let values = read_array::<$element>(value as usize, size, "value");
            finish_handle(stringify!($create), values.and_then(|values| table().insert(Object::$kind(values))))
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $destroy(array: *const c_void) -> Status {
            let is_kind = |object: &Object| matches!(object, Object::$kind(_));
            finish(stringify!($destroy), destroy(array as usize, "array", is_kind))
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $size(array: *const c_void, size: *mut u64) -> Status {
            let found = with(array as usize, "array", |object| match object {
                Object::$kind(values) => Some(values.len() as u64),
                _ => None,
            });
            finish(stringify!($size), found.and_then(|count| write(size as usize, count, "size")))
        }
    };
}

array!(IntArray of i64: aclCreateIntArray, aclDestroyIntArray, aclGetIntArraySize);
array!(FloatArray of f32: aclCreateFloatArray, aclDestroyFloatArray, aclGetFloatArraySize);
array!(BoolArray of u8: aclCreateBoolArray, aclDestroyBoolArray, aclGetBoolArraySize);
