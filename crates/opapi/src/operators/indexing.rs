//! Operators whose elements are chosen by indices in memory. Indices are checked when the operator runs: one that is out
//! of range fails the stream, and nothing outside of the tensor is touched.

use super::checks::{axis, invalid, rank, shape};
use super::layout::convert;
use crate::core::memory::Memory;
use crate::core::plan::{Plan, Planned, Trouble};
use crate::core::scalar::Scalar;
use crate::core::value::{Real, with_real};
use crate::core::view::{Dims, View};
use std::collections::BTreeMap;

/// The index that a number means, or what is wrong with it. Negative ones count from the end.
fn checked(index: i64, length: usize, at: usize) -> Result<usize, Trouble> {
    let limit = length as i64;
    if (-limit..limit).contains(&index) {
        return Ok(index.rem_euclid(limit) as usize);
    }
    Err(format!("index[{at}] is {index}, and the dimension has {length} elements"))
}

fn indices(memory: &Memory, index: &View) -> Vec<i64> {
    memory.tensor(index).to_vec()
}

/// A tensor of rank 0 as one of rank 1.
fn flat(view: View) -> View {
    if view.rank() == 0 { view.unsqueeze(0) } else { view }
}

/// `out[.., i.., ..] = x[.., index[i..], ..]` along a dimension.
pub fn take(x: View, dim: i64, index: View, out: View) -> Planned {
    let x = flat(x);
    let axis = axis(dim, x.rank(), "dim")?;
    let mut dims: Dims = x.dims[..axis].into();
    dims.extend_from_slice(&index.dims);
    dims.extend_from_slice(&x.dims[axis + 1..]);
    shape(&out, &dims)?;
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    // The dimensions of the index first: one element of them is one slice of the tensor.
    let mut order: Vec<usize> = (axis..axis + index.rank()).collect();
    order.extend((0..out.rank()).filter(|other| !(axis..axis + index.rank()).contains(other)));
    let slices = out.permute(&order);
    let leading = index.rank();
    Plan::new().reads([&index]).selects([&x]).writes([&out]).try_run(move |memory| {
        for (at, chosen) in indices(memory, &index).into_iter().enumerate() {
            let source = x.select(axis, checked(chosen, x.dims[axis], at)?);
            convert(memory, &source, &slices.nth(leading, at));
        }
        Ok(())
    })
}

/// `target[.., index[i], ..] = source[.., i, ..]` along a dimension.
pub fn index_copy(target: View, dim: i64, index: View, source: View) -> Planned {
    put(target, dim, index, source, convert)
}

/// `target[.., index[i], ..] += alpha * source[.., i, ..]` along a dimension.
pub fn index_add(target: View, dim: i64, index: View, source: View, alpha: Scalar) -> Planned {
    put(target, dim, index, source, move |memory, source, target| {
        with_real!(target.kind.class(), V => {
            let (from, to) = (memory.tensor(source), memory.tensor(target));
            let mut sums: Vec<V> = to.to_vec();
            let factor = alpha.to::<V>();
            sums.iter_mut().zip(from.to_vec::<V>()).for_each(|(sum, x)| *sum = Real::add(*sum, Real::mul(factor, x)));
            to.write(0, &sums);
        }, complex => {})
    })
}

fn put(
    target: View,
    dim: i64,
    index: View,
    source: View,
    work: impl Fn(&Memory, &View, &View) + Send + Sync + 'static,
) -> Planned {
    let (target, source) = (flat(target), flat(source));
    rank(&index, 0..=1)?;
    if target.kind.kind() == crate::core::types::Kind::Complex && target.kind != source.kind {
        return invalid(format!("{} is {}, and {} is {}", target.name, target.kind, source.name, source.kind));
    }
    let axis = axis(dim, target.rank(), "dim")?;
    let mut dims = target.dims.clone();
    dims[axis] = index.count();
    shape(&source, &dims)?;
    if source.count() == 0 {
        return Ok(Plan::nothing());
    }
    Plan::new().reads([&index, &source]).selects([&target]).try_run(move |memory| {
        for (at, chosen) in indices(memory, &index).into_iter().enumerate() {
            let slice = target.select(axis, checked(chosen, target.dims[axis], at)?);
            work(memory, &source.select(axis, at), &slice);
        }
        Ok(())
    })
}

