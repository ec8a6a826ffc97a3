//! Sizes of prepared weights. softacl leaves weights as they are; the sizes are those of the tiles that a chip would use, so
//! that programs allocate what they do on hardware.

use nnopbase::access::with;
use nnopbase::objects::Object;
use nnopbase::program::write;
use nnopbase::status::{Failure, Status, finish};
use std::ffi::c_void;

/// Rows of a tile.
const ROWS: i64 = 16;
/// Bytes of a row of a tile.
const ROW_BYTES: i64 = 32;
const INT8: i32 = 2;
const FLOAT16: i32 = 1;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclnnCalculateMatmulWeightSize(shape: *const c_void, size: *mut u64) -> Status {
    finish("aclnnCalculateMatmulWeightSize", calculate(shape as usize, FLOAT16, size as usize))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclnnCalculateMatmulWeightSizeV2(shape: *const c_void, kind: i32, size: *mut u64) -> Status {
    finish("aclnnCalculateMatmulWeightSizeV2", calculate(shape as usize, kind, size as usize))
}

/// Writes the number of elements of a matrix in tiles.
fn calculate(shape: usize, kind: i32, size: usize) -> Result<(), Failure> {
    let dims = with(shape, "tensorShape", |object| match object {
        Object::IntArray(dims) => Some(dims.clone()),
        _ => None,
    })?;
    let element = if kind == INT8 { 1 } else { 2 };
    let [batch @ .., rows, columns] = &dims[..] else {
        return Err(Failure::Invalid(format!("tensorShape has {} dimensions; it must have 2 to 6", dims.len())));
    };
    if dims.len() > 6 || dims.iter().any(|dim| !(0..1 << 40).contains(dim)) {
        return Err(Failure::Invalid(format!("tensorShape {dims:?} is not the shape of a weight")));
    }
    let tile = ROW_BYTES / element;
    let rows = (rows + ROWS - 1) / ROWS * ROWS;
    let columns = (columns + tile - 1) / tile * tile;
    let count = batch.iter().try_fold(1_i64, |count, dim| count.checked_mul(*dim));
    let count = count.and_then(|count| count.checked_mul(rows)).and_then(|count| count.checked_mul(columns));
    let count = count.ok_or_else(|| Failure::Invalid(format!("tensorShape {dims:?} has too many elements")))?;
    write(size, count as u64, "weightTensorSize")
}
