//! The world: runs a program on a machine and on the model at once, and compares.

use crate::memory::{self, Bytes};
use crate::order::{Access, Clock};
use crate::program::{Operation, Program};
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
}

struct Buffer {
    place: Where,
    address: usize,
    /// Keeps pageable memory alive; the machine writes it through its address.
    _pageable: Option<Box<[u8]>>,
    model: Bytes,
    accesses: Vec<Access>,
}

struct StreamState {
    handle: usize,
    /// Tasks given to the stream so far.
    time: u64,
    /// What has happened before its next task.
    clock: Clock,
    live: bool,
}

struct EventState {
    handle: usize,
    record: Option<Clock>,
}

struct World<'m> {
    caller: Caller<'m>,
    device: u32,
    buffers: Vec<Buffer>,
    streams: Vec<StreamState>,
    events: Vec<EventState>,
    /// What the host knows to be finished.
    host: Clock,
    counter: u32,
}

/// A difference between machine and model, or a call that should not have failed.
pub type Failure = String;

/// Runs a program on a machine, on one of its devices, and compares all bytes with the model.
pub fn run(machine: &Machine, device: u32, program: &Program) -> Result<(), Failure> {
    let current = Cell::new(None);
    let caller = Caller::new(machine, &current);
    let set_up = |error: Box<Error>| format!("set-up: {error}");
    let context = caller.create_context(device.into()).map_err(set_up)?;
    let mut world = World {
        caller,
        device,
        buffers: Vec::new(),
        streams: Vec::new(),
        events: Vec::new(),
        host: Clock::default(),
        counter: 0,
    };
    for _ in 0..EVENTS {
        let handle = caller.create_event(EventKind::Extended(1)).map_err(set_up)?.raw();
        world.events.push(EventState { handle, record: None });
    }
    for (index, operation) in program.operations.iter().enumerate() {
        world.step(*operation).map_err(|failure| format!("operation {index}, {operation:?}: {failure}"))?;
    }
    world.tear_down().map_err(|failure| format!("tear-down: {failure}"))?;
    caller.destroy_context(context.raw()).map_err(set_up)
}

/// A part of a buffer.
#[derive(Clone)]
struct Part {
    buffer: usize,
    range: Range<usize>,
}

