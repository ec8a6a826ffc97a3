//! The objects, and how a call finds one.

use crate::status::Failure;
use crate::table::{Table, table};
use ascendcl_sys::*;

/// An object of the operator interface.
#[derive(Debug, Clone, PartialEq)]
pub enum Object {
    Tensor(Tensor),
    Scalar(Scalar),
    IntArray(Vec<i64>),
    FloatArray(Vec<f32>),
    BoolArray(Vec<u8>),
    /// Handles of the members, which the list owns.
    TensorList(Vec<usize>),
    ScalarList(Vec<usize>),
}

/// A view of memory of the program. Strides and offset count elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    pub dims: Vec<i64>,
    pub strides: Vec<i64>,
    pub offset: i64,
    pub storage: Vec<i64>,
    pub kind: i32,
    pub format: i32,
    pub address: usize,
}

/// One value, as the bytes of its type.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    pub kind: i32,
    pub value: Vec<u8>,
}

/// What an object is, for messages.
pub const TENSOR: &str = "tensor";

/// Reads an object. `select` returns the part of it that the call uses, or `None` if it is of another kind.
pub fn with<T>(handle: usize, what: &'static str, select: impl FnOnce(&Object) -> Option<T>) -> Result<T, Failure> {
    if handle == 0 {
        return Err(Failure::Null(what));
    }
    table().get(handle).and_then(select).ok_or_else(|| unknown(handle, what))
}

/// Changes a tensor.
pub fn change_tensor(handle: usize, change: impl FnOnce(&mut Tensor)) -> Result<(), Failure> {
    if handle == 0 {
        return Err(Failure::Null(TENSOR));
    }
    match table().get_mut(handle) {
        Some(Object::Tensor(tensor)) => {
            change(tensor);
            Ok(())
        }
        _ => Err(unknown(handle, TENSOR)),
    }
}

/// Destroys an object of the kind that `is_kind` accepts, and the members of a list. NULL is accepted.
pub fn destroy(handle: usize, what: &'static str, is_kind: impl FnOnce(&Object) -> bool) -> Result<(), Failure> {
    if handle == 0 {
        return Ok(());
    }
    let mut table = table();
    if !table.get(handle).is_some_and(is_kind) {
        return Err(unknown(handle, what));
    }
    remove(&mut table, handle);
    Ok(())
}

fn remove(table: &mut Table, handle: usize) {
    // A member that was destroyed before is gone; no list contains a list.
    if let Some(Object::TensorList(members) | Object::ScalarList(members)) = table.remove(handle) {
        for member in members {
            table.remove(member);
        }
    }
}

pub fn unknown(handle: usize, what: &str) -> Failure {
    Failure::Invalid(format!("{handle:#x} is not a live {what}; was it destroyed?"))
}

/// Bytes of one element, or `None` for types without a fixed number of bytes.
pub fn element_size(kind: i32) -> Option<usize> {
    Some(match kind {
        ACL_INT8 | ACL_UINT8 | ACL_BOOL | ACL_HIFLOAT8 | ACL_FLOAT8_E5M2 | ACL_FLOAT8_E4M3FN | ACL_FLOAT8_E8M0 => 1,
        ACL_FLOAT16 | ACL_BF16 | ACL_INT16 | ACL_UINT16 => 2,
        ACL_FLOAT | ACL_INT32 | ACL_UINT32 | ACL_COMPLEX32 => 4,
        ACL_DOUBLE | ACL_INT64 | ACL_UINT64 | ACL_COMPLEX64 => 8,
        ACL_COMPLEX128 => 16,
        _ => return None,
    })
}

/// True for the types of the public enumeration.
pub fn is_data_type(kind: i32) -> bool {
    let packed = [ACL_STRING, ACL_INT4, ACL_UINT1, ACL_FLOAT6_E3M2, ACL_FLOAT6_E2M3, ACL_FLOAT4_E2M1, ACL_FLOAT4_E1M2];
    element_size(kind).is_some() || kind == ACL_DT_UNDEFINED || packed.contains(&kind)
}
