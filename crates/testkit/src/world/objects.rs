//! Buffers, streams, events, waits, invalid calls and the comparison with the model.

use super::outcome::{Failure, GRAPH_FAILURE, expect, ok};
use super::state::{Buffer, BufferKind, BufferRange, EVENTS, MAX_BUFFERS, MAX_STREAMS, Source, StreamState, World};
use crate::memory;
use crate::order::ModelClock;
use softacl_engine::{CopyRequest, FillRequest, StreamOptions, kinds};
use std::sync::Arc;

impl World<'_> {
    pub(super) fn allocate(&mut self, kind: BufferKind, size: usize) -> Result<(), Failure> {
        if self.buffers.len() >= MAX_BUFFERS {
            return Ok(());
        }
        let size = size.max(1);
        let mut pageable = None;
        let address = match kind {
            BufferKind::Device => match self.device_memory(size)? {
                Some(address) => address,
                None => return Ok(()),
            },
            BufferKind::Peer if self.peer.is_none() => return Ok(()),
            BufferKind::Peer => {
                self.enter(self.contexts.len() - 1)?;
                ok(self.caller.allocate(size))?
            }
            BufferKind::Pinned => ok(self.caller.allocate_host(size))?,
            BufferKind::Pageable => pageable.insert(vec![0u8; size].into_boxed_slice()).as_mut_ptr() as usize,
        };
        ok(self.caller.fill(FillRequest { target: address, capacity: size, byte: 0x5a, count: size }))?;
        self.buffers.push(Buffer {
            kind,
            address,
            _pageable: pageable,
            source: Source::Heap,
            model: vec![0x5a; size],
            accesses: Vec::new(),
        });
        Ok(())
    }

    /// Frees a buffer. Without `wait`, tasks may still use it, which must not affect other buffers.
    pub(super) fn free(&mut self, number: u32, wait: bool) -> Result<(), Failure> {
        let Some(buffer) = self.buffer(number, &[BufferKind::Device, BufferKind::Pinned, BufferKind::Peer]) else {
            return Ok(());
        };
        if wait {
            let whole = BufferRange { buffer, range: 0..self.buffers[buffer].model.len() };
            self.order_host(&whole, true)?;
        }
        if self.buffers[buffer].source == Source::Pool {
            return self.free_to_pool(buffer, number);
        }
        let buffer = self.buffers.swap_remove(buffer);
        self.release(&buffer)
    }

    /// Returns the memory of a buffer to its allocator.
    pub(super) fn release(&self, buffer: &Buffer) -> Result<(), Failure> {
        match (buffer.kind, buffer.source) {
            (BufferKind::Pageable, _) => Ok(()),
            (BufferKind::Pinned, _) => ok(self.caller.free_host(buffer.address)),
            (BufferKind::Device | BufferKind::Peer, Source::Heap | Source::Pool) => {
                ok(self.caller.free(buffer.address))
            }
            (BufferKind::Device | BufferKind::Peer, Source::Physical(handle)) => {
                ok(self.caller.unmap(buffer.address))?;
                ok(self.caller.free_physical(handle))?;
                ok(self.caller.release_addresses(buffer.address))
            }
        }
    }

    pub(super) fn create_stream(&mut self) -> Result<(), Failure> {
        if self.streams.iter().filter(|stream| stream.live).count() >= MAX_STREAMS || self.streams.len() > 40 {
            return Ok(());
        }
        if self.is_refused("aclrtCreateStream", 0)? {
            return Ok(());
        }
        let contexts = self.contexts.len() - usize::from(self.peer.is_some());
        self.add_stream(self.streams.len() % contexts)
    }

    pub(super) fn add_stream(&mut self, context: usize) -> Result<(), Failure> {
        self.enter(context)?;
        let handle = ok(self.caller.create_stream(StreamOptions::default()))?.raw();
        self.streams.push(StreamState {
            handle,
            time: 0,
            clock: ModelClock::default(),
            live: true,
            context,
            failure: None,
        });
        Ok(())
    }

    pub(super) fn destroy_stream(&mut self, number: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(number) else { return Ok(()) };
        let handle = self.enter_stream(stream)?;
        ok(self.caller.destroy_stream(handle))?;
        self.streams[stream].live = false;
        self.streams[stream].failure = None;
        let clock = self.streams[stream].clock.clone();
        self.advance_host(&clock);
        Ok(())
    }

    pub(super) fn host_function(&mut self, target: u32, at: u32, len: u32, stream: u32) -> Result<(), Failure> {
        let part = self.buffer(target, &[BufferKind::Pinned]).and_then(|buffer| self.part(buffer, at, len % 5000, 1));
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
        let handle = self.enter_stream(stream)?;
        ok(self.caller.launch_host_function(handle, Arc::new(function)))?;
        self.task(stream, &[(&part, true)]);
        memory::increment(&mut self.buffers[part.buffer].model, part.range.clone());
        // Wait: the machine does not write freed pinned memory, but a host function would. Such a program would be
        // wrong.
        self.synchronize(stream)
    }

    pub(super) fn host_write(&mut self, target: u32, at: u32, len: u32, byte: u8) -> Result<(), Failure> {
        let Some(part) = self
            .buffer(target, &[BufferKind::Pinned, BufferKind::Pageable])
            .and_then(|buffer| self.part(buffer, at, len, 1))
        else {
            return Ok(());
        };
        self.order_host(&part, true)?;
        self.write_host(&part, byte)
    }

    pub(super) fn record(&mut self, event: u32, stream: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        self.record_on(event as usize % EVENTS, stream)
    }

    pub(super) fn record_on(&mut self, event: usize, stream: usize) -> Result<(), Failure> {
        let handle = self.enter_stream(stream)?;
        ok(self.caller.record_event(self.events[event].handle, handle))?;
        self.task(stream, &[]);
        self.events[event].record = Some(self.streams[stream].clock.clone());
        Ok(())
    }

    pub(super) fn wait(&mut self, event: u32, stream: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        self.wait_on(event as usize % EVENTS, stream)
    }

    pub(super) fn wait_on(&mut self, event: usize, stream: usize) -> Result<(), Failure> {
        let handle = self.enter_stream(stream)?;
        ok(self.caller.stream_wait_event(handle, self.events[event].handle))?;
        self.task(stream, &[]);
        if let Some(record) = self.events[event].record.clone() {
            self.streams[stream].clock.advance_all(&record);
        }
        Ok(())
    }

    pub(super) fn synchronize(&mut self, stream: usize) -> Result<(), Failure> {
        if self.streams[stream].live {
            let handle = self.enter_stream(stream)?;
            let failure = self.streams[stream].failure.take();
            expect(self.caller.synchronize_stream(handle, -1), failure)?;
        }
        let clock = self.streams[stream].clock.clone();
        self.advance_host(&clock);
        Ok(())
    }

    pub(super) fn synchronize_event(&mut self, event: u32) -> Result<(), Failure> {
        let event = event as usize % EVENTS;
        ok(self.caller.synchronize_event(self.events[event].handle, -1))?;
        if let Some(record) = self.events[event].record.clone() {
            self.advance_host(&record);
        }
        Ok(())
    }

    pub(super) fn synchronize_device(&mut self) -> Result<(), Failure> {
        for context in 0..self.contexts.len() {
            self.enter(context)?;
            let streams = self.streams.iter_mut().filter(|stream| stream.live && stream.context == context);
            // The wait clears the failures of all streams and returns that of the oldest one.
            let failures: Vec<_> = streams.filter_map(|stream| stream.failure.take()).collect();
            expect(self.caller.synchronize_device(-1), failures.into_iter().next())?;
        }
        for stream in 0..self.streams.len() {
            let clock = self.streams[stream].clock.clone();
            self.advance_host(&clock);
        }
        Ok(())
    }

    pub(super) fn query(&mut self, stream: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        let handle = self.enter_stream(stream)?;
        // A query returns the failure of a graph, and leaves it to the wait.
        let graph_failed = self.streams[stream].failure.as_ref().is_some_and(|codes| codes.contains(&GRAPH_FAILURE));
        match self.caller.is_stream_finished(handle) {
            Err(error) if graph_failed && error.code() == GRAPH_FAILURE => {}
            finished => {
                if ok(finished)? {
                    let clock = self.streams[stream].clock.clone();
                    self.advance_host(&clock);
                }
            }
        }
        Ok(())
    }

    /// Makes a call that must be refused, and checks its code.
    pub(super) fn invalid_call(&mut self, which: u32, target: u32, source: u32, stream: u32) -> Result<(), Failure> {
        let (Some(device), Some(pinned), Some(stream)) = (
            self.buffer(target, &[BufferKind::Device]),
            self.buffer(source, &[BufferKind::Pinned]),
            self.stream(stream),
        ) else {
            return Ok(());
        };
        let (device, pinned) = (&self.buffers[device], &self.buffers[pinned]);
        let handle = self.enter_stream(stream)?;
        let copy =
            |target, source, count, capacity| CopyRequest { target, capacity, source, count, kind: kinds::DEFAULT };
        let caller = self.caller;
        let size = device.model.len();
        let (expected, result) = match which % 9 {
            // Mapped memory and memory of pools return other codes.
            6 | 1 | 2 if device.source != Source::Heap => return Ok(()),
            0 => (107000, caller.copy_async(copy(device.address, pinned.address, 2, 1), handle)),
            1 => (107000, caller.copy_async(copy(device.address + size - 1, pinned.address, 2, 2), handle)),
            2 => (107000, caller.copy(copy(pinned.address, device.address + size - 1, 2, 2))),
            3 => (100000, caller.copy_async(copy(0, pinned.address, 1, 1), handle)),
            4 => (207000, caller.copy_async(copy(pinned.address, pinned.address, 1, 1), handle)),
            5 => (107017, caller.copy_async(copy(device.address, pinned.address, 1, 1), handle ^ 0x10_0000)),
            6 => (107000, caller.free(device.address + 1)),
            7 if caller.machine().config().profile.chip.copy.descriptor_bytes == 0 => return Ok(()),
            7 => (100000, caller.copy_described(device.address, 99, handle)),
            _ => (107000, caller.free_host(device.address)),
        };
        match result {
            Err(error) if error.code() == expected => Ok(()),
            Err(error) => {
                Err(format!("invalid call {} returned {} instead of {expected}: {error}", which % 9, error.code()))
            }
            Ok(()) => Err(format!("invalid call {} was accepted", which % 9)),
        }
    }

    /// Changes a byte on the machine but not in the model.
    pub(super) fn corrupt(&mut self, target: u32) -> Result<(), Failure> {
        let Some(buffer) = self.buffer(target, &[BufferKind::Device]) else { return Ok(()) };
        let last = self.buffers[buffer].model.len() - 1;
        let target = self.buffers[buffer].address + last;
        ok(self.caller.fill(FillRequest { target, capacity: 1, byte: !self.buffers[buffer].model[last], count: 1 }))
    }

    /// Waits for everything and compares all buffers with the model.
    pub(super) fn verify(&mut self) -> Result<(), Failure> {
        self.synchronize_device()?;
        self.destroy_graphs()?;
        self.destroy_signals()?;
        self.check_health()?;
        for (index, buffer) in self.buffers.iter().enumerate() {
            let is_on_peer = buffer.kind == BufferKind::Peer;
            self.enter(if is_on_peer { self.contexts.len() - 1 } else { 0 })?;
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
                    "buffer {index} ({:?}, {size} bytes): byte {at} is {:#x}, the model has {:#x}; \
                     different bytes: {differing}",
                    buffer.kind, found[at], buffer.model[at]
                ));
            }
        }
        Ok(())
    }

    /// Waits for everything and releases all objects.
    pub(super) fn tear_down(&mut self) -> Result<(), Failure> {
        self.synchronize_device()?;
        self.destroy_graphs()?;
        self.destroy_signals()?;
        self.destroy_pool_with_buffers()?;
        for buffer in std::mem::take(&mut self.buffers) {
            self.release(&buffer)?;
        }
        for event in &self.events {
            ok(self.caller.destroy_event(event.handle))?;
        }
        Ok(())
    }
}
