//! Conversion of elements between types, block by block, with the results of a C cast on x86.
//!
//! Integers wrap. Floats are truncated to integers; a value that does not fit becomes the smallest integer of 32 or 64
//! bits, truncated to the width of the target, as the instruction of the processor does. 16-bit floats are converted
//! through 32 bits and rounded to nearest even. A NaN stays a NaN, without its payload.

use super::reduce::{float_to_half, half_to_float};

/// Types that can be converted into each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Float16,
    Bfloat16,
    Float32,
    Float64,
}

impl Scalar {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            Scalar::Bool | Scalar::Int8 | Scalar::Uint8 => 1,
            Scalar::Int16 | Scalar::Float16 | Scalar::Bfloat16 => 2,
            Scalar::Int32 | Scalar::Float32 => 4,
            Scalar::Int64 | Scalar::Float64 => 8,
        }
    }
}

/// Number of elements that are converted at a time.
pub const BLOCK: usize = 256;

/// A block of values, in a type that represents each of them exactly.
enum Wide {
    Ints([i64; BLOCK]),
    Singles([f32; BLOCK]),
    Doubles([f64; BLOCK]),
}

/// Converts the elements in `source`, at most `BLOCK` of them.
pub fn convert(target: &mut [u8], to: Scalar, source: &[u8], from: Scalar) {
    store(target, to, &load(source, from));
}

/// Reads a block.
fn load(source: &[u8], from: Scalar) -> Wide {
    fn each<const N: usize, T: Copy>(source: &[u8], zero: T, read: impl Fn([u8; N]) -> T) -> [T; BLOCK] {
        let mut wide = [zero; BLOCK];
        for (value, bytes) in wide.iter_mut().zip(source.as_chunks::<N>().0) {
            *value = read(*bytes);
        }
        wide
    }
    match from {
        Scalar::Bool => Wide::Ints(each(source, 0, |[byte]| i64::from(byte != 0))),
        Scalar::Int8 => Wide::Ints(each(source, 0, |bytes| i8::from_le_bytes(bytes).into())),
        Scalar::Uint8 => Wide::Ints(each(source, 0, |[byte]| byte.into())),
        Scalar::Int16 => Wide::Ints(each(source, 0, |bytes| i16::from_le_bytes(bytes).into())),
        Scalar::Int32 => Wide::Ints(each(source, 0, |bytes| i32::from_le_bytes(bytes).into())),
        Scalar::Int64 => Wide::Ints(each(source, 0, i64::from_le_bytes)),
        Scalar::Float16 => Wide::Singles(each(source, 0.0, |bytes| half_to_float(u16::from_le_bytes(bytes)))),
        Scalar::Bfloat16 => {
            Wide::Singles(each(source, 0.0, |bytes| f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)))
        }
        Scalar::Float32 => Wide::Singles(each(source, 0.0, f32::from_le_bytes)),
        Scalar::Float64 => Wide::Doubles(each(source, 0.0, f64::from_le_bytes)),
    }
}

/// Writes a block.
fn store(target: &mut [u8], to: Scalar, wide: &Wide) {
    fn each<const N: usize, T: Copy>(target: &mut [u8], wide: &[T; BLOCK], write: impl Fn(T) -> [u8; N]) {
        for (bytes, value) in target.as_chunks_mut::<N>().0.iter_mut().zip(wide) {
            *bytes = write(*value);
        }
    }
    macro_rules! each {
        ($ints:expr, $singles:expr, $doubles:expr) => {
            match wide {
                Wide::Ints(values) => each(target, values, $ints),
                Wide::Singles(values) => each(target, values, $singles),
                Wide::Doubles(values) => each(target, values, $doubles),
            }
        };
    }
    // Narrow signed integers are truncated from 32 bits, unsigned bytes from 64.
    match to {
        Scalar::Bool => each!(|v| [u8::from(v != 0)], |v| [u8::from(v != 0.0)], |v| [u8::from(v != 0.0)]),
        Scalar::Int8 => {
            each!(|v| [v as u8], |v| [truncate_to_i32(v.into()) as u8], |v| [truncate_to_i32(v) as u8])
        }
        Scalar::Uint8 => {
            each!(|v| [v as u8], |v| [truncate_to_i64(v.into()) as u8], |v| [truncate_to_i64(v) as u8])
        }
        Scalar::Int16 => {
            each!(|v| (v as i16).to_le_bytes(), |v| (truncate_to_i32(v.into()) as i16).to_le_bytes(), |v| {
                (truncate_to_i32(v) as i16).to_le_bytes()
            })
        }
        Scalar::Int32 => {
            each!(|v| (v as i32).to_le_bytes(), |v| truncate_to_i32(v.into()).to_le_bytes(), |v| truncate_to_i32(v)
                .to_le_bytes())
        }
        Scalar::Int64 => {
            each!(|v| v.to_le_bytes(), |v| truncate_to_i64(v.into()).to_le_bytes(), |v| truncate_to_i64(v)
                .to_le_bytes())
        }
        Scalar::Float16 => {
            each!(|v| float_to_half(v as f32).to_le_bytes(), |v| float_to_half(v).to_le_bytes(), |v| float_to_half(
                v as f32
            )
            .to_le_bytes())
        }
        Scalar::Bfloat16 => {
            each!(|v| to_bfloat(v as f32).to_le_bytes(), |v| to_bfloat(v).to_le_bytes(), |v| to_bfloat(v as f32)
                .to_le_bytes())
        }
        Scalar::Float32 => each!(|v| (v as f32).to_le_bytes(), |v| v.to_le_bytes(), |v| (v as f32).to_le_bytes()),
        Scalar::Float64 => each!(|v| (v as f64).to_le_bytes(), |v| f64::from(v).to_le_bytes(), |v| v.to_le_bytes()),
    }
}

