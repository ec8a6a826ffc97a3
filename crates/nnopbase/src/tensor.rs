//! Tensors: creation, queries, changes.

use crate::access::{TENSOR, change_tensor, destroy, with};
use crate::objects::{Object, Tensor, is_data_type};
use crate::program::{array_for_delete, delete_array, read_array, write};
use crate::status::{Failure, Status, finish, finish_handle};
use crate::table::table;
use std::ffi::c_void;

/// Maximum number of dimensions. The documents give smaller limits for operators, and none for tensors.
const MAX_DIMS: u64 = 64;

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the shape of the C call")]
pub unsafe extern "C" fn aclCreateTensor(
    dims: *const i64,
    dims_num: u64,
    kind: i32,
    strides: *const i64,
    offset: i64,
    format: i32,
    storage: *const i64,
    storage_num: u64,
    data: *mut c_void,
) -> *mut c_void {
    let view = View { dims, dims_num, kind, strides, offset, format, storage, storage_num, data };
    let created = view.tensor().and_then(|tensor| table().insert(Object::Tensor(tensor)));
    finish_handle("aclCreateTensor", created)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the shape of the C call")]
pub unsafe extern "C" fn aclInitTensor(
    tensor: *mut c_void,
    dims: *const i64,
    dims_num: u64,
    kind: i32,
    strides: *const i64,
    offset: i64,
    format: i32,
    storage: *const i64,
    storage_num: u64,
    data: *mut c_void,
) -> Status {
    let view = View { dims, dims_num, kind, strides, offset, format, storage, storage_num, data };
    let changed = view.tensor().and_then(|new| change_tensor(tensor as usize, |tensor| *tensor = new));
    finish("aclInitTensor", changed)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclDestroyTensor(tensor: *const c_void) -> Status {
    finish("aclDestroyTensor", destroy(tensor as usize, TENSOR, |object| matches!(object, Object::Tensor(_))))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetViewShape(tensor: *const c_void, dims: *mut *mut i64, num: *mut u64) -> Status {
    finish("aclGetViewShape", return_array(tensor, dims, num, |tensor| tensor.dims.clone()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetStorageShape(tensor: *const c_void, dims: *mut *mut i64, num: *mut u64) -> Status {
    finish("aclGetStorageShape", return_array(tensor, dims, num, |tensor| tensor.storage.clone()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetViewStrides(tensor: *const c_void, strides: *mut *mut i64, num: *mut u64) -> Status {
    finish("aclGetViewStrides", return_array(tensor, strides, num, |tensor| tensor.strides.clone()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetViewOffset(tensor: *const c_void, offset: *mut i64) -> Status {
    finish("aclGetViewOffset", read(tensor, |t| t.offset).and_then(|value| write(offset as usize, value, "offset")))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetFormat(tensor: *const c_void, format: *mut i32) -> Status {
    finish("aclGetFormat", read(tensor, |t| t.format).and_then(|value| write(format as usize, value, "format")))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetDataType(tensor: *const c_void, kind: *mut i32) -> Status {
    finish("aclGetDataType", read(tensor, |t| t.kind).and_then(|value| write(kind as usize, value, "dataType")))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetRawTensorAddr(tensor: *const c_void, address: *mut *mut c_void) -> Status {
    finish("aclGetRawTensorAddr", read(tensor, |t| t.address).and_then(|value| write(address as usize, value, "addr")))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclSetRawTensorAddr(tensor: *mut c_void, address: *mut c_void) -> Status {
    finish("aclSetRawTensorAddr", change_tensor(tensor as usize, |tensor| tensor.address = address as usize))
}

/// Arguments that describe a tensor, unchecked.
struct View {
    dims: *const i64,
    dims_num: u64,
    kind: i32,
    strides: *const i64,
    offset: i64,
    format: i32,
    storage: *const i64,
    storage_num: u64,
    data: *mut c_void,
}

impl View {
    fn tensor(&self) -> Result<Tensor, Failure> {
        if !is_data_type(self.kind) {
            return Err(Failure::Invalid(format!("dataType {} does not exist", self.kind)));
        }
        let dims = numbers(self.dims, self.dims_num, "viewDims")?;
        let strides = match self.strides.is_null() {
            true => contiguous(&dims)?,
            false => numbers(self.strides, self.dims_num, "stride")?,
        };
        if self.offset < 0 {
            return Err(Failure::Invalid(format!("offset is {}; it counts elements from 0", self.offset)));
        }
        Ok(Tensor {
            dims,
            strides,
            offset: self.offset,
            storage: numbers(self.storage, self.storage_num, "storageDims")?,
            kind: self.kind,
            format: self.format,
            address: self.data as usize,
        })
    }
}

/// Reads numbers that are at least 0.
fn numbers(address: *const i64, count: u64, name: &'static str) -> Result<Vec<i64>, Failure> {
    if count > MAX_DIMS {
        return Err(Failure::Invalid(format!("{name} has {count} elements; at most {MAX_DIMS} are possible")));
    }
    let numbers = read_array::<i64>(address as usize, count, name)?;
    match numbers.iter().position(|number| *number < 0) {
        Some(at) => Err(Failure::Invalid(format!("{name}[{at}] is {}; it must be at least 0", numbers[at]))),
        None => Ok(numbers),
    }
}

/// Strides of elements without gaps, last dimension first.
fn contiguous(dims: &[i64]) -> Result<Vec<i64>, Failure> {
    let mut strides = vec![1_i64; dims.len()];
    for at in (1..dims.len()).rev() {
        // A dimension of 0 does not make the strides before it 0: they stay those of at least one element.
        let stride = strides[at].checked_mul(dims[at].max(1));
        strides[at - 1] = stride.ok_or_else(|| Failure::Invalid(format!("viewDims {dims:?} has too many elements")))?;
    }
    Ok(strides)
}

fn read<T>(tensor: *const c_void, select: impl FnOnce(&Tensor) -> T) -> Result<T, Failure> {
    with(tensor as usize, TENSOR, |object| match object {
        Object::Tensor(tensor) => Some(select(tensor)),
        _ => None,
    })
}

/// Returns a new array and its length to the program, or nothing.
fn return_array(
    tensor: *const c_void,
    array: *mut *mut i64,
    num: *mut u64,
    select: impl FnOnce(&Tensor) -> Vec<i64>,
) -> Result<(), Failure> {
    let values = read(tensor, select)?;
    // Tested before the array exists, so that a failure leaves none behind.
    write(num as usize, values.len() as u64, "the number of elements")?;
    let copy = array_for_delete(&values)?;
    write(array as usize, copy, "the array").inspect_err(|_| delete_array(copy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_of_contiguous_tensors() {
        assert_eq!(contiguous(&[2, 3, 4]).unwrap(), [12, 4, 1]);
        assert_eq!(contiguous(&[]).unwrap(), [0_i64; 0]);
        assert_eq!(contiguous(&[5, 0, 7]).unwrap(), [7, 7, 1]);
        assert!(contiguous(&[2, i64::MAX, 3]).is_err());
    }
}
