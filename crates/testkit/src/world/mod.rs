//! The world: runs a program on a machine and on the model, and compares the two.
//!
//! This file selects buffers and streams and orders accesses. `copies`, `graphs`, `objects` and `sources` make the
//! calls; `faults` checks the effects of fault rules.

mod copies;
mod faults;
mod graphs;
mod objects;
mod sources;

use crate::faults::{FaultRule, Oracle, TaskKind};
use crate::memory::{self, Bytes};
use crate::order::{ModelAccess, ModelClock};
use crate::program::{ApiCall, Program};
use faults::{PendingTask, expect};
use softacl_engine::*;
use std::cell::Cell;
use std::ops::Range;
use std::result::Result;

/// Limits for buffers and streams; more only make programs slow.
const MAX_BUFFERS: usize = 24;
const MAX_STREAMS: usize = 25;
const EVENTS: usize = 6;

/// Kind of memory that a buffer lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BufferKind {
    Device,
    Pinned,
    Pageable,
    /// Memory of the other device of the world.
    Peer,
}

/// The allocator that memory came from and returns to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Heap,
    Pool,
    /// Mapped physical memory, with its handle.
    Physical(usize),
}

struct Buffer {
    kind: BufferKind,
    address: usize,
    /// Owns pageable memory, which the machine writes through `address`.
    _pageable: Option<Box<[u8]>>,
    source: Source,
    model: Bytes,
    accesses: Vec<ModelAccess>,
}

struct StreamState {
    handle: usize,
    /// Number of submitted tasks.
    time: u64,
    /// Everything that happens before the next task of the stream.
    clock: ModelClock,
    live: bool,
    /// Index of its context in `World::contexts`.
    context: usize,
    /// Set if a submitted task fails: the next wait returns one of these codes.
    failure: Option<Vec<i32>>,
}

struct ContextState {
    handle: usize,
    device: u32,
    /// True if a failed task stops the context.
    stops: bool,
}

/// Devices, contexts and fault rules of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    pub device: u32,
    /// A second device, which no other thread may use.
    pub peer: Option<u32>,
    /// Number of contexts on the device.
    pub contexts: usize,
    /// Rules for the device. If there are any, no other thread may use the device.
    pub rules: Vec<FaultRule>,
}

struct EventState {
    handle: usize,
    /// Clock of the latest record.
    record: Option<ModelClock>,
}

struct World<'m> {
    caller: Caller<'m>,
    device: u32,
    peer: Option<u32>,
    /// Contexts on the device, then one on the peer.
    contexts: Vec<ContextState>,
    oracle: Oracle,
    /// Device memory that the next task reads in addition to its buffers.
    extra_input: Range<usize>,
    buffers: Vec<Buffer>,
    streams: Vec<StreamState>,
    events: Vec<EventState>,
    /// Tasks that the host has waited for.
    host: ModelClock,
    /// Counts added orderings; alternates between events and waits.
    counter: u32,
    graphs: Vec<usize>,
    signals: sources::Signals,
    pool: Option<usize>,
}

/// Describes a difference between machine and model, or an unexpected failure of a call.
pub type Failure = String;

/// Runs a program on one device of a machine, in one context, and compares all bytes with the model.
pub fn run(machine: &Machine, device: u32, program: &Program) -> Result<(), Failure> {
    run_on(machine, &Setup { device, peer: None, contexts: 1, rules: Vec::new() }, program)
}

