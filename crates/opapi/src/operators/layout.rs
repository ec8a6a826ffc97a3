//! Operators that move elements: copies, casts, permutations, slices, paddings, repetitions.
//!
//! All of them are pairs of views with one shape, a source and a target. Along one dimension a target consists of
//! segments of its source: (start, step, count), where a step of 0 repeats an element and a negative one goes backwards.

use super::checks::{Checked, axis, invalid, same_shape, shape, size, stretch};
use super::elementwise::GRAIN;
use crate::core::memory::{BLOCK, Memory, Tensor, copy};
use crate::core::parallel::divide;
use crate::core::plan::{Plan, Planned};
use crate::core::scalar::Scalar;
use crate::core::types::{Class, Type};
use crate::core::value::{Complex, Value, with_real};
use crate::core::view::View;

type Pair = (View, View);
type Segment = (usize, isize, usize);

/// Plans the copies of pairs.
fn moves(pairs: Vec<Pair>) -> Planned {
    let mut plan = Plan::new();
    for (source, target) in &pairs {
        same_shape(source, target)?;
        if target.kind == Type::I4 {
            return invalid(format!("{} has type i4, which softacl only reads", target.name));
        }
        plan = plan.reads([source]).writes([target]);
    }
    let pairs: Vec<Pair> = pairs.into_iter().filter(|(source, _)| source.count() > 0).collect();
    if pairs.is_empty() {
        return Ok(Plan::nothing());
    }
    plan.run(move |memory| pairs.iter().for_each(|(source, target)| convert(memory, source, target)))
}

/// Copies elements of one shape, and converts them if the types differ.
pub fn convert(memory: &Memory, source: &View, target: &View) {
    let (from, to) = (memory.tensor(source), memory.tensor(target));
    divide(from.count(), GRAIN, BLOCK, |part| {
        if source.kind == target.kind {
            return copy(&from, part.start, &to, part.start, part.len());
        }
        with_real!(source.kind.class(), V => convert_values::<V>(&from, &to, part.start, part.end),
            complex => convert_values::<Complex>(&from, &to, part.start, part.end));
    });
}

fn convert_values<V: Value>(from: &Tensor, to: &Tensor, start: usize, end: usize) {
    let mut block = [V::default(); BLOCK];
    for at in (start..end).step_by(BLOCK) {
        let length = BLOCK.min(end - at);
        from.read(at, &mut block[..length]);
        to.write(at, &block[..length]);
    }
}

/// Replaces the pairs by those of the segments of one dimension. Fails unless the segments fill the target.
fn segments(pairs: &[Pair], axis: usize, segments: &[Segment]) -> Checked<Vec<Pair>> {
    let mut result = Vec::new();
    for (source, target) in pairs {
        let total: usize = segments.iter().map(|(_, _, count)| count).sum();
        if target.dims[axis] != total {
            let (name, dims) = (target.name, &target.dims);
            return invalid(format!("{name} has shape {dims:?}; dimension {axis} must have {total} elements"));
        }
        let mut at = 0;
        for (start, step, count) in segments {
            if *count > 0 {
                result.push((source.slice(axis, *start, *step, *count), target.slice(axis, at, 1, *count)));
            }
            at += count;
        }
    }
    Ok(result)
}

/// The view as one of rank 1 if it has none.
fn at_least_1d(view: &View) -> View {
    if view.rank() == 0 { view.unsqueeze(0) } else { view.clone() }
}

pub fn assign(target: View, source: View) -> Planned {
    moves(vec![(stretch(&source, &target.dims)?, target)])
}

pub fn cast(source: View, dtype: Type, out: View) -> Planned {
    if dtype != out.kind {
        return invalid(format!("dtype is {dtype}, and out has type {}", out.kind));
    }
    moves(vec![(source, out)])
}

