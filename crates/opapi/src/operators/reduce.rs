//! Reductions over dimensions. Fractions are accumulated in double precision and rounded once.

use super::checks::{Checked, axes, axis, invalid, shape};
use super::elementwise::GRAIN;
use crate::core::memory::{BLOCK, Tensor};
use crate::core::parallel::divide;
use crate::core::plan::{Plan, Planned};
use crate::core::types::{Class, Kind, Type};
use crate::core::value::{Complex, Real, Value};
use crate::core::view::{Dims, View};

/// What becomes of the elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reduction {
    Sum,
    /// NaN counts as 0.
    NanSum,
    Mean,
    Prod,
    Max,
    Min,
    Any,
    All,
    /// The p-norm. Infinity is the largest absolute value, 0 the number of elements that are not 0.
    Norm(f64),
    LogSumExp,
    /// The variance; the divisor is the number of elements minus this correction.
    Var(f64),
    Std(f64),
}

use Reduction::*;

/// The shape of a result without the reduced dimensions, or with dimensions of 1.
pub fn reduced_shape(view: &View, axes: &[usize], keep: bool) -> Dims {
    let one = |(axis, dim): (usize, &usize)| match (axes.contains(&axis), keep) {
        (false, _) => Some(*dim),
        (true, true) => Some(1),
        (true, false) => None,
    };
    view.dims.iter().enumerate().filter_map(one).collect()
}

/// Plans a reduction over dimensions; none means all.
pub fn reduce(reduction: Reduction, x: View, dims: Vec<i64>, keep: bool, out: View) -> Planned {
    let axes = axes(&dims, x.rank(), "dim")?;
    shape(&out, &reduced_shape(&x, &axes, keep))?;
    plan(reduction, x, &axes, out)
}

/// Over one dimension.
pub fn reduce_dim(reduction: Reduction, x: View, dim: i64, keep: bool, out: View) -> Planned {
    let axis = axis(dim, x.rank(), "dim")?;
    let axes: Vec<usize> = if x.rank() == 0 { Vec::new() } else { vec![axis] };
    shape(&out, &reduced_shape(&x, &axes, keep))?;
    plan(reduction, x, &axes, out)
}

/// Over all dimensions, to one element.
pub fn reduce_all(reduction: Reduction, x: View, out: View) -> Planned {
    if out.count() != 1 {
        return invalid(format!("{} has shape {:?}; it must have one element", out.name, out.dims));
    }
    let all: Vec<usize> = (0..x.rank()).collect();
    plan(reduction, x, &all, out)
}

/// `dtype` is the type of the result.
pub fn result_type(dtype: Type, out: &View) -> Checked<()> {
    if dtype == out.kind {
        return Ok(());
    }
    invalid(format!("dtype is {dtype}, and out has type {}", out.kind))
}

fn plan(reduction: Reduction, x: View, axes: &[usize], out: View) -> Planned {
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    let length: usize = axes.iter().map(|axis| x.dims[*axis]).product();
    if length == 0 && matches!(reduction, Max | Min) {
        return invalid(format!("{} has shape {:?}: there is no element to choose", x.name, x.dims));
    }
    let rows = x.last_of(axes);
    let class = match (x.kind.class(), out.kind.kind(), reduction) {
        (Class::Complex, ..) => Class::Complex,
        (Class::I64 | Class::U64, Kind::Integer | Kind::Bool, Sum | Prod | Any | All | NanSum) => x.kind.class(),
        (class @ (Class::I64 | Class::U64), _, Max | Min) => class,
        _ => Class::F64,
    };
    if class == Class::Complex && !matches!(reduction, Sum | Mean) {
        return invalid(format!("softacl reduces complex numbers to sums only; {} is {}", x.name, x.kind));
    }
    Plan::new().reads([&x]).writes([&out]).run(move |memory| {
        let (from, to) = (memory.tensor(&rows), memory.tensor(&out));
        divide(to.count(), (GRAIN / length.max(1)).max(1), 1, |part| {
            for row in part {
                let start = row * length;
                match class {
                    Class::F64 => to.write(row, &[fold_float(reduction, &from, start, length)]),
                    Class::U64 => to.write(row, &[fold_integer::<u64>(reduction, &from, start, length)]),
                    Class::Complex => to.write(row, &[fold_complex(reduction, &from, start, length)]),
                    _ => to.write(row, &[fold_integer::<i64>(reduction, &from, start, length)]),
                }
            }
        });
    })
}

/// Calls `work` with blocks of a row.
fn blocks<V: Value>(from: &Tensor, start: usize, length: usize, mut work: impl FnMut(&[V])) {
    let mut block = vec![V::default(); BLOCK.min(length)];
    for at in (0..length).step_by(BLOCK) {
        let part = BLOCK.min(length - at);
        from.read(start + at, &mut block[..part]);
        work(&block[..part]);
    }
}