/// Truncates a float. Values that do not fit give `i32::MIN`.
fn truncate_to_i32(value: f64) -> i32 {
    let whole = value.trunc();
    if (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&whole) { whole as i32 } else { i32::MIN }
}

/// Truncates a float. Values that do not fit give `i64::MIN`.
fn truncate_to_i64(value: f64) -> i64 {
    // 2^63 itself does not fit, and `i64::MAX` is not representable as an f64.
    /// Exact. The precision of `powi` depends on the platform.
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if (-TWO_TO_63..TWO_TO_63).contains(&value) { value as i64 } else { i64::MIN }
}

/// binary32 to bfloat16, rounded to nearest even.
fn to_bfloat(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return 0x7fc0;
    }
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(from: Scalar, source: &[u8], to: Scalar) -> Vec<u8> {
        let mut target = vec![0; to.bytes()];
        convert(&mut target, to, source, from);
        target
    }

    #[test]
    fn floats_are_truncated_and_overflow_gives_the_smallest_integer() {
        let of = |value: f32, to| one(Scalar::Float32, &value.to_le_bytes(), to);
        assert_eq!(of(-2.9, Scalar::Int32), (-2i32).to_le_bytes());
        assert_eq!(of(3e9, Scalar::Int32), i32::MIN.to_le_bytes());
        assert_eq!(of(f32::NAN, Scalar::Int64), i64::MIN.to_le_bytes());
        assert_eq!(of(3e9, Scalar::Int64), 3_000_000_000i64.to_le_bytes());
        assert_eq!(of(9_223_372_036_854_775_808.0, Scalar::Int64), i64::MIN.to_le_bytes());
        assert_eq!(of(300.0, Scalar::Uint8), [44]);
        assert_eq!(of(-1.0, Scalar::Uint8), [255]);
        assert_eq!(of(3e9, Scalar::Int8), [0]);
        assert_eq!(of(130.0, Scalar::Int8), [130]);
        assert_eq!(of(f32::NAN, Scalar::Bool), [1]);
        assert_eq!(of(-0.0, Scalar::Bool), [0]);
    }

    #[test]
    fn floats_are_rounded_to_nearest_even() {
        let of = |value: f32, to| one(Scalar::Float32, &value.to_le_bytes(), to);
        assert_eq!(of(1.0 + 1.0 / 256.0, Scalar::Bfloat16), [0x80, 0x3f]);
        assert_eq!(of(1.0 + 3.0 / 256.0, Scalar::Bfloat16), [0x82, 0x3f]);
        assert_eq!(of(f32::NAN, Scalar::Bfloat16), [0xc0, 0x7f]);
        assert_eq!(of(1e9, Scalar::Float16), [0, 0x7c]);
        // One rounding, not two: an intermediate f64 would make this the even neighbor, 2^60.
        let above_the_midpoint: i64 = (1 << 60) + (1 << 36) + 1;
        let expected = ((1i64 << 60) + (1 << 37)) as f32;
        assert_eq!(one(Scalar::Int64, &above_the_midpoint.to_le_bytes(), Scalar::Float32), expected.to_le_bytes());
    }

    #[test]
    fn integers_wrap_and_every_pair_of_types_writes_its_size() {
        assert_eq!(one(Scalar::Int64, &(-1i64).to_le_bytes(), Scalar::Uint8), [255]);
        assert_eq!(one(Scalar::Int16, &300i16.to_le_bytes(), Scalar::Int8), [44]);
        assert_eq!(one(Scalar::Bool, &[1], Scalar::Float16), [0, 0x3c]);
        use Scalar::*;
        let all = [Bool, Int8, Int16, Int32, Int64, Uint8, Float16, Bfloat16, Float32, Float64];
        for (from, to) in all.into_iter().flat_map(|from| all.map(|to| (from, to))) {
            let mut source = vec![0; from.bytes() * BLOCK];
            convert(&mut source, from, &[1; BLOCK], Bool);
            let mut target = vec![0xee; to.bytes() * BLOCK + 1];
            convert(&mut target[..to.bytes() * BLOCK], to, &source, from);
            let mut expected = vec![0; to.bytes() * BLOCK];
            convert(&mut expected, to, &[1; BLOCK], Bool);
            assert_eq!(target[..to.bytes() * BLOCK], expected, "{from:?} to {to:?}");
            assert_eq!(target[to.bytes() * BLOCK], 0xee);
        }
    }
}