impl World<'_> {
    fn step(&mut self, operation: Operation) -> Result<(), Failure> {
        use Operation::*;
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
            Record { event, stream } => self.record(event, stream),
            Wait { event, stream } => self.wait(event, stream),
            Synchronize { stream } => match self.stream(stream) {
                Some(stream) => self.synchronize(stream),
                None => Ok(()),
            },
            SynchronizeEvent { event } => self.synchronize_event(event),
            SynchronizeDevice => self.synchronize_device(),
            Query { stream } => self.query(stream),
            Mistake { which, target, source, stream } => self.mistake(which, target, source, stream),
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
    ) -> Option<(Part, Part)> {
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
            Part { buffer, range: start..start + len }
        };
        Some((place(target, at as usize), place(source, at as usize / 7)))
    }

    fn part(&self, buffer: usize, at: u32, len: u32, unit: usize) -> Option<Part> {
        let size = self.buffers[buffer].model.len() / unit * unit;
        if size == 0 {
            return None;
        }
        let len = (len as usize % size / unit * unit).max(unit);
        let start = at as usize % (size - len + 1) / unit * unit;
        Some(Part { buffer, range: start..start + len })
    }

    fn address(&self, part: &Part) -> usize {
        self.buffers[part.buffer].address + part.range.start
    }

    // Ordering.

    /// Makes sure that everything `part` conflicts with happens before the stream's next task.
    fn order_stream(&mut self, stream: usize, part: &Part, writes: bool) -> Result<(), Failure> {
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
        self.streams[stream].clock.learn_all(&host);
        Ok(())
    }

    /// Makes sure that everything `part` conflicts with is over.
    fn order_host(&mut self, part: &Part, writes: bool) -> Result<(), Failure> {
        let others: Vec<usize> = self.conflicts(part, writes).map(|access| access.stream).collect();
        for other in others {
            self.synchronize(other)?;
        }
        Ok(())
    }

    fn conflicts<'a>(&'a self, part: &'a Part, writes: bool) -> impl Iterator<Item = &'a Access> {
        self.buffers[part.buffer]
            .accesses
            .iter()
            .filter(move |access| self.host.of(access.stream) < access.time && access.conflicts(&part.range, writes))
    }

    /// Notes the stream's next task.
    fn task(&mut self, stream: usize, parts: &[(&Part, bool)]) {
        self.streams[stream].time += 1;
        let time = self.streams[stream].time;
        self.streams[stream].clock.learn(stream, time);
        for (part, writes) in parts {
            let host = &self.host;
            let accesses = &mut self.buffers[part.buffer].accesses;
            accesses.retain(|access| host.of(access.stream) < access.time);
            accesses.push(Access { stream, time, range: part.range.clone(), writes: *writes });
        }
    }

    fn finished(&mut self, clock: &Clock) {
        self.host.learn_all(clock);
    }

    // Calls.

    fn allocate(&mut self, place: Where, size: usize) -> Result<(), Failure> {
        if self.buffers.len() >= MAX_BUFFERS {
            return Ok(());
        }
        let size = size.max(1);
        let mut pageable = None;
        let address = match place {
            Where::Device => ok(self.caller.allocate(size))?,
            Where::Pinned => ok(self.caller.allocate_host(size))?,
            Where::Pageable => pageable.insert(vec![0u8; size].into_boxed_slice()).as_mut_ptr() as usize,
        };
        ok(self.caller.fill(FillRequest { target: address, capacity: size, byte: 0x5a, count: size }))?;
        self.buffers.push(Buffer {
            place,
            address,
            _pageable: pageable,
            model: vec![0x5a; size],
            accesses: Vec::new(),
        });
        Ok(())
    }

    /// Frees, sometimes while tasks still use the buffer: that must not hurt anybody else.
    fn free(&mut self, number: u32, wait: bool) -> Result<(), Failure> {
        let Some(buffer) = self.buffer(number, &[Where::Device, Where::Pinned]) else { return Ok(()) };
        if wait {
            let whole = Part { buffer, range: 0..self.buffers[buffer].model.len() };
            self.order_host(&whole, true)?;
        }
        let buffer = self.buffers.swap_remove(buffer);
        match buffer.place {
            Where::Device => ok(self.caller.free(buffer.address)),
            _ => ok(self.caller.free_host(buffer.address)),
        }
    }

    fn create_stream(&mut self) -> Result<(), Failure> {
        if self.streams.iter().filter(|stream| stream.live).count() >= MAX_STREAMS || self.streams.len() > 40 {
            return Ok(());
        }
        let handle = ok(self.caller.create_stream(StreamTraits::default()))?.raw();
        self.streams.push(StreamState { handle, time: 0, clock: Clock::default(), live: true });
        Ok(())
    }

    fn destroy_stream(&mut self, number: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(number) else { return Ok(()) };
        ok(self.caller.destroy_stream(self.streams[stream].handle))?;
        self.streams[stream].live = false;
        let clock = self.streams[stream].clock.clone();
        self.finished(&clock);
        Ok(())
    }

    fn copy(&mut self, target: u32, source: u32, at: u32, len: u32) -> Result<(), Failure> {
        let all = [Where::Device, Where::Pinned, Where::Pageable];
        let Some((to, from)) = self.pair(self.buffer(target, &all), self.buffer(source, &all), at, len, 1) else {
            return Ok(());
        };
        self.order_host(&to, true)?;
        self.order_host(&from, false)?;
        ok(self.caller.copy(self.request(&to, &from, kinds::DEFAULT)))?;
        self.model_copy(&to, &from);
        Ok(())
    }

    fn copy_async(&mut self, target: u32, source: u32, at: u32, len: u32, stream: u32) -> Result<(), Failure> {
        let all = [Where::Device, Where::Pinned, Where::Pageable];
        let to = self.buffer(target, &all);
        // One side at least is on the device: host to host is refused.
        let partner: &[Where] =
            if to.is_some_and(|to| self.buffers[to].place == Where::Device) { &all } else { &all[..1] };
        let Some((to, from)) = self.pair(to, self.buffer(source, partner), at, len, 1) else { return Ok(()) };
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        let request = self.request(&to, &from, kinds::DEFAULT);
        ok(self.caller.copy_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&to, true), (&from, false)]);
        if [&to, &from].iter().any(|part| self.buffers[part.buffer].place == Where::Pageable) {
            // The call drained the stream and is done.
            let clock = self.streams[stream].clock.clone();
            self.finished(&clock);
        }
        self.model_copy(&to, &from);
        Ok(())
    }

    fn copy_staged(&mut self, target: u32, source: u32, at: u32, len: u32, stream: u32) -> Result<(), Failure> {
        let pair = self.pair(
            self.buffer(target, &[Where::Device]),
            self.buffer(source, &[Where::Pinned, Where::Pageable]),
            at,
            len,
            1,
        );
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &to, true)?;
        self.order_host(&from, true)?;
        let request = self.request(&to, &from, kinds::HOST_TO_BUFFER_TO_DEVICE);
        ok(self.caller.copy_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&to, true)]);
        self.model_copy(&to, &from);
        // The source is the program's again.
        self.write_host(&from, 0xc3)
    }

    fn copy_plane(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        width: usize,
        height: usize,
        stream: u32,
    ) -> Result<(), Failure> {
        let pair = self.pair(
            self.buffer(target, &[Where::Device]),
            self.buffer(source, &[Where::Device, Where::Pinned]),
            at,
            u32::MAX,
            1,
        );
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        let (target_pitch, source_pitch) = (width + 3, width + 11);
        let room = to.range.len();
        if source_pitch * (height - 1) + width > room {
            return Ok(());
        }
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        let request = PlaneRequest {
            target: self.address(&to),
            target_pitch,
            source: self.address(&from),
            source_pitch,
            width,
            height,
            kind: kinds::DEFAULT,
        };
        ok(self.caller.copy_plane_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&to, true), (&from, false)]);
        for row in 0..height {
            let from_start = from.range.start + row * source_pitch;
            let bytes = self.buffers[from.buffer].model[from_start..from_start + width].to_vec();
            memory::copy(&mut self.buffers[to.buffer].model, to.range.start + row * target_pitch, &bytes);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the numbers of one operation")]
    fn copy_batch(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        entries: usize,
        len: usize,
        stream: u32,
        blocking: bool,
    ) -> Result<(), Failure> {
        let host = [Where::Pinned, Where::Pageable];
        let (to, from) = if at.is_multiple_of(2) {
            (self.buffer(target, &[Where::Device]), self.buffer(source, &host))
        } else {
            (self.buffer(target, &host), self.buffer(source, &[Where::Device]))
        };
        let (Some((to, from)), Some(stream)) = (self.pair(to, from, at, u32::MAX, 1), self.stream(stream)) else {
            return Ok(());
        };
        let entries = entries.min(to.range.len() / len);
        if entries == 0 {
            return Ok(());
        }
        // Destinations lie side by side, sources in reverse order: no two entries overlap.
        let targets: Vec<usize> = (0..entries).map(|entry| self.address(&to) + entry * len).collect();
        let sources: Vec<usize> = (0..entries).map(|entry| self.address(&from) + (entries - 1 - entry) * len).collect();
        let sizes = vec![len; entries];
        let location = |part: &Part| match self.buffers[part.buffer].place {
            Where::Device => Location { kind: 1, device: self.device },
            _ => Location { kind: 0, device: 0 },
        };
        let attributes = [BatchAttribute { target: location(&to), source: location(&from), reserved_is_zero: true }];
        if blocking {
            self.order_host(&to, true)?;
            self.order_host(&from, false)?;
        } else {
            self.order_stream(stream, &to, true)?;
            self.order_stream(stream, &from, false)?;
        }
        let request = BatchRequest {
            targets: Some(&targets),
            capacities: Some(&sizes),
            sources: Some(&sources),
            sizes: Some(&sizes),
            attributes: Some(&attributes),
            starts: Some(&[0]),
        };
        let failed = |failure: BatchFailure| format!("{} at {:?}", failure.error, failure.index);
        if blocking {
            self.caller.copy_batch(&request).map_err(failed)?;
        } else {
            self.caller.copy_batch_async(&request, self.streams[stream].handle).map_err(failed)?;
            self.task(stream, &[(&to, true), (&from, false)]);
            if [&to, &from].iter().any(|part| self.buffers[part.buffer].place == Where::Pageable) {
                let clock = self.streams[stream].clock.clone();
                self.finished(&clock);
            }
        }
        for entry in 0..entries {
            let start = from.range.start + (entries - 1 - entry) * len;
            let bytes = self.buffers[from.buffer].model[start..start + len].to_vec();
            memory::copy(&mut self.buffers[to.buffer].model, to.range.start + entry * len, &bytes);
        }
        Ok(())
    }

    fn copy_described(&mut self, target: u32, source: u32, at: u32, len: u32, stream: u32) -> Result<(), Failure> {
        let pair = self.pair(self.buffer(target, &[Where::Device]), self.buffer(source, &[Where::Device]), at, len, 1);
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        let Ok(size) = self.caller.descriptor_size(kinds::INNER_DEVICE_TO_DEVICE) else { return Ok(()) };
        let descriptor = ok(self.caller.allocate(size))?;
        ok(self.caller.set_descriptor(DescriptorRequest {
            descriptor,
            kind: kinds::INNER_DEVICE_TO_DEVICE,
            source: self.address(&from),
            target: self.address(&to),
            count: to.range.len(),
            config: 0,
        }))?;
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        ok(self.caller.copy_described(descriptor, kinds::INNER_DEVICE_TO_DEVICE, self.streams[stream].handle))?;
        self.task(stream, &[(&to, true), (&from, false)]);
        self.model_copy(&to, &from);
        // The descriptor must live until the task has run, and both buffers with it.
        self.synchronize(stream)?;
        ok(self.caller.free(descriptor))
    }

    fn copy_with_offset(&mut self, target: u32, source: u32, at: u32, len: u32, stream: u32) -> Result<(), Failure> {
        let pair = self.pair(self.buffer(target, &[Where::Device]), self.buffer(source, &[Where::Device]), at, len, 1);
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        let cells = ok(self.caller.allocate(16))?;
        let addresses = [self.buffers[to.buffer].address, self.buffers[from.buffer].address];
        let cell_copy = CopyRequest {
            target: cells,
            capacity: 16,
            source: addresses.as_ptr() as usize,
            count: 16,
            kind: kinds::DEFAULT,
        };
        ok(self.caller.copy(cell_copy))?;
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        let request = OffsetRequest {
            target_cell: cells,
            capacity: to.range.end,
            target_offset: to.range.start,
            source_cell: cells + 8,
            count: to.range.len(),
            source_offset: from.range.start,
            kind: kinds::INNER_DEVICE_TO_DEVICE,
        };
        match self.caller.copy_with_offset(request, self.streams[stream].handle) {
            Err(error) if error.code() == 207000 => return ok(self.caller.free(cells)),
            other => ok(other)?,
        }
        self.task(stream, &[(&to, true), (&from, false)]);
        self.model_copy(&to, &from);
        self.synchronize(stream)?;
        ok(self.caller.free(cells))
    }

    fn fill(&mut self, target: u32, at: u32, len: u32, byte: u8) -> Result<(), Failure> {
        let Some(part) = self
            .buffer(target, &[Where::Device, Where::Pinned, Where::Pageable])
            .and_then(|buffer| self.part(buffer, at, len, 1))
        else {
            return Ok(());
        };
        self.order_host(&part, true)?;
        ok(self.caller.fill(FillRequest {
            target: self.address(&part),
            capacity: part.range.len(),
            byte,
            count: part.range.len(),
        }))?;
        memory::fill(&mut self.buffers[part.buffer].model, part.range.clone(), byte);
        Ok(())
    }

    fn fill_async(&mut self, target: u32, at: u32, len: u32, byte: u8, stream: u32) -> Result<(), Failure> {
        let part = self.buffer(target, &[Where::Device]).and_then(|buffer| self.part(buffer, at, len, 1));
        let (Some(part), Some(stream)) = (part, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &part, true)?;
        let request =
            FillRequest { target: self.address(&part), capacity: part.range.len(), byte, count: part.range.len() };
        ok(self.caller.fill_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&part, true)]);
        memory::fill(&mut self.buffers[part.buffer].model, part.range.clone(), byte);
        Ok(())
    }

    fn fill_words(&mut self, target: u32, at: u32, len: u32, word: u32, stream: u32) -> Result<(), Failure> {
        if !self.caller.machine().config().profile.chip.copy.memset_d32 {
            return Ok(());
        }
        let part = self.buffer(target, &[Where::Device]).and_then(|buffer| self.part(buffer, at, len, 4));
        let (Some(part), Some(stream)) = (part, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &part, true)?;
        let request = WordFillRequest {
            target: self.address(&part),
            capacity: part.range.len(),
            word,
            count: part.range.len() / 4,
        };
        ok(self.caller.fill_words_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&part, true)]);
        memory::fill_words(&mut self.buffers[part.buffer].model, part.range.clone(), word);
        Ok(())
    }

    fn reduce(&mut self, target: u32, source: u32, at: u32, len: u32, kind: i32, stream: u32) -> Result<(), Failure> {
        let pair = self.pair(self.buffer(target, &[Where::Device]), self.buffer(source, &[Where::Device]), at, len, 4);
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        let request = ReduceRequest {
            target: self.address(&to),
            source: self.address(&from),
            count: to.range.len(),
            kind,
            element: 3,
            reserved: 0,
        };
        ok(self.caller.reduce_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&to, true), (&from, false)]);
        let bytes = self.buffers[from.buffer].model[from.range.clone()].to_vec();
        memory::reduce(&mut self.buffers[to.buffer].model, to.range.start, &bytes, kind);
        Ok(())
    }

    fn host_function(&mut self, target: u32, at: u32, len: u32, stream: u32) -> Result<(), Failure> {
        let part = self.buffer(target, &[Where::Pinned]).and_then(|buffer| self.part(buffer, at, len % 5000, 1));
        let (Some(part), Some(stream)) = (part, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &part, true)?;
        let (start, len) = (self.address(&part), part.range.len());
        let function = move || {
            for address in start..start + len {
                let byte = address as *mut u8;
                // SAFETY: pinned memory of the world, ordered against everything else that touches it.
                unsafe { byte.write(byte.read().wrapping_add(1)) };
            }
        };
        ok(self.caller.launch_host_function(self.streams[stream].handle, Box::new(function)))?;
        self.task(stream, &[(&part, true)]);
        memory::increment(&mut self.buffers[part.buffer].model, part.range.clone());
        // Freed pinned memory is not written by the machine, but a host function writes it all the
        // same: such a program would be wrong.
        self.synchronize(stream)
    }

    fn host_write(&mut self, target: u32, at: u32, len: u32, byte: u8) -> Result<(), Failure> {
        let Some(part) =
            self.buffer(target, &[Where::Pinned, Where::Pageable]).and_then(|buffer| self.part(buffer, at, len, 1))
        else {
            return Ok(());
        };
        self.order_host(&part, true)?;
        self.write_host(&part, byte)
    }

    fn record(&mut self, event: u32, stream: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        self.record_on(event as usize % EVENTS, stream)
    }

    fn record_on(&mut self, event: usize, stream: usize) -> Result<(), Failure> {
        ok(self.caller.record_event(self.events[event].handle, self.streams[stream].handle))?;
        self.task(stream, &[]);
        self.events[event].record = Some(self.streams[stream].clock.clone());
        Ok(())
    }

    fn wait(&mut self, event: u32, stream: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        self.wait_on(event as usize % EVENTS, stream)
    }

    fn wait_on(&mut self, event: usize, stream: usize) -> Result<(), Failure> {
        ok(self.caller.stream_wait_event(self.streams[stream].handle, self.events[event].handle))?;
        self.task(stream, &[]);
        if let Some(record) = self.events[event].record.clone() {
            self.streams[stream].clock.learn_all(&record);
        }
        Ok(())
    }

    fn synchronize(&mut self, stream: usize) -> Result<(), Failure> {
        if self.streams[stream].live {
            ok(self.caller.synchronize_stream(self.streams[stream].handle, -1))?;
        }
        let clock = self.streams[stream].clock.clone();
        self.finished(&clock);
        Ok(())
    }

    fn synchronize_event(&mut self, event: u32) -> Result<(), Failure> {
        let event = event as usize % EVENTS;
        ok(self.caller.synchronize_event(self.events[event].handle, -1))?;
        if let Some(record) = self.events[event].record.clone() {
            self.finished(&record);
        }
        Ok(())
    }

    fn synchronize_device(&mut self) -> Result<(), Failure> {
        ok(self.caller.synchronize_device(-1))?;
        for stream in 0..self.streams.len() {
            let clock = self.streams[stream].clock.clone();
            self.finished(&clock);
        }
        Ok(())
    }

    fn query(&mut self, stream: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        if ok(self.caller.is_stream_finished(self.streams[stream].handle))? {
            let clock = self.streams[stream].clock.clone();
            self.finished(&clock);
        }
        Ok(())
    }

    /// Calls that must be refused, with their codes.
    fn mistake(&mut self, which: u32, target: u32, source: u32, stream: u32) -> Result<(), Failure> {
        let (Some(device), Some(pinned), Some(stream)) =
            (self.buffer(target, &[Where::Device]), self.buffer(source, &[Where::Pinned]), self.stream(stream))
        else {
            return Ok(());
        };
        let (device, pinned) = (&self.buffers[device], &self.buffers[pinned]);
        let handle = self.streams[stream].handle;
        let copy =
            |target, source, count, capacity| CopyRequest { target, capacity, source, count, kind: kinds::DEFAULT };
        let caller = self.caller;
        let size = device.model.len();
        let (expected, result) = match which % 9 {
            0 => (107000, caller.copy_async(copy(device.address, pinned.address, 2, 1), handle)),
            1 => (107000, caller.copy_async(copy(device.address + size - 1, pinned.address, 2, 2), handle)),
            2 => (107000, caller.copy(copy(pinned.address, device.address + size - 1, 2, 2))),
            3 => (100000, caller.copy_async(copy(0, pinned.address, 1, 1), handle)),
            4 => (207000, caller.copy_async(copy(pinned.address, pinned.address, 1, 1), handle)),
            5 => (107017, caller.copy_async(copy(device.address, pinned.address, 1, 1), handle ^ 0x10_0000)),
            6 => (107000, caller.free(device.address + 1)),
            7 => (100000, caller.copy_described(device.address, 99, handle)),
            _ => (107000, caller.free_host(device.address)),
        };
        match result {
            Err(error) if error.code() == expected => Ok(()),
            Err(error) => Err(format!("mistake {} gave {} instead of {expected}: {error}", which % 9, error.code())),
            Ok(()) => Err(format!("mistake {} was accepted", which % 9)),
        }
    }

    /// Changes a byte behind the model's back.
    fn corrupt(&mut self, target: u32) -> Result<(), Failure> {
        let Some(buffer) = self.buffer(target, &[Where::Device]) else { return Ok(()) };
        let last = self.buffers[buffer].model.len() - 1;
        let target = self.buffers[buffer].address + last;
        ok(self.caller.fill(FillRequest { target, capacity: 1, byte: !self.buffers[buffer].model[last], count: 1 }))
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.synchronize_device()?;
        for (index, buffer) in self.buffers.iter().enumerate() {
            let size = buffer.model.len();
            let mut found = vec![0u8; size];
            ok(self.caller.copy(CopyRequest {
                target: found.as_mut_ptr() as usize,
                capacity: size,
                source: buffer.address,
                count: size,
                kind: kinds::DEFAULT,
            }))?;
            if let Some(at) = (0..size).find(|at| found[*at] != buffer.model[*at]) {
                let differing = (0..size).filter(|at| found[*at] != buffer.model[*at]).count();
                return Err(format!(
                    "buffer {index} ({:?}, {size} bytes): byte {at} is {:#x}, the model says {:#x}; {differing} bytes differ",
                    buffer.place, found[at], buffer.model[at]
                ));
            }
        }
        Ok(())
    }

    fn tear_down(&mut self) -> Result<(), Failure> {
        self.synchronize_device()?;
        for buffer in std::mem::take(&mut self.buffers) {
            match buffer.place {
                Where::Device => ok(self.caller.free(buffer.address))?,
                Where::Pinned => ok(self.caller.free_host(buffer.address))?,
                Where::Pageable => {}
            }
        }
        for event in &self.events {
            ok(self.caller.destroy_event(event.handle))?;
        }
        Ok(())
    }

    // Both sides.

    fn request(&self, to: &Part, from: &Part, kind: i32) -> CopyRequest {
        CopyRequest {
            target: self.address(to),
            capacity: to.range.len(),
            source: self.address(from),
            count: to.range.len(),
            kind,
        }
    }

    fn model_copy(&mut self, to: &Part, from: &Part) {
        let bytes = self.buffers[from.buffer].model[from.range.clone()].to_vec();
        memory::copy(&mut self.buffers[to.buffer].model, to.range.start, &bytes);
    }

    fn write_host(&mut self, part: &Part, byte: u8) -> Result<(), Failure> {
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
