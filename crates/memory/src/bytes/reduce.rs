//! Element-wise reduction: target = op(target, source), for every element type of the API.
//!
//! Integer sums wrap, as two's-complement hardware does. 16-bit floats are computed in 32 bits and
//! rounded once, to nearest even. EQUAL gives 1 where the elements are equal and 0 elsewhere.

use super::AccessFault;

/// The op of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceOp {
    Sum,
    Max,
    Min,
    Equal,
}

/// The element type of a reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    Float32,
    Float16,
    Bfloat16,
    Int4,
    Int8,
    Int16,
    Int32,
    Uint8,
    Uint16,
    Uint32,
}

impl Element {
    /// Bytes of one element, or of the smallest group of elements that fills whole bytes.
    pub fn bytes(self) -> usize {
        use Element::*;
        match self {
            Int4 | Int8 | Uint8 => 1,
            Float16 | Bfloat16 | Int16 | Uint16 => 2,
            Float32 | Int32 | Uint32 => 4,
        }
    }
}

/// Reduces `len` bytes. A tail that is shorter than one element is not changed.
///
/// # Safety
///
/// The program allows access to both ranges. They need not be mapped.
pub unsafe fn reduce(
    target: usize,
    source: usize,
    len: usize,
    element: Element,
    op: ReduceOp,
) -> Result<(), AccessFault> {
    // Goes through a buffer of the engine: only the byte routines access device memory.
    const BLOCK: usize = 4096;
    let mut offset = 0;
    let whole = len - len % element.bytes();
    while offset < whole {
        let part = BLOCK.min(whole - offset);
        let (mut ours, mut theirs) = ([0; BLOCK], [0; BLOCK]);
        let load = |into: &mut [u8; BLOCK], from| {
            // SAFETY: the caller's promise covers the source; the target is `into`.
            unsafe { super::copy(super::Span { target: into.as_mut_ptr() as usize, source: from, len: part }) }
        };
        load(&mut ours, target + offset)?;
        load(&mut theirs, source + offset)?;
        block(&mut ours[..part], &theirs[..part], element, op);
        // SAFETY: the caller's promise covers the target.
        unsafe { super::write(target + offset, &ours[..part]) }?;
        offset += part;
    }
    Ok(())
}

/// Reduces one block of the engine.
fn block(ours: &mut [u8], theirs: &[u8], element: Element, op: ReduceOp) {
    macro_rules! integers {
        ($kind:ty) => {
            each(ours, theirs, |a, b| {
                let (a, b) = (<$kind>::from_le_bytes(a), <$kind>::from_le_bytes(b));
                match op {
                    ReduceOp::Sum => a.wrapping_add(b),
                    ReduceOp::Max => a.max(b),
                    ReduceOp::Min => a.min(b),
                    ReduceOp::Equal => <$kind>::from(a == b),
                }
                .to_le_bytes()
            })
        };
    }
    let float = |a: f32, b: f32| match op {
        ReduceOp::Sum => a + b,
        ReduceOp::Max => a.max(b),
        ReduceOp::Min => a.min(b),
        ReduceOp::Equal => f32::from(u8::from(a == b)),
    };
    match element {
        Element::Int8 => integers!(i8),
        Element::Int16 => integers!(i16),
        Element::Int32 => integers!(i32),
        Element::Uint8 => integers!(u8),
        Element::Uint16 => integers!(u16),
        Element::Uint32 => integers!(u32),
        Element::Float32 => {
            each(ours, theirs, |a, b| float(f32::from_le_bytes(a), f32::from_le_bytes(b)).to_le_bytes())
        }
        Element::Float16 => each(ours, theirs, |a, b| {
            let value = float(half_to_float(u16::from_le_bytes(a)), half_to_float(u16::from_le_bytes(b)));
            float_to_half(value).to_le_bytes()
        }),
        Element::Bfloat16 => each(ours, theirs, |a, b| {
            let wide = |half: [u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(half)) << 16);
            float_to_bfloat(float(wide(a), wide(b))).to_le_bytes()
        }),
        Element::Int4 => each(ours, theirs, |[a], [b]| {
            let nibble = |shift: u32| {
                let signed = |byte: u8| ((byte >> shift << 4) as i8) >> 4;
                let (a, b) = (signed(a), signed(b));
                let value = match op {
                    ReduceOp::Sum => a.wrapping_add(b),
                    ReduceOp::Max => a.max(b),
                    ReduceOp::Min => a.min(b),
                    ReduceOp::Equal => i8::from(a == b),
                };
                (value as u8 & 0xf) << shift
            };
            [nibble(0) | nibble(4)]
        }),
    }
}

