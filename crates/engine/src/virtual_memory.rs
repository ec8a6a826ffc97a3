//! Virtual memory: reserving addresses, creating physical memory, mapping one onto the other, and sharing physical
//! memory with other processes. Plain allocation is in `allocation`, sharing of allocated ranges in `ipc`.

use crate::allocation::out_of_memory;
use crate::caller::Caller;
use crate::machine::Machine;
use crate::observer::{Advisory, SharedFile};
use softacl_errors::{Error, MemoryPool, Result, fail};
use softacl_memory::export::{ExportInfo, ExportKey, Purpose};
use softacl_memory::extent::Extent;
use softacl_memory::physical::Physical;
use softacl_memory::reservation::{GRANULE, MapRequest};
use softacl_memory::use_lock::UseLock;
use softacl_memory::{MemoryKind, MemoryLocation, Rights};
use softacl_sync::facade::lock;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

/// Physical memory to create.
#[derive(Debug, Clone, Copy)]
pub struct PhysicalRequest {
    pub size: usize,
    pub location: MemoryLocation,
    /// The `aclrtMemAttr`. Stored and returned, without effect.
    pub attribute: i32,
    /// The size must be a multiple of this.
    pub granularity: usize,
}

/// Access rights of a location.
pub type AccessGrant = (MemoryLocation, Rights);

