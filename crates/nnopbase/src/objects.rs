//! The objects: data only.

use crate::executor::Executor;
use ascendcl_sys::*;

/// An object of the operator interface.
#[derive(Debug)]
pub enum Object {
    Tensor(Tensor),
    Scalar(Scalar),
    IntArray(Vec<i64>),
    FloatArray(Vec<f32>),
    BoolArray(Vec<u8>),
    /// Handles of the members, which the list owns.
    TensorList(Vec<usize>),
    ScalarList(Vec<usize>),
    Executor(Box<Executor>),
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
