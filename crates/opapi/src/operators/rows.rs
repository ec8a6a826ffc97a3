//! Operators that work on rows: softmax, sorting, choosing, running sums. A row is what lies along one dimension.

use super::checks::{axis, invalid, same_shape, shape, size};
use super::elementwise::GRAIN;
use super::reduce::reduced_shape;
use crate::core::parallel::divide;
use crate::core::plan::{Plan, Planned};
use crate::core::types::{Class, Type};
use crate::core::value::{Float, Real, Value, with_float, with_real};
use crate::core::view::View;
use std::cmp::Ordering;

/// Computes rows of `outs` from rows of `inputs`. All views have the same leading dimensions; the last is the row.
pub fn map_rows<V: Value>(
    inputs: Vec<View>,
    outs: Vec<View>,
    work: impl Fn(&[Vec<V>], &mut [Vec<V>]) + Send + Sync + 'static,
) -> Planned {
    let length_of = |view: &View| view.dims.last().copied().unwrap_or(1);
    let rows = outs[0].count() / length_of(&outs[0]).max(1);
    if rows == 0 || outs.iter().all(|out| out.count() == 0) {
        return Ok(Plan::nothing());
    }
    let widest = inputs.iter().chain(&outs).map(length_of).max().unwrap_or(1).max(1);
    Plan::new().reads(&inputs).writes(&outs).run(move |memory| {
        let from: Vec<_> = inputs.iter().map(|view| (memory.tensor(view), length_of(view))).collect();
        let to: Vec<_> = outs.iter().map(|view| (memory.tensor(view), length_of(view))).collect();
        divide(rows, (GRAIN / widest).max(1), 1, |part| {
            let buffers = |sides: &[(_, usize)]| -> Vec<Vec<V>> {
                sides.iter().map(|(_, length)| vec![V::default(); *length]).collect()
            };
            let (mut read, mut written) = (buffers(&from), buffers(&to));
            for row in part {
                for ((tensor, length), buffer) in from.iter().zip(&mut read) {
                    tensor.read(row * length, buffer);
                }
                work(&read, &mut written);
                for ((tensor, length), buffer) in to.iter().zip(&written) {
                    tensor.write(row * length, buffer);
                }
            }
        });
    })
}

fn row_view(view: &View) -> View {
    if view.rank() == 0 { view.unsqueeze(0) } else { view.clone() }
}

fn float_class(view: &View) -> Class {
    if view.kind.float_class() == Class::F64 { Class::F64 } else { Class::F32 }
}

pub fn softmax(is_log: bool, x: View, dim: i64, out: View) -> Planned {
    same_shape(&x, &out)?;
    let axis = axis(dim, x.rank(), "dim")?;
    let (from, to) = (row_view(&x).last(axis), row_view(&out).last(axis));
    with_float!(float_class(&x), F => map_rows::<F>(vec![from], vec![to], move |read, written| {
        written[0].copy_from_slice(&read[0]);
        softmax_row(&mut written[0], is_log);
    }))
}

/// Softmax of one row, with the maximum subtracted. Returns the maximum and the sum.
pub fn softmax_row<F: Float>(row: &mut [F], is_log: bool) -> (F, f64) {
    let max = row.iter().fold(F::lowest(), |max, x| if x.is_nan() { *x } else { max.max(*x) });
    let mut sum = 0.0;
    if is_log {
        sum = row.iter().map(|x| (*x - max).exp().to_f64()).sum();
        let shift = sum.ln();
        row.iter_mut().for_each(|x| *x = F::of((*x - max).to_f64() - shift));
        return (max, sum);
    }
    for x in row.iter_mut() {
        *x = (*x - max).exp();
        sum += x.to_f64();
    }
    let scale = F::of(1.0 / sum);
    row.iter_mut().for_each(|x| *x = *x * scale);
    (max, sum)
}