impl Caller<'_> {
    /// Reserves addresses without memory, at `hint` if given.
    pub fn reserve_addresses(&self, size: usize, hint: Option<usize>) -> Result<usize> {
        self.machine.memory.reserved.reserve(size, hint)
    }

    /// Releases a reservation. Nothing may be mapped in it.
    pub fn release_addresses(&self, start: usize) -> Result<()> {
        self.machine.memory.reserved.release(start)
    }

    /// Creates physical memory and returns its handle.
    pub fn make_physical(&self, request: PhysicalRequest) -> Result<usize> {
        let PhysicalRequest { size, location, attribute, granularity } = request;
        self.check_location_exists(location)?;
        if size % granularity != 0 {
            return fail(Error::Parameter(format!(
                "{size} bytes are not a multiple of the granularity, {granularity}"
            )));
        }
        let memory = &self.machine.memory;
        let (heap, place) = match location {
            MemoryLocation::Device(device) => {
                self.machine.check_not_lost(device.into())?;
                (memory.device(device), MemoryPool::Device(device))
            }
            MemoryLocation::Host | MemoryLocation::HostNode(_) => (memory.pinned(), MemoryPool::Host),
        };
        let reservation = heap.reserve_capacity(size).ok_or_else(|| out_of_memory(place, size, heap.usage()))?;
        let none = |error| Error::Feature(format!("physical memory could not be created: {error}"));
        let physical = Physical::create(size, location, attribute).map_err(none)?.charged(reservation);
        if let MemoryLocation::Device(device) = location {
            lock(&physical.bad).extend(self.machine.check_allocation(device, size)?);
        }
        Ok(memory.handles.hold(&Arc::new(physical)))
    }

    /// Releases a handle. The memory is freed with its last handle and mapping.
    pub fn free_physical(&self, handle: usize) -> Result<()> {
        self.machine.memory.handles.release(handle)
    }

    /// Location and attribute of physical memory.
    pub fn physical_properties(&self, handle: usize) -> Result<(MemoryLocation, i32)> {
        let physical = self.machine.memory.handles.get(handle)?;
        Ok((physical.home, physical.attribute))
    }

    /// Maps a piece of physical memory, as a whole, into a reserved range.
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
        let request = MapRequest { physical: &physical, offset, extent, has_access, is_remote: false };
        self.machine.map_physical(&request)
    }

    /// Unmaps physical memory.
    pub fn unmap(&self, address: usize) -> Result<()> {
        self.machine.unmap_physical(address)
    }

    /// Sets access rights of a range that consists of whole mappings.
    pub fn grant_access(&self, address: usize, size: usize, grants: &[AccessGrant]) -> Result<()> {
        for (location, _) in grants {
            self.check_location_exists(*location)?;
        }
        let _guard = softacl_memory::segv::enter();
        self.machine.memory.reserved.set_rights(address, size, grants)
    }

    /// The access rights that a location has at an address.
    pub fn access(&self, address: usize, location: MemoryLocation) -> Result<Rights> {
        self.check_location_exists(location)?;
        self.machine.memory.reserved.rights(address, location)
    }

    /// Returns another handle of the physical memory that is mapped at an address.
    pub fn retain_physical(&self, address: usize) -> Result<usize> {
        let memory = &self.machine.memory;
        let Some((physical, _)) = memory.reserved.mapped(address) else {
            return fail(Error::Parameter(format!("no physical memory is mapped at {address:#x}")));
        };
        Ok(memory.handles.hold(&physical))
    }

    /// Exports physical memory and returns its key as a number.
    pub fn share_physical(&self, handle: usize, asks_process: bool) -> Result<u64> {
        Ok(self.export_physical(handle, asks_process, true)?.number())
    }

    /// Exports physical memory and returns its key as text, which has more bits than the number.
    pub fn share_physical_by_text(&self, handle: usize, asks_process: bool) -> Result<String> {
        Ok(self.export_physical(handle, asks_process, false)?.text())
    }

    /// Exports physical memory. `fits_number` makes the key short enough for a number.
    fn export_physical(&self, handle: usize, asks_process: bool, fits_number: bool) -> Result<ExportKey> {
        let memory = &self.machine.memory;
        let physical = memory.handles.get(handle)?;
        if physical.is_imported {
            return fail(Error::Parameter(
                "the memory was imported: only the process that created it can export it".to_owned(),
            ));
        }
        let info = ExportInfo {
            purpose: Purpose::Handle,
            offset: 0,
            len: physical.size,
            home: self.machine.with_physical_id(physical.home),
            attribute: physical.attribute,
            asks_process,
        };
        self.machine.begin_sharing();
        if let Some(observer) = self.machine.observer() {
            observer.shared(identity(&physical), shared_file(&physical, 0));
        }
        memory.exchange.export(&physical, &info, fits_number)
    }

    /// Allows processes to import the physical memory that a number names.
    pub fn allow_physical_processes(&self, number: u64, processes: &[u32]) -> Result<()> {
        self.machine.memory.exchange.allow(ExportKey::from_number(number), Purpose::Handle, processes)
    }

    /// Allows processes to import the physical memory that a text names.
    pub fn allow_physical_processes_by_text(&self, text: &str, processes: &[u32]) -> Result<()> {
        self.machine.memory.exchange.allow(read_key(text)?, Purpose::Handle, processes)
    }

    /// Imports physical memory of another process by number, for use on `device`.
    pub fn import_physical(&self, number: u64, device: i64) -> Result<usize> {
        self.machine.device(device)?;
        self.open_physical(ExportKey::from_number(number), device as u32)
    }

    /// Imports physical memory of another process by number, for use on the current device.
    pub fn import_physical_here(&self, number: u64) -> Result<usize> {
        let (_, context) = self.context()?;
        self.open_physical(ExportKey::from_number(number), context.device())
    }

    /// Imports physical memory of another process by text, for use on the current device.
    pub fn import_physical_by_text(&self, text: &str) -> Result<usize> {
        let (_, context) = self.context()?;
        self.open_physical(read_key(text)?, context.device())
    }

    fn open_physical(&self, key: ExportKey, device: u32) -> Result<usize> {
        let found = self.machine.open_export(key, Purpose::Handle)?;
        self.machine.memory.exchange.mark_used();
        self.machine.begin_sharing();
        let location = match found.offer.home {
            // Memory of a device that this process does not use counts as memory of the importing device.
            MemoryLocation::Device(number) => {
                MemoryLocation::Device(self.machine.user_device(number.into()).unwrap_or(device))
            }
            host => host,
        };
        let use_lock = self.machine.observer().and_then(|_| UseLock::hold(&found.record));
        let physical = Physical::of(found.file, found.offer.len, location, found.offer.attribute);
        Ok(self.machine.memory.handles.hold(&Arc::new(physical.imported(use_lock))))
    }

    /// Refuses a device that does not exist.
    fn check_location_exists(&self, location: MemoryLocation) -> Result<()> {
        match location {
            MemoryLocation::Device(device) => self.machine.device(device.into()).map(|_| ()),
            MemoryLocation::Host | MemoryLocation::HostNode(_) => Ok(()),
        }
    }

    /// Unmaps the physical memory of a device and drops its handles, as a device reset does.
    pub(super) fn drop_physical_of(&self, device: u32) {
        let memory = &self.machine.memory;
        let mut imports = lock(&memory.exchange.imports);
        for address in memory.reserved.mapped_of(MemoryKind::Device(device)) {
            // Another thread may have unmapped it concurrently; then there is nothing to do.
            let _ = self.machine.unmap_physical(address);
            let before = imports.len();
            imports.retain(|_, (imported, _)| *imported != address);
            if imports.len() < before || self.machine.managed.remove(address) {
                let _ = memory.reserved.release(address - address % GRANULE);
            }
        }
        memory.handles.forget(MemoryKind::Device(device));
    }
}

