//! Host values: scalars of a call, copied when it is planned.

use super::types::{Kind, Type};
use super::value::{Complex, Element, Value, with_element};

/// One host value with its type.
#[derive(Debug, Clone, Copy)]
pub struct Scalar {
    pub kind: Type,
    number: Number,
}

#[derive(Debug, Clone, Copy)]
enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Complex(Complex),
}

impl Scalar {
    /// Reads the bytes of a value of this type.
    pub fn new(kind: Type, bytes: &[u8]) -> Scalar {
        assert!(bytes.len() >= kind.size(), "{kind} has {} bytes, not {}", kind.size(), bytes.len());
        let number = match kind.kind() {
            Kind::Float => Number::Float(parse(kind, bytes)),
            Kind::Complex => Number::Complex(parse(kind, bytes)),
            _ if kind == Type::U64 => Number::Unsigned(parse(kind, bytes)),
            _ => Number::Signed(parse(kind, bytes)),
        };
        Scalar { kind, number }
    }

    pub fn float(value: f64) -> Scalar {
        Scalar { kind: Type::F32, number: Number::Float(value) }
    }

    pub fn integer(value: i64) -> Scalar {
        Scalar { kind: Type::I64, number: Number::Signed(value) }
    }

    /// The value as one of another class.
    pub fn to<V: Value>(&self) -> V {
        match self.number {
            Number::Signed(value) => V::from_i64(value),
            Number::Unsigned(value) => V::from_u64(value),
            Number::Float(value) => V::from_f64(value),
            Number::Complex(value) => V::from_complex(value),
        }
    }

    pub fn f64(&self) -> f64 {
        self.to()
    }
}

fn parse<V: Value>(kind: Type, bytes: &[u8]) -> V {
    with_element!(kind, E => {
        // SAFETY: `new` checked that there are as many bytes as the element has; every bit pattern is an element.
        let element = unsafe { bytes.as_ptr().cast::<E>().read_unaligned() };
        E::load(element)
    })
}
