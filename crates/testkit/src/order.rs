//! Who has seen what: vector clocks over streams and the host, and the accesses that are not over.

use std::ops::Range;

/// How far each stream has come, as far as somebody knows. Index is the stream's number in the world.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelClock(Vec<u64>);

impl ModelClock {
    pub fn of(&self, stream: usize) -> u64 {
        self.0.get(stream).copied().unwrap_or(0)
    }

    pub fn advance(&mut self, stream: usize, time: u64) {
        if self.0.len() <= stream {
            self.0.resize(stream + 1, 0);
        }
        self.0[stream] = self.0[stream].max(time);
    }

    pub fn advance_all(&mut self, other: &ModelClock) {
        for (stream, time) in other.0.iter().enumerate() {
            self.advance(stream, *time);
        }
    }
}

/// A use of bytes by a stream that may still be to come.
#[derive(Debug, Clone)]
pub struct ModelAccess {
    pub stream: usize,
    pub time: u64,
    pub range: Range<usize>,
    pub writes: bool,
}

impl ModelAccess {
    /// Whether the two must not be left unordered.
    pub fn conflicts(&self, range: &Range<usize>, writes: bool) -> bool {
        (self.writes || writes) && self.range.start < range.end && range.start < self.range.end
    }
}