/// `target[.., index, ..] = value`, with indices of the host.
pub fn index_fill(target: View, dim: i64, index: Vec<i64>, value: Scalar) -> Planned {
    let target = flat(target);
    let axis = axis(dim, target.rank(), "dim")?;
    let mut plan = Plan::nothing();
    for (at, chosen) in index.iter().enumerate() {
        match checked(*chosen, target.dims[axis], at) {
            Ok(chosen) => plan.append(super::layout::fill(target.select(axis, chosen), value)?),
            Err(trouble) => return invalid(trouble),
        }
    }
    Ok(plan)
}

/// What happens where several elements meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    Replace,
    Add,
    Multiply,
    Maximum,
    Minimum,
}

/// The meeting that a `reduce` argument means.
pub fn meeting(reduce: i64) -> Result<Meeting, nnopbase::status::Failure> {
    Ok(match reduce {
        0 => Meeting::Replace,
        1 => Meeting::Add,
        2 => Meeting::Multiply,
        3 => Meeting::Maximum,
        4 => Meeting::Minimum,
        other => return invalid(format!("reduce is {other}; it must be 0 (replace), 1 (add) or 2 (multiply)")),
    })
}

/// The positions that an index tensor chooses along a dimension: for each of its elements, that of the other tensor.
struct Positions {
    axis: usize,
    index: View,
}

impl Positions {
    fn new(x: &View, dim: i64, index: &View) -> Result<Positions, nnopbase::status::Failure> {
        let axis = axis(dim, x.rank(), "dim")?;
        if index.rank() != x.rank() {
            return invalid(format!("index has {} dimensions, and {} has {}", index.rank(), x.name, x.rank()));
        }
        if (0..x.rank()).any(|other| other != axis && index.dims[other] > x.dims[other]) {
            return invalid(format!("index has shape {:?}, beyond {} with {:?}", index.dims, x.name, x.dims));
        }
        Ok(Positions { axis, index: index.clone() })
    }

    /// Linear positions in `x`, in the order of the index.
    fn find(&self, memory: &Memory, x: &View) -> Result<Vec<usize>, Trouble> {
        let strides: Vec<usize> = (0..x.rank()).map(|axis| x.dims[axis + 1..].iter().product()).collect();
        let mut position = vec![0_usize; x.rank()];
        let mut found = Vec::with_capacity(self.index.count());
        for (at, chosen) in indices(memory, &self.index).into_iter().enumerate() {
            let mut rest = at;
            for axis in (0..x.rank()).rev() {
                position[axis] = rest % self.index.dims[axis];
                rest /= self.index.dims[axis];
            }
            position[self.axis] = checked(chosen, x.dims[self.axis], at)?;
            found.push(position.iter().zip(&strides).map(|(at, stride)| at * stride).sum());
        }
        Ok(found)
    }
}

/// `out[i][j] = x[index[i][j]][j]`, along a dimension.
pub fn gather(x: View, dim: i64, index: View, out: View) -> Planned {
    let (x, index, out) = (flat(x), flat(index), flat(out));
    let positions = Positions::new(&x, dim, &index)?;
    shape(&out, &index.dims)?;
    super::checks::same_type(&x, &out)?;
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    Plan::new().reads([&index]).selects([&x]).writes([&out]).try_run(move |memory| {
        let (from, to) = (memory.tensor(&x), memory.tensor(&out));
        for (at, position) in positions.find(memory, &x)?.into_iter().enumerate() {
            crate::core::memory::copy(&from, position, &to, at, 1);
        }
        Ok(())
    })
}

