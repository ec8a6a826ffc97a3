//! Managed memory: allocating, freeing, hints and prefetches.

use crate::allocation::out_of_memory;
use crate::caller::{Caller, Submission};
use crate::managed::{Advice, Hints, ManagedLocation};
use crate::task::Control;
use crate::task::kind::TaskKind;
use softacl_errors::{Error, MemoryPool, Result};
use softacl_memory::MemoryLocation;
use softacl_memory::extent::{Extent, PAGE};
use softacl_memory::physical::Physical;
use softacl_memory::reservation::MapRequest;
use std::sync::Arc;

impl Caller<'_> {
    /// Allocates managed memory, which counts as memory of the current device.
    pub fn allocate_managed(&self, size: usize) -> Result<usize> {
        let (_, context) = self.context()?;
        self.check_may_block()?;
        let device = context.device();
        self.machine.check_not_lost(device.into())?;
        let memory = &self.machine.memory;
        let heap = memory.device(device);
        let none = || out_of_memory(MemoryPool::Device(device), size, heap.usage());
        let len = size.checked_next_multiple_of(PAGE).ok_or_else(none)?;
        let reservation = heap.reserve_capacity(len).ok_or_else(none)?;
        let refused = |error| Error::Feature(format!("managed memory could not be created: {error}"));
        let physical = Physical::create(len, MemoryLocation::Device(device), 0).map_err(refused)?;
        let physical = Arc::new(physical.charged(reservation).shared_with_host());
        let start = memory.reserved.reserve(size, None)?;
        let extent = Extent { start, size };
        let request = MapRequest { physical: &physical, offset: 0, extent, has_access: true, is_remote: false };
        self.machine.map_physical(&request).inspect_err(|_| drop(memory.reserved.release(start)))?;
        self.machine.managed.add(start, size);
        Ok(start)
    }

    /// Frees managed memory. `None` if none starts at the address.
    pub(crate) fn free_managed(&self, address: usize) -> Option<Result<()>> {
        let machine = self.machine;
        machine.managed.remove(address).then(|| {
            machine.unmap_physical(address)?;
            machine.memory.reserved.release(address)
        })
    }

    /// Returns `true` if an address is in managed memory.
    pub fn is_managed(&self, address: usize) -> bool {
        self.machine.managed.contains(address)
    }

    /// Sets a hint for a range.
    pub fn advise_managed(&self, address: usize, size: usize, advice: Advice) -> Result<()> {
        match advice {
            Advice::PreferredLocation(Some(location))
            | Advice::AccessedBy(location)
            | Advice::NotAccessedBy(location) => self.check_managed_location(location)?,
            Advice::ReadMostly(_) | Advice::PreferredLocation(None) => {}
        }
        self.machine.managed.change(address, size, |hints| hints.apply(advice))
    }

    /// Queues the prefetch of ranges, each to its location. All are checked before the task is queued.
    pub fn prefetch_managed(&self, ranges: &[(usize, usize, ManagedLocation)], stream: usize) -> Result<()> {
        let explicit = self.explicit_stream(stream)?;
        for (address, size, location) in ranges {
            self.check_managed_location(*location)?;
            self.machine.managed.common(*address, *size)?;
        }
        let Submission { key, stream, context } = self.submission(explicit)?;
        self.machine.submit(key, stream, context, Control::Nothing(TaskKind::Prefetch))?;
        for (address, size, location) in ranges {
            self.machine.managed.change(*address, *size, |hints| hints.last_prefetch = Some(*location))?;
        }
        Ok(())
    }

    /// The hints that hold for all of a range.
    pub fn managed_hints(&self, address: usize, size: usize) -> Result<Hints> {
        self.machine.managed.common(address, size)
    }

    fn check_managed_location(&self, location: ManagedLocation) -> Result<()> {
        match location {
            ManagedLocation::Device(device) => self.machine.device(device.into()).map(|_| ()),
            ManagedLocation::Host | ManagedLocation::HostNode(_) => Ok(()),
        }
    }
}
