//! The world: runs a program on a machine and on the model at once, and compares.
//!
//! This file chooses and orders; `copies`, `graphs`, `objects` and `sources` make the calls; `faults` knows what
//! rules must do to them.

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

/// Buffers and streams at most; more only make programs slow.
const MAX_BUFFERS: usize = 24;
const MAX_STREAMS: usize = 25;
const EVENTS: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Device,
    Pinned,
    Pageable,
    /// Memory of the other device of the world.
    Peer,
}

/// Where memory came from, which is where it goes back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Heap,
    Pool,
    /// Mapped; the handle of the physical memory.
    Physical(usize),
}

struct Buffer {
    place: Where,
    address: usize,
    /// Keeps pageable memory alive; the machine writes it through its address.
    _pageable: Option<Box<[u8]>>,
    source: Source,
    model: Bytes,
    accesses: Vec<ModelAccess>,
}

struct StreamState {
    handle: usize,
    /// Tasks given to the stream so far.
    time: u64,
    /// What has happened before its next task.
    clock: ModelClock,
    live: bool,
    /// The context of the world that it belongs to.
    context: usize,
    /// A task has failed or will: one of these codes comes at the next wait.
    failure: Option<Vec<i32>>,
}

struct ContextState {
    handle: usize,
    device: u32,
    /// Whether a failed task stops it.
    stops: bool,
}

/// What a program has of the machine, and the rules that its devices meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    pub device: u32,
    /// Another device that nobody else uses.
    pub peer: Option<u32>,
    /// Contexts on the device.
    pub contexts: usize,
    /// Rules about the device, which nobody else may use then.
    pub rules: Vec<FaultRule>,
}

struct EventState {
    handle: usize,
    record: Option<ModelClock>,
}

struct World<'m> {
    caller: Caller<'m>,
    device: u32,
    peer: Option<u32>,
    /// Those on the device, and one on the peer.
    contexts: Vec<ContextState>,
    oracle: Oracle,
    /// Device memory that the next task reads besides its buffers.
    aside: Range<usize>,
    buffers: Vec<Buffer>,
    streams: Vec<StreamState>,
    events: Vec<EventState>,
    /// What the host knows to be finished.
    host: ModelClock,
    counter: u32,
    graphs: Vec<usize>,
    signals: sources::Signals,
    pool: Option<usize>,
}

/// A difference between machine and model, or a call that should not have failed.
pub type Failure = String;

/// Runs a program on a machine, on one of its devices, and compares all bytes with the model.
pub fn run(machine: &Machine, device: u32, program: &Program) -> Result<(), Failure> {
    run_on(machine, &Setup { device, peer: None, contexts: 1, rules: Vec::new() }, program)
}

