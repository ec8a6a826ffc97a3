//! Operators over lists of tensors, one member after another: each member has the plan of the operator of one tensor.

use super::binary::{binary, scaled};
use super::checks::{Checked, invalid};
use super::elementwise::{add_product, map};
use super::function::{Binary, Unary};
use super::reduce::{Reduction, reduce_all};
use super::unary::unary;
use crate::core::memory::Operand;
use crate::core::plan::{Plan, Planned};
use crate::core::scalar::Scalar;
use crate::core::view::View;
use nnopbase::status::Failure;

/// The second operand of a list: another list, or numbers of the host or the device.
#[derive(Debug, Clone)]
pub enum Others {
    List(Vec<View>),
    Scalars(Vec<Scalar>),
    /// One number, used with every member.
    Number(Operand),
}

impl Others {
    fn at(&self, index: usize) -> Checked<Operand> {
        let found = match self {
            Others::List(views) => views.get(index).cloned().map(Operand::View),
            Others::Scalars(scalars) => scalars.get(index).copied().map(Operand::Value),
            Others::Number(number) => Some(number.clone()),
        };
        found.ok_or_else(|| Failure::Invalid(format!("the lists have different lengths: one has only {index} members")))
    }
}

/// A number in memory of the device, whatever its shape.
pub fn number(view: View) -> Checked<View> {
    if view.count() != 1 {
        return invalid(format!("{} has shape {:?}; it must have one element", view.name, view.dims));
    }
    Ok(view.nth(view.rank(), 0))
}

/// The numbers of a tensor of one dimension.
pub fn numbers(view: View) -> Checked<Vec<View>> {
    super::checks::rank(&view, 1..=1)?;
    Ok((0..view.count()).map(|at| view.select(0, at)).collect())
}

/// A plan for every member, as one plan.
fn members(x: Vec<View>, outs: Vec<View>, plan: impl Fn(usize, View, View) -> Planned) -> Planned {
    if x.len() != outs.len() {
        return invalid(format!("x has {} members, and out has {}", x.len(), outs.len()));
    }
    let plans: Checked<Vec<Plan>> =
        x.into_iter().zip(outs).enumerate().map(|(at, (view, out))| plan(at, view, out)).collect();
    Ok(Plan::all(plans?))
}

pub fn each_unary(function: Unary, x: Vec<View>, outs: Vec<View>) -> Planned {
    members(x, outs, |_, view, out| unary(function, view, out))
}

pub fn each_binary(function: Binary, x: Vec<View>, others: Others, outs: Vec<View>) -> Planned {
    members(x, outs, |at, view, out| binary(function, view, others.at(at)?, out))
}

/// `out = number ^ x`.
pub fn each_power_of(number: Scalar, x: Vec<View>, outs: Vec<View>) -> Planned {
    members(x, outs, |_, view, out| binary(Binary::Pow, number, view, out))
}

/// `out = x + alpha * other`, or with a difference.
pub fn each_scaled(function: Binary, x: Vec<View>, others: Vec<View>, alpha: Scalar, outs: Vec<View>) -> Planned {
    let others = Others::List(others);
    members(x, outs, |at, view, out| scaled(function, view, others.at(at)?, alpha, out))
}

/// `out = x + sign * alpha * other`, with a factor on the device.
pub fn each_scaled_by(sign: i64, x: Vec<View>, others: Vec<View>, alpha: View, outs: Vec<View>) -> Planned {
    let (alpha, others) = (number(alpha)?, Others::List(others));
    members(x, outs, |at, view, out| match others.at(at)? {
        Operand::View(other) => add_product(false, view, other, alpha.clone(), Scalar::integer(sign), out),
        Operand::Value(_) => invalid("a member is no tensor".into()),
    })
}

/// `out = x + value * one * other`, or with a quotient.
pub fn each_product(
    is_quotient: bool,
    x: Vec<View>,
    one: Vec<View>,
    other: Vec<View>,
    values: Others,
    outs: Vec<View>,
) -> Planned {
    if one.len() != x.len() || other.len() != x.len() {
        return invalid(format!("the lists have {}, {} and {} members", x.len(), one.len(), other.len()));
    }
    members(x, outs, |at, view, out| {
        add_product(is_quotient, view, one[at].clone(), other[at].clone(), values.at(at)?, out)
    })
}

/// `out = x + weight * (end - x)`.
pub fn each_between(x: Vec<View>, ends: Vec<View>, weights: Others, outs: Vec<View>) -> Planned {
    let ends = Others::List(ends);
    members(x, outs, |at, view, out| {
        let operands = vec![view.into(), ends.at(at)?, weights.at(at)?];
        map::<f32>(operands, out, |values, others| {
            for (value, (end, weight)) in values.iter_mut().zip(others[0].iter().zip(&others[1])) {
                // From the nearer end, so that both ends are exact.
                let distance = end - *value;
                *value = if *weight < 0.5 { *value + weight * distance } else { end - distance * (1.0 - weight) };
            }
        })
    })
}

/// The norm of every member.
pub fn each_norm(order: f64, x: Vec<View>, outs: Vec<View>) -> Planned {
    members(x, outs, |_, view, out| reduce_all(Reduction::Norm(order), view, out))
}

pub fn each_copy(x: Vec<View>, outs: Vec<View>) -> Planned {
    members(x, outs, |_, view, out| {
        super::checks::same_shape(&view, &out)?;
        super::layout::assign(out, view)
    })
}

pub fn each_fill(x: Vec<View>, value: Scalar) -> Planned {
    let plans: Checked<Vec<Plan>> = x.into_iter().map(|view| super::layout::fill(view, value)).collect();
    Ok(Plan::all(plans?))
}
