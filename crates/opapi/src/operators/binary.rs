//! Elementwise operators of two operands, each a tensor or a scalar.

use super::checks::{Checked, invalid, storable};
use super::complex;
use super::elementwise::{class_of, each_with, map};
use super::function::Binary::{self, *};
use crate::core::memory::Operand;
use crate::core::plan::Planned;
use crate::core::scalar::Scalar;
use crate::core::types::{Class, Kind, Type};
use crate::core::value::{Complex, Real, with_real};
use crate::core::view::View;
use nnopbase::status::Failure;

/// Plans `out = function(one, other)`.
pub fn binary(function: Binary, one: impl Into<Operand>, other: impl Into<Operand>, out: View) -> Planned {
    let (one, other) = (one.into(), other.into());
    let promoted = promote(&one, &other)?;
    if !function.is_truth() {
        let result =
            if matches!(function, Div | Atan2) && promoted.kind() < Kind::Float { Type::F32 } else { promoted };
        storable(result, &out)?;
    }
    let mut class = operand_class(promoted, &one, &other);
    if matches!(function, Div | Atan2) && matches!(class, Class::I64 | Class::U64) {
        class = Class::F64;
    }
    let operands = vec![one, other];
    with_real!(class, V => map::<V>(operands, out, move |values, others| combine(function, values, &others[0])),
    complex => match complex::binary(function) {
        Some(work) => map::<Complex>(operands, out, move |values, others| each_with(values, &others[0], work)),
        None => invalid(format!("softacl computes {function:?} with real numbers only")),
    })
}

/// Plans `out = one + alpha * other`, or with a difference.
pub fn scaled(
    function: Binary,
    one: impl Into<Operand>,
    other: impl Into<Operand>,
    alpha: Scalar,
    out: View,
) -> Planned {
    let (one, other) = (one.into(), other.into());
    let promoted = promote(&one, &other)?;
    if alpha.to::<Complex>() == (Complex { re: 1.0, im: 0.0 }) {
        return binary(function, one, other, out);
    }
    if alpha.kind.kind() > promoted.kind() {
        return invalid(format!("alpha has type {}, which cannot be converted to {promoted}", alpha.kind));
    }
    storable(promoted, &out)?;
    let class = operand_class(promoted, &one, &other);
    let operands = vec![one, other];
    let is_sum = function == Add;
    with_real!(class, V => {
        let alpha = alpha.to::<V>();
        map::<V>(operands, out, move |values, others| match is_sum {
            true => each_with(values, &others[0], |a, b| Real::add(a, Real::mul(alpha, b))),
            false => each_with(values, &others[0], |a, b| Real::sub(a, Real::mul(alpha, b))),
        })
    }, complex => {
        let mut alpha = alpha.to::<Complex>();
        if !is_sum {
            alpha = Complex { re: -alpha.re, im: -alpha.im };
        }
        map::<Complex>(operands, out, move |values, others| each_with(values, &others[0], |a, b| {
            let term = complex::product(alpha, b);
            Complex { re: a.re + term.re, im: a.im + term.im }
        }))
    })
}

/// The division that a `mode` means.
pub fn division(mode: i32) -> Checked<Binary> {
    match mode {
        0 => Ok(Div),
        1 => Ok(TruncDiv),
        2 => Ok(FloorDiv),
        other => invalid(format!("mode is {other}; it must be 0 (true), 1 (towards zero) or 2 (floor)")),
    }
}

/// A scalar that cannot be promoted takes the type of the tensor.
fn promote(one: &Operand, other: &Operand) -> Checked<Type> {
    match (one.kind().promote(other.kind()), one, other) {
        (Some(promoted), ..) => Ok(promoted),
        (None, Operand::View(view), Operand::Value(_)) | (None, Operand::Value(_), Operand::View(view)) => {
            Ok(view.kind)
        }
        _ => Err(Failure::Invalid(format!("{} and {} cannot be combined", one.kind(), other.kind()))),
    }
}

fn operand_class(promoted: Type, one: &Operand, other: &Operand) -> Class {
    // The type of a fractional scalar is as wide as the program writes it, not as wide as it means it.
    class_of(&[one.kind(), other.kind()]).unwrap_or(promoted.class())
}

fn combine<V: Real>(function: Binary, values: &mut [V], other: &[V]) {
    let truth = |value: bool| V::from_i64(value.into());
    let bits = |combine: fn(i64, i64) -> i64| move |a: V, b: V| V::from_i64(combine(a.to_i64(), b.to_i64()));
    match function {
        Add => each_with(values, other, |a, b| Real::add(a, b)),
        Sub => each_with(values, other, |a, b| Real::sub(a, b)),
        Mul => each_with(values, other, |a, b| Real::mul(a, b)),
        Div => each_with(values, other, |a, b| a.quotient(b)),
        FloorDiv => each_with(values, other, |a, b| a.floor_div(b)),
        TruncDiv => each_with(values, other, |a, b| a.trunc_div(b)),
        Fmod => each_with(values, other, |a, b| a.fmod(b)),
        Remainder => each_with(values, other, |a, b| a.remainder(b)),
        Pow => each_with(values, other, |a, b| a.pow(b)),
        Atan2 => each_with(values, other, |a, b| V::from_f64(a.to_f64().atan2(b.to_f64()))),
        Maximum => each_with(values, other, |a, b| if b.is_nan() { b } else { a.max(b) }),
        Minimum => each_with(values, other, |a, b| if b.is_nan() { b } else { a.min(b) }),
        BitAnd => each_with(values, other, bits(|a, b| a & b)),
        BitOr => each_with(values, other, bits(|a, b| a | b)),
        BitXor => each_with(values, other, bits(|a, b| a ^ b)),
        ShiftLeft => each_with(values, other, bits(|a, b| if (0..64).contains(&b) { a << b } else { 0 })),
        ShiftRight => each_with(values, other, |a, b| a.shift_right(b)),
        LogicalAnd => each_with(values, other, |a, b| truth(a.is_true() && b.is_true())),
        LogicalOr => each_with(values, other, |a, b| truth(a.is_true() || b.is_true())),
        Eq => each_with(values, other, |a, b| truth(a == b)),
        Ne => each_with(values, other, |a, b| truth(a != b)),
        Lt => each_with(values, other, |a, b| truth(a < b)),
        Le => each_with(values, other, |a, b| truth(a <= b)),
        Gt => each_with(values, other, |a, b| truth(a > b)),
        Ge => each_with(values, other, |a, b| truth(a >= b)),
    }
}
