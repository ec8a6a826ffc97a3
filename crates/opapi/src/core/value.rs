//! Values in which operators compute, and their conversion from and to elements in memory.
//!
//! There are five classes of values and sixteen types of elements. An operator is written for classes; blocks of
//! elements are converted on the way in and out. Conversions are those of Rust's `as`: floats to integers truncate and
//! saturate and NaN becomes 0, integers to narrower integers wrap.

use half::{bf16, f16};
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

/// A complex number, computed in double precision.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Complex {
    pub re: f64,
    pub im: f64,
}

/// A value of one class.
pub trait Value: Copy + Default + PartialEq + Send + Sync + 'static {
    fn from_f32(value: f32) -> Self;
    fn from_f64(value: f64) -> Self;
    fn from_i64(value: i64) -> Self;
    fn from_u64(value: u64) -> Self;
    fn from_complex(value: Complex) -> Self;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
    fn to_i8(self) -> i8;
    fn to_i16(self) -> i16;
    fn to_i32(self) -> i32;
    fn to_i64(self) -> i64;
    fn to_u8(self) -> u8;
    fn to_u16(self) -> u16;
    fn to_u32(self) -> u32;
    fn to_u64(self) -> u64;
    fn to_complex(self) -> Complex;
    fn is_true(self) -> bool;
}

macro_rules! real_value {
    ($($value:ty)*) => {$(
        impl Value for $value {
            fn from_f32(value: f32) -> Self { value as $value }
            fn from_f64(value: f64) -> Self { value as $value }
            fn from_i64(value: i64) -> Self { value as $value }
            fn from_u64(value: u64) -> Self { value as $value }
            fn from_complex(value: Complex) -> Self { value.re as $value }
            fn to_f32(self) -> f32 { self as f32 }
            fn to_f64(self) -> f64 { self as f64 }
            fn to_i8(self) -> i8 { self as i8 }
            fn to_i16(self) -> i16 { self as i16 }
            fn to_i32(self) -> i32 { self as i32 }
            fn to_i64(self) -> i64 { self as i64 }
            fn to_u8(self) -> u8 { self as u8 }
            fn to_u16(self) -> u16 { self as u16 }
            fn to_u32(self) -> u32 { self as u32 }
            fn to_u64(self) -> u64 { self as u64 }
            fn to_complex(self) -> Complex { Complex { re: self as f64, im: 0.0 } }
            fn is_true(self) -> bool { self != <$value>::default() }
        }
    )*};
}

real_value!(f32 f64 i64 u64);

impl Value for Complex {
    fn from_f32(value: f32) -> Self {
        Complex { re: value.into(), im: 0.0 }
    }
    fn from_f64(value: f64) -> Self {
        Complex { re: value, im: 0.0 }
    }
    fn from_i64(value: i64) -> Self {
        Complex { re: value as f64, im: 0.0 }
    }
    fn from_u64(value: u64) -> Self {
        Complex { re: value as f64, im: 0.0 }
    }
    fn from_complex(value: Complex) -> Self {
        value
    }
    fn to_f32(self) -> f32 {
        self.re as f32
    }
    fn to_f64(self) -> f64 {
        self.re
    }
    fn to_i8(self) -> i8 {
        self.re as i8
    }
    fn to_i16(self) -> i16 {
        self.re as i16
    }
    fn to_i32(self) -> i32 {
        self.re as i32
    }
    fn to_i64(self) -> i64 {
        self.re as i64
    }
    fn to_u8(self) -> u8 {
        self.re as u8
    }
    fn to_u16(self) -> u16 {
        self.re as u16
    }
    fn to_u32(self) -> u32 {
        self.re as u32
    }
    fn to_u64(self) -> u64 {
        self.re as u64
    }
    fn to_complex(self) -> Complex {
        self
    }
    fn is_true(self) -> bool {
        self != Complex::default()
    }
}

/// An element as it is in memory.
pub trait Element: Copy + Default + 'static {
    fn load<V: Value>(self) -> V;
    fn store<V: Value>(value: V) -> Self;
}

macro_rules! element {
    ($($element:ty: $from:ident $to:ident $wide:ty),*) => {$(
        impl Element for $element {
            fn load<V: Value>(self) -> V { V::$from(self as $wide) }
            fn store<V: Value>(value: V) -> Self { value.$to() }
        }
    )*};
}

element!(f32: from_f32 to_f32 f32, f64: from_f64 to_f64 f64, i8: from_i64 to_i8 i64, i16: from_i64 to_i16 i64,
    i32: from_i64 to_i32 i64, i64: from_i64 to_i64 i64, u8: from_i64 to_u8 i64, u16: from_i64 to_u16 i64,
    u32: from_i64 to_u32 i64, u64: from_u64 to_u64 u64);

/// A truth value: 0 is false, everything else is true.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Truth(u8);

impl Element for Truth {
    fn load<V: Value>(self) -> V {
        V::from_i64((self.0 != 0).into())
    }
    fn store<V: Value>(value: V) -> Self {
        Truth(value.is_true().into())
    }
}

