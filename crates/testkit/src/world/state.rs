//! The state of a world: its objects on the machine, and their model.
//!
//! Here are also the selection of objects by number and the effects of copies and host writes on the model.

use super::outcome::Failure;
use crate::faults::{Oracle, TaskKind};
use crate::memory::{self, Bytes};
use crate::order::{ModelAccess, ModelClock};
use softacl_engine::{Caller, CopyRequest};
use std::ops::Range;

/// Limits for buffers and streams; more only make programs slow.
pub(super) const MAX_BUFFERS: usize = 24;
pub(super) const MAX_STREAMS: usize = 25;
pub(super) const EVENTS: usize = 6;

/// Kind of memory that a buffer lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BufferKind {
    Device,
    Pinned,
    Pageable,
    /// Memory of the other device of the world.
    Peer,
}

/// The allocator that memory came from and returns to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Heap,
    Pool,
    /// Mapped physical memory, with its handle.
    Physical(usize),
}

pub(super) struct Buffer {
    pub(super) kind: BufferKind,
    pub(super) address: usize,
    /// Owns pageable memory, which the machine writes through `address`.
    pub(super) _pageable: Option<Box<[u8]>>,
    pub(super) source: Source,
    pub(super) model: Bytes,
    pub(super) accesses: Vec<ModelAccess>,
}

/// A range of a buffer.
#[derive(Clone)]
pub(super) struct BufferRange {
    pub(super) buffer: usize,
    pub(super) range: Range<usize>,
}

pub(super) struct StreamState {
    pub(super) handle: usize,
    /// Number of submitted tasks.
    pub(super) time: u64,
    /// Everything that happens before the next task of the stream.
    pub(super) clock: ModelClock,
    pub(super) live: bool,
    /// Index of its context in `World::contexts`.
    pub(super) context: usize,
    /// Set if a submitted task fails: the next wait returns one of these codes.
    pub(super) failure: Option<Vec<i32>>,
}

impl StreamState {
    /// Expects one of these codes from the next wait, unless an earlier failure is pending.
    pub(super) fn expect_failure(&mut self, codes: &[i32]) {
        self.failure.get_or_insert_with(|| codes.to_vec());
    }
}

pub(super) struct ContextState {
    pub(super) handle: usize,
    pub(super) device: u32,
    /// True if a failed task stops the context.
    pub(super) stops: bool,
}

pub(super) struct EventState {
    pub(super) handle: usize,
    /// Clock of the latest record.
    pub(super) record: Option<ModelClock>,
}

/// A task that is about to be submitted.
pub(super) struct PendingTask<'a> {
    pub(super) function: &'static str,
    pub(super) kind: TaskKind,
    pub(super) size: usize,
    pub(super) stream: usize,
    pub(super) parts: &'a [(&'a BufferRange, bool)],
}

/// Notifies and values used since the last wait for everything. Each is used only once: a second record would be lost.
#[derive(Default)]
pub(super) struct Signals {
    pub(super) notifies: Vec<(usize, bool)>,
    /// Device memory for values.
    pub(super) cells: Option<usize>,
    /// Number of used cells.
    pub(super) used: usize,
}

pub(super) struct World<'m> {
    pub(super) caller: Caller<'m>,
    pub(super) device: u32,
    pub(super) peer: Option<u32>,
    /// Contexts on the device, then one on the peer.
    pub(super) contexts: Vec<ContextState>,
    pub(super) oracle: Oracle,
    /// Device memory that the next task reads in addition to its buffers.
    pub(super) extra_input: Range<usize>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) streams: Vec<StreamState>,
    pub(super) events: Vec<EventState>,
    /// Tasks that the host has waited for.
    pub(super) host: ModelClock,
    /// Counts added orderings; alternates between events and waits.
    pub(super) counter: u32,
    pub(super) graphs: Vec<usize>,
    pub(super) signals: Signals,
    pub(super) pool: Option<usize>,
}

impl World<'_> {
    // Selection

    /// Selects a buffer of one of the kinds by number. `None` if there is none.
    pub(super) fn buffer(&self, number: u32, allowed: &[BufferKind]) -> Option<usize> {
        let fitting: Vec<usize> =
            (0..self.buffers.len()).filter(|index| allowed.contains(&self.buffers[*index].kind)).collect();
        (!fitting.is_empty()).then(|| fitting[number as usize % fitting.len()])
    }

    /// Selects a live stream by number. `None` if there is none.
    pub(super) fn stream(&self, number: u32) -> Option<usize> {
        let live: Vec<usize> = (0..self.streams.len()).filter(|index| self.streams[*index].live).collect();
        (!live.is_empty()).then(|| live[number as usize % live.len()])
    }

    /// Selects ranges of equal length in two different buffers. Offsets and length are multiples of `unit`.
    pub(super) fn pair(
        &self,
        target: Option<usize>,
        source: Option<usize>,
        at: u32,
        len: u32,
        unit: usize,
    ) -> Option<(BufferRange, BufferRange)> {
        let (target, source) = (target?, source?);
        if target == source {
            return None;
        }
        let room = self.buffers[target].model.len().min(self.buffers[source].model.len()) / unit * unit;
        if room == 0 {
            return None;
        }
        let len = (len as usize % room / unit * unit).max(unit);
        let slice = |buffer: usize, at: usize| {
            let start = at % (self.buffers[buffer].model.len() - len + 1) / unit * unit;
            BufferRange { buffer, range: start..start + len }
        };
        Some((slice(target, at as usize), slice(source, at as usize / 7)))
    }

    /// Selects a range of a buffer. Offset and length are multiples of `unit`.
    pub(super) fn part(&self, buffer: usize, at: u32, len: u32, unit: usize) -> Option<BufferRange> {
        let size = self.buffers[buffer].model.len() / unit * unit;
        if size == 0 {
            return None;
        }
        let len = (len as usize % size / unit * unit).max(unit);
        let start = at as usize % (size - len + 1) / unit * unit;
        Some(BufferRange { buffer, range: start..start + len })
    }

    pub(super) fn address(&self, part: &BufferRange) -> usize {
        self.buffers[part.buffer].address + part.range.start
    }

    // Requests and model

    /// Returns the request of a copy.
    pub(super) fn request(&self, to: &BufferRange, from: &BufferRange, kind: i32) -> CopyRequest {
        CopyRequest {
            target: self.address(to),
            capacity: to.range.len(),
            source: self.address(from),
            count: to.range.len(),
            kind,
        }
    }

    /// Applies a copy to the model.
    pub(super) fn model_copy(&mut self, to: &BufferRange, from: &BufferRange) {
        let bytes = self.buffers[from.buffer].model[from.range.clone()].to_vec();
        memory::copy(&mut self.buffers[to.buffer].model, to.range.start, &bytes);
    }

    /// Writes host memory on the machine and in the model.
    pub(super) fn write_host(&mut self, part: &BufferRange, byte: u8) -> Result<(), Failure> {
        let start = self.address(part) as *mut u8;
        for offset in 0..part.range.len() {
            // SAFETY: host memory of the world; no queued task touches it.
            unsafe { start.add(offset).write(byte) };
        }
        memory::fill(&mut self.buffers[part.buffer].model, part.range.clone(), byte);
        Ok(())
    }
}