pub fn fill(target: View, value: Scalar) -> Planned {
    if target.kind == Type::I4 {
        return invalid(format!("{} has type i4, which softacl only reads", target.name));
    }
    if target.count() == 0 {
        return Ok(Plan::nothing());
    }
    Plan::new().writes([&target]).run(move |memory| {
        let tensor = memory.tensor(&target);
        let class = if value.kind.class() == Class::Complex { Class::Complex } else { target.kind.class() };
        divide(tensor.count(), GRAIN, BLOCK, |part| {
            with_real!(class, V => tensor.fill::<V>(part.start, part.len(), value.to()),
                complex => tensor.fill::<Complex>(part.start, part.len(), value.to()));
        });
    })
}

/// Fills with the value of a tensor with one element.
pub fn fill_from(target: View, value: View) -> Planned {
    if value.count() != 1 {
        return invalid(format!("{} has {} elements; it must have 1", value.name, value.count()));
    }
    let mut single = value;
    single.dims.clear();
    single.strides.clear();
    assign(target, single)
}

pub fn permute(source: View, order: Vec<i64>, out: View) -> Planned {
    let axes = order.iter().map(|dim| axis(*dim, source.rank(), "dims")).collect::<Checked<Vec<usize>>>()?;
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..source.rank()) {
        return invalid(format!("dims {order:?} is no order of the {} dimensions", source.rank()));
    }
    moves(vec![(source.permute(&axes), out)])
}

pub fn concatenate(tensors: Vec<View>, dim: i64, out: View) -> Planned {
    if tensors.is_empty() {
        return invalid("tensors is empty".into());
    }
    let axis = axis(dim, out.rank(), "dim")?;
    let (mut at, mut pairs) = (0, Vec::new());
    for tensor in tensors {
        // An empty tensor of rank 1 is a placeholder for nothing.
        if tensor.rank() == 1 && tensor.count() == 0 {
            continue;
        }
        if tensor.rank() != out.rank() || axis >= out.rank() || at + tensor.dims[axis] > out.dims[axis] {
            return invalid(format!("a tensor with shape {:?} does not fit into out {:?}", tensor.dims, out.dims));
        }
        let part = out.slice(axis, at, 1, tensor.dims[axis]);
        at += tensor.dims[axis];
        pairs.push((tensor, part));
    }
    if out.dims.get(axis).is_some_and(|size| *size != at) {
        return invalid(format!("the tensors have {at} elements along dim, and out has {}", out.dims[axis]));
    }
    moves(pairs)
}

pub fn stack(tensors: Vec<View>, dim: i64, out: View) -> Planned {
    let axis = axis(dim, out.rank(), "dim")?;
    if out.dims.get(axis) != Some(&tensors.len()) {
        return invalid(format!("out has shape {:?}; dimension {axis} must have {} elements", out.dims, tensors.len()));
    }
    moves(tensors.into_iter().enumerate().map(|(at, tensor)| (tensor, out.select(axis, at))).collect())
}

/// Splits a tensor along a dimension into parts of one size, of which the last may be smaller.
pub fn split_evenly(source: View, dim: i64, part: u64, parts: Vec<View>) -> Planned {
    let axis = axis(dim, source.rank(), "dim")?;
    let length = source.dims.get(axis).copied().unwrap_or(0);
    let part = usize::try_from(part).unwrap_or(usize::MAX);
    // Nothing is one part of nothing.
    let count =
        if length == 0 { 1 } else { length.checked_div(part).unwrap_or(0) + usize::from(length % part.max(1) > 0) };
    if parts.len() != count {
        return invalid(format!("out has {} tensors; parts of {part} of {length} elements are {count}", parts.len()));
    }
    let sizes = (0..count).map(|at| part.min(length - at * part) as i64).collect();
    split(source, dim, sizes, parts)
}

