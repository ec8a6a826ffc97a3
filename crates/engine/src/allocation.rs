//! Allocations: allocating and freeing device and pinned memory, registering host memory, and queries about addresses.
//!
//! Also here: how long freed memory stays in quarantine. Stream-ordered allocation is in `pool`, mapped memory in
//! `virtual_memory`.

use crate::caller::Caller;
use crate::keys::StreamPoint;
use crate::machine::Machine;
use crate::observer::Advisory;
use crate::task::kernel;
use softacl_errors::{Error, MemoryPool, Result, fail};
use softacl_memory::bytes;
use softacl_memory::extent::PAGE;
use softacl_memory::heap::Idle;
use softacl_memory::region::HUGE_PAGE;
use softacl_memory::{Memory, MemoryKind, Usage};
use softacl_timing::Call;

/// Free and total memory of a device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceUsage {
    pub free: usize,
    pub total: usize,
}

impl Caller<'_> {
    /// Allocates memory of the current device.
    pub fn allocate(&self, size: usize) -> Result<usize> {
        let (_, context) = self.context()?;
        let device = context.device();
        let start = self.machine.allocate_on(device, size)?;
        self.machine.charge_call(Call::Malloc);
        Ok(start)
    }

    /// Allocates memory of the current device with a P2P policy: every chip can export it to other processes.
    pub fn allocate_p2p(&self, size: usize) -> Result<usize> {
        let start = self.allocate(size)?;
        if self.machine.config.profile.chip.peer.export_needs_p2p_policy {
            self.machine.memory.exchange.set_p2p(start, true);
        }
        Ok(start)
    }

    /// Frees device memory. Queued work may still use it, so its range may stay in quarantine.
    pub fn free(&self, address: usize) -> Result<()> {
        let memory = &self.machine.memory;
        let Some(device) = memory.device_of(address) else {
            let not_here = || fail(self.wrong_free(address, "is not in device memory, and"));
            return self.free_managed(address).unwrap_or_else(not_here);
        };
        self.machine.pools.remove_block(address);
        let backing = memory.backing_address(address);
        if let Some(observer) = self.machine.observer()
            && memory.device_extent(address).is_some_and(|extent| extent.start == address)
        {
            observer.freed(MemoryKind::Device(device), address);
        }
        if !memory.device(device).free(address, |len| self.machine.quarantine_until(backing, len)) {
            return fail(self.not_a_start(address, format!("in the memory of device {device}")));
        }
        memory.trim(device);
        self.machine.charge_call(Call::Free);
        Ok(())
    }

    /// Allocates pinned host memory.
    pub fn allocate_host(&self, size: usize) -> Result<usize> {
        self.context()?;
        let heap = self.machine.memory.pinned();
        let allocated = heap.allocate(size);
        let start = allocated.ok_or_else(|| out_of_memory(MemoryPool::PinnedHost, size, heap.usage()))?;
        if let Some(observer) = self.machine.observer() {
            observer.allocated(MemoryKind::Pinned, start, size);
        }
        self.machine.charge_call(Call::MallocHost);
        Ok(start)
    }

    /// Frees pinned host memory.
    pub fn free_host(&self, address: usize) -> Result<()> {
        let memory = &self.machine.memory;
        if let Some(observer) = self.machine.observer()
            && memory.pinned().find(address).is_some_and(|extent| extent.start == address)
        {
            observer.freed(MemoryKind::Pinned, address);
        }
        if !memory
            .pinned()
            .free(address, |len| self.machine.quarantine_until(memory.pinned_backing_address(address), len))
        {
            if memory.pinned().contains(address) {
                return fail(self.not_a_start(address, "in pinned host memory".to_owned()));
            }
            return fail(self.wrong_free(address, "is not pinned host memory, and"));
        }
        memory.trim_pinned();
        self.machine.charge_call(Call::FreeHost);
        Ok(())
    }

    /// The error for an address that the other function frees, or none does.
    #[cold]
    fn wrong_free(&self, address: usize, whose: &str) -> Error {
        let memory = &self.machine.memory;
        let registered = memory.registered.hold().find(address).is_some();
        let Ok(resolved) = memory.finder().find("freed", address) else {
            return self.not_a_start(address, whose.to_owned());
        };
        let (kind, remedy) = match resolved.place {
            _ if memory.reserved.contains(address) => {
                ("memory at a reserved address".to_owned(), "unmap it with aclrtUnmapMem, or close its key")
            }
            MemoryKind::Pinned if registered => {
                ("registered host memory".to_owned(), "unregister it with aclrtHostUnregister, and free it yourself")
            }
            MemoryKind::Pinned => (resolved.describe(), "free it with aclrtFreeHost"),
            MemoryKind::Device(_) => (resolved.describe(), "free it with aclrtFree"),
            MemoryKind::Pageable => {
                (resolved.describe(), "the runtime did not allocate it; free it with the function of its allocator")
            }
        };
        Error::WrongFree { address, kind, remedy }
    }

    /// The error for an address at which no allocation starts. Names the allocation that contains it.
    #[cold]
    fn not_a_start(&self, address: usize, whose: String) -> Error {
        let found = self.machine.memory.finder().find("freed", address);
        match found.ok().and_then(|resolved| resolved.extent).filter(|extent| extent.start != address) {
            Some(extent) => {
                let inside =
                    format!("is byte {} of the allocation at {:#x}, and", address - extent.start, extent.start);
                Error::NotAStart { address, whose: inside }
            }
            None => Error::NotAStart { address, whose },
        }
    }

    /// Registers pageable host memory, which then counts as pinned. `mapped`: devices may access it; `pins`: it must
    /// not be pinned already.
    pub fn register_host(&self, address: usize, size: usize, mapped: bool, pins: bool) -> Result<()> {
        let memory = &self.machine.memory;
        let page = softacl_memory::system_page();
        if !address.is_multiple_of(page) {
            return fail(Error::Parameter(format!(
                "{address:#x} is not aligned to the page size of the host, {page} bytes"
            )));
        }
        if pins && memory.pinned().contains(address) {
            return fail(Error::AlreadyRegistered { start: address, size });
        }
        if memory.device_of(address).is_some() || memory.reserved.contains(address) {
            return fail(Error::Parameter(format!(
                "{address:#x} is device memory; only host memory can be registered"
            )));
        }
        if !Memory::is_mapped(address, size) {
            return fail(Error::Parameter(format!("not all of the {size} bytes at {address:#x} are mapped")));
        }
        self.machine.memory.registered.insert(address, size, mapped)?;
        if let Some(observer) = self.machine.observer() {
            observer.registered(address, size);
        }
        let pages = u32::try_from(size.div_ceil(4096)).unwrap_or(u32::MAX);
        self.machine.charge_call(Call::Register { pages });
        Ok(())
    }

    /// Unregisters host memory.
    pub fn unregister_host(&self, address: usize) -> Result<()> {
        let extent = self.machine.memory.registered.hold().find(address);
        self.machine.memory.registered.remove(address)?;
        if let Some(extent) = extent {
            self.machine.graphs.invalidate_range(extent.start, extent.size);
        }
        if let Some(observer) = self.machine.observer() {
            observer.unregistered(address);
        }
        Ok(())
    }

    /// The address through which devices access registered host memory: the program address.
    pub fn mapped_address(&self, address: usize) -> Result<usize> {
        if self.machine.memory.registered.mapped(address) {
            return Ok(address);
        }
        fail(Error::Parameter(format!("{address:#x} is not in host memory that was registered as mapped")))
    }

    /// The memory kind of an address, and the size of its pages.
    pub fn memory_kind(&self, address: usize) -> Result<(MemoryKind, usize)> {
        let resolved = self.machine.memory.finder().find("queried", address)?;
        let page = match (resolved.place, resolved.extent) {
            (MemoryKind::Device(_), _) if self.machine.memory.reserved.contains(address) => HUGE_PAGE,
            (MemoryKind::Device(_), Some(extent)) => device_page(extent.size),
            _ => softacl_memory::system_page(),
        };
        Ok((resolved.place, page))
    }

    /// Start and size of the allocation that contains an address.
    pub fn extent(&self, address: usize) -> Result<(usize, usize)> {
        if let Some((_, extent)) = self.machine.memory.reserved.mapped(address) {
            return Ok((extent.start, extent.size));
        }
        let resolved = self.machine.memory.finder().find("queried", address)?;
        match (resolved.place.is_device(), resolved.extent) {
            (true, Some(extent)) => Ok((extent.start, extent.size)),
            _ => fail(Error::NotDeviceMemory { address, kind: resolved.describe() }),
        }
    }

    /// Free and total memory of the current device.
    pub fn usage(&self) -> Result<DeviceUsage> {
        let (_, context) = self.context()?;
        let usage = self.machine.memory.device(context.device()).usage();
        Ok(DeviceUsage { free: usage.capacity - usage.used, total: usage.capacity })
    }

    /// Checks the mapping of device memory for another device, which must have peer access. Mappings need no
    /// preparation here.
    pub fn map_for_peer(&self, address: usize, size: usize, peer: i64) -> Result<()> {
        let resolved = self.machine.memory.finder().find("mapped", address)?;
        let MemoryKind::Device(device) = resolved.place else {
            return fail(Error::NotDeviceMemory { address, kind: resolved.describe() });
        };
        resolved.covers("mapped", size)?;
        self.machine.check_peers(device, peer as u32)
    }

    /// The address at which the code of a kernel, or a host function that stands in for one, can access device memory or
    /// pinned host memory.
    pub fn host_view(&self, address: usize, size: usize) -> Result<usize> {
        let view = self.machine.host_view(address, size)?;
        // The ranges of a kernel declare what its code does with the view.
        if !kernel::is_running() && self.machine.memory.device_of_mapped(address).is_some() {
            self.machine.advise(|| Advisory::Viewed { address, len: size });
        }
        Ok(view)
    }
}