/// The same, with several contexts, another device, and faults.
pub fn run_on(machine: &Machine, stage: &Setup, program: &Program) -> Result<(), Failure> {
    let current = Cell::new(None);
    let caller = Caller::new(machine, &current);
    let set_up = |error: Box<Error>| format!("set-up: {error}");
    let device = stage.device;
    let peer = stage.peer.filter(|_| machine.config().profile.chip.peer.supported);
    let mut contexts = Vec::new();
    for device in peer.into_iter().chain(std::iter::repeat_n(device, stage.contexts.max(1))) {
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
        oracle: Oracle::new(&stage.rules),
        aside: 0..0,
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

/// A part of a buffer.
#[derive(Clone)]
struct BufferRange {
    buffer: usize,
    range: Range<usize>,
}

impl World<'_> {
    fn step(&mut self, operation: ApiCall) -> Result<(), Failure> {
        use ApiCall::*;
        match operation {
            AllocateDevice { size } => self.allocate(Where::Device, size as usize),
            AllocatePinned { size } => self.allocate(Where::Pinned, size as usize),
            AllocatePageable { size } => self.allocate(Where::Pageable, size as usize),
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
            AllocatePeer { size } => self.allocate(Where::Peer, size as usize),
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
            InvalidCall { which, target, source, stream } => self.mistake(which, target, source, stream),
            Corrupt { target } => self.corrupt(target),
            Verify => self.verify(),
        }
    }

    // Choosing.

    fn buffer(&self, number: u32, allowed: &[Where]) -> Option<usize> {
        let fitting: Vec<usize> =
            (0..self.buffers.len()).filter(|index| allowed.contains(&self.buffers[*index].place)).collect();
        (!fitting.is_empty()).then(|| fitting[number as usize % fitting.len()])
    }

    fn stream(&self, number: u32) -> Option<usize> {
        let live: Vec<usize> = (0..self.streams.len()).filter(|index| self.streams[*index].live).collect();
        (!live.is_empty()).then(|| live[number as usize % live.len()])
    }

    /// Equal parts of two different buffers.
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
        let place = |buffer: usize, at: usize| {
            let start = at % (self.buffers[buffer].model.len() - len + 1) / unit * unit;
            BufferRange { buffer, range: start..start + len }
        };
        Some((place(target, at as usize), place(source, at as usize / 7)))
    }

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

    // Ordering.

    /// Makes sure that everything `part` conflicts with happens before the stream's next task.
    fn order_stream(&mut self, stream: usize, part: &BufferRange, writes: bool) -> Result<(), Failure> {
        let others: Vec<usize> = self
            .conflicts(part, writes)
            .filter(|access| access.stream != stream && self.streams[stream].clock.of(access.stream) < access.time)
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

    /// Makes sure that everything `part` conflicts with is over.
    fn order_host(&mut self, part: &BufferRange, writes: bool) -> Result<(), Failure> {
        let others: Vec<usize> = self.conflicts(part, writes).map(|access| access.stream).collect();
        for other in others {
            self.synchronize(other)?;
        }
        Ok(())
    }

    fn conflicts<'a>(&'a self, part: &'a BufferRange, writes: bool) -> impl Iterator<Item = &'a ModelAccess> {
        self.buffers[part.buffer]
            .accesses
            .iter()
            .filter(move |access| self.host.of(access.stream) < access.time && access.conflicts(&part.range, writes))
    }

    /// Notes the stream's next task.
    fn task(&mut self, stream: usize, parts: &[(&BufferRange, bool)]) {
        self.streams[stream].time += 1;
        let time = self.streams[stream].time;
        self.streams[stream].clock.advance(stream, time);
        for (part, writes) in parts {
            let host = &self.host;
            let accesses = &mut self.buffers[part.buffer].accesses;
            accesses.retain(|access| host.of(access.stream) < access.time);
            accesses.push(ModelAccess { stream, time, range: part.range.clone(), writes: *writes });
        }
    }

    fn finished(&mut self, clock: &ModelClock) {
        self.host.advance_all(clock);
    }

    // Both sides.

    fn request(&self, to: &BufferRange, from: &BufferRange, kind: i32) -> CopyRequest {
        CopyRequest {
            target: self.address(to),
            capacity: to.range.len(),
            source: self.address(from),
            count: to.range.len(),
            kind,
        }
    }

    fn model_copy(&mut self, to: &BufferRange, from: &BufferRange) {
        let bytes = self.buffers[from.buffer].model[from.range.clone()].to_vec();
        memory::copy(&mut self.buffers[to.buffer].model, to.range.start, &bytes);
    }

    fn write_host(&mut self, part: &BufferRange, byte: u8) -> Result<(), Failure> {
        let start = self.address(part) as *mut u8;
        for offset in 0..part.range.len() {
            // SAFETY: host memory of the world; nothing is queued that touches it.
            unsafe { start.add(offset).write(byte) };
        }
        memory::fill(&mut self.buffers[part.buffer].model, part.range.clone(), byte);
        Ok(())
    }
}

fn ok<T>(result: softacl_engine::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| format!("{} ({error})", error.code()))
}
