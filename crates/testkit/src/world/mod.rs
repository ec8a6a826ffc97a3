//! The world: runs a program on a machine and on the model, and compares the two.
//!
//! This file sets up a world and executes a program on it. `state` has the data, `ordering` orders accesses, `copies`,
//! `graphs`, `kernels`, `objects` and `sources` make the calls, and `faults` checks the effects of fault rules.

mod copies;
mod faults;
mod graphs;
mod kernels;
mod objects;
mod ordering;
mod outcome;
mod sources;
mod state;

use crate::faults::{FaultRule, Oracle};
use crate::order::ModelClock;
use crate::program::{ApiCall, Program};
use softacl_engine::{Caller, Error, EventKind, Machine};
use state::{BufferKind, ContextState, EVENTS, EventState, Signals, World};
use std::cell::Cell;

pub use outcome::Failure;

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
    // One of the two devices is enough. Which one differs between threads.
    match peer {
        Some(peer) if device.is_multiple_of(4) => caller.enable_peer_access(peer.into()).map_err(set_up)?,
        Some(_) => {
            caller.set_current_context(contexts[contexts.len() - 1].handle).map_err(set_up)?;
            caller.enable_peer_access(device.into()).map_err(set_up)?;
            caller.set_current_context(contexts[0].handle).map_err(set_up)?;
        }
        None => {}
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
        signals: Signals::default(),
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
            Kernel { target, source, at, len, stream } => self.kernel(target, source, at, len, stream),
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
}
