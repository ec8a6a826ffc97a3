//! Matrix products. 16-bit types are converted to f32, accumulated in f32, and rounded once.

use super::checks::{Checked, broadcast_shape, cube_math, invalid, rank, shape, stretch};
use crate::core::memory::Memory;
use crate::core::parallel::divide;
use crate::core::plan::{Plan, Planned};
use crate::core::scalar::Scalar;
use crate::core::types::{Class, Kind, Type};
use crate::core::value::Value;
use crate::core::view::View;

/// Multiplications per thread that are worth one.
const GRAIN: usize = 1 << 21;

/// `out = beta * base + alpha * (one @ other)`.
#[derive(Debug, Clone)]
pub struct Addition {
    pub base: View,
    pub beta: f64,
    pub alpha: f64,
}

/// Products of matrices with 1 to 6 dimensions, as NumPy multiplies them.
pub fn matmul(one: View, other: View, out: View, cube: i8) -> Planned {
    cube_math(cube)?;
    rank(&one, 1..=6)?;
    rank(&other, 1..=6)?;
    // A vector is a matrix with a row or a column that the result does not have.
    let (is_row, is_column) = (one.rank() == 1, other.rank() == 1);
    let left = if is_row { one.unsqueeze(0) } else { one };
    let right = if is_column { other.unsqueeze(1) } else { other };
    let mut wide = out;
    if is_column {
        wide = wide.unsqueeze(wide.rank());
    }
    if is_row {
        if wide.rank() == 0 {
            return invalid("out has too few dimensions".into());
        }
        wide = wide.unsqueeze(wide.rank() - 1);
    }
    product(left, right, wide, None)
}

/// Products whose operands have exactly this rank.
pub fn matmul_of(wanted: usize, one: View, other: View, out: View, cube: i8) -> Planned {
    for view in [&one, &other, &out] {
        rank(view, wanted..=wanted)?;
    }
    matmul(one, other, out, cube)
}

pub fn matrix_vector(matrix: View, vector: View, out: View, cube: i8) -> Planned {
    rank(&matrix, 2..=2)?;
    rank(&vector, 1..=1)?;
    matmul(matrix, vector, out, cube)
}

pub fn dot(one: View, other: View, out: View) -> Planned {
    rank(&one, 1..=1)?;
    rank(&other, 1..=1)?;
    matmul(one, other, out, 0)
}

/// `out = beta * base + alpha * (one @ other)`, with a base that is broadcast.
pub fn add_product_of(base: View, one: View, other: View, beta: f64, alpha: f64, out: View, cube: i8) -> Planned {
    cube_math(cube)?;
    let base = stretch(&base, &out.dims)?;
    product(one, other, out, Some(Addition { base, beta, alpha }))
}

/// `out = beta * base + alpha * (matrix @ vector)`.
pub fn add_matrix_vector(base: View, matrix: View, vector: View, beta: Scalar, alpha: Scalar, out: View) -> Planned {
    rank(&matrix, 2..=2)?;
    rank(&vector, 1..=1)?;
    let base = stretch(&base, &out.dims)?.unsqueeze(1);
    let addition = Addition { base, beta: beta.f64(), alpha: alpha.f64() };
    product(matrix, vector.unsqueeze(1), out.unsqueeze(1), Some(addition))
}

/// The operand of Gemm: transposed if the flag is not 0.
pub fn transposed_if(flag: i64, view: View) -> Checked<View> {
    rank(&view, 2..=2)?;
    Ok(if flag == 0 { view } else { view.transpose() })
}