/// Softmax of `scale * x`, where a mask is true nothing counts.
pub fn masked_softmax(x: View, mask: View, scale: f64, out: View) -> Planned {
    same_shape(&x, &out)?;
    let mask = super::checks::stretch(&mask, &x.dims)?;
    map_rows::<f32>(vec![x, mask], vec![out], move |read, written| {
        for (at, value) in written[0].iter_mut().enumerate() {
            *value = if read[1][at] != 0.0 { -10_000.0 } else { read[0][at] * scale as f32 };
        }
        softmax_row(&mut written[0], false);
    })
}

/// Loss of rows of logits against rows of probabilities, and its gradient.
pub fn cross_entropy(features: View, labels: View, loss: View, gradient: View) -> Planned {
    super::checks::rank(&features, 2..=2)?;
    same_shape(&features, &labels)?;
    same_shape(&features, &gradient)?;
    shape(&loss, &features.dims[..1])?;
    map_rows::<f32>(vec![features, labels], vec![gradient, loss.unsqueeze(1)], |read, written| {
        let (gradient, loss) = written.split_at_mut(1);
        gradient[0].copy_from_slice(&read[0]);
        softmax_row(&mut gradient[0], true);
        let total: f64 =
            gradient[0].iter().zip(&read[1]).map(|(log, label)| -f64::from(*log) * f64::from(*label)).sum();
        loss[0][0] = total as f32;
        for (value, label) in gradient[0].iter_mut().zip(&read[1]) {
            *value = value.exp() - label;
        }
    })
}

