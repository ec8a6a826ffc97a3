//! Virtual memory: reserving addresses, making physical memory, mapping one onto the other, and handing
//! physical memory to other processes. Ordinary allocation is in `memory`, its sharing in `ipc`.

use super::Caller;
use super::memory::out_of_memory;
use crate::error::{Error, MemoryPool, Result, fail};
use crate::machine::Machine;
use crate::memory::heap::Extent;
use crate::memory::ipc_registry::{self, ExportInfo, ExportKey, Purpose};
use crate::memory::physical::Physical;
use crate::memory::reservation::{GRANULE, MapRequest};
use crate::memory::{MemoryKind, MemoryLocation, Rights};
use crate::observer::Advisory;
use crate::sync::lock;
use std::sync::Arc;

/// Physical memory to be made.
#[derive(Debug, Clone, Copy)]
pub struct PhysicalRequest {
    pub size: usize,
    pub home: MemoryLocation,
    /// The `aclrtMemAttr`, which is only remembered.
    pub attribute: i32,
    /// What the size must be a multiple of.
    pub granularity: usize,
}

/// A right for whoever is at a place.
pub type AccessGrant = (MemoryLocation, Rights);

impl Caller<'_> {
    /// Reserves addresses without memory, at `wish` if there is one.
    pub fn reserve_addresses(&self, size: usize, wish: Option<usize>) -> Result<usize> {
        self.machine.memory.reserved.reserve(size, wish)
    }

    pub fn release_addresses(&self, start: usize) -> Result<()> {
        self.machine.memory.reserved.release(start)
    }

    /// Makes physical memory and gives its handle.
    pub fn make_physical(&self, request: PhysicalRequest) -> Result<usize> {
        let PhysicalRequest { size, home, attribute, granularity } = request;
        self.check_home(home)?;
        if size % granularity != 0 {
            return fail(Error::Parameter(format!(
                "{size} bytes are not a multiple of the granularity, {granularity}"
            )));
        }
        let memory = &self.machine.memory;
        let (heap, pool) = match home {
            MemoryLocation::Device(device) => {
                self.machine.check_not_lost(device.into())?;
                (memory.device(device), MemoryPool::Device(device))
            }
            MemoryLocation::Host | MemoryLocation::HostNode(_) => (memory.pinned(), MemoryPool::Host),
        };
        let aside = heap.reserve_capacity(size).ok_or_else(|| out_of_memory(pool, size, heap.usage()))?;
        let none = |error| Error::Feature(format!("physical memory could not be made: {error}"));
        let physical = Physical::create(size, home, attribute).map_err(none)?.charged(aside);
        if let MemoryLocation::Device(device) = home {
            lock(&physical.bad).extend(self.machine.check_allocation(device, size)?);
        }
        Ok(memory.handles.hold(&Arc::new(physical)))
    }

    /// Gives a handle back. The memory goes when nobody has it any more.
    pub fn free_physical(&self, handle: usize) -> Result<()> {
        self.machine.memory.handles.release(handle)
    }

    pub fn physical_traits(&self, handle: usize) -> Result<(MemoryLocation, i32)> {
        let physical = self.machine.memory.handles.get(handle)?;
        Ok((physical.home, physical.attribute))
    }

    /// Maps all of a piece of physical memory in a reserved range.
    pub fn map(&self, address: usize, size: usize, offset: usize, handle: usize, has_access: bool) -> Result<()> {
        let physical = self.machine.memory.handles.get(handle)?;
        if offset != 0 || size != physical.size {
            return fail(Error::Parameter(format!(
                "{size} bytes from byte {offset} cannot be mapped: physical memory is mapped as a whole, here {} bytes from byte 0",
                physical.size
            )));
        }
        if !address.is_multiple_of(GRANULE) {
            return fail(Error::Parameter(format!("{address:#x} is not aligned to the granularity, {GRANULE}")));
        }
        let extent = Extent { start: address, size };
        let plan = MapRequest { physical: &physical, offset, extent, has_access, is_distant: false };
        self.machine.map_physical(&plan)
    }

    pub fn unmap(&self, address: usize) -> Result<()> {
        self.machine.unmap_physical(address)
    }

    /// Gives rights for a range that whole mappings cover.
    pub fn grant_access(&self, address: usize, size: usize, grants: &[AccessGrant]) -> Result<()> {
        for (home, _) in grants {
            self.check_home(*home)?;
        }
        let _hearing = crate::segv::enter();
        self.machine.memory.reserved.set_rights(address, size, grants)
    }

    pub fn access(&self, address: usize, home: MemoryLocation) -> Result<Rights> {
        self.check_home(home)?;
        self.machine.memory.reserved.rights(address, home)
    }

    /// One more handle of what is mapped at an address.
    pub fn retain_physical(&self, address: usize) -> Result<usize> {
        let memory = &self.machine.memory;
        let Some((physical, _)) = memory.reserved.mapped(address) else {
            return fail(Error::Parameter(format!("no physical memory is mapped at {address:#x}")));
        };
        Ok(memory.handles.hold(&physical))
    }

    /// A number by which another process can have the memory of a handle.
    pub fn share_physical(&self, handle: usize, asks_process: bool) -> Result<u64> {
        Ok(self.offer_physical(handle, asks_process, true)?.number())
    }

    /// The same as a text, which is longer.
    pub fn share_physical_by_text(&self, handle: usize, asks_process: bool) -> Result<String> {
        Ok(self.offer_physical(handle, asks_process, false)?.text())
    }

    fn offer_physical(&self, handle: usize, asks_process: bool, fits_number: bool) -> Result<ExportKey> {
        let memory = &self.machine.memory;
        let physical = memory.handles.get(handle)?;
        if physical.is_imported {
            return fail(Error::Parameter("the memory was imported: its maker must export it".to_owned()));
        }
        let offer = ExportInfo {
            purpose: Purpose::Handle,
            offset: 0,
            len: physical.size,
            home: self.machine.home_in_machine(physical.home),
            attribute: physical.attribute,
            asks_process,
        };
        memory.exchange.offer(&physical, &offer, fits_number)
    }

    pub fn allow_physical_processes(&self, number: u64, processes: &[u32]) -> Result<()> {
        self.machine.memory.exchange.admit(ExportKey::from_number(number), Purpose::Handle, processes)
    }

    pub fn admit_to_physical_by_text(&self, text: &str, processes: &[u32]) -> Result<()> {
        self.machine.memory.exchange.admit(read_key(text)?, Purpose::Handle, processes)
    }

    /// A handle of the memory that another process shares, for use on a device.
    pub fn import_physical(&self, number: u64, device: i64) -> Result<usize> {
        self.machine.device(device)?;
        self.open_physical(ExportKey::from_number(number), device as u32)
    }

    /// The same, on the current device.
    pub fn import_physical_here(&self, number: u64) -> Result<usize> {
        let (_, context) = self.context_or_default()?;
        self.open_physical(ExportKey::from_number(number), context.device())
    }

    pub fn import_physical_by_text(&self, text: &str) -> Result<usize> {
        let (_, context) = self.context_or_default()?;
        self.open_physical(read_key(text)?, context.device())
    }

    fn open_physical(&self, key: ExportKey, device: u32) -> Result<usize> {
        let found = ipc_registry::open(key, Purpose::Handle)?;
        let home = match found.offer.home {
            // A device that this process does not see: its memory counts to the one it is imported for.
            MemoryLocation::Device(number) => {
                MemoryLocation::Device(self.machine.user_device(number.into()).unwrap_or(device))
            }
            host => host,
        };
        let physical = Physical::of(found.file, found.offer.len, home, found.offer.attribute);
        Ok(self.machine.memory.handles.hold(&Arc::new(physical.imported())))
    }

    fn check_home(&self, home: MemoryLocation) -> Result<()> {
        match home {
            MemoryLocation::Device(device) => self.machine.device(device.into()).map(|_| ()),
            MemoryLocation::Host | MemoryLocation::HostNode(_) => Ok(()),
        }
    }

    /// Takes the physical memory of a device away from the program, as its reset does.
    pub(super) fn drop_physical_of(&self, device: u32) {
        let memory = &self.machine.memory;
        let mut imports = lock(&memory.exchange.imports);
        for address in memory.reserved.mapped_of(MemoryKind::Device(device)) {
            // Whatever another thread has unmapped since need not be unmapped.
            let _ = self.machine.unmap_physical(address);
            let before = imports.len();
            imports.retain(|_, (imported, _)| *imported != address);
            if imports.len() < before {
                let _ = memory.reserved.release(address - address % GRANULE);
            }
        }
        memory.handles.forget(MemoryKind::Device(device));
    }
}