/// Batches of matrices with at least two dimensions.
pub fn product(one: View, other: View, out: View, addition: Option<Addition>) -> Planned {
    rank(&one, 2..=8)?;
    rank(&other, 2..=8)?;
    let (m, k) = (one.dims[one.rank() - 2], one.dims[one.rank() - 1]);
    let (inner, n) = (other.dims[other.rank() - 2], other.dims[other.rank() - 1]);
    if k != inner {
        return invalid(format!(
            "{} has shape {:?}, and {} has {:?}: {k} columns meet {inner} rows",
            one.name, one.dims, other.name, other.dims
        ));
    }
    for view in [&one, &other, &out] {
        if !matches!(view.kind.kind(), Kind::Float | Kind::Integer) || view.kind == Type::I4 {
            return invalid(format!("{} has type {}, with which matrices are not multiplied", view.name, view.kind));
        }
    }
    let heads: Vec<View> = [&one, &other].into_iter().map(batch_of).collect();
    let mut dims = broadcast_shape(&heads)?;
    let batch: usize = dims.iter().product();
    let batch_dims = dims.clone();
    dims.extend([m, n]);
    shape(&out, &dims)?;
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    let stretch_batch = |view: &View, rows: usize, columns: usize| {
        let mut wanted = batch_dims.clone();
        wanted.extend([rows, columns]);
        stretch(view, &wanted)
    };
    let (one, other) = (stretch_batch(&one, m, k)?, stretch_batch(&other, k, n)?);
    let base = addition.as_ref().map(|addition| addition.base.clone());
    let is_double = [&one, &other, &out].iter().any(|view| view.kind.class() != Class::F32);
    let leading = batch_dims.len();
    let sizes = Sizes { m, k, n };
    Plan::new().reads([&one, &other]).reads(&base).writes([&out]).run(move |memory| {
        for index in 0..batch {
            let views = [one.nth(leading, index), other.nth(leading, index), out.nth(leading, index)];
            let base =
                addition.clone().map(|addition| Addition { base: addition.base.nth(leading, index), ..addition });
            match is_double {
                true => multiply::<f64>(memory, sizes, views, base),
                false => multiply::<f32>(memory, sizes, views, base),
            }
        }
    })
}

fn batch_of(view: &View) -> View {
    let mut head = view.clone();
    head.dims.truncate(view.rank() - 2);
    head.strides.truncate(view.rank() - 2);
    head
}

#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub m: usize,
    pub k: usize,
    pub n: usize,
}

/// A number with a fast matrix product.
pub trait Product: Value {
    const TYPE: Type;
    /// # Safety
    ///
    /// The matrices have the sizes and strides that are given, in elements.
    unsafe fn gemm(
        sizes: Sizes,
        alpha: f64,
        a: Matrix<Self>,
        b: Matrix<Self>,
        beta: f64,
        c: *mut Self,
        c_strides: [isize; 2],
    );
}

/// Where a matrix is: its first element, and the distances of rows and columns.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<V> {
    pub start: *const V,
    pub strides: [isize; 2],
}

// SAFETY: only an address; see `memory::Tensor`.
unsafe impl<V> Send for Matrix<V> {}
// SAFETY: as above.
unsafe impl<V> Sync for Matrix<V> {}

macro_rules! product {
    ($value:ty, $type:ident, $function:ident) => {
        impl Product for $value {
            const TYPE: Type = Type::$type;
            unsafe fn gemm(
                s: Sizes,
                alpha: f64,
                a: Matrix<Self>,
                b: Matrix<Self>,
                beta: f64,
                c: *mut Self,
                cs: [isize; 2],
            ) {
                let [ar, ac] = a.strides;
                let [br, bc] = b.strides;
                let (alpha, beta) = (alpha as $value, beta as $value);
                // SAFETY: promised by the caller.
                unsafe {
                    matrixmultiply::$function(
                        s.m, s.k, s.n, alpha, a.start, ar, ac, b.start, br, bc, beta, c, cs[0], cs[1],
                    )
                }
            }
        }
    };
}

product!(f32, F32, sgemm);
product!(f64, F64, dgemm);