/// Runs a program with the contexts, peer device and fault rules of a setup, and compares all bytes with the model.
pub fn run_on(machine: &Machine, setup: &Setup, program: &Program) -> Result<(), Failure> {
    let current = Cell::new(None);
    // SAFETY: every address that is passed on is memory of the machine or of this program.
    let caller = unsafe { Caller::new(machine, &current) };
    let set_up = |error: Box<Error>| format!("set-up: {error}");
    let device = setup.device;
    let peer = setup.peer.filter(|_| machine.config().profile.chip.peer.supported);
    let mut contexts = Vec::new();
    for device in peer.into_iter().chain(std::iter::repeat_n(device, setup.contexts.max(1))) {
        let handle = caller.create_context(device.into()).map_err(set_up)?.raw();
        contexts.insert(0, ContextState { handle, device, stops: false });
    }
    if let Some(peer) = peer {
        caller.enable_peer_access(peer.into()).map_err(set_up)?;
        caller.set_current_context(contexts[contexts.len() - 1].handle).map_err(set_up)?;
        caller.enable_peer_access(device.into()).map_err(set_up)?;
        caller.set_current_context(contexts[0].handle).map_err(set_up)?;
    }
    let mut world = World {
        caller,
        device,
        peer,
        contexts,
        oracle: Oracle::new(&setup.rules),
        extra_input: 0..0,
        buffers: Vec::new(),
        streams: Vec::new(),
        events: Vec::new(),
        host: ModelClock::default(),
        counter: 0,
        graphs: Vec::new(),
        signals: sources::Signals::default(),
        pool: None,
    };
    for _ in 0..EVENTS {
        let handle = caller.create_event(EventKind::Extended(1)).map_err(set_up)?.raw();
        world.events.push(EventState { handle, record: None });
    }
    for (index, operation) in program.operations.iter().enumerate() {
        world.step(*operation).map_err(|failure| format!("operation {index}, {operation:?}: {failure}"))?;
    }
    world.tear_down().map_err(|failure| format!("tear-down: {failure}"))?;
    world.contexts.iter().try_for_each(|context| caller.destroy_context(context.handle)).map_err(set_up)
}

/// A range of a buffer.
#[derive(Clone)]
struct BufferRange {
    buffer: usize,
    range: Range<usize>,
}

