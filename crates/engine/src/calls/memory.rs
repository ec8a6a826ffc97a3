//! Memory: allocating, freeing, registering, asking.

use super::Caller;
use crate::bytes;
use crate::error::{Error, MemoryPool, Result, fail};
use crate::machine::Machine;
use crate::memory::heap::Idle;
use crate::memory::{Memory, MemoryKind, Usage};
use crate::observer::Advisory;
use crate::stream::StreamPoint;

/// How full a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceUsage {
    pub free: usize,
    pub total: usize,
}

impl Caller<'_> {
    /// Memory of the current device.
    pub fn allocate(&self, size: usize) -> Result<usize> {
        let (_, context) = self.context_or_default()?;
        self.check_may_block()?;
        let device = context.device();
        self.machine.allocate_on(device, size)
    }

    pub fn free(&self, address: usize) -> Result<()> {
        let memory = &self.machine.memory;
        let Some(device) = memory.device_of(address) else {
            return fail(Error::NotAStart { address, whose: "is not in device memory, and".to_owned() });
        };
        self.machine.pools.remove_block(address);
        let reach = memory.backing_address(address);
        if let Some(probe) = self.machine.probe()
            && memory.device_extent(address).is_some_and(|extent| extent.start == address)
        {
            probe.freed(MemoryKind::Device(device), address);
        }
        if !memory.device(device).free(address, |len| self.machine.quarantine_until(reach, len)) {
            return fail(Error::NotAStart { address, whose: format!("in the memory of device {device}") });
        }
        memory.trim(device);
        Ok(())
    }

    /// Pinned host memory.
    pub fn allocate_host(&self, size: usize) -> Result<usize> {
        self.context_or_default()?;
        self.check_may_block()?;
        let heap = self.machine.memory.pinned();
        let allocated = heap.allocate(size);
        let start = allocated.ok_or_else(|| out_of_memory(MemoryPool::PinnedHost, size, heap.usage()))?;
        if let Some(probe) = self.machine.probe() {
            probe.allocated(MemoryKind::Pinned, start, size);
        }
        Ok(start)
    }

    pub fn free_host(&self, address: usize) -> Result<()> {
        let memory = &self.machine.memory;
        if let Some(probe) = self.machine.probe()
            && memory.pinned().find(address).is_some_and(|extent| extent.start == address)
        {
            probe.freed(MemoryKind::Pinned, address);
        }
        if !memory
            .pinned()
            .free(address, |len| self.machine.quarantine_until(memory.pinned_backing_address(address), len))
        {
            return fail(Error::NotAStart { address, whose: "as pinned host memory".to_owned() });
        }
        memory.trim_pinned();
        Ok(())
    }

    /// Makes ordinary host memory count as pinned.
    pub fn register_host(&self, address: usize, size: usize, mapped: bool) -> Result<()> {
        let memory = &self.machine.memory;
        if memory.device_of(address).is_some() || memory.reserved.contains(address) {
            return fail(Error::Parameter(format!(
                "{address:#x} is device memory; only host memory can be registered"
            )));
        }
        if !Memory::is_mapped(address, size) {
            return fail(Error::Parameter(format!("not all of the {size} bytes at {address:#x} are mapped")));
        }
        self.machine.memory.registered.insert(address, size, mapped)?;
        if let Some(probe) = self.machine.probe() {
            probe.registered(address, size);
        }
        Ok(())
    }

    pub fn unregister_host(&self, address: usize) -> Result<()> {
        let extent = self.machine.memory.registered.hold().find(address);
        self.machine.memory.registered.remove(address)?;
        if let Some(extent) = extent {
            self.machine.graphs.forget_memory(extent.start, extent.size);
        }
        if let Some(probe) = self.machine.probe() {
            probe.unregistered(address);
        }
        Ok(())
    }

    /// The address by which devices reach registered host memory. It is the same one.
    pub fn mapped_address(&self, address: usize) -> Result<usize> {
        if self.machine.memory.registered.mapped(address) {
            return Ok(address);
        }
        fail(Error::Parameter(format!("{address:#x} is not in host memory that was registered as mapped")))
    }

    pub fn place(&self, address: usize) -> Result<MemoryKind> {
        Ok(self.machine.memory.finder().find("queried", address)?.place)
    }

    /// Start and size of the allocation that contains an address.
    pub fn extent(&self, address: usize) -> Result<(usize, usize)> {
        if let Some((_, extent)) = self.machine.memory.reserved.mapped(address) {
            return Ok((extent.start, extent.size));
        }
        let spot = self.machine.memory.finder().find("queried", address)?;
        match (spot.place.is_device(), spot.extent) {
            (true, Some(extent)) => Ok((extent.start, extent.size)),
            _ => fail(Error::Parameter(format!("{address:#x} is {}, not device memory", spot.place.describe()))),
        }
    }

    pub fn usage(&self) -> Result<DeviceUsage> {
        let (_, context) = self.context_or_default()?;
        let usage = self.machine.memory.device(context.device()).usage();
        Ok(DeviceUsage { free: usage.capacity - usage.used, total: usage.capacity })
    }

    /// Where host code that plays the part of a kernel can touch device memory.
    pub fn host_view(&self, address: usize, size: usize) -> Result<usize> {
        let spot = self.machine.memory.finder().find("viewed", address)?;
        if !spot.place.is_device() {
            return fail(Error::Parameter(format!("{address:#x} is {}, not device memory", spot.place.describe())));
        }
        spot.covers("viewed", size)?;
        self.machine.advise(|| Advisory::Viewed { address, len: size });
        Ok(spot.reach)
    }
}

