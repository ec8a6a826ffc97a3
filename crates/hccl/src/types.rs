//! The types of `hccl/hccl_types.h`.

use crate::failure::Failure;

/// Length of a root info.
pub const ROOT_INFO_LEN: usize = 4108;
/// Length of the name of a communicator, with its final zero.
pub const MAX_NAME: usize = 128;

/// `HcclSendRecvItem`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SendRecvItem {
    pub direction: i32,
    pub buffer: *mut std::ffi::c_void,
    pub count: u64,
    pub data_type: i32,
    pub remote_rank: u32,
}

/// The type of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    Int8,
    Int16,
    Int32,
    Float16,
    Float32,
    Int64,
    Uint64,
    Uint8,
    Uint16,
    Uint32,
    Float64,
    Bfloat16,
    Int128,
    /// An 8-bit float. It can be moved, not reduced.
    Float8(u8),
}

impl Element {
    pub fn from_c(value: i32) -> Result<Element, Failure> {
        Ok(match value {
            0 => Element::Int8,
            1 => Element::Int16,
            2 => Element::Int32,
            3 => Element::Float16,
            4 => Element::Float32,
            5 => Element::Int64,
            6 => Element::Uint64,
            7 => Element::Uint8,
            8 => Element::Uint16,
            9 => Element::Uint32,
            10 => Element::Float64,
            11 => Element::Bfloat16,
            12 => Element::Int128,
            14..=17 => Element::Float8(value as u8),
            _ => return Err(Failure::Parameter(format!("{value} is not a data type"))),
        })
    }

    /// The number of the type in the API.
    pub fn to_c(self) -> u32 {
        match self {
            Element::Int8 => 0,
            Element::Int16 => 1,
            Element::Int32 => 2,
            Element::Float16 => 3,
            Element::Float32 => 4,
            Element::Int64 => 5,
            Element::Uint64 => 6,
            Element::Uint8 => 7,
            Element::Uint16 => 8,
            Element::Uint32 => 9,
            Element::Float64 => 10,
            Element::Bfloat16 => 11,
            Element::Int128 => 12,
            Element::Float8(value) => value.into(),
        }
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Element::Int8 | Element::Uint8 | Element::Float8(_) => 1,
            Element::Int16 | Element::Uint16 | Element::Float16 | Element::Bfloat16 => 2,
            Element::Int32 | Element::Uint32 | Element::Float32 => 4,
            Element::Int64 | Element::Uint64 | Element::Float64 => 8,
            Element::Int128 => 16,
        }
    }

    /// Bytes of `count` elements.
    pub fn bytes(self, count: u64) -> Result<usize, Failure> {
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(self.size()));
        let too_many = || Failure::Parameter(format!("{count} elements of {} do not fit into memory", self.name()));
        bytes.filter(|bytes| *bytes <= isize::MAX as usize).ok_or_else(too_many)
    }

    pub fn name(self) -> &'static str {
        match self {
            Element::Int8 => "int8",
            Element::Int16 => "int16",
            Element::Int32 => "int32",
            Element::Float16 => "fp16",
            Element::Float32 => "fp32",
            Element::Int64 => "int64",
            Element::Uint64 => "uint64",
            Element::Uint8 => "uint8",
            Element::Uint16 => "uint16",
            Element::Uint32 => "uint32",
            Element::Float64 => "fp64",
            Element::Bfloat16 => "bfp16",
            Element::Int128 => "int128",
            Element::Float8(_) => "8-bit float",
        }
    }
}

/// `HcclReduceOp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceOp {
    Sum,
    Product,
    Max,
    Min,
}

impl ReduceOp {
    pub fn from_c(value: i32) -> Result<ReduceOp, Failure> {
        Ok(match value {
            0 => ReduceOp::Sum,
            1 => ReduceOp::Product,
            2 => ReduceOp::Max,
            3 => ReduceOp::Min,
            _ => return Err(Failure::Parameter(format!("{value} is not a reduction"))),
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Product => "prod",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
        }
    }
}
