//! Elementwise work: blocks of all operands are read as values, changed, and written.

use super::checks::{Checked, invalid, shape, stretch};
use crate::core::memory::{BLOCK, Operand, Source};
use crate::core::parallel::divide;
use crate::core::plan::{Plan, Planned};
use crate::core::scalar::Scalar;
use crate::core::types::{Class, Type};
use crate::core::value::{Value, with_real};
use crate::core::view::View;

/// Elements per thread that are worth one.
pub const GRAIN: usize = 1 << 16;

impl From<View> for Operand {
    fn from(view: View) -> Operand {
        Operand::View(view)
    }
}

impl From<Scalar> for Operand {
    fn from(scalar: Scalar) -> Operand {
        Operand::Value(scalar)
    }
}

/// Stretches the operands to a shape.
pub fn stretch_operands(operands: Vec<Operand>, dims: &[usize]) -> Checked<Vec<Operand>> {
    let one = |operand| match operand {
        Operand::View(view) => stretch(&view, dims).map(Operand::View),
        value => Ok(value),
    };
    operands.into_iter().map(one).collect()
}

/// Fails unless the operands, broadcast, have the shape of the result.
pub fn check_broadcast(operands: &[Operand], out: &View) -> Checked<()> {
    let views = operands.iter().filter_map(|operand| match operand {
        Operand::View(view) => Some(view),
        Operand::Value(_) => None,
    });
    shape(out, &super::checks::broadcast_shape(views)?)
}

/// Computes `out` from operands of its shape. `work` receives a block of the first operand, which becomes the result, and
/// the blocks of the others.
pub fn map<V: Value>(
    operands: Vec<Operand>,
    out: View,
    work: impl Fn(&mut [V], &[Vec<V>]) + Send + Sync + 'static,
) -> Planned {
    if out.kind == Type::I4 {
        return invalid(format!("{} has type i4, which softacl only reads", out.name));
    }
    check_broadcast(&operands, &out)?;
    let operands = stretch_operands(operands, &out.dims)?;
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    let views: Vec<View> = operands
        .iter()
        .filter_map(|operand| match operand {
            Operand::View(view) => Some(view.clone()),
            Operand::Value(_) => None,
        })
        .collect();
    Plan::new().reads(&views).writes([&out]).run(move |memory| {
        let sources: Vec<Source> = operands.iter().map(|operand| operand.bind(memory)).collect();
        let target = memory.tensor(&out);
        divide(target.count(), GRAIN, BLOCK, |part| {
            let mut first = vec![V::default(); BLOCK];
            let mut others = vec![vec![V::default(); BLOCK]; sources.len().saturating_sub(1)];
            let mut at = part.start;
            while at < part.end {
                let length = BLOCK.min(part.end - at);
                if length < first.len() {
                    first.truncate(length);
                    others.iter_mut().for_each(|other| other.truncate(length));
                }
                sources[0].read(at, &mut first);
                for (source, other) in sources[1..].iter().zip(&mut others) {
                    source.read(at, other);
                }
                work(&mut first, &others);
                target.write(at, &first);
                at += length;
            }
        });
    })
}

/// Changes every value of a block.
pub fn each<V: Copy>(values: &mut [V], change: impl Fn(V) -> V) {
    for value in values {
        *value = change(*value);
    }
}

/// Combines every value of a block with that of another.
pub fn each_with<V: Copy>(values: &mut [V], other: &[V], combine: impl Fn(V, V) -> V) {
    for (value, other) in values.iter_mut().zip(other) {
        *value = combine(*value, *other);
    }
}

/// `self + value * t1 * t2`, or with a quotient.
pub fn add_product(
    is_quotient: bool,
    base: View,
    one: View,
    other: View,
    value: impl Into<Operand>,
    out: View,
) -> Planned {
    let class = class_of(&[base.kind, one.kind, other.kind])?;
    let operands = vec![base.into(), one.into(), other.into(), value.into()];
    with_real!(class, V => map::<V>(operands, out, move |values, others| {
        use crate::core::value::Real;
        for (at, value) in values.iter_mut().enumerate() {
            let (one, other, factor) = (others[0][at], others[1][at], others[2][at]);
            let term = match is_quotient {
                true => V::from_f64(factor.to_f64() * one.to_f64() / other.to_f64()),
                false => Real::mul(Real::mul(factor, one), other),
            };
            *value = Real::add(*value, term);
        }
    }), complex => no_complex())
}

/// `condition ? self : other`.
pub fn choose(condition: View, yes: impl Into<Operand>, no: impl Into<Operand>, out: View) -> Planned {
    let (yes, no) = (yes.into(), no.into());
    let class = class_of(&[yes.kind(), no.kind()])?;
    let operands = vec![yes, no, condition.into()];
    match class {
        Class::Complex => map::<crate::core::value::Complex>(operands, out, pick),
        class => with_real!(class, V => map::<V>(operands, out, pick), complex => no_complex()),
    }
}

fn pick<V: Value>(values: &mut [V], others: &[Vec<V>]) {
    for (at, value) in values.iter_mut().enumerate() {
        if !others[1][at].is_true() {
            *value = others[0][at];
        }
    }
}

/// Where `mask` is true, `value`.
pub fn masked_fill(target: View, mask: View, value: impl Into<Operand>) -> Planned {
    let value = value.into();
    choose(stretch(&mask, &target.dims)?, in_type_of(value, &target), target.clone(), target)
}

/// A value that does not widen the type of the tensor into which it is written.
fn in_type_of(value: Operand, target: &View) -> Operand {
    match value {
        Operand::Value(mut scalar) => {
            if scalar.kind.promote(target.kind) != Some(target.kind) {
                scalar.kind = target.kind;
            }
            Operand::Value(scalar)
        }
        view => view,
    }
}

/// The class in which operands of these types are computed.
pub fn class_of(kinds: &[Type]) -> Checked<Class> {
    let mut promoted = kinds[0];
    for kind in &kinds[1..] {
        promoted = match promoted.promote(*kind) {
            Some(promoted) => promoted,
            None => return invalid(format!("{promoted} and {kind} cannot be combined")),
        };
    }
    let class = promoted.class();
    // An integer of 32 bits does not fit into an f32.
    let wide = kinds.iter().any(|kind| matches!(kind, Type::I32 | Type::I64 | Type::U32 | Type::U64));
    Ok(if class == Class::F32 && wide { Class::F64 } else { class })
}

pub fn no_complex() -> Planned {
    invalid("softacl computes this operator with real numbers only".into())
}