/// Order of values, with NaN above everything.
fn order<V: Real>(a: &V, b: &V) -> Ordering {
    a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Index of the greatest or smallest element along a dimension, the first one if there are several.
pub fn arg_extreme(is_max: bool, x: View, dim: i64, keep: bool, out: View) -> Planned {
    extreme(is_max, x, dim, keep, None, out)
}

/// The greatest or smallest element along a dimension, and its index.
pub fn extreme(is_max: bool, x: View, dim: i64, keep: bool, values: Option<View>, indices: View) -> Planned {
    let axis = axis(dim, x.rank(), "dim")?;
    let axes: Vec<usize> = if x.rank() == 0 { Vec::new() } else { vec![axis] };
    let dims = reduced_shape(&x, &axes, keep);
    for out in values.iter().chain([&indices]) {
        shape(out, &dims)?;
    }
    let from = row_view(&x).last(axis);
    if from.dims.last() == Some(&0) && indices.count() > 0 {
        return invalid(format!("{} has shape {:?}: there is no element to choose", x.name, x.dims));
    }
    let single = |view: View| if view.rank() > 0 && keep { view.last(axis) } else { view.unsqueeze(view.rank()) };
    let class = x.kind.class();
    // Indices are exact in f64 up to 2^53, and in f32 only up to 2^24.
    let class = if class == Class::F32 { Class::F64 } else { class };
    let outs: Vec<View> = [Some(indices), values].into_iter().flatten().map(single).collect();
    with_real!(class, V => map_rows::<V>(vec![from], outs, move |read, written| {
        let row = &read[0];
        let mut best = 0;
        for at in 1..row.len() {
            let found = order(&row[at], &row[best]);
            let is_better = if is_max { found == Ordering::Greater } else { found == Ordering::Less || row[at].is_nan() };
            if is_better && !row[best].is_nan() {
                best = at;
            }
        }
        written[0][0] = V::from_i64(best as i64);
        if let Some(values) = written.get_mut(1) {
            values[0] = row[best];
        }
    }), complex => invalid(format!("{} is {}, which has no order", x.name, x.kind)))
}

/// Sorts along a dimension, stably. `values` is optional.
pub fn sort(x: View, dim: i64, descending: bool, values: Option<View>, indices: View) -> Planned {
    same_shape(&x, &indices)?;
    take_sorted(
        x.clone(),
        x.dims.get(axis(dim, x.rank(), "dim")?).copied().unwrap_or(1),
        dim,
        descending,
        values,
        indices,
    )
}

/// The `k` greatest or smallest along a dimension, in order.
pub fn top(x: View, k: i64, dim: i64, largest: bool, values: View, indices: View) -> Planned {
    let count = size(k, "k")?;
    let axis = axis(dim, x.rank(), "dim")?;
    if x.dims.get(axis).copied().unwrap_or(1) < count {
        return invalid(format!("k is {k}, and dimension {axis} of {} has {} elements", x.name, x.dims[axis]));
    }
    take_sorted(x, count, dim, largest, Some(values), indices)
}

fn take_sorted(x: View, count: usize, dim: i64, descending: bool, values: Option<View>, indices: View) -> Planned {
    let axis = axis(dim, x.rank(), "dim")?;
    let mut dims = row_view(&x).dims;
    dims[axis] = count;
    for out in values.iter().chain([&indices]) {
        shape(&row_view(out), &dims)?;
    }
    let from = row_view(&x).last(axis);
    let outs: Vec<View> = [Some(indices), values].into_iter().flatten().map(|out| row_view(&out).last(axis)).collect();
    let class = if x.kind.class() == Class::F32 { Class::F64 } else { x.kind.class() };
    with_real!(class, V => map_rows::<V>(vec![from], outs, move |read, written| {
        let row = &read[0];
        let mut sorted: Vec<usize> = (0..row.len()).collect();
        sorted.sort_by(|a, b| {
            let found = order(&row[*a], &row[*b]);
            if descending { found.reverse() } else { found }
        });
        for (at, index) in sorted.iter().take(count).enumerate() {
            written[0][at] = V::from_i64(*index as i64);
            if let Some(values) = written.get_mut(1) {
                values[at] = row[*index];
            }
        }
    }), complex => invalid(format!("{} is {}, which has no order", x.name, x.kind)))
}

/// Running sums along a dimension, without the element itself if `is_exclusive`, from the end if `is_reverse`.
pub fn cumulative_sum(
    x: View,
    dim: i64,
    dtype: Option<Type>,
    is_exclusive: bool,
    is_reverse: bool,
    out: View,
) -> Planned {
    same_shape(&x, &out)?;
    if let Some(dtype) = dtype {
        super::reduce::result_type(dtype, &out)?;
    }
    let axis = axis(dim, x.rank(), "dim")?;
    let (from, to) = (row_view(&x).last(axis), row_view(&out).last(axis));
    let class = match (x.kind.class(), out.kind.class()) {
        (class @ (Class::I64 | Class::U64), Class::I64 | Class::U64) => class,
        (Class::Complex, _) => Class::Complex,
        _ => Class::F64,
    };
    with_real!(class, V => map_rows::<V>(vec![from], vec![to], move |read, written| {
        let row = &read[0];
        let mut sum = V::default();
        for step in 0..row.len() {
            let at = if is_reverse { row.len() - 1 - step } else { step };
            let after = Real::add(sum, row[at]);
            written[0][at] = if is_exclusive { sum } else { after };
            sum = after;
        }
    }), complex => invalid(format!("softacl sums real numbers only; {} is {}", x.name, x.kind)))
}

/// Running maximum or minimum along a dimension, with the index of its last occurrence.
pub fn cumulative_extreme(is_max: bool, x: View, dim: i64, values: View, indices: View) -> Planned {
    same_shape(&x, &values)?;
    same_shape(&x, &indices)?;
    let axis = axis(dim, x.rank(), "dim")?;
    let [from, values, indices] = [x.clone(), values, indices].map(|view| row_view(&view).last(axis));
    let class = if x.kind.class() == Class::F32 { Class::F64 } else { x.kind.class() };
    with_real!(class, V => map_rows::<V>(vec![from], vec![values, indices], move |read, written| {
        let row = &read[0];
        let mut best = 0;
        for at in 0..row.len() {
            let found = order(&row[at], &row[best]);
            let is_better = if is_max { found != Ordering::Less } else { found != Ordering::Greater || row[at].is_nan() };
            if is_better && (!row[best].is_nan() || row[at].is_nan()) {
                best = at;
            }
            written[0][at] = row[best];
            written[1][at] = V::from_i64(best as i64);
        }
    }), complex => invalid(format!("{} is {}, which has no order", x.name, x.kind)))
}