/// Parses the text form of a key.
pub(super) fn read_key(text: &str) -> Result<ExportKey> {
    ExportKey::from_text(text).ok_or_else(|| Box::new(Error::Parameter("the text is not a valid key".to_owned())))
}

/// What identifies physical memory to an observer.
pub(super) fn identity(physical: &Arc<Physical>) -> usize {
    Arc::as_ptr(physical) as usize
}

/// What other processes call the memory. `offset` is its place in the file.
pub(super) fn shared_file(physical: &Physical, offset: usize) -> SharedFile {
    // The status of an open file can be read. Otherwise the memory has no name, and is compared with nothing.
    let status = physical.file.metadata().ok();
    SharedFile {
        device: status.as_ref().map_or(0, |status| status.dev()),
        inode: status.as_ref().map_or(0, |status| status.ino()),
        offset: offset as u64,
    }
}

impl Machine {
    /// Maps physical memory and reports it like an allocation or a registration.
    pub(super) fn map_physical(&self, request: &MapRequest<'_>) -> Result<()> {
        self.memory.reserved.map(request)?;
        self.attach_damage(request);
        if let Some(observer) = self.observer() {
            let Extent { start, size } = request.extent;
            match request.physical.place {
                MemoryKind::Device(_) => observer.allocated(request.physical.place, start, size),
                MemoryKind::Pinned | MemoryKind::Pageable => observer.registered(start, size),
            }
            observer.mapped(start, size, identity(request.physical));
            if request.physical.is_imported || !lock(&request.physical.export_records).is_empty() {
                observer.shared(identity(request.physical), shared_file(request.physical, request.offset));
            }
            if request.physical.is_imported || request.physical.is_shared_with_host {
                // Another process, or host code, may write the memory.
                observer.advised(&Advisory::Viewed { address: start, len: size });
            }
        }
        Ok(())
    }

    /// Unmaps physical memory and reports it like a free or an unregistration.
    pub(super) fn unmap_physical(&self, address: usize) -> Result<()> {
        let reserved = &self.memory.reserved;
        let found = reserved.mapped(address).filter(|(_, extent)| extent.start == address);
        if let (Some(observer), Some((physical, _))) = (self.observer(), &found) {
            match physical.place {
                MemoryKind::Device(_) => observer.freed(physical.place, address),
                MemoryKind::Pinned | MemoryKind::Pageable => observer.unregistered(address),
            }
        }
        reserved.unmap(address, |backing, len| self.quarantine_until(backing, len))?;
        if let Some((physical, extent)) = found {
            self.detach_damage(&physical, extent);
        }
        Ok(())
    }

    /// Replaces the device id of the program by the physical device id.
    pub(super) fn with_physical_id(&self, location: MemoryLocation) -> MemoryLocation {
        match location {
            MemoryLocation::Device(device) => MemoryLocation::Device(self.config.devices[device as usize]),
            host => host,
        }
    }
}
