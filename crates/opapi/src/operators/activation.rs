//! Gated activations: a tensor is split into halves along a dimension, and one half scales the other.

use super::checks::{axis, invalid, shape};
use super::elementwise::map;
use super::function::Unary;
use super::unary::float;
use crate::core::plan::Planned;
use crate::core::types::Class;
use crate::core::value::with_float;
use crate::core::view::View;

/// Which half is activated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    First,
    Second,
}

/// Plans `out = function(one half) * other half`. `activated`, if wanted, receives the activated half.
pub fn gated(function: Unary, x: View, dim: i64, half: Half, out: View, activated: Option<View>) -> Planned {
    let axis = axis(dim, x.rank(), "dim")?;
    if x.rank() == 0 || !x.dims[axis].is_multiple_of(2) {
        return invalid(format!("{} has shape {:?}; dimension {axis} must be even", x.name, x.dims));
    }
    let size = x.dims[axis] / 2;
    let (first, second) = (x.slice(axis, 0, 1, size), x.slice(axis, size, 1, size));
    shape(&out, &first.dims)?;
    let (gate, other) = if half == Half::First { (first, second) } else { (second, first) };
    let class = if x.kind.class() == Class::F64 { Class::F64 } else { Class::F32 };
    let mut plan = with_float!(class, F => map::<F>(vec![gate.clone().into(), other.into()], out, move |values, others| {
        float(function, values);
        for (value, other) in values.iter_mut().zip(&others[0]) {
            *value *= *other;
        }
    }))?;
    let Some(activated) = activated else { return Ok(plan) };
    shape(&activated, &gate.dims)?;
    let second =
        with_float!(class, F => map::<F>(vec![gate.into()], activated, move |values, _| float(function, values)))?;
    plan.append(second);
    Ok(plan)
}