/// Combines two blocks element by element.
fn each<const N: usize>(ours: &mut [u8], theirs: &[u8], combine: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    let (ours, _) = ours.as_chunks_mut::<N>();
    let (theirs, _) = theirs.as_chunks::<N>();
    for (a, b) in ours.iter_mut().zip(theirs) {
        *a = combine(*a, *b);
    }
}

/// IEEE 754 binary16 to binary32, exact.
pub fn half_to_float(half: u16) -> f32 {
    let sign = u32::from(half >> 15) << 31;
    let exponent = u32::from(half >> 10) & 0x1f;
    let fraction = u32::from(half) & 0x3ff;
    match (exponent, fraction) {
        (0, _) => {
            let magnitude = fraction as f32 / 16_777_216.0;
            f32::from_bits(magnitude.to_bits() | sign)
        }
        (0x1f, _) => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// binary32 to binary16, rounded to nearest even; overflow gives infinity.
pub fn float_to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00; // NaN
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00; // 65536 and above, infinity
    }
    let (fraction, shift, base) = match magnitude >> 23 {
        0..=101 => return sign, // below half of the smallest subnormal
        exponent @ 102..=112 => (magnitude & 0x7f_ffff | 0x80_0000, 126 - exponent, 0),
        exponent => (magnitude & 0x7f_ffff, 13, (exponent - 112) << 10),
    };
    let half = 1 << (shift - 1);
    let kept = fraction >> shift;
    let rest = fraction & ((1 << shift) - 1);
    let up = u32::from(rest > half || (rest == half && kept & 1 == 1));
    sign | (base + kept + up) as u16
}

/// binary32 to bfloat16, rounded to nearest even. A NaN keeps its upper bits.
fn float_to_bfloat(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_round_trips_through_float() {
        for half in (0..=u16::MAX).step_by(if cfg!(miri) { 97 } else { 1 }) {
            let value = half_to_float(half);
            if value.is_nan() {
                assert!(half_to_float(float_to_half(value)).is_nan());
            } else {
                assert_eq!(float_to_half(value), half, "{value}");
            }
        }
        assert_eq!(float_to_half(65_519.99), 0x7bff);
        assert_eq!(float_to_half(65_520.0), 0x7c00);
        assert_eq!(float_to_half(1.0 / 33554432.0), 0);
        assert_eq!(float_to_half(1.001 / 33554432.0), 1);
        assert_eq!(float_to_half(1.0 + 1.0 / 2048.0), 0x3c00);
    }

    #[test]
    fn elements_are_reduced_according_to_their_type() {
        let run = |a: &[u8], b: &[u8], element, op| {
            let mut ours = a.to_vec();
            // SAFETY: both ranges are buffers of the test.
            unsafe { reduce(ours.as_mut_ptr() as usize, b.as_ptr() as usize, a.len(), element, op) }.unwrap();
            ours
        };
        assert_eq!(run(&[0x7f], &[1], Element::Int8, ReduceOp::Sum), [0x80]);
        assert_eq!(run(&[0xff], &[1], Element::Int8, ReduceOp::Max), [1]);
        assert_eq!(run(&[0xff], &[1], Element::Uint8, ReduceOp::Max), [0xff]);
        assert_eq!(run(&[0x8f], &[0x71], Element::Int4, ReduceOp::Sum), [0xf0]);
        assert_eq!(run(&[0x8f], &[0x71], Element::Int4, ReduceOp::Max), [0x71]);
        assert_eq!(run(&[5, 6], &[5, 7], Element::Uint8, ReduceOp::Equal), [1, 0]);
        let f = |x: f32| x.to_le_bytes();
        assert_eq!(run(&f(1.5), &f(2.25), Element::Float32, ReduceOp::Sum), f(3.75));
        assert_eq!(run(&[0x80, 0x3f], &[0, 0x40], Element::Bfloat16, ReduceOp::Sum), [0x40, 0x40]);
        assert_eq!(run(&[0, 0x3c], &[0, 0x40], Element::Float16, ReduceOp::Sum), [0, 0x42]);
        let tail = run(&[1, 0, 0, 0, 9], &[1, 0, 0, 0, 9], Element::Int32, ReduceOp::Sum);
        assert_eq!(tail, [2, 0, 0, 0, 9]);
    }
}