/// `target[index[i][j]][j] = source[i][j]`, along a dimension. A source that is a scalar is the same everywhere.
pub fn scatter(how: Meeting, target: View, dim: i64, index: View, source: Result<View, Scalar>) -> Planned {
    let (target, index) = (flat(target), flat(index));
    let positions = Positions::new(&target, dim, &index)?;
    let source = match source {
        Err(value) => Err(value),
        Ok(view) => {
            let view = flat(view);
            if view.rank() != index.rank() || view.dims.iter().zip(&index.dims).any(|(own, wanted)| own < wanted) {
                return invalid(format!("{} has shape {:?}, and index has {:?}", view.name, view.dims, index.dims));
            }
            let sliced = (0..view.rank()).fold(view, |view, axis| view.slice(axis, 0, 1, index.dims[axis]));
            super::checks::same_type(&sliced, &target)?;
            Ok(sliced)
        }
    };
    if index.count() == 0 {
        return Ok(Plan::nothing());
    }
    let read: Vec<View> = source.iter().cloned().collect();
    Plan::new().reads([&index]).reads(&read).selects([&target]).try_run(move |memory| {
        let to = memory.tensor(&target);
        let found = positions.find(memory, &target)?;
        with_real!(target.kind.class(), V => {
            let values: Vec<V> = match &source {
                Ok(view) => memory.tensor(view).to_vec(),
                Err(value) => vec![value.to(); found.len()],
            };
            for (position, value) in found.into_iter().zip(values) {
                let merged = match how {
                    Meeting::Replace => value,
                    Meeting::Add => Real::add(to.at(position), value),
                    Meeting::Multiply => Real::mul(to.at(position), value),
                    Meeting::Maximum => Real::max(to.at(position), value),
                    Meeting::Minimum => Real::min(to.at(position), value),
                };
                to.write(position, &[merged]);
            }
        }, complex => return Err("softacl scatters real numbers only".into()));
        Ok(())
    })
}

/// A scatter into a copy.
pub fn scatter_to(how: Meeting, x: View, dim: i64, index: View, source: Result<View, Scalar>, out: View) -> Planned {
    super::checks::same_shape(&x, &out)?;
    let mut plan = super::layout::assign(out.clone(), x)?;
    plan.append(scatter(how, out, dim, index, source)?);
    Ok(plan)
}

/// 1 where the class is, 0 elsewhere.
pub fn one_hot(x: View, classes: i64, on: View, off: View, dim: i64, out: View) -> Planned {
    let axis = axis(dim, out.rank(), "axis")?;
    let count = super::checks::size(classes, "numClasses")?;
    let mut dims = x.dims.clone();
    dims.insert(axis.min(x.rank()), count);
    shape(&out, &dims)?;
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    let rows = out.last(axis);
    Plan::new().reads([&x, &on, &off]).writes([&out]).run(move |memory| {
        let to = memory.tensor(&rows);
        let (on, off): (f64, f64) = (memory.tensor(&on).at(0), memory.tensor(&off).at(0));
        for (at, class) in indices(memory, &x).into_iter().enumerate() {
            to.fill(at * count, count, off);
            if let Ok(class) = usize::try_from(class)
                && class < count
            {
                to.write(at * count + class, &[on]);
            }
        }
    })
}

/// Counts how often each value from 0 on occurs.
pub fn count_values(x: View, weights: Option<View>, out: View) -> Planned {
    rank(&x, 1..=1)?;
    rank(&out, 1..=1)?;
    Plan::new().reads([&x]).reads(&weights).writes([&out]).try_run(move |memory| {
        let weights: Option<Vec<f64>> = weights.as_ref().map(|view| memory.tensor(view).to_vec());
        let mut counts: BTreeMap<usize, f64> = BTreeMap::new();
        for (at, value) in indices(memory, &x).into_iter().enumerate() {
            *counts.entry(checked(value, out.count(), at)?).or_default() += weights.as_ref().map_or(1.0, |w| w[at]);
        }
        let to = memory.tensor(&out);
        to.fill(0, to.count(), 0_f64);
        counts.into_iter().for_each(|(at, count)| to.write(at, &[count]));
        Ok(())
    })
}
