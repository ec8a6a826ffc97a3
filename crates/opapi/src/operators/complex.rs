//! Functions of complex numbers.

use super::function::{Binary, Unary};
use crate::core::value::{Complex, Value};

/// The function of one number, or `None` if it is not computed here.
pub fn unary(function: Unary) -> Option<fn(Complex) -> Complex> {
    Some(match function {
        Unary::Abs => |x| Complex { re: modulus(x), im: 0.0 },
        Unary::Neg => |x| Complex { re: -x.re, im: -x.im },
        Unary::Exp => exp,
        Unary::Log => log,
        Unary::Sqrt => |x| power(x, Complex { re: 0.5, im: 0.0 }),
        Unary::Sin => |x| Complex { re: x.re.sin() * x.im.cosh(), im: x.re.cos() * x.im.sinh() },
        Unary::Cos => |x| Complex { re: x.re.cos() * x.im.cosh(), im: -x.re.sin() * x.im.sinh() },
        Unary::Reciprocal => |x| quotient(Complex { re: 1.0, im: 0.0 }, x),
        Unary::Sign => |x| match modulus(x) {
            0.0 => Complex::default(),
            length => Complex { re: x.re / length, im: x.im / length },
        },
        Unary::LogicalNot => |x| truth(!x.is_true()),
        _ => return None,
    })
}

/// The function of two numbers, or `None` if it is not computed here.
pub fn binary(function: Binary) -> Option<fn(Complex, Complex) -> Complex> {
    Some(match function {
        Binary::Add => |a, b| Complex { re: a.re + b.re, im: a.im + b.im },
        Binary::Sub => |a, b| Complex { re: a.re - b.re, im: a.im - b.im },
        Binary::Mul => product,
        Binary::Div => quotient,
        Binary::Pow => power,
        Binary::Eq => |a, b| truth(a == b),
        Binary::Ne => |a, b| truth(a != b),
        Binary::LogicalAnd => |a, b| truth(a.is_true() && b.is_true()),
        Binary::LogicalOr => |a, b| truth(a.is_true() || b.is_true()),
        _ => return None,
    })
}

pub fn product(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
}

fn quotient(a: Complex, b: Complex) -> Complex {
    let scale = b.re * b.re + b.im * b.im;
    Complex { re: (a.re * b.re + a.im * b.im) / scale, im: (a.im * b.re - a.re * b.im) / scale }
}

fn power(base: Complex, exponent: Complex) -> Complex {
    if !base.is_true() {
        return truth(!exponent.is_true());
    }
    exp(product(exponent, log(base)))
}

fn exp(x: Complex) -> Complex {
    let scale = x.re.exp();
    Complex { re: scale * x.im.cos(), im: scale * x.im.sin() }
}

fn log(x: Complex) -> Complex {
    Complex { re: modulus(x).ln(), im: x.im.atan2(x.re) }
}

fn modulus(x: Complex) -> f64 {
    x.re.hypot(x.im)
}

fn truth(value: bool) -> Complex {
    Complex { re: value.into(), im: 0.0 }
}
