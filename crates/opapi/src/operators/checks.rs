//! Checks that many operators share. A failed check is a sentence with the numbers.

use crate::core::types::Type;
use crate::core::view::{Dims, View};
use nnopbase::status::Failure;

pub type Checked<T> = Result<T, Failure>;

pub fn invalid<T>(text: String) -> Checked<T> {
    Err(Failure::Invalid(text))
}

/// The dimension that a number means; negative ones count from the end.
pub fn axis(dim: i64, rank: usize, name: &str) -> Checked<usize> {
    // A single element counts as one dimension.
    let limit = rank.max(1) as i64;
    if (-limit..limit).contains(&dim) {
        return Ok(dim.rem_euclid(limit) as usize);
    }
    invalid(format!("{name} is {dim}; with {rank} dimensions it must be in [{}, {}]", -limit, limit - 1))
}

/// Different dimensions, in ascending order. An empty list means all of them.
pub fn axes(dims: &[i64], rank: usize, name: &str) -> Checked<Vec<usize>> {
    if dims.is_empty() {
        return Ok((0..rank).collect());
    }
    let mut found = dims.iter().map(|dim| axis(*dim, rank, name)).collect::<Checked<Vec<usize>>>()?;
    found.sort_unstable();
    if found.windows(2).any(|pair| pair[0] == pair[1]) {
        return invalid(format!("{name} {dims:?} names a dimension twice"));
    }
    if rank == 0 {
        found.clear();
    }
    Ok(found)
}

/// A tensor has exactly this shape.
pub fn shape(view: &View, dims: &[usize]) -> Checked<()> {
    if view.dims[..] == *dims {
        return Ok(());
    }
    invalid(format!("{} has shape {:?}; it must have {dims:?}", view.name, view.dims))
}

/// Two tensors have the same shape.
pub fn same_shape(one: &View, other: &View) -> Checked<()> {
    if one.dims == other.dims {
        return Ok(());
    }
    invalid(format!("{} has shape {:?}, and {} has {:?}", one.name, one.dims, other.name, other.dims))
}

pub fn same_type(one: &View, other: &View) -> Checked<()> {
    if one.kind == other.kind {
        return Ok(());
    }
    invalid(format!("{} has type {}, and {} has {}", one.name, one.kind, other.name, other.kind))
}

pub fn rank(view: &View, ranks: std::ops::RangeInclusive<usize>) -> Checked<()> {
    if ranks.contains(&view.rank()) {
        return Ok(());
    }
    let (low, high) = (ranks.start(), ranks.end());
    invalid(format!("{} has {} dimensions; it must have {low} to {high}", view.name, view.rank()))
}

/// The shape to which tensors are broadcast.
pub fn broadcast_shape<'a>(views: impl IntoIterator<Item = &'a View>) -> Checked<Dims> {
    let mut shape = Dims::new();
    for view in views {
        if view.rank() > shape.len() {
            shape.insert_many(0, std::iter::repeat_n(1, view.rank() - shape.len()));
        }
        let start = shape.len() - view.rank();
        for (known, dim) in shape[start..].iter_mut().zip(&view.dims) {
            match (*known, *dim) {
                (known, dim) if known == dim => {}
                (1, dim) => *known = dim,
                (_, 1) => {}
                (known, dim) => {
                    let (name, dims) = (view.name, &view.dims);
                    return invalid(format!("{name} with shape {dims:?} does not broadcast: {dim} meets {known}"));
                }
            }
        }
    }
    Ok(shape)
}

/// A tensor stretched to a shape.
pub fn stretch(view: &View, dims: &[usize]) -> Checked<View> {
    match view.broadcast(dims) {
        Some(stretched) => Ok(stretched),
        None => invalid(format!("{} with shape {:?} does not broadcast to {dims:?}", view.name, view.dims)),
    }
}

/// Results of this type can be stored in `out`.
pub fn storable(kind: Type, out: &View) -> Checked<()> {
    if kind.converts_to(out.kind) {
        return Ok(());
    }
    invalid(format!("results have type {kind}, which cannot be converted to {} of {}", out.kind, out.name))
}

/// A number that counts something, as a size.
pub fn size(value: i64, name: &str) -> Checked<usize> {
    usize::try_from(value).or_else(|_| invalid(format!("{name} is {value}; it must be at least 0")))
}

/// `cubeMathType` concerns precision. Every product accumulates in f32, so the value is only checked.
pub fn cube_math(value: i8) -> Checked<()> {
    if (0..=4).contains(&value) {
        return Ok(());
    }
    invalid(format!("cubeMathType is {value}; it must be in [0, 4]"))
}
