//! The reference model of memory: what each call does to bytes, as simply as possible.

use std::ops::Range;

/// Bytes of one buffer in the model.
pub type Bytes = Vec<u8>;

pub fn copy(target: &mut Bytes, to: usize, source: &[u8]) {
    target[to..to + source.len()].copy_from_slice(source);
}

pub fn fill(target: &mut Bytes, range: Range<usize>, byte: u8) {
    target[range].fill(byte);
}

pub fn fill_words(target: &mut Bytes, range: Range<usize>, word: u32) {
    for chunk in target[range].chunks_exact_mut(4) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
}

pub fn increment(target: &mut Bytes, range: Range<usize>) {
    for byte in &mut target[range] {
        *byte = byte.wrapping_add(1);
    }
}

pub fn add(target: &mut Bytes, to: usize, source: &[u8]) {
    for (byte, addend) in target[to..].iter_mut().zip(source) {
        *byte = byte.wrapping_add(*addend);
    }
}

/// 32-bit signed reductions: 10 sum, 11 maximum, 12 minimum, 13 equal.
pub fn reduce(target: &mut Bytes, to: usize, source: &[u8], kind: i32) {
    for (index, element) in source.chunks_exact(4).enumerate() {
        let at = to + 4 * index;
        let a = i32::from_le_bytes(target[at..at + 4].try_into().unwrap());
        let b = i32::from_le_bytes(element.try_into().unwrap());
        let value = match kind {
            10 => a.wrapping_add(b),
            11 => a.max(b),
            12 => a.min(b),
            _ => i32::from(a == b),
        };
        target[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}