impl World<'_> {
    fn step(&mut self, operation: ApiCall) -> Result<(), Failure> {
        use ApiCall::*;
        match operation {
            AllocateDevice { size } => self.allocate(BufferKind::Device, size as usize),
            AllocatePinned { size } => self.allocate(BufferKind::Pinned, size as usize),
            AllocatePageable { size } => self.allocate(BufferKind::Pageable, size as usize),
            Free { buffer, wait } => self.free(buffer, wait),
            CreateStream => self.create_stream(),
            DestroyStream { stream } => self.destroy_stream(stream),
            Copy { target, source, at, len } => self.copy(target, source, at, len),
            CopyAsync { target, source, at, len, stream } => self.copy_async(target, source, at, len, stream),
            CopyStaged { target, source, at, len, stream } => self.copy_staged(target, source, at, len, stream),
            CopyPlane { target, source, at, width, height, stream } => {
                self.copy_plane(target, source, at, width as usize, height as usize, stream)
            }
            CopyBatch { target, source, at, entries, len, stream, blocking } => {
                self.copy_batch(target, source, at, entries as usize, len as usize, stream, blocking)
            }
            CopyDescribed { target, source, at, len, stream } => self.copy_described(target, source, at, len, stream),
            CopyWithOffset { target, source, at, len, stream } => {
                self.copy_with_offset(target, source, at, len, stream)
            }
            Fill { target, at, len, byte } => self.fill(target, at, len, byte),
            FillAsync { target, at, len, byte, stream } => self.fill_async(target, at, len, byte, stream),
            FillWords { target, at, len, word, stream } => self.fill_words(target, at, len, word, stream),
            Reduce { target, source, at, len, kind, stream } => {
                self.reduce(target, source, at, len, 10 + (kind % 4) as i32, stream)
            }
            HostFunction { target, at, len, stream } => self.host_function(target, at, len, stream),
            HostWrite { target, at, len, byte } => self.host_write(target, at, len, byte),
            Graph { seed, steps, runs, stream, side } => self.graph(seed, steps, runs, stream, side),
            Signal { from, to, kind, first } => self.signal(from, to, kind, first),
            AllocateFromPool { size, stream } => self.allocate_from_pool(size as usize, stream),
            AllocateMapped { granules } => self.allocate_mapped(granules as usize),
            AllocatePeer { size } => self.allocate(BufferKind::Peer, size as usize),
            CopyPeer { target, source, at, len, stream, blocking } => {
                self.copy_peer(target, source, at, len, stream, blocking)
            }
            StopOnFailure { stream } => self.stop_on_failure(stream),
            Repair => self.repair(),
            Record { event, stream } => self.record(event, stream),
            Wait { event, stream } => self.wait(event, stream),
            Synchronize { stream } => match self.stream(stream) {
                Some(stream) => self.synchronize(stream),
                None => Ok(()),
            },
            SynchronizeEvent { event } => self.synchronize_event(event),
            SynchronizeDevice => self.synchronize_device(),
            Query { stream } => self.query(stream),
            InvalidCall { which, target, source, stream } => self.invalid_call(which, target, source, stream),
            Corrupt { target } => self.corrupt(target),
            Verify => self.verify(),
        }
    }

    // Selection

    /// Selects a buffer of one of the kinds by number. `None` if there is none.
    fn buffer(&self, number: u32, allowed: &[BufferKind]) -> Option<usize> {
        let fitting: Vec<usize> =
            (0..self.buffers.len()).filter(|index| allowed.contains(&self.buffers[*index].kind)).collect();
        (!fitting.is_empty()).then(|| fitting[number as usize % fitting.len()])
    }

    /// Selects a live stream by number. `None` if there is none.
    fn stream(&self, number: u32) -> Option<usize> {
        let live: Vec<usize> = (0..self.streams.len()).filter(|index| self.streams[*index].live).collect();
        (!live.is_empty()).then(|| live[number as usize % live.len()])
    }

    /// Selects ranges of equal length in two different buffers. Offsets and length are multiples of `unit`.
    fn pair(
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
    fn part(&self, buffer: usize, at: u32, len: u32, unit: usize) -> Option<BufferRange> {
        let size = self.buffers[buffer].model.len() / unit * unit;
        if size == 0 {
            return None;
        }
        let len = (len as usize % size / unit * unit).max(unit);
        let start = at as usize % (size - len + 1) / unit * unit;
        Some(BufferRange { buffer, range: start..start + len })
    }

    fn address(&self, part: &BufferRange) -> usize {
        self.buffers[part.buffer].address + part.range.start
    }

    // Order

    /// Orders all accesses that conflict with `part` before the next task of the stream.
    fn order_stream(&mut self, stream: usize, part: &BufferRange, writes: bool) -> Result<(), Failure> {
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
    fn order_host(&mut self, part: &BufferRange, writes: bool) -> Result<(), Failure> {
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
    fn task(&mut self, stream: usize, parts: &[(&BufferRange, bool)]) {
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
    fn advance_host(&mut self, clock: &ModelClock) {
        self.host.advance_all(clock);
    }

    // Calls and model

    /// Returns the request of a copy.
    fn request(&self, to: &BufferRange, from: &BufferRange, kind: i32) -> CopyRequest {
        CopyRequest {
            target: self.address(to),
            capacity: to.range.len(),
            source: self.address(from),
            count: to.range.len(),
            kind,
        }
    }

    /// Applies a copy to the model.
    fn model_copy(&mut self, to: &BufferRange, from: &BufferRange) {
        let bytes = self.buffers[from.buffer].model[from.range.clone()].to_vec();
        memory::copy(&mut self.buffers[to.buffer].model, to.range.start, &bytes);
    }

    /// Writes host memory on the machine and in the model.
    fn write_host(&mut self, part: &BufferRange, byte: u8) -> Result<(), Failure> {
        let start = self.address(part) as *mut u8;
        for offset in 0..part.range.len() {
            // SAFETY: host memory of the world; no queued task touches it.
            unsafe { start.add(offset).write(byte) };
        }
        memory::fill(&mut self.buffers[part.buffer].model, part.range.clone(), byte);
        Ok(())
    }
}

/// Requires that a call succeeded.
fn ok<T>(result: softacl_engine::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| format!("{} ({error})", error.code()))
}
