//! Memory from pools and from reservations, and signals between streams that are no events.

use super::faults::must_fail;
use super::*;

/// Signals at most between two times that everything is over.
const MAX_SIGNALS: usize = 32;
const CELL: usize = size_of::<u64>();
const GRANULE: usize = 2 << 20;

/// One call of a signal.
type SignalCall<'a> = Box<dyn Fn() -> softacl_engine::Result<()> + 'a>;

/// What streams were told with since everything was over. Nothing is used twice: a second record would be lost.
#[derive(Default)]
pub(super) struct Signals {
    notifies: Vec<(usize, bool)>,
    /// Device memory for values, and how many of its cells are used.
    cells: Option<usize>,
    used: usize,
}

impl World<'_> {
    pub(super) fn signal(&mut self, from: u32, to: u32, kind: u32, first: bool) -> Result<(), Failure> {
        let (Some(from), Some(to)) = (self.stream(from), self.stream(to)) else { return Ok(()) };
        if from == to || self.signals.used + self.signals.notifies.len() >= MAX_SIGNALS {
            return Ok(());
        }
        let (caller, teller, waiter) = (self.caller, self.streams[from].handle, self.streams[to].handle);
        let (telling, waiting) = (self.streams[from].context, self.streams[to].context);
        self.enter(telling)?;
        let value = u64::from(kind) + 1;
        let (tell, wait): (SignalCall<'_>, SignalCall<'_>) = match kind % 3 {
            0 => {
                let notify = ok(caller.create_notify())?.raw();
                self.signals.notifies.push((notify, false));
                (
                    Box::new(move || caller.record_notify(notify, teller)),
                    Box::new(move || caller.wait_notify(notify, waiter, None)),
                )
            }
            1 => {
                let notify = ok(caller.create_counting_notify())?.raw();
                self.signals.notifies.push((notify, true));
                (
                    Box::new(move || caller.change_counting_notify(notify, teller, CounterOp::Add(3))),
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
                    Box::new(move || caller.write_value(cell, value, teller)),
                    Box::new(move || caller.wait_value(cell, value, condition, waiter)),
                )
            }
        };
        let steps = if first { [(waiting, wait), (telling, tell)] } else { [(telling, tell), (waiting, wait)] };
        for (context, step) in steps {
            self.enter(context)?;
            ok(step())?;
        }
        self.task(from, &[]);
        self.task(to, &[]);
        let told = self.streams[from].clock.clone();
        self.streams[to].clock.advance_all(&told);
        Ok(())
    }

    /// A cell with 0 in it that nobody uses.
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

    /// Everything is over: notifies and cells can go.
    pub(super) fn forget_signals(&mut self) -> Result<(), Failure> {
        let signals = std::mem::take(&mut self.signals);
        for (notify, is_counting) in signals.notifies {
            ok(self.caller.destroy_notify(notify, is_counting))?;
        }
        signals.cells.map_or(Ok(()), |start| ok(self.caller.free(start)))
    }

    pub(super) fn allocate_from_pool(&mut self, size: usize, stream: u32) -> Result<(), Failure> {
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        // A pool asks for memory when it has none that is free, which is up to the schedule.
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
            place: Where::Device,
            address,
            _pageable: None,
            source: Source::Pool,
            model: vec![0x33; size],
            accesses: Vec::new(),
        });
        let whole = BufferRange { buffer: self.buffers.len() - 1, range: 0..size };
        // It holds whatever it held; what comes next in the stream may use it.
        let request = FillRequest { target: address, capacity: size, byte: 0x33, count: size };
        let parts = [(&whole, true)];
        let work = PendingTask { function: "aclrtMemsetAsync", kind: TaskKind::Fill, size, stream, parts: &parts };
        if !self.submit(&work, |caller, stream| caller.fill_async(request, stream))? {
            self.synchronize(stream)?;
            self.enter(0)?;
            ok(self.caller.fill(request))?;
        }
        Ok(())
    }

    /// Gives a buffer back in the order of a stream; the pool may hand it out again at once.
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

    /// Ends the pool with what is left of it; nothing runs any more.
    pub(super) fn end_pool(&mut self) -> Result<(), Failure> {
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
        let home = MemoryLocation::Device(self.device);
        let address = ok(caller.reserve_addresses(size, None))?;
        let request = PhysicalRequest { size, location: home, attribute: 0, granularity: GRANULE };
        let expected = self.oracle.allocation(size);
        let made = caller.make_physical(request);
        if let Some(code) = expected {
            must_fail(made, code, "physical memory")?;
            return ok(caller.release_addresses(address));
        }
        let handle = ok(made)?;
        ok(caller.map(address, size, 0, handle, true))?;
        ok(caller.fill(FillRequest { target: address, capacity: size, byte: 0x44, count: size }))?;
        self.buffers.push(Buffer {
            place: Where::Device,
            address,
            _pageable: None,
            source: Source::Physical(handle),
            model: vec![0x44; size],
            accesses: Vec::new(),
        });
        Ok(())
    }
}