impl Element for f16 {
    fn load<V: Value>(self) -> V {
        V::from_f32(self.to_f32())
    }
    fn store<V: Value>(value: V) -> Self {
        // A double is rounded once, not twice.
        if size_of::<V>() > 4 { f16::from_f64(value.to_f64()) } else { f16::from_f32(value.to_f32()) }
    }
}

impl Element for bf16 {
    fn load<V: Value>(self) -> V {
        V::from_f32(self.to_f32())
    }
    fn store<V: Value>(value: V) -> Self {
        if size_of::<V>() > 4 { bf16::from_f64(value.to_f64()) } else { bf16::from_f32(value.to_f32()) }
    }
}

/// A complex element: two numbers.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Pair<T>(T, T);

macro_rules! pair {
    ($($part:ty: $from:expr, $to:expr);*) => {$(
        impl Element for Pair<$part> {
            fn load<V: Value>(self) -> V { V::from_complex(Complex { re: $to(self.0), im: $to(self.1) }) }
            fn store<V: Value>(value: V) -> Self {
                let value = value.to_complex();
                Pair($from(value.re), $from(value.im))
            }
        }
    )*};
}

pair!(f16: f16::from_f64, f16::to_f64; f32: |x: f64| x as f32, |x: f32| f64::from(x); f64: |x: f64| x, |x: f64| x);

/// Runs the body with the element type of a type. Four-bit elements are not here: they have no address.
macro_rules! with_element {
    ($kind:expr, $element:ident => $body:expr) => {
        match $kind {
            $crate::core::types::Type::F32 => {
                type $element = f32;
                $body
            }
            $crate::core::types::Type::F16 => {
                type $element = half::f16;
                $body
            }
            $crate::core::types::Type::Bf16 => {
                type $element = half::bf16;
                $body
            }
            $crate::core::types::Type::F64 => {
                type $element = f64;
                $body
            }
            $crate::core::types::Type::I8 | $crate::core::types::Type::I4 => {
                type $element = i8;
                $body
            }
            $crate::core::types::Type::I16 => {
                type $element = i16;
                $body
            }
            $crate::core::types::Type::I32 => {
                type $element = i32;
                $body
            }
            $crate::core::types::Type::I64 => {
                type $element = i64;
                $body
            }
            $crate::core::types::Type::U8 => {
                type $element = u8;
                $body
            }
            $crate::core::types::Type::U16 => {
                type $element = u16;
                $body
            }
            $crate::core::types::Type::U32 => {
                type $element = u32;
                $body
            }
            $crate::core::types::Type::U64 => {
                type $element = u64;
                $body
            }
            $crate::core::types::Type::Bool => {
                type $element = $crate::core::value::Truth;
                $body
            }
            $crate::core::types::Type::C32 => {
                type $element = $crate::core::value::Pair<half::f16>;
                $body
            }
            $crate::core::types::Type::C64 => {
                type $element = $crate::core::value::Pair<f32>;
                $body
            }
            $crate::core::types::Type::C128 => {
                type $element = $crate::core::value::Pair<f64>;
                $body
            }
        }
    };
}
pub(crate) use with_element;

/// Runs the body with the value type of a class of real numbers. Complex numbers take the second body.
macro_rules! with_real {
    ($class:expr, $value:ident => $body:expr, complex => $complex:expr) => {
        match $class {
            $crate::core::types::Class::F32 => {
                type $value = f32;
                $body
            }
            $crate::core::types::Class::F64 => {
                type $value = f64;
                $body
            }
            $crate::core::types::Class::I64 => {
                type $value = i64;
                $body
            }
            $crate::core::types::Class::U64 => {
                type $value = u64;
                $body
            }
            $crate::core::types::Class::Complex => $complex,
        }
    };
}
pub(crate) use with_real;

/// Runs the body with `f64` or `f32`, whichever the class asks for.
macro_rules! with_float {
    ($class:expr, $value:ident => $body:expr) => {
        match $class {
            $crate::core::types::Class::F64 => {
                type $value = f64;
                $body
            }
            _ => {
                type $value = f32;
                $body
            }
        }
    };
}
pub(crate) use with_float;

/// Arithmetic of real numbers. Integers wrap, and division by 0 of integers gives 0.
pub trait Real: Value + PartialOrd {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Quotient: a fraction, or for integers a whole number.
    fn quotient(self, other: Self) -> Self;
    /// Quotient, rounded towards negative infinity.
    fn floor_div(self, other: Self) -> Self;
    /// Quotient, rounded towards zero.
    fn trunc_div(self, other: Self) -> Self;
    /// Remainder with the sign of the dividend.
    fn fmod(self, other: Self) -> Self;
    /// Remainder with the sign of the divisor.
    fn remainder(self, other: Self) -> Self;
    fn pow(self, exponent: Self) -> Self;
    /// Bits moved towards the lowest one, with the sign of a signed integer.
    fn shift_right(self, count: Self) -> Self;
    fn abs(self) -> Self;
    fn is_nan(self) -> bool;
    fn lowest() -> Self;
    fn highest() -> Self;

