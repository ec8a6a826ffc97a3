//! Element types: names, sizes, kinds, and the promotion of two types to one.

use std::fmt;

/// Type of the elements of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    F32,
    F16,
    I8,
    I32,
    U8,
    I16,
    U16,
    U32,
    I64,
    U64,
    F64,
    Bool,
    C64,
    C128,
    Bf16,
    I4,
    C32,
}

use Type::*;

/// Every type, with its number in the C enumeration, its name in messages, and its bits.
const ALL: [(Type, i32, &str, usize); 17] = [
    (F32, 0, "f32", 32),
    (F16, 1, "f16", 16),
    (I8, 2, "i8", 8),
    (I32, 3, "i32", 32),
    (U8, 4, "u8", 8),
    (I16, 6, "i16", 16),
    (U16, 7, "u16", 16),
    (U32, 8, "u32", 32),
    (I64, 9, "i64", 64),
    (U64, 10, "u64", 64),
    (F64, 11, "f64", 64),
    (Bool, 12, "bool", 8),
    (C64, 16, "c64", 64),
    (C128, 17, "c128", 128),
    (Bf16, 27, "bf16", 16),
    (I4, 29, "i4", 4),
    (C32, 33, "c32", 32),
];

/// What a type can represent, in the order of promotion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Bool,
    Integer,
    Float,
    Complex,
}

/// The type in which an operator computes. 16-bit types are computed as `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    F32,
    F64,
    I64,
    U64,
    Complex,
}

impl Type {
    /// Finds a type by its number in the C enumeration.
    pub fn from_code(code: i32) -> Option<Type> {
        ALL.iter().find(|row| row.1 == code).map(|row| row.0)
    }

    fn row(self) -> &'static (Type, i32, &'static str, usize) {
        &ALL[self as usize]
    }

    pub fn code(self) -> i32 {
        self.row().1
    }

    /// One bit per type, for sets of types.
    pub fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Bytes of `count` elements.
    pub fn bytes(self, count: usize) -> usize {
        (count * self.row().3).div_ceil(8)
    }

    /// Bytes of one element. An element of 4 bits has no whole byte and counts as one.
    pub fn size(self) -> usize {
        self.bytes(1)
    }

    pub fn kind(self) -> Kind {
        match self {
            Bool => Kind::Bool,
            I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | I4 => Kind::Integer,
            F16 | Bf16 | F32 | F64 => Kind::Float,
            C32 | C64 | C128 => Kind::Complex,
        }
    }

    pub fn class(self) -> Class {
        match self {
            F16 | Bf16 | F32 => Class::F32,
            F64 => Class::F64,
            U64 => Class::U64,
            C32 | C64 | C128 => Class::Complex,
            _ => Class::I64,
        }
    }

    /// The class of a result that is a fraction whatever the operands are. Integers are computed in double precision.
    pub fn float_class(self) -> Class {
        match self.class() {
            Class::I64 | Class::U64 => Class::F64,
            class => class,
        }
    }

    /// The type to which two operands are promoted, or `None` if they cannot be combined.
    pub fn promote(self, other: Type) -> Option<Type> {
        if self == other {
            return Some(self);
        }
        if [self, other].iter().any(|one| matches!(one, U16 | U32 | U64 | I4)) {
            return None;
        }
        let (low, high) = if self.kind() <= other.kind() { (self, other) } else { (other, self) };
        Some(match (low.kind(), high.kind()) {
            (Kind::Complex, _) | (Kind::Float, Kind::Complex) => match (low, high) {
                (F64 | C128, _) | (_, C128) => C128,
                (F32 | C64, _) | (_, C64) => C64,
                _ => C32,
            },
            (low, high_kind) if low < high_kind => high,
            (Kind::Float, _) => match (low, high) {
                (F64, _) | (_, F64) => F64,
                _ => F32,
            },
            _ => match (low, high) {
                (I8, U8) | (U8, I8) => I16,
                _ if low.size() > high.size() || (low.size() == high.size() && high == U8) => low,
                _ => high,
            },
        })
    }

    /// True if results of an arithmetic operator of this type may be stored as `target`.
    pub fn converts_to(self, target: Type) -> bool {
        match (self.kind(), target.kind()) {
            (Kind::Bool, _) => true,
            (_, Kind::Bool) => false,
            (Kind::Complex, target) => matches!(target, Kind::Complex | Kind::Float),
            _ => true,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_the_order_of_the_enumeration() {
        for (at, row) in ALL.iter().enumerate() {
            assert_eq!((row.0 as usize, Type::from_code(row.1)), (at, Some(row.0)));
        }
    }

    #[test]
    fn promotion_follows_the_documented_table() {
        let rows = [
            (F16, Bf16, Some(F32)),
            (F16, F32, Some(F32)),
            (I64, F16, Some(F16)),
            (Bool, I8, Some(I8)),
            (I8, U8, Some(I16)),
            (U8, I32, Some(I32)),
            (I16, I64, Some(I64)),
            (F64, C32, Some(C128)),
            (F32, C32, Some(C64)),
            (Bf16, C32, Some(C32)),
            (C64, C128, Some(C128)),
            (U32, I32, None),
            (U64, F32, None),
            (U16, U16, Some(U16)),
        ];
        for (one, other, promoted) in rows {
            assert_eq!((one.promote(other), other.promote(one)), (promoted, promoted), "{one} {other}");
        }
    }
}
