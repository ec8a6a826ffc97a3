//! Elements: their bytes, and the model's arithmetic, which shares nothing with the library.

/// Random numbers that every rank draws in the same way.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Types that can be reduced, by their numbers in the API.
pub const REDUCED: [i32; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
/// Types that can be moved.
pub const MOVED: [i32; 17] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17];

pub fn size_of(kind: i32) -> usize {
    match kind {
        0 | 7 | 14..=17 => 1,
        1 | 3 | 8 | 11 => 2,
        2 | 4 | 9 => 4,
        5 | 6 | 10 => 8,
        12 => 16,
        _ => panic!("type {kind}"),
    }
}

/// The operand of a rank: `count` elements. 16-bit floats are small powers of two, so that every order of additions gives
/// the same bits; the order of their rounding is tested where the arithmetic is. Other floats are such that it matters.
pub fn operand(kind: i32, count: usize, rank: u32, salt: u64) -> Vec<u8> {
    let mut random = Random::new(salt.wrapping_mul(31).wrapping_add(u64::from(rank) + 1));
    let mut bytes = Vec::with_capacity(count * size_of(kind));
    for _ in 0..count {
        let word = random.next();
        match kind {
            3 => bytes.extend([0x3c00_u16, 0x4000][(word >> 40) as usize & 1].to_le_bytes()),
            11 => bytes.extend([0x3f80_u16, 0x4000][(word >> 40) as usize & 1].to_le_bytes()),
            4 => bytes.extend(((word >> 20) as f32 / 1e12 - 1.0).to_le_bytes()),
            10 => bytes.extend(((word >> 8) as f64 / 1e15 - 1.0).to_le_bytes()),
            12 => bytes.extend([word.to_le_bytes(), (!word).to_le_bytes()].concat()),
            _ => bytes.extend(&word.to_le_bytes()[..size_of(kind)]),
        }
    }
    bytes
}

/// Reduces operands in the order of the ranks.
pub fn reduce(kind: i32, op: i32, operands: &[Vec<u8>]) -> Vec<u8> {
    let mut result = operands[0].clone();
    for other in &operands[1..] {
        for (a, b) in result.chunks_exact_mut(size_of(kind)).zip(other.chunks_exact(size_of(kind))) {
            combine(kind, op, a, b);
        }
    }
    result
}

/// Combines two elements; the first becomes the result.
fn combine(kind: i32, op: i32, first: &mut [u8], b: &[u8]) {
    let a: &[u8] = first;
    macro_rules! integer {
        ($kind:ty) => {{
            let (a, b) = (<$kind>::from_le_bytes(a.try_into().unwrap()), <$kind>::from_le_bytes(b.try_into().unwrap()));
            let wide = |value: $kind| i128::from(value);
            // The low bits of the exact result.
            let exact = match op {
                0 => wide(a) + wide(b),
                1 => wide(a).wrapping_mul(wide(b)),
                2 => wide(a).max(wide(b)),
                _ => wide(a).min(wide(b)),
            };
            first.copy_from_slice(&(exact as $kind).to_le_bytes())
        }};
    }
    macro_rules! float {
        ($kind:ty) => {{
            let (a, b) = (<$kind>::from_le_bytes(a.try_into().unwrap()), <$kind>::from_le_bytes(b.try_into().unwrap()));
            let result = match op {
                0 => a + b,
                1 => a * b,
                2 => {
                    if a > b {
                        a
                    } else {
                        b
                    }
                }
                _ => {
                    if a < b {
                        a
                    } else {
                        b
                    }
                }
            };
            first.copy_from_slice(&result.to_le_bytes())
        }};
    }
    // Positive normal numbers whose fraction fits.
    let small = |fraction_bits: u32, bias: i32| {
        let decode = |bytes: &[u8]| {
            let bits = u16::from_le_bytes(bytes.try_into().unwrap());
            let fraction = f64::from(bits & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
            (1.0 + fraction) * 2_f64.powi(i32::from(bits >> fraction_bits) - bias)
        };
        let (a, b) = (decode(a), decode(b));
        let value = match op {
            0 => a + b,
            1 => a * b,
            2 => a.max(b),
            _ => a.min(b),
        };
        let exponent = value.log2().floor() as i32;
        let fraction = (value / 2_f64.powi(exponent) - 1.0) * f64::from(1 << fraction_bits);
        assert_eq!(fraction.fract(), 0.0, "{value} does not fit");
        (((exponent + bias) as u16) << fraction_bits | fraction as u16).to_le_bytes()
    };
    match kind {
        0 => integer!(i8),
        1 => integer!(i16),
        2 => integer!(i32),
        5 => integer!(i64),
        6 => integer!(u64),
        7 => integer!(u8),
        8 => integer!(u16),
        9 => integer!(u32),
        3 | 11 => {
            let bytes = if kind == 3 { small(10, 15) } else { small(7, 127) };
            first.copy_from_slice(&bytes);
        }
        4 => float!(f32),
        10 => float!(f64),
        _ => panic!("type {kind}"),
    }
}
