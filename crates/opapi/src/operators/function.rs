//! The elementwise functions, by name. How they are computed is in `unary`, `binary` and `complex`.

use crate::core::scalar::Scalar;

/// A function of one value, with its parameters.
#[derive(Debug, Clone, Copy)]
pub enum Unary {
    Abs,
    Neg,
    Sign,
    Relu,
    Reciprocal,
    Sqrt,
    Rsqrt,
    Exp,
    Log,
    Log1p,
    Sin,
    Cos,
    Tanh,
    Atan,
    Floor,
    Sigmoid,
    LogSigmoid,
    Silu,
    Mish,
    /// Exact, with the error function.
    Gelu,
    GeluTanh,
    FastGelu,
    Hardsigmoid,
    Hardswish,
    /// `x > threshold ? x : value`.
    Threshold(Scalar, Scalar),
    Clamp(Option<Scalar>, Option<Scalar>),
    LeakyRelu(f64),
    Elu {
        alpha: f64,
        scale: f64,
        input: f64,
    },
    Softplus {
        beta: f64,
        threshold: f64,
    },
    Logit(f64),
    RoundDecimals(i64),
    NanToNum(f32, f32, f32),
    LogicalNot,
    BitwiseNot,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atanh,
    Ceil,
    Cosh,
    Erf,
    Erfc,
    Erfinv,
    Exp2,
    Expm1,
    Frac,
    Log10,
    Log2,
    Round,
    Sinc,
    Sinh,
    Tan,
    Trunc,
    IsFinite,
    IsNegInf,
    IsPosInf,
    Signbit,
}

impl Unary {
    /// True if integers are computed as integers.
    pub fn keeps_integers(self) -> bool {
        use Unary::*;
        matches!(self, Ceil | Round | Trunc)
            || matches!(self, Abs | Neg | Sign | Relu | Floor | Threshold(..) | Clamp(..) | LogicalNot | BitwiseNot)
            || matches!(self, RoundDecimals(decimals) if decimals >= 0)
    }
}

/// A function of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// True division: integers give a fraction.
    Div,
    FloorDiv,
    TruncDiv,
    Fmod,
    Remainder,
    Pow,
    Atan2,
    Maximum,
    Minimum,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    LogicalAnd,
    LogicalOr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Binary {
    /// True if the result is 0 or 1, which fits into every type.
    pub fn is_truth(self) -> bool {
        use Binary::*;
        matches!(self, LogicalAnd | LogicalOr | Eq | Ne | Lt | Le | Gt | Ge)
    }
}