/// What an observer sees in device memory that nobody has written.
const POISON: u8 = 0xa5;
/// Larger allocations are poisoned at their start only: their memory is virtual until it is touched.
const POISONED: usize = 16 << 20;

impl Machine {
    /// Memory of a device. Pools give back what they only keep before there is none.
    pub(crate) fn allocate_on(&self, device: u32, size: usize) -> Result<usize> {
        self.check_not_lost(i64::from(device))?;
        let heap = self.memory.device(device);
        let allocated = heap.allocate(size).or_else(|| {
            self.trim_pools_of(device);
            heap.allocate(size)
        });
        let start = allocated.ok_or_else(|| out_of_memory(MemoryPool::Device(device), size, heap.usage()))?;
        // Rules are about memory that there is.
        let bad = self.check_allocation(device, size).inspect_err(|_| {
            heap.free(start, |_| None);
        })?;
        if self.is_guarded() {
            self.poison(start, size);
        }
        if let Some(probe) = self.probe() {
            probe.allocated(MemoryKind::Device(device), start, size);
        }
        if let Some(part) = bad {
            self.mark_part_bad(device, start, size, part);
        }
        Ok(start)
    }

    /// Makes fresh device memory recognisable.
    fn poison(&self, start: usize, size: usize) {
        bytes::fill(self.memory.backing_address(start), POISON, size.min(POISONED))
            .expect("the backing of live memory is mapped");
    }

    pub fn device_memory(&self, device: i64) -> Result<Usage> {
        self.device(device)?;
        Ok(self.memory.device(device as u32).usage())
    }

    /// Live device and pinned allocations, for reports: device (or none), start and size.
    pub fn live_allocations(&self) -> Vec<(Option<u32>, usize, usize)> {
        let devices = (0..self.devices.len() as u32).map(Some);
        let heaps = devices.map(|device| (device, self.memory.device(device.unwrap_or(0))));
        heaps
            .chain([(None, self.memory.pinned())])
            .flat_map(|(device, heap)| heap.live().into_iter().map(move |e| (device, e.start, e.size)))
            .collect()
    }

    /// Until when the freed bytes that the engine reaches at `start` must not be reused; `None` when
    /// nothing that is queued or running can touch them.
    pub(crate) fn quarantine_until(&self, start: usize, len: usize) -> Option<Idle> {
        self.graphs.forget_memory(start, len);
        let users = self.streams_using(start, len);
        let is_shared = self.memory.exchange.take_moved(start).is_some();
        if users.is_empty() && (!is_shared || self.memory.map_fresh(start, len)) {
            return None;
        }
        self.memory.note_quarantined();
        let machine = self.weak();
        Some(Box::new(move || {
            let Some(machine) = machine.upgrade() else { return true };
            let reached =
                |point: &StreamPoint| machine.streams.slot(point.stream).track.completion.done() >= point.sequence;
            // New memory before anyone gets the addresses: other processes may still have these bytes.
            users.iter().all(reached) && (!is_shared || machine.memory.map_fresh(start, len))
        }))
    }
}

pub(super) fn out_of_memory(pool: MemoryPool, asked: usize, usage: Usage) -> Box<Error> {
    Box::new(Error::OutOfMemory { pool, asked, free: usage.capacity - usage.used, total: usage.capacity })
}
