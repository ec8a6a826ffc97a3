//! Elementwise operators of one tensor.

use super::checks::{invalid, same_shape, storable};
use super::complex;
use super::elementwise::{each, map};
use super::function::Unary::{self, *};
use crate::core::plan::Planned;
use crate::core::scalar::Scalar;
use crate::core::types::{Class, Kind, Type};
use crate::core::value::{Complex, Float, Real};
use crate::core::view::View;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_2_SQRT_PI, PI};

/// Plans `out = function(x)`.
pub fn unary(function: Unary, x: View, out: View) -> Planned {
    same_shape(&x, &out)?;
    let is_truth = matches!(function, LogicalNot);
    if x.kind.kind() == Kind::Complex {
        if !is_truth && !matches!(function, Abs) {
            storable(x.kind, &out)?;
        }
        return match complex::unary(function) {
            Some(work) => map::<Complex>(vec![x.into()], out, move |values, _| each(values, work)),
            None => invalid(format!("softacl computes this operator with real numbers only; self is {}", x.kind)),
        };
    }
    // An integer with fractional bounds is clamped as a fraction.
    let bounds = match function {
        Clamp(low, high) => [low, high],
        Threshold(one, other) => [Some(one), Some(other)],
        _ => [None; 2],
    };
    let has_fraction = bounds.iter().flatten().any(|bound| bound.kind.kind() == Kind::Float);
    let class = match function.keeps_integers() && !has_fraction {
        true => x.kind.class(),
        false => x.kind.float_class(),
    };
    if !is_truth && class == Class::I64 {
        storable(x.kind, &out)?;
    }
    let is_bool = x.kind == Type::Bool;
    let operands = vec![x.into()];
    match class {
        Class::F64 => map::<f64>(operands, out, move |values, _| float(function, values)),
        Class::F32 => map::<f32>(operands, out, move |values, _| float(function, values)),
        Class::U64 => map::<u64>(operands, out, move |values, _| integer(function, values, false)),
        _ => map::<i64>(operands, out, move |values, _| integer(function, values, is_bool)),
    }
}

/// The function of Gelu for an `approximate` argument.
pub fn gelu_of(approximate: i64) -> Result<Unary, nnopbase::status::Failure> {
    match approximate {
        0 => Ok(Gelu),
        1 => Ok(GeluTanh),
        other => invalid(format!("approximate is {other}; it must be 0 (error function) or 1 (tanh)")),
    }
}

fn integer<V: Real>(function: Unary, values: &mut [V], is_bool: bool) {
    let (zero, one) = (V::from_i64(0), V::from_i64(1));
    match function {
        Abs => each(values, |x| x.abs()),
        Neg => each(values, |x| zero.sub(x)),
        Sign => each(values, |x| V::from_i64((x > zero) as i64 - (x < zero) as i64)),
        Relu => each(values, |x| if x > zero { x } else { zero }),
        Threshold(threshold, value) => {
            let (threshold, value) = (threshold.to(), value.to());
            each(values, |x| if x > threshold { x } else { value })
        }
        Clamp(low, high) => clamp(low, high, values),
        LogicalNot => each(values, |x| if x.is_true() { zero } else { one }),
        BitwiseNot if is_bool => each(values, |x| if x.is_true() { zero } else { one }),
        BitwiseNot => each(values, |x| zero.sub(x).sub(one)),
        // Whole numbers are their own floor.
        _ => {}
    }
}

fn clamp<V: Real>(low: Option<Scalar>, high: Option<Scalar>, values: &mut [V]) {
    if let Some(high) = high.map(|high| high.to()) {
        each(values, |x| x.min(high));
    }
    if let Some(low) = low.map(|low| low.to()) {
        each(values, |x| x.max(low));
    }
}