/// Multiplies two matrices. Operands of another type are converted first; so is the result.
fn multiply<V: Product>(memory: &Memory, sizes: Sizes, [one, other, out]: [View; 3], addition: Option<Addition>) {
    let (left, right) = (Operand::<V>::new(memory, &one), Operand::<V>::new(memory, &other));
    let (alpha, beta) = addition.as_ref().map_or((1.0, 0.0), |addition| (addition.alpha, addition.beta));
    let is_direct = out.kind == V::TYPE && addition.is_none() && is_aligned::<V>(memory, &out);
    if is_direct {
        let target = Matrix { start: pointer::<V>(memory, &out), strides: [out.strides[0], out.strides[1]] };
        return multiply_parallel(sizes, alpha, left.matrix(), right.matrix(), 0.0, target);
    }
    let mut result = match &addition {
        Some(addition) if beta != 0.0 => memory.tensor(&addition.base).to_vec::<V>(),
        _ => vec![V::default(); sizes.m * sizes.n],
    };
    let target = Matrix { start: result.as_mut_ptr().cast_const(), strides: [sizes.n as isize, 1] };
    multiply_parallel(sizes, alpha, left.matrix(), right.matrix(), beta, target);
    memory.tensor(&out).write(0, &result);
}

/// Divides the result into bands of rows or columns, one per thread.
pub fn multiply_parallel<V: Product>(sizes: Sizes, alpha: f64, a: Matrix<V>, b: Matrix<V>, beta: f64, c: Matrix<V>) {
    let Sizes { m, k, n } = sizes;
    let by_rows = m >= n;
    let lines = if by_rows { m } else { n };
    let cost = (k * if by_rows { n } else { m }).max(1);
    divide(lines, (GRAIN / cost).max(1), 8, |part| {
        let at = part.start as isize;
        let (band, a, b, c) = if by_rows {
            (Sizes { m: part.len(), ..sizes }, a.moved(at, 0), b, c.moved(at, 0))
        } else {
            (Sizes { n: part.len(), ..sizes }, a, b.moved(0, at), c.moved(0, at))
        };
        // SAFETY: the bands are inside the matrices, whose sizes the plan checked; those of the result are disjoint.
        unsafe { V::gemm(band, alpha, a, b, beta, c.start.cast_mut(), c.strides) }
    });
}

impl<V> Matrix<V> {
    fn moved(self, row: isize, column: isize) -> Matrix<V> {
        let start = self.start.wrapping_offset(row * self.strides[0] + column * self.strides[1]);
        Matrix { start, strides: self.strides }
    }
}

/// An operand in memory, or converted.
enum Operand<V> {
    InPlace(Matrix<V>),
    Converted(Vec<V>, [isize; 2]),
}

impl<V: Product> Operand<V> {
    fn new(memory: &Memory, view: &View) -> Operand<V> {
        if view.kind == V::TYPE && is_aligned::<V>(memory, view) {
            let strides = [view.strides[0], view.strides[1]];
            return Operand::InPlace(Matrix { start: pointer(memory, view), strides });
        }
        // Converted in the order in which the elements are in memory.
        let is_transposed = view.strides[0].abs() < view.strides[1].abs();
        let ordered = if is_transposed { view.transpose() } else { view.clone() };
        let width = ordered.dims[1] as isize;
        let tensor = memory.tensor(&ordered);
        let mut values = vec![V::default(); tensor.count()];
        tensor.read(0, &mut values);
        Operand::Converted(values, if is_transposed { [1, width] } else { [width, 1] })
    }

    fn matrix(&self) -> Matrix<V> {
        match self {
            Operand::InPlace(matrix) => *matrix,
            Operand::Converted(values, strides) => Matrix { start: values.as_ptr(), strides: *strides },
        }
    }
}

fn pointer<V>(memory: &Memory, view: &View) -> *const V {
    memory.bases[view.slot].cast::<V>().wrapping_offset(view.offset).cast_const()
}

fn is_aligned<V>(memory: &Memory, view: &View) -> bool {
    pointer::<V>(memory, view).is_aligned()
}