/// Splits a tensor along a dimension into the tensors of a list.
pub fn split(source: View, dim: i64, sizes: Vec<i64>, parts: Vec<View>) -> Planned {
    let axis = axis(dim, source.rank(), "dim")?;
    let mut pairs = Vec::new();
    let mut at = 0;
    for (index, part) in parts.into_iter().enumerate() {
        let length = part.dims.get(axis).copied().unwrap_or(0);
        let wanted = sizes.get(index).copied().unwrap_or(-1);
        if source.rank() == 0 || at + length > source.dims[axis] || wanted != length as i64 {
            return invalid(format!(
                "part {index} with shape {:?} does not fit at {at} of {:?}",
                part.dims, source.dims
            ));
        }
        pairs.push((source.slice(axis, at, 1, length), part));
        at += length;
    }
    if source.dims.get(axis).is_some_and(|size| *size != at) {
        return invalid(format!("the parts have {at} elements along dim, and self has {}", source.dims[axis]));
    }
    moves(pairs)
}

pub fn repeat(source: View, repeats: Vec<i64>, out: View) -> Planned {
    let missing = match repeats.len().checked_sub(source.rank()) {
        Some(missing) if repeats.len() <= 8 => missing,
        _ => return invalid(format!("repeats has {} elements; self has {} dimensions", repeats.len(), source.rank())),
    };
    let mut source = source;
    (0..missing).for_each(|_| source = source.unsqueeze(0));
    if out.rank() != repeats.len() {
        return invalid(format!("out has {} dimensions; it must have {}", out.rank(), repeats.len()));
    }
    let mut pairs = vec![(source.clone(), out)];
    for (axis, times) in repeats.iter().enumerate() {
        let (times, length) = (size(*times, "repeats")?, source.dims[axis]);
        let wanted = times.saturating_mul(length);
        if pairs.iter().any(|(_, target)| target.dims[axis] != wanted) {
            return invalid(format!("repeats {repeats:?} give {wanted} elements in dimension {axis} of out"));
        }
        // Repetitions of nothing are nothing, however many there are.
        let count = if length == 0 { 0 } else { times };
        pairs = segments(&pairs, axis, &vec![(0, 1, length); count])?;
    }
    moves(pairs)
}

pub fn expand(source: View, sizes: Vec<i64>, out: View) -> Planned {
    if sizes.len() != out.rank() || sizes.iter().zip(&out.dims).any(|(size, dim)| *size >= 0 && *size != *dim as i64) {
        return invalid(format!("size is {sizes:?}, and out has shape {:?}", out.dims));
    }
    assign(out, source)
}

/// Each slice along a dimension, repeated.
pub fn repeat_interleave(source: View, repeats: i64, dim: i64, out: View) -> Planned {
    let source = at_least_1d(&source);
    let axis = axis(dim, source.rank(), "dim")?;
    let (times, length) = (size(repeats, "repeats")?, source.dims[axis]);
    let mut wanted = source.dims.clone();
    wanted[axis] = wanted[axis].saturating_mul(times);
    shape(&out, &wanted)?;
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    let repeated = source.unsqueeze(axis + 1);
    let target = out.split(axis, length, times);
    moves(vec![(stretch(&repeated, &target.dims)?, target)])
}

/// Each element of the whole tensor, repeated.
pub fn repeat_elements(source: View, repeats: i64, out: View) -> Planned {
    let times = size(repeats, "repeats")?;
    shape(&out, &[source.count().saturating_mul(times)])?;
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    let mut dims = source.dims.clone();
    dims.push(times);
    let mut target = out;
    let mut left = source.count();
    for (axis, dim) in source.dims.iter().enumerate() {
        left /= (*dim).max(1);
        target = target.split(axis, *dim, left * times);
    }
    moves(vec![(stretch(&source.unsqueeze(source.rank()), &dims)?, target)])
}

pub fn slice(source: View, dim: i64, start: i64, end: i64, step: i64, out: View) -> Planned {
    let source = at_least_1d(&source);
    let axis = axis(dim, source.rank(), "dim")?;
    if step <= 0 {
        return invalid(format!("step is {step}; it must be positive"));
    }
    let length = source.dims[axis] as i64;
    let clamp = |at: i64| (if at < 0 { at.saturating_add(length) } else { at }).clamp(0, length);
    let (start, end) = (clamp(start), clamp(end));
    let count = ((end - start).max(0) as usize).div_ceil(step as usize);
    moves(vec![(source.slice(axis, start as usize, step as isize, count), at_least_1d(&out))])
}

