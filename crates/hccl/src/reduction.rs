//! Reductions of elements: target = op(first, second).
//!
//! Integer sums and products wrap. 16-bit floats are computed in 32 bits and rounded to nearest even after every step. The
//! result of MAX and MIN of a number and NaN is the number.

use crate::failure::Failure;
use crate::types::{Element, ReduceOp};

/// How a collective combines elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduction {
    pub element: Element,
    pub op: ReduceOp,
}

impl Reduction {
    /// Refuses combinations that no chip has.
    pub fn new(element: Element, op: ReduceOp) -> Result<Reduction, Failure> {
        match element {
            Element::Int128 | Element::Float8(_) => Err(Failure::Unsupported(format!(
                "{} of {}: such elements can be moved, but not reduced",
                op.name(),
                element.name()
            ))),
            _ => Ok(Reduction { element, op }),
        }
    }

    /// Combines `len` bytes of two operands, element by element. The target may be one of the operands.
    ///
    /// # Safety
    ///
    /// All three are valid for `len` bytes, a multiple of the size of an element.
    pub unsafe fn combine(self, target: *mut u8, first: *const u8, second: *const u8, len: usize) {
        macro_rules! integers {
            ($kind:ty) => {
                // SAFETY: the promise of the caller.
                unsafe {
                    match self.op {
                        ReduceOp::Sum => each::<$kind>(target, first, second, len, <$kind>::wrapping_add),
                        ReduceOp::Product => each::<$kind>(target, first, second, len, <$kind>::wrapping_mul),
                        ReduceOp::Max => each::<$kind>(target, first, second, len, Ord::max),
                        ReduceOp::Min => each::<$kind>(target, first, second, len, Ord::min),
                    }
                }
            };
        }
        macro_rules! floats {
            ($kind:ty) => {
                // SAFETY: the promise of the caller.
                unsafe {
                    match self.op {
                        ReduceOp::Sum => each::<$kind>(target, first, second, len, |a, b| a + b),
                        ReduceOp::Product => each::<$kind>(target, first, second, len, |a, b| a * b),
                        ReduceOp::Max => each::<$kind>(target, first, second, len, <$kind>::max),
                        ReduceOp::Min => each::<$kind>(target, first, second, len, <$kind>::min),
                    }
                }
            };
        }
        let op = move |a: f32, b: f32| match self.op {
            ReduceOp::Sum => a + b,
            ReduceOp::Product => a * b,
            ReduceOp::Max => a.max(b),
            ReduceOp::Min => a.min(b),
        };
        match self.element {
            Element::Int8 => integers!(i8),
            Element::Int16 => integers!(i16),
            Element::Int32 => integers!(i32),
            Element::Int64 => integers!(i64),
            Element::Uint8 => integers!(u8),
            Element::Uint16 => integers!(u16),
            Element::Uint32 => integers!(u32),
            Element::Uint64 => integers!(u64),
            Element::Float32 => floats!(f32),
            Element::Float64 => floats!(f64),
            // SAFETY: the promise of the caller.
            Element::Float16 => unsafe {
                each::<u16>(target, first, second, len, |a, b| float_to_half(op(half_to_float(a), half_to_float(b))));
            },
            // SAFETY: the promise of the caller.
            Element::Bfloat16 => unsafe {
                let wide = |half: u16| f32::from_bits(u32::from(half) << 16);
                each::<u16>(target, first, second, len, |a, b| float_to_bfloat(op(wide(a), wide(b))));
            },
            Element::Int128 | Element::Float8(_) => unreachable!("`new` refuses them"),
        }
    }
}

/// Combines two operands, element by element.
///
/// # Safety
///
/// All three are valid for `len` bytes.
#[inline(always)]
unsafe fn each<T: Copy>(target: *mut u8, first: *const u8, second: *const u8, len: usize, op: impl Fn(T, T) -> T) {
    let (target, first, second) = (target.cast::<T>(), first.cast::<T>(), second.cast::<T>());
    for at in 0..len / size_of::<T>() {
        // SAFETY: the promise of the caller. Buffers of a program need not be aligned.
        unsafe { target.add(at).write_unaligned(op(first.add(at).read_unaligned(), second.add(at).read_unaligned())) }
    }
}

/// IEEE 754 binary16 to binary32, exact.
pub fn half_to_float(half: u16) -> f32 {
    let sign = u32::from(half >> 15) << 31;
    let (exponent, fraction) = (u32::from(half >> 10) & 0x1f, u32::from(half) & 0x3ff);
    match (exponent, fraction) {
        (0, _) => f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
        (31, _) => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// IEEE 754 binary32 to binary16, to nearest even.
pub fn float_to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    // The smallest value that rounds to infinity is halfway above the largest finite one.
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    let exponent = (magnitude >> 23) as i32 - 127;
    // Bits of the fraction, with its leading one, that do not fit.
    let dropped = if exponent < -14 { 13 + (-14 - exponent) } else { 13 };
    if dropped > 24 {
        return sign;
    }
    let fraction = magnitude & 0x7f_ffff | 0x80_0000;
    let kept = fraction >> dropped;
    let rest = fraction & ((1 << dropped) - 1);
    let half = 1 << (dropped - 1);
    let rounded = kept + u32::from(rest > half || rest == half && kept & 1 == 1);
    // A subnormal has no leading one; a carry out of the fraction raises the exponent, as it should.
    let base = if exponent < -14 { 0 } else { ((exponent + 14) as u32) << 10 };
    sign | (base + rounded) as u16
}

/// binary32 to bfloat16, to nearest even.
pub fn float_to_bfloat(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_trip_and_round_to_even() {
        for half in 0..=u16::MAX {
            let value = half_to_float(half);
            if !value.is_nan() {
                assert_eq!(float_to_half(value), half, "{half:#06x} is {value}");
            }
        }
        assert_eq!(float_to_half(1.0 + 1.0 / 2048.0), 0x3c00, "halfway goes to even");
        assert_eq!(float_to_half(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!((float_to_half(65519.0), float_to_half(65520.0)), (0x7bff, 0x7c00));
        assert_eq!(float_to_half(f32::from_bits(0x3300_0000)), 0, "half of the smallest subnormal goes to even");
        assert_eq!(float_to_half(f32::from_bits(0x3300_0001)), 1);
        assert_eq!(float_to_bfloat(1.0), 0x3f80);
        assert_eq!(float_to_bfloat(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(float_to_bfloat(f32::from_bits(0x3f81_8000)), 0x3f82);
    }

    #[test]
    fn integers_wrap_and_buffers_need_no_alignment() {
        let reduce = |element, op| Reduction::new(element, op).unwrap();
        let (a, b) = ([0_u8, 0x7f, 0xff], [0_u8, 2, 1]);
        let mut sum = [0_u8; 3];
        // SAFETY: two bytes of each array, from the second on.
        unsafe {
            reduce(Element::Int8, ReduceOp::Sum).combine(
                sum.as_mut_ptr().add(1),
                a.as_ptr().add(1),
                b.as_ptr().add(1),
                2,
            );
        }
        assert_eq!(sum, [0, 0x81, 0]);
        // SAFETY: as above, as one element.
        unsafe {
            let (a, b) = (a.as_ptr().add(1), b.as_ptr().add(1));
            reduce(Element::Uint16, ReduceOp::Max).combine(sum.as_mut_ptr().add(1), a, b, 2);
        }
        assert_eq!(sum, [0, 0x7f, 0xff]);
        assert!(Reduction::new(Element::Int128, ReduceOp::Sum).is_err());
    }
}