/// Allocations above this size are in huge pages, others in small ones: the policy HUGE_FIRST.
const SMALL_PAGES_MAX: usize = 1 << 20;

/// The page size of an allocation of device memory.
pub(crate) fn device_page(size: usize) -> usize {
    if size <= SMALL_PAGES_MAX { PAGE } else { HUGE_PAGE }
}

/// Byte that fills fresh device memory under an observer that protects pages.
const POISON: u8 = 0xa5;
/// Larger allocations are filled at their start only, because their pages are not committed until they are accessed.
const MAX_POISONED: usize = 16 << 20;

impl Machine {
    /// The address at which the code of a kernel can access device memory or pinned host memory. Its ranges declare what
    /// it does there, so the view is not reported to observers.
    pub fn host_view(&self, address: usize, size: usize) -> Result<usize> {
        let resolved = self.memory.finder().find("viewed", address)?;
        if resolved.place == MemoryKind::Pageable {
            return fail(Error::NotDeviceMemory { address, kind: resolved.describe() });
        }
        resolved.covers("viewed", size)?;
        Ok(resolved.reach)
    }

    /// Allocates memory of a device. If none is left, its pools first release what they retain.
    pub(crate) fn allocate_on(&self, device: u32, size: usize) -> Result<usize> {
        self.check_not_lost(i64::from(device))?;
        let heap = self.memory.device(device);
        let allocated = heap.allocate(size).or_else(|| {
            self.trim_pools_of(device);
            heap.allocate(size)
        });
        let start = allocated.ok_or_else(|| out_of_memory(MemoryPool::Device(device), size, heap.usage()))?;
        // Fault rules match successful allocations only.
        let bad = self.check_allocation(device, size).inspect_err(|_| {
            heap.free(start, |_| None);
        })?;
        if self.config.profile.chip.peer.export_needs_p2p_policy {
            self.memory.exchange.set_p2p(start, false);
        }
        if self.is_guarded() {
            self.poison(start, size);
        }
        if let Some(observer) = self.observer() {
            observer.allocated(MemoryKind::Device(device), start, size);
            if self.is_on_chip() {
                observer.advised(&Advisory::Viewed { address: start, len: size });
            }
        }
        if let Some(part) = bad {
            self.mark_part_bad(device, start, size, part);
        }
        Ok(start)
    }

