//! Order of accesses: conflicting ones are ordered with events and waits, so that programs are free of races.

use super::outcome::Failure;
use super::state::{BufferRange, EVENTS, World};
use crate::order::{ModelAccess, ModelClock};

impl World<'_> {
    // Order

    /// Orders all accesses that conflict with `part` before the next task of the stream.
    pub(super) fn order_stream(&mut self, stream: usize, part: &BufferRange, writes: bool) -> Result<(), Failure> {
        let others: Vec<usize> = self
            .conflicts(part, writes)
            .filter(|access| access.stream != stream && self.streams[stream].clock.get(access.stream) < access.time)
            .map(|access| access.stream)
            .collect();
        for other in others {
            self.counter += 1;
            if self.counter.is_multiple_of(3) || !self.streams[other].live {
                self.synchronize(other)?;
            } else {
                let event = (self.counter as usize) % EVENTS;
                self.record_on(event, other)?;
                self.wait_on(event, stream)?;
            }
        }
        let host = self.host.clone();
        self.streams[stream].clock.advance_all(&host);
        Ok(())
    }

    /// Waits for all accesses that conflict with `part`.
    pub(super) fn order_host(&mut self, part: &BufferRange, writes: bool) -> Result<(), Failure> {
        let others: Vec<usize> = self.conflicts(part, writes).map(|access| access.stream).collect();
        for other in others {
            self.synchronize(other)?;
        }
        Ok(())
    }

    /// Returns the accesses in flight that conflict with an access to `part`.
    fn conflicts<'a>(&'a self, part: &'a BufferRange, writes: bool) -> impl Iterator<Item = &'a ModelAccess> {
        self.buffers[part.buffer]
            .accesses
            .iter()
            .filter(move |access| self.host.get(access.stream) < access.time && access.conflicts(&part.range, writes))
    }

    /// Records the next task of a stream with its accesses; `true` marks writes.
    pub(super) fn task(&mut self, stream: usize, parts: &[(&BufferRange, bool)]) {
        self.streams[stream].time += 1;
        let time = self.streams[stream].time;
        self.streams[stream].clock.advance(stream, time);
        for (part, writes) in parts {
            let host = &self.host;
            let accesses = &mut self.buffers[part.buffer].accesses;
            accesses.retain(|access| host.get(access.stream) < access.time);
            accesses.push(ModelAccess { stream, time, range: part.range.clone(), writes: *writes });
        }
    }

    /// Records that the host has waited for everything in a clock.
    pub(super) fn advance_host(&mut self, clock: &ModelClock) {
        self.host.advance_all(clock);
    }
}