/// Applies a function to fractions.
pub fn float<F: Float>(function: Unary, values: &mut [F]) {
    let (zero, one) = (F::of(0.0), F::of(1.0));
    let sigmoid = move |x: F| one / (one + (-x).exp());
    match function {
        Abs => each(values, |x| x.abs()),
        Neg => each(values, |x| -x),
        Sign => each(values, |x| {
            if x > zero {
                one
            } else if x < zero {
                -one
            } else {
                x
            }
        }),
        Relu => each(values, |x| if x > zero || x.is_nan() { x } else { zero }),
        Reciprocal => each(values, |x| one / x),
        Sqrt => each(values, |x| x.sqrt()),
        Rsqrt => each(values, |x| one / x.sqrt()),
        Exp => each(values, |x| x.exp()),
        Log => each(values, |x| x.ln()),
        Sin => each(values, |x| x.sin()),
        Cos => each(values, |x| x.cos()),
        Tanh => each(values, |x| x.tanh()),
        Floor => each(values, |x| x.floor()),
        Sigmoid => each(values, sigmoid),
        LogSigmoid => each(values, |x| x.through(|x| x.min(0.0) - (-x.abs()).exp().ln_1p())),
        Silu => each(values, |x| x / (one + (-x).exp())),
        Mish => each(values, |x| x.through(|x| x * softplus(x).tanh())),
        Gelu => each(values, |x| x.through(|x| 0.5 * x * libm::erfc(-x * FRAC_1_SQRT_2))),
        GeluTanh => each(values, |x| {
            let inner = F::of(FRAC_2_PI.sqrt()) * (x + F::of(0.044_715) * x * x * x);
            F::of(0.5) * x * (one + inner.tanh())
        }),
        FastGelu => {
            each(values, |x| x / (one + (F::of(-1.702) * x.abs()).exp()) * (F::of(0.851) * (x - x.abs())).exp())
        }
        Hardsigmoid => each(values, |x| (x / F::of(6.0) + F::of(0.5)).min(one).max(zero)),
        Hardswish => each(values, |x| {
            if x >= F::of(3.0) {
                x
            } else if x <= F::of(-3.0) {
                zero
            } else {
                x * (x + F::of(3.0)) / F::of(6.0)
            }
        }),
        Threshold(threshold, value) => {
            let (threshold, value) = (threshold.to(), value.to());
            each(values, |x| if x > threshold || x.is_nan() { x } else { value })
        }
        Clamp(low, high) => clamp(low, high, values),
        LeakyRelu(slope) => each(values, |x| if x > zero { x } else { F::of(slope) * x }),
        Elu { alpha, scale, input } => {
            each(
                values,
                |x| {
                    if x > zero { F::of(scale) * x } else { x.through(|x| alpha * scale * (input * x).exp_m1()) }
                },
            )
        }
        Softplus { beta, threshold } => {
            each(values, |x| x.through(|x| if beta * x > threshold { x } else { (beta * x).exp().ln_1p() / beta }))
        }
        Logit(epsilon) => each(values, |x| {
            x.through(|x| {
                let x = if epsilon < 0.0 { x } else { x.max(epsilon).min(1.0 - epsilon) };
                (x / (1.0 - x)).ln()
            })
        }),
        RoundDecimals(decimals) => each(values, |x| {
            let factor = 10_f64.powi(decimals as i32);
            x.through(|x| (x * factor).round_ties_even() / factor)
        }),
        NanToNum(nan, high, low) => each(values, |x| {
            if x.is_nan() {
                F::of(nan.into())
            } else if x == F::highest() {
                F::of(high.into())
            } else if x == F::lowest() {
                F::of(low.into())
            } else {
                x
            }
        }),
        LogicalNot => each(values, |x| if x.is_true() { zero } else { one }),
        BitwiseNot => each(values, |x| F::from_i64(!x.to_i64())),
        Atan => each(values, |x| x.through(f64::atan)),
        Log1p => each(values, |x| x.through(f64::ln_1p)),
        other => each(values, |x| x.through(in_double(other))),
    }
}

/// Functions that are computed in double precision whatever the type is.
fn in_double(function: Unary) -> fn(f64) -> f64 {
    match function {
        Acos => f64::acos,
        Acosh => f64::acosh,
        Asin => f64::asin,
        Asinh => f64::asinh,
        Atanh => f64::atanh,
        Ceil => f64::ceil,
        Cosh => f64::cosh,
        Erf => libm::erf,
        Erfc => libm::erfc,
        Erfinv => inverse_error_function,
        Exp2 => f64::exp2,
        Expm1 => f64::exp_m1,
        Frac => f64::fract,
        Log10 => f64::log10,
        Log2 => f64::log2,
        Round => f64::round_ties_even,
        Sinc => |x| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) },
        Sinh => f64::sinh,
        Tan => f64::tan,
        Trunc => f64::trunc,
        IsFinite => |x| x.is_finite().into(),
        IsNegInf => |x| (x == f64::NEG_INFINITY).into(),
        IsPosInf => |x| (x == f64::INFINITY).into(),
        Signbit => |x| x.is_sign_negative().into(),
        // The other functions have dedicated loops.
        _ => |x| x,
    }
}

/// The number whose error function is `x`: an estimate, made exact by Newton's method.
fn inverse_error_function(x: f64) -> f64 {
    if x.abs() >= 1.0 {
        return if x.abs() == 1.0 { x * f64::INFINITY } else { f64::NAN };
    }
    let (log, a) = ((1.0 - x * x).ln(), 0.147);
    let half = 2.0 / (PI * a) + log / 2.0;
    let mut y = ((half * half - log / a).sqrt() - half).sqrt().copysign(x);
    for _ in 0..3 {
        y -= (libm::erf(y) - x) / (FRAC_2_SQRT_PI * (-y * y).exp());
    }
    y
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}