pub(super) fn read_key(text: &str) -> Result<ExportKey> {
    ExportKey::from_text(text)
        .ok_or_else(|| Box::new(Error::Parameter("this is not a key that a process has made".to_owned())))
}

impl Machine {
    pub(super) fn map_physical(&self, plan: &MapRequest<'_>) -> Result<()> {
        self.memory.reserved.map(plan)?;
        self.attach_damage(plan);
        if let Some(probe) = self.probe() {
            let Extent { start, size } = plan.extent;
            match plan.physical.place {
                MemoryKind::Device(_) => probe.allocated(plan.physical.place, start, size),
                MemoryKind::Pinned | MemoryKind::Pageable => probe.registered(start, size),
            }
            // It may have been written elsewhere: at another address, or by another process.
            probe.advised(&Advisory::Viewed { address: start, len: size });
        }
        Ok(())
    }

    pub(super) fn unmap_physical(&self, address: usize) -> Result<()> {
        let reserved = &self.memory.reserved;
        let found = reserved.mapped(address).filter(|(_, extent)| extent.start == address);
        if let (Some(probe), Some((physical, _))) = (self.probe(), &found) {
            match physical.place {
                MemoryKind::Device(_) => probe.freed(physical.place, address),
                MemoryKind::Pinned | MemoryKind::Pageable => probe.unregistered(address),
            }
        }
        reserved.unmap(address, |reach, len| self.quarantine_until(reach, len))?;
        if let Some((physical, extent)) = found {
            self.detach_damage(&physical, extent);
        }
        Ok(())
    }

    /// A place with the number that its device has in the whole machine.
    pub(super) fn home_in_machine(&self, home: MemoryLocation) -> MemoryLocation {
        match home {
            MemoryLocation::Device(device) => MemoryLocation::Device(self.config.devices[device as usize]),
            host => host,
        }
    }
}
