//! The objects: data only.

use ascendcl_sys::*;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

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

/// A prepared operator.
pub struct Executor {
    pub operator: &'static str,
    /// Its tensors, in the order of the arguments; lists with all their members.
    pub slots: Vec<Slot>,
    /// Phase two leaves it alive.
    pub is_repeatable: bool,
    /// What the operator library prepared.
    pub prepared: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("operator", &self.operator).field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// A tensor of a prepared operator.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    /// Position among the arguments that are tensors or lists.
    pub argument: usize,
    /// Position in the list, if the argument is one.
    pub member: Option<usize>,
    pub role: Role,
    /// `None` if the argument was NULL.
    pub address: Option<usize>,
}

/// Whether an operator reads or writes a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Input,
    Output,
    /// Read and written in place.
    Both,
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