    /// The greater one. NaN if one is NaN.
    fn max(self, other: Self) -> Self {
        if self.is_nan() || self > other { self } else { other }
    }
    /// The smaller one. NaN if one is NaN.
    fn min(self, other: Self) -> Self {
        if self.is_nan() || self < other { self } else { other }
    }
}

macro_rules! real_float {
    ($($float:ty)*) => {$(
        impl Real for $float {
            fn add(self, other: Self) -> Self { self + other }
            fn sub(self, other: Self) -> Self { self - other }
            fn mul(self, other: Self) -> Self { self * other }
            fn quotient(self, other: Self) -> Self { self / other }
            fn floor_div(self, other: Self) -> Self { (self / other).floor() }
            fn trunc_div(self, other: Self) -> Self { (self / other).trunc() }
            fn fmod(self, other: Self) -> Self { self % other }
            fn shift_right(self, count: Self) -> Self {
                Self::from_i64(self.to_i64().shift_right(count.to_i64()))
            }
            fn remainder(self, other: Self) -> Self {
                let rest = self % other;
                if rest != 0.0 && (rest < 0.0) != (other < 0.0) { rest + other } else { rest }
            }
            fn pow(self, exponent: Self) -> Self { self.powf(exponent) }
            fn abs(self) -> Self { <$float>::abs(self) }
            fn is_nan(self) -> bool { <$float>::is_nan(self) }
            fn lowest() -> Self { <$float>::NEG_INFINITY }
            fn highest() -> Self { <$float>::INFINITY }
        }
    )*};
}

real_float!(f32 f64);

macro_rules! real_integer {
    ($integer:ty, $abs:expr) => {
        impl Real for $integer {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn quotient(self, other: Self) -> Self {
                self.trunc_div(other)
            }
            fn floor_div(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let quotient = self.wrapping_div(other);
                let rest = self.wrapping_rem(other);
                #[allow(unused_comparisons, reason = "the macro also serves the unsigned type")]
                if rest != 0 && (rest < 0) != (other < 0) { quotient - 1 } else { quotient }
            }
            fn trunc_div(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
            fn fmod(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
            fn remainder(self, other: Self) -> Self {
                let rest = self.fmod(other);
                #[allow(unused_comparisons, reason = "the macro also serves the unsigned type")]
                if rest != 0 && (rest < 0) != (other < 0) { rest.wrapping_add(other) } else { rest }
            }
            fn pow(self, exponent: Self) -> Self {
                integer_power(self, exponent)
            }
            fn shift_right(self, count: Self) -> Self {
                let count = count.to_i64();
                if (0..64).contains(&count) { self >> count } else { self >> 63 >> 1 }
            }
            fn abs(self) -> Self {
                $abs(self)
            }
            fn is_nan(self) -> bool {
                false
            }
            fn lowest() -> Self {
                <$integer>::MIN
            }
            fn highest() -> Self {
                <$integer>::MAX
            }
        }
    };
}

real_integer!(i64, i64::wrapping_abs);
real_integer!(u64, |value| value);

/// Power of integers. A negative exponent gives 0, except for 1 and -1.
fn integer_power<V: Real>(base: V, exponent: V) -> V {
    let (one, mut left) = (V::from_i64(1), exponent.to_i64());
    if left < 0 {
        return match base.to_i64() {
            1 => one,
            -1 => V::from_i64(if left % 2 == 0 { 1 } else { -1 }),
            _ => V::from_i64(0),
        };
    }
    let (mut result, mut square) = (one, base);
    while left > 0 {
        if left & 1 == 1 {
            result = result.mul(square);
        }
        square = square.mul(square);
        left >>= 1;
    }
    result
}

/// Functions of fractions, beyond those of `Real`.
pub trait Float:
    Real
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    fn of(value: f64) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn sqrt(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tanh(self) -> Self;
    fn floor(self) -> Self;
    /// Any other function, in double precision.
    fn through(self, function: impl Fn(f64) -> f64) -> Self;
}

macro_rules! float {
    ($($float:ty)*) => {$(
        impl Float for $float {
            fn of(value: f64) -> Self { value as $float }
            fn exp(self) -> Self { <$float>::exp(self) }
            fn ln(self) -> Self { <$float>::ln(self) }
            fn sqrt(self) -> Self { <$float>::sqrt(self) }
            fn sin(self) -> Self { <$float>::sin(self) }
            fn cos(self) -> Self { <$float>::cos(self) }
            fn tanh(self) -> Self { <$float>::tanh(self) }
            fn floor(self) -> Self { <$float>::floor(self) }
            fn through(self, function: impl Fn(f64) -> f64) -> Self { function(self.into()) as $float }
        }
    )*};
}

float!(f32 f64);
