//! Memory from pools and reservations, and signals between streams other than events.

use super::outcome::{Failure, must_fail, ok};
use super::state::{Buffer, BufferKind, BufferRange, MAX_BUFFERS, PendingTask, Source, World};
use crate::faults::TaskKind;
use softacl_engine::{Compare, CounterOp, FillRequest, MemoryLocation, PhysicalRequest, StreamOptions, ValueCondition};

/// Maximum number of signals between two waits for everything.
const MAX_SIGNALS: usize = 32;
const CELL: usize = size_of::<u64>();
const GRANULE: usize = 2 << 20;

/// One call of a signal.
type SignalCall<'a> = Box<dyn Fn() -> softacl_engine::Result<()> + 'a>;

impl World<'_> {
    pub(super) fn signal(&mut self, from: u32, to: u32, kind: u32, first: bool) -> Result<(), Failure> {
        let (Some(from), Some(to)) = (self.stream(from), self.stream(to)) else { return Ok(()) };
        if from == to || self.signals.used + self.signals.notifies.len() >= MAX_SIGNALS {
            return Ok(());
        }
        let (caller, signaler, waiter) = (self.caller, self.streams[from].handle, self.streams[to].handle);
        let (from_context, to_context) = (self.streams[from].context, self.streams[to].context);
        self.enter(from_context)?;
        let value = u64::from(kind) + 1;
        let (signal, wait): (SignalCall<'_>, SignalCall<'_>) = match kind % 3 {
            0 => {
                let notify = ok(caller.create_notify())?.raw();
                self.signals.notifies.push((notify, false));
                (
                    Box::new(move || caller.record_notify(notify, signaler)),
                    Box::new(move || caller.wait_notify(notify, waiter, None)),
                )
            }
            1 => {
                let notify = ok(caller.create_counting_notify())?.raw();
                self.signals.notifies.push((notify, true));
                (
                    Box::new(move || caller.change_counting_notify(notify, signaler, CounterOp::Add(3))),
                    Box::new(move || {
                        caller.wait_counting_notify(notify, waiter, Compare::AtLeast(3), kind.is_multiple_of(2), None)
                    }),
                )
            }
            _ => {
                let Some(cell) = self.cell()? else { return Ok(()) };
                let condition =
                    [ValueCondition::Equal, ValueCondition::AtLeast, ValueCondition::And][kind as usize / 3 % 3];
                (
                    Box::new(move || caller.write_value(cell, value, signaler)),
                    Box::new(move || caller.wait_value(cell, value, condition, waiter)),
                )
            }
        };
        let calls = if first {
            [(to_context, wait), (from_context, signal)]
        } else {
            [(from_context, signal), (to_context, wait)]
        };
        for (context, call) in calls {
            self.enter(context)?;
            ok(call())?;
        }
        self.task(from, &[]);
        self.task(to, &[]);
        let clock = self.streams[from].clock.clone();
        self.streams[to].clock.advance_all(&clock);
        Ok(())
    }

    /// Returns an unused cell that contains 0. `None` if the rules refuse its memory.
    fn cell(&mut self) -> Result<Option<usize>, Failure> {
        let start = match self.signals.cells {
            Some(start) => start,
            None => {
                let (count, caller) = (MAX_SIGNALS * CELL, self.caller);
                let Some(start) = self.device_memory(count)? else { return Ok(None) };
                ok(caller.fill(FillRequest { target: start, capacity: count, byte: 0, count }))?;
                *self.signals.cells.insert(start)
            }
        };
        self.signals.used += 1;
        Ok(Some(start + (self.signals.used - 1) * CELL))
    }

    /// Destroys notifies and cells. The caller has waited for everything.
    pub(super) fn destroy_signals(&mut self) -> Result<(), Failure> {
        let signals = std::mem::take(&mut self.signals);
        for (notify, is_counting) in signals.notifies {
            ok(self.caller.destroy_notify(notify, is_counting))?;
        }
        signals.cells.map_or(Ok(()), |start| ok(self.caller.free(start)))
    }

    pub(super) fn allocate_from_pool(&mut self, size: usize, stream: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        // The schedule decides when a pool has no free memory and allocates, so allocation rules are unpredictable.
        if self.buffers.len() >= MAX_BUFFERS || self.oracle.has_allocation_rules() {
            return Ok(());
        }
        let handle = self.enter_stream(stream)?;
        let pool = match self.pool {
            Some(pool) => pool,
            None => *self.pool.insert(ok(self.caller.create_pool(self.device.into(), 0))?.raw()),
        };
        let size = size.max(1);
        let address = ok(self.caller.allocate_from_pool(pool, size, handle))?;
        self.buffers.push(Buffer {
            kind: BufferKind::Device,
            address,
            _pageable: None,
            source: Source::Pool,
            model: vec![0x33; size],
            accesses: Vec::new(),
        });
        let whole = BufferRange { buffer: self.buffers.len() - 1, range: 0..size };
        // Its contents are unspecified. The next task of the stream may use it.
        let request = FillRequest { target: address, capacity: size, byte: 0x33, count: size };
        let parts = [(&whole, true)];
        let pending = PendingTask { function: "aclrtMemsetAsync", kind: TaskKind::Fill, size, stream, parts: &parts };
        if !self.submit(&pending, |caller, stream| caller.fill_async(request, stream))? {
            self.synchronize(stream)?;
            self.enter(0)?;
            ok(self.caller.fill(request))?;
        }
        Ok(())
    }

    /// Frees a buffer to its pool, in stream order. The pool may reuse it immediately.
    pub(super) fn free_to_pool(&mut self, buffer: usize, stream: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        let whole = BufferRange { buffer, range: 0..self.buffers[buffer].model.len() };
        self.order_stream(stream, &whole, true)?;
        let handle = self.enter_stream(stream)?;
        ok(self.caller.free_to_pool(self.buffers[buffer].address, handle))?;
        self.task(stream, &[]);
        self.buffers.swap_remove(buffer);
        Ok(())
    }

    /// Destroys the pool and its remaining buffers. The caller has waited for everything.
    pub(super) fn destroy_pool_with_buffers(&mut self) -> Result<(), Failure> {
        let Some(pool) = self.pool.take() else { return Ok(()) };
        self.enter(0)?;
        let stream = ok(self.caller.create_stream(StreamOptions::default()))?.raw();
        while let Some(index) = self.buffers.iter().position(|buffer| buffer.source == Source::Pool) {
            ok(self.caller.free_to_pool(self.buffers.swap_remove(index).address, stream))?;
        }
        ok(self.caller.synchronize_stream(stream, -1))?;
        ok(self.caller.destroy_stream(stream))?;
        ok(self.caller.destroy_pool(pool))
    }

    pub(super) fn allocate_mapped(&mut self, granules: usize) -> Result<(), Failure> {
        if self.buffers.len() >= MAX_BUFFERS {
            return Ok(());
        }
        self.enter(0)?;
        let (caller, size) = (self.caller, granules.max(1) * GRANULE);
        let location = MemoryLocation::Device(self.device);
        let address = ok(caller.reserve_addresses(size, None))?;
        let request = PhysicalRequest { size, location, attribute: 0, granularity: GRANULE };
        let expected = self.oracle.allocation(size);
        let allocated = caller.make_physical(request);
        if let Some(code) = expected {
            must_fail(allocated, code, "physical memory")?;
            return ok(caller.release_addresses(address));
        }
        let handle = ok(allocated)?;
        ok(caller.map(address, size, 0, handle, true))?;
        ok(caller.fill(FillRequest { target: address, capacity: size, byte: 0x44, count: size }))?;
        self.buffers.push(Buffer {
            kind: BufferKind::Device,
            address,
            _pageable: None,
            source: Source::Physical(handle),
            model: vec![0x44; size],
            accesses: Vec::new(),
        });
        Ok(())
    }
}