    /// Fills fresh device memory with a recognizable pattern.
    fn poison(&self, start: usize, size: usize) {
        // SAFETY: the range was just allocated, and no handle to it exists yet.
        unsafe { bytes::fill(self.memory.backing_address(start), POISON, size.min(MAX_POISONED)) }
            .expect("the backing of live memory is mapped");
    }

    /// Memory usage of a device.
    pub fn device_memory(&self, device: i64) -> Result<Usage> {
        self.device(device)?;
        Ok(self.memory.device(device as u32).usage())
    }

    /// Live device and pinned allocations, for reports: device (`None` for pinned), start and size.
    pub fn live_allocations(&self) -> Vec<(Option<u32>, usize, usize)> {
        let devices = (0..self.devices.len() as u32).map(Some);
        let heaps = devices.map(|device| (device, self.memory.device(device.unwrap_or(0))));
        heaps
            .chain([(None, self.memory.pinned())])
            .flat_map(|(device, heap)| heap.live().into_iter().map(move |e| (device, e.start, e.size)))
            .collect()
    }

    /// When freed bytes with the backing address `start` may be reused. `None` if no queued or running task can access
    /// them.
    pub(crate) fn quarantine_until(&self, start: usize, len: usize) -> Option<Idle> {
        self.graphs.invalidate_range(start, len);
        let users = self.streams_using(start, len);
        let moved = self.memory.exchange.take_moved(start);
        if let Some(physical) = &moved {
            self.check_shared_unused("memory", || physical.users());
        }
        let is_shared = moved.is_some();
        if users.is_empty() && (!is_shared || self.memory.map_fresh(start, len)) {
            return None;
        }
        self.memory.note_quarantined();
        let machine = self.weak();
        Some(Box::new(move || {
            let Some(machine) = machine.upgrade() else { return true };
            let reached =
                |point: &StreamPoint| machine.streams.slot(point.stream).tasks.completion.done() >= point.sequence;
            // Shared memory is replaced by fresh memory before its addresses are reused, because other processes may
            // still access the old bytes.
            users.iter().all(reached) && (!is_shared || machine.memory.map_fresh(start, len))
        }))
    }
}

pub(super) fn out_of_memory(pool: MemoryPool, asked: usize, usage: Usage) -> Box<Error> {
    Box::new(Error::OutOfMemory { pool, asked, free: usage.capacity - usage.used, total: usage.capacity })
}