fn fold_integer<V: Real>(reduction: Reduction, from: &Tensor, start: usize, length: usize) -> V {
    let mut result = match reduction {
        Prod | All => V::from_i64(1),
        Max => V::lowest(),
        Min => V::highest(),
        _ => V::from_i64(0),
    };
    blocks::<V>(from, start, length, |block| {
        result = block.iter().fold(result, |sum, x| match reduction {
            Prod => Real::mul(sum, *x),
            Max => sum.max(*x),
            Min => sum.min(*x),
            Any => V::from_i64((sum.is_true() || x.is_true()).into()),
            All => V::from_i64((sum.is_true() && x.is_true()).into()),
            _ => Real::add(sum, *x),
        });
    });
    result
}

fn fold_complex(reduction: Reduction, from: &Tensor, start: usize, length: usize) -> Complex {
    let mut sum = Complex::default();
    blocks::<Complex>(from, start, length, |block| {
        for x in block {
            sum = Complex { re: sum.re + x.re, im: sum.im + x.im };
        }
    });
    let divisor = if reduction == Mean { length as f64 } else { 1.0 };
    Complex { re: sum.re / divisor, im: sum.im / divisor }
}

fn fold_float(reduction: Reduction, from: &Tensor, start: usize, length: usize) -> f64 {
    let fold = |initial: f64, combine: &dyn Fn(f64, f64) -> f64| {
        let mut result = initial;
        blocks::<f64>(from, start, length, |block| result = block.iter().fold(result, |sum, x| combine(sum, *x)));
        result
    };
    // The common case has a loop without a call per element.
    let sum = || {
        let mut total = 0.0;
        blocks::<f64>(from, start, length, |block| total += block.iter().sum::<f64>());
        total
    };
    let count = length as f64;
    match reduction {
        Sum => sum(),
        NanSum => fold(0.0, &|sum, x| if x.is_nan() { sum } else { sum + x }),
        Mean => sum() / count,
        Prod => fold(1.0, &|product, x| product * x),
        Max => fold(f64::NEG_INFINITY, &|max, x| if x.is_nan() { x } else { Real::max(max, x) }),
        Min => fold(f64::INFINITY, &|min, x| if x.is_nan() { x } else { Real::min(min, x) }),
        Any => fold(0.0, &|any, x| f64::from(any != 0.0 || x != 0.0)),
        All => fold(1.0, &|all, x| f64::from(all != 0.0 && x != 0.0)),
        Norm(p) if p == f64::INFINITY => fold(0.0, &|max, x| if x.is_nan() { x } else { Real::max(max, x.abs()) }),
        Norm(p) if p == f64::NEG_INFINITY => {
            fold(f64::INFINITY, &|min, x| if x.is_nan() { x } else { Real::min(min, x.abs()) })
        }
        Norm(0.0) => fold(0.0, &|count, x| count + f64::from(x != 0.0)),
        Norm(1.0) => fold(0.0, &|sum, x| sum + x.abs()),
        Norm(2.0) => fold(0.0, &|sum, x| sum + x * x).sqrt(),
        Norm(p) => fold(0.0, &|sum, x| sum + x.abs().powf(p)).powf(1.0 / p),
        LogSumExp => {
            let max = fold(f64::NEG_INFINITY, &|max, x| if x.is_nan() { x } else { Real::max(max, x) });
            if max.is_infinite() {
                return max;
            }
            max + fold(0.0, &|sum, x| sum + (x - max).exp()).ln()
        }
        Var(correction) | Std(correction) => {
            let mean = sum() / count;
            let variance = fold(0.0, &|sum, x| sum + (x - mean) * (x - mean)) / (count - correction).max(0.0);
            if matches!(reduction, Std(_)) { variance.sqrt() } else { variance }
        }
    }
}

/// Two reductions of one tensor, such as variance and mean.
pub fn reduce_both(
    first: Reduction,
    second: Reduction,
    x: View,
    dims: Option<Vec<i64>>,
    keep: bool,
    one: View,
    other: View,
) -> Planned {
    let dims = dims.unwrap_or_default();
    let mut plan = reduce(first, x.clone(), dims.clone(), keep, one)?;
    plan.append(reduce(second, x, dims, keep, other)?);
    Ok(plan)
}

/// Sum of the tensors of a list, which have one shape.
pub fn sum_of_list(tensors: Vec<View>, out: View) -> Planned {
    let Some(first) = tensors.first() else { return invalid("tensors is empty".into()) };
    let class = super::elementwise::class_of(&tensors.iter().map(|view| view.kind).collect::<Vec<_>>())?;
    shape(&out, &first.dims)?;
    let operands = tensors.into_iter().map(Into::into).collect();
    crate::core::value::with_real!(class, V => super::elementwise::map::<V>(operands, out, |values, others| {
        for other in others {
            super::elementwise::each_with(values, other, Real::add);
        }
    }), complex => super::elementwise::no_complex())
}
