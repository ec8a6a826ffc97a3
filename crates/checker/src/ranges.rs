//! A set of byte ranges. The checker uses it for the device bytes that were ever written.

use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// Start to end (exclusive). Ranges neither overlap nor adjoin.
    ends: BTreeMap<usize, usize>,
}

impl Ranges {
    pub(crate) fn insert(&mut self, mut start: usize, len: usize) {
        let mut end = start + len;
        if len == 0 {
            return;
        }
        if let Some((&before, &its_end)) = self.ends.range(..=start).next_back()
            && its_end >= start
        {
            if its_end >= end {
                return;
            }
            start = before;
        }
        while let Some((&next, &its_end)) = self.ends.range(start..=end).next() {
            self.ends.remove(&next);
            end = end.max(its_end);
        }
        self.ends.insert(start, end);
    }

    pub(crate) fn remove(&mut self, start: usize, len: usize) {
        let end = start + len;
        if let Some((&before, &its_end)) = self.ends.range(..start).next_back()
            && its_end > start
        {
            self.ends.insert(before, start);
            if its_end > end {
                self.ends.insert(end, its_end);
            }
        }
        while let Some((&next, &its_end)) = self.ends.range(start..end).next() {
            self.ends.remove(&next);
            if its_end > end {
                self.ends.insert(end, its_end);
            }
        }
    }

    /// True if a byte of a range is in the set.
    pub(crate) fn meets(&self, start: usize, len: usize) -> bool {
        !self.ends.is_empty() && self.missing(start, len).0 < len
    }

    /// Number of bytes of a range that are not in the set, and the first of them (the end of the range if none is
    /// missing).
    pub(crate) fn missing(&self, start: usize, len: usize) -> (usize, usize) {
        let end = start + len;
        let (mut at, mut missing, mut first) = (start, 0, end);
        if let Some((_, &its_end)) = self.ends.range(..=start).next_back() {
            at = at.max(its_end.min(end));
        }
        for (&next, &its_end) in self.ends.range(at..end) {
            if next > at {
                missing += next - at;
                first = first.min(at);
            }
            at = its_end.min(end);
        }
        if at < end {
            missing += end - at;
            first = first.min(at);
        }
        (missing, first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_match_a_byte_map() {
        let mut state = 12345_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below) as usize
        };
        let (mut ranges, mut bytes) = (Ranges::default(), [false; 128]);
        for _ in 0..if cfg!(miri) { 200 } else { 20_000 } {
            let (start, what) = (random(120), random(3));
            let len = random(1 + (128 - start) as u64);
            match what {
                0 => {
                    ranges.insert(start, len);
                    bytes[start..start + len].fill(true);
                }
                1 => {
                    ranges.remove(start, len);
                    bytes[start..start + len].fill(false);
                }
                _ => {}
            }
            let missing = bytes[start..start + len].iter().filter(|byte| !**byte).count();
            let first = bytes[start..start + len].iter().position(|byte| !*byte).map_or(start + len, |at| start + at);
            assert_eq!(ranges.missing(start, len), (missing, first));
        }
    }
}
