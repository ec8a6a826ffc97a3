//! Order in the model: vector clocks over streams and the host, and accesses that may be in flight.

use std::ops::Range;

/// A vector clock: the latest task of each stream that happens before a point. Indexed by stream of the world.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelClock(Vec<u64>);

impl ModelClock {
    /// Returns the latest known task of a stream.
    pub fn get(&self, stream: usize) -> u64 {
        self.0.get(stream).copied().unwrap_or(0)
    }

    /// Adds a task and everything before it in its stream.
    pub fn advance(&mut self, stream: usize, time: u64) {
        if self.0.len() <= stream {
            self.0.resize(stream + 1, 0);
        }
        self.0[stream] = self.0[stream].max(time);
    }

    /// Adds everything in another clock.
    pub fn advance_all(&mut self, other: &ModelClock) {
        for (stream, time) in other.0.iter().enumerate() {
            self.advance(stream, *time);
        }
    }
}

/// A use of bytes by a task that may be in flight.
#[derive(Debug, Clone)]
pub struct ModelAccess {
    pub stream: usize,
    pub time: u64,
    pub range: Range<usize>,
    pub writes: bool,
}

impl ModelAccess {
    /// True if the access and another one to `range` must be ordered.
    pub fn conflicts(&self, range: &Range<usize>, writes: bool) -> bool {
        (self.writes || writes) && self.range.start < range.end && range.start < self.range.end
    }
}