/// Slices of several dimensions.
pub fn slices(source: View, starts: Vec<i64>, ends: Vec<i64>, axes: Vec<i64>, steps: Vec<i64>, out: View) -> Planned {
    if [starts.len(), ends.len(), steps.len()] != [axes.len(); 3] {
        return invalid("starts, ends, axes and steps have different lengths".into());
    }
    let mut view = source;
    for at in 0..axes.len() {
        let (axis, step) = (axis(axes[at], view.rank(), "axes")?, steps[at]);
        if step <= 0 || axis >= view.rank() {
            return invalid(format!("steps[{at}] is {step}; it must be positive"));
        }
        let length = view.dims[axis] as i64;
        let clamp = |at: i64| (if at < 0 { at.saturating_add(length) } else { at }).clamp(0, length);
        let (start, end) = (clamp(starts[at]), clamp(ends[at]));
        view = view.slice(axis, start as usize, step as isize, ((end - start).max(0) as usize).div_ceil(step as usize));
    }
    moves(vec![(view, out)])
}

pub fn roll(source: View, shifts: Vec<i64>, dims: Vec<i64>, out: View) -> Planned {
    same_shape(&source, &out)?;
    if shifts.len() != dims.len() {
        return invalid(format!("shifts has {} elements, and dims has {}", shifts.len(), dims.len()));
    }
    let (source, out) = (at_least_1d(&source), at_least_1d(&out));
    let lengths = source.dims.clone();
    let mut pairs = vec![(source, out)];
    let mut by_axis = vec![0_i64; lengths.len()];
    for (shift, dim) in shifts.iter().zip(&dims) {
        let axis = axis(*dim, lengths.len(), "dims")?;
        by_axis[axis] += shift % (lengths[axis].max(1) as i64);
    }
    for (axis, shift) in by_axis.into_iter().enumerate() {
        let length = lengths[axis];
        if length > 0 {
            let start = (-shift).rem_euclid(length as i64) as usize;
            pairs = segments(&pairs, axis, &[(start, 1, length - start), (0, 1, start)])?;
        }
    }
    moves(pairs)
}

/// Pads with a value. `pad` has a begin and an end for each dimension, from the last one on; negative ones crop.
pub fn pad_constant(source: View, pad: Vec<i64>, value: Scalar, out: View) -> Planned {
    if !pad.len().is_multiple_of(2) || pad.len() > 2 * source.rank() || out.rank() != source.rank() {
        return invalid(format!("pad has {} elements for {} dimensions", pad.len(), source.rank()));
    }
    let (mut from, mut to) = (source.clone(), out.clone());
    for (at, ends) in pad.chunks(2).enumerate() {
        let axis = source.rank() - 1 - at;
        let (begin, end, length) = (ends[0], ends[1], source.dims[axis] as i64);
        if begin < -length || end < -length {
            return invalid(format!("pad {ends:?} crops more than the {length} elements of dimension {axis}"));
        }
        let result = length.saturating_add(begin).saturating_add(end);
        if result != out.dims[axis] as i64 {
            return invalid(format!("out has shape {:?}; dimension {axis} must have {result} elements", out.dims));
        }
        let kept = (length + begin.min(0) + end.min(0)).max(0) as usize;
        from = from.slice(axis, (-begin.min(0)) as usize, 1, kept);
        to = to.slice(axis, begin.max(0) as usize, 1, kept);
    }
    let mut plan = fill(out, value)?;
    plan.append(moves(vec![(from, to)])?);
    Ok(plan)
}

/// Pads the last dimensions with the tensor mirrored at its edges, which are not repeated.
pub fn pad_reflected(source: View, padding: Vec<i64>, out: View) -> Planned {
    if !padding.len().is_multiple_of(2) || padding.len() > 2 * source.rank() || out.rank() != source.rank() {
        return invalid(format!("padding has {} elements for {} dimensions", padding.len(), source.rank()));
    }
    let mut pairs = vec![(source.clone(), out)];
    for (at, ends) in padding.chunks(2).enumerate() {
        let axis = source.rank() - 1 - at;
        let length = source.dims[axis];
        let (before, after) = (size(ends[0], "padding")?, size(ends[1], "padding")?);
        if before >= length || after >= length {
            return invalid(format!("padding {ends:?} is too long for a dimension of {length}"));
        }
        let parts: [Segment; 3] = [(before, -1, before), (0, 1, length), (length.saturating_sub(2), -1, after)];
        pairs = segments(&pairs, axis, &parts)?;
    }
    moves(pairs)
}

/// Which triangle of the last two dimensions is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Triangle {
    Lower,
    Upper,
}

pub fn triangle(kept: Triangle, source: View, diagonal: i64, out: View) -> Planned {
    same_shape(&source, &out)?;
    if source.rank() < 2 {
        return invalid(format!("{} has {} dimensions; it must have at least 2", source.name, source.rank()));
    }
    let (rows, columns) = (source.dims[source.rank() - 2], source.dims[source.rank() - 1]);
    if source.count() == 0 {
        return Ok(Plan::nothing());
    }
    Plan::new().reads([&source]).writes([&out]).run(move |memory| {
        let (from, to) = (memory.tensor(&source), memory.tensor(&out));
        divide(from.count() / columns, (GRAIN / columns).max(1), 1, |part| {
            for row in part {
                // Columns below `bound` are those up to the diagonal.
                let shift = if kept == Triangle::Lower { diagonal.saturating_add(1) } else { diagonal };
                let bound = ((row % rows) as i64).saturating_add(shift).clamp(0, columns as i64) as usize;
                let (keep, clear) =
                    if kept == Triangle::Lower { (0..bound, bound..columns) } else { (bound..columns, 0..bound) };
                let start = row * columns;
                if source.kind == out.kind {
                    copy(&from, start + keep.start, &to, start + keep.start, keep.len());
                } else {
                    convert_values::<f64>(&from, &to, start + keep.start, start + keep.end);
                }
                to.fill(start + clear.start, clear.len(), 0_i64);
            }
        });
    })
}

pub fn eye(out: View) -> Planned {
    super::checks::rank(&out, 2..=2)?;
    let count = out.dims[0].min(out.dims[1]);
    let mut diagonal = out.clone();
    diagonal.dims = [count].into_iter().collect();
    diagonal.strides = [out.strides[0] + out.strides[1]].into_iter().collect();
    let mut plan = fill(out, Scalar::integer(0))?;
    plan.append(fill(diagonal, Scalar::integer(1))?);
    Ok(plan)
}

/// `start + i * step` for every element.
pub fn arange(start: Scalar, end: Option<Scalar>, step: Scalar, out: View) -> Planned {
    super::checks::rank(&out, 1..=1)?;
    let (first, distance) = (start.f64(), step.f64());
    if distance == 0.0 || end.is_some_and(|end| (end.f64() - first) * distance < 0.0) {
        return invalid(format!("start {first}, end {:?} and step {distance} do not agree", end.map(|end| end.f64())));
    }
    sequence(out, move |index| first + index as f64 * distance)
}

/// `steps` values from `start` to `end`, both included.
pub fn linspace(start: Scalar, end: Scalar, steps: i64, out: View) -> Planned {
    shape(&out, &[size(steps, "steps")?])?;
    let (first, last, count) = (start.f64(), end.f64(), out.count());
    sequence(out, move |index| match index {
        0 => first,
        _ if index == count - 1 => last,
        _ => first + (last - first) * index as f64 / (count - 1) as f64,
    })
}

fn sequence(out: View, value: impl Fn(usize) -> f64 + Send + Sync + 'static) -> Planned {
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    Plan::new().writes([&out]).run(move |memory| {
        let tensor = memory.tensor(&out);
        divide(tensor.count(), GRAIN, BLOCK, |part| {
            let values: Vec<f64> = part.clone().map(&value).collect();
            tensor.write(part.start, &values);
        });
    })
}
