//! All memory of a machine, and the look-up of addresses.
//!
//! A machine has one heap per device, one heap of pinned host memory, and registered host ranges. All other memory is
//! pageable and belongs to the program. Memory can also be created without addresses: as `physical` memory, which is
//! mapped in a `reservation` and shared with other processes through the `ipc_registry`.
//!
//! Device memory occupies two address ranges: the program addresses, where nothing is mapped and every access faults,
//! and the backing addresses, at `shift` from there, where the engine reads and writes. In root-complex form both are
//! equal, as on the chip.

use crate::address::{Hints, MemoryKind, MemoryLocation, ResolvedAddress, Window};
use crate::bytes::{self, Span};
use crate::extent::{self, Extent};
use crate::heap::Heap;
use crate::ipc_registry::IpcRegistry;
use crate::physical::{Handles, Physical};
use crate::region::{self, Access, HUGE_PAGE, Region, Rights};
use crate::registration::{Registered, Registrations};
use crate::reservation::Reservations;
use crate::segv::{self, AddressSpace, PageGuard};
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::lock;
use std::fmt;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The memory of a machine.
pub struct Memory {
    /// The program addresses of all devices: start and length.
    addresses: (usize, usize),
    /// The reserved program addresses; `None` if they are the backing addresses.
    _public: Option<Region>,
    backing: Region,
    /// Distance from program addresses of devices to their backing addresses.
    shift: isize,
    /// Each device has `1 << stride_bits` addresses.
    stride_bits: u32,
    devices: Vec<Heap>,
    pinned_region: Region,
    /// Distance from program addresses of pinned memory to their backing addresses. 0 unless an observer guards pages.
    pinned_shift: isize,
    pinned: Heap,
    pub registered: Registrations,
    pub reserved: Reservations,
    pub handles: Handles,
    pub exchange: IpcRegistry,
    /// Set if freed memory may be in quarantine. A conservative flag.
    has_quarantined: AtomicBool,
    /// Handles faults on pinned memory that an observer has protected.
    guard: Option<Arc<dyn PageGuard>>,
    /// Publishes this memory to the fault handler.
    fault_domain: segv::Domain,
}

impl Memory {
    /// Reserves the addresses of a machine. `capacity` is the memory of each device in bytes, `host` that of pinned
    /// memory. `unified`: the host may access device memory, as in root-complex form. With a `guard`, the engine
    /// accesses pinned memory at separate backing addresses, so that the program addresses can be protected.
    pub fn new(
        devices: u32,
        capacity: usize,
        host: usize,
        unified: bool,
        guard: Option<Arc<dyn PageGuard>>,
    ) -> Result<Memory> {
        let guarded = guard.is_some();
        let reserve = |len, access| {
            Region::reserve(len, access).map_err(|e| {
                Error::Setup(format!(
                    "could not reserve {} GiB of addresses: {e}; configure less device memory or fewer devices, \
                     or raise the limit (ulimit -v)",
                    len >> 30
                ))
            })
        };
        let heap = |base, len, capacity| {
            Heap::new(base, len, capacity)
                .map_err(|e| Box::new(Error::Setup(format!("could not create a heap index: {e}"))))
        };
        // Twice the capacity, so that fragmentation of the addresses does not cause out-of-memory errors.
        let stride = (2 * capacity.max(HUGE_PAGE)).next_power_of_two();
        let len = stride * devices as usize;
        let backing = reserve(len, Access::ReadWrite)?;
        let public = if unified { None } else { Some(reserve(len, Access::None)?) };
        let base = public.as_ref().map_or(backing.start(), Region::start);
        let (pinned_region, pinned_shift) = reserve_pinned(host, guarded)?;
        let host = host.min(pinned_region.len());
        Ok(Memory {
            shift: backing.start().wrapping_sub(base) as isize,
            stride_bits: stride.trailing_zeros(),
            devices: (0..devices as usize)
                .map(|device| heap(base + device * stride, stride, capacity))
                .collect::<Result<_>>()?,
            pinned: heap(pinned_region.start().wrapping_add_signed(-pinned_shift), pinned_region.len(), host)?
                .with_isolation_unit(if guarded { HUGE_PAGE } else { 0 }),
            addresses: (base, len),
            _public: public,
            backing,
            pinned_region,
            pinned_shift,
            registered: Registrations::default(),
            reserved: Reservations::new(unified),
            handles: Handles::default(),
            exchange: IpcRegistry::default(),
            has_quarantined: AtomicBool::new(false),
            guard,
            fault_domain: segv::Domain::default(),
        })
    }

    /// Makes faults on this memory's device addresses print a diagnosis, and those on protected pinned memory reach the
    /// page guard. Only the memory of the latest call is consulted, until it is dropped.
    ///
    /// # Safety
    ///
    /// The memory is not moved from now until it is dropped.
    #[inline]
    pub unsafe fn diagnose_faults(&self) {
        // SAFETY: `fault_domain` is a field of this memory, and the caller guarantees that the memory is not moved.
        unsafe { self.fault_domain.activate(self) };
        segv::ensure_installed();
    }

    /// The heap of a device.
    #[inline]
    pub fn device(&self, device: u32) -> &Heap {
        &self.devices[device as usize]
    }

    /// The heap of pinned memory.
    #[inline]
    pub fn pinned(&self) -> &Heap {
        &self.pinned
    }

    /// Records that freed memory is in quarantine.
    #[inline]
    pub fn note_quarantined(&self) {
        self.has_quarantined.store(true, Ordering::Relaxed);
    }

    /// Returns quarantined memory that is idle to the free lists. Called after waits of the program.
    #[inline]
    pub fn release_quarantined(&self) {
        if self.has_quarantined.load(Ordering::Relaxed) {
            self.release_idle();
        }
    }

    #[cold]
    fn release_idle(&self) {
        self.has_quarantined.store(false, Ordering::Relaxed);
        let mut is_left = self.pinned.release_quarantined();
        self.trim_pinned();
        for (device, heap) in (0..).zip(&self.devices) {
            is_left |= heap.release_quarantined();
            self.trim(device);
        }
        if is_left {
            self.note_quarantined();
        }
    }

    /// Returns unused committed memory of a device to the system if it exceeds a threshold.
    #[inline]
    pub fn trim(&self, device: u32) {
        self.devices[device as usize].trim(&self.backing, self.shift);
    }

    /// Returns unused committed pinned memory to the system if it exceeds a threshold.
    #[inline]
    pub fn trim_pinned(&self) {
        self.pinned.trim(&self.pinned_region, self.pinned_shift);
    }

    /// The device whose program addresses include `address`, allocated or not.
    #[inline]
    pub fn device_of(&self, address: usize) -> Option<u32> {
        let (start, len) = self.addresses;
        let offset = address.wrapping_sub(start);
        (offset < len).then_some((offset >> self.stride_bits) as u32)
    }

    /// The device of an address, including device memory that is mapped at a reserved address.
    #[inline]
    pub fn device_of_mapped(&self, address: usize) -> Option<u32> {
        let mapped = || match self.reserved.contains(address).then(|| self.reserved.find("mapped", address))?.ok()?.kind
        {
            MemoryKind::Device(device) => Some(device),
            _ => None,
        };
        self.device_of(address).or_else(mapped)
    }

    /// The backing address of a device address.
    #[inline]
    pub fn backing_address(&self, address: usize) -> usize {
        address.wrapping_add_signed(self.shift)
    }

    /// The backing address of a pinned address.
    #[inline]
    pub fn pinned_backing_address(&self, address: usize) -> usize {
        address.wrapping_add_signed(self.pinned_shift)
    }

    /// The program address of a backing address.
    #[inline]
    pub fn program_address(&self, backing: usize) -> usize {
        if backing.wrapping_sub(self.backing.start()) < self.backing.len() {
            backing.wrapping_add_signed(-self.shift)
        } else if self.pinned.contains(backing.wrapping_add_signed(-self.pinned_shift)) {
            backing.wrapping_add_signed(-self.pinned_shift)
        } else {
            self.reserved.program_address(backing).unwrap_or(backing)
        }
    }

    /// The addresses of pinned memory.
    #[inline]
    pub fn pinned_window(&self) -> Window {
        Window { start: self.pinned.start(), len: self.pinned_region.len(), shift: self.pinned_shift }
    }

    /// The span of a fast-path copy: between live pinned and live device memory, in bounds. `None` for every other
    /// copy, which takes the slow path with the full check.
    #[inline]
    pub fn fast_path_span(&self, target: usize, source: usize, len: usize, hints: &Hints) -> Option<Span> {
        let (device, host, span) = match (self.device_of(target), self.device_of(source)) {
            (Some(device), None) => (device, source, Span { target: self.backing_address(target), source, len }),
            (None, Some(device)) => (device, target, Span { target, source: self.backing_address(source), len }),
            _ => return None,
        };
        let on_device = if host == source { target } else { source };
        let in_bounds = self.devices[device as usize].bytes_to_end(on_device, &hints.device) >= len
            && self.pinned.bytes_to_end(host, &hints.pinned) >= len;
        in_bounds.then_some(span)
    }

    /// The allocation at a device address. Takes no lock.
    #[inline]
    pub fn device_extent(&self, address: usize) -> Option<Extent> {
        self.devices[self.device_of(address)? as usize].find(address)
    }

    /// The first address above `address` that belongs to the machine. A range of pageable memory ends before it: one
    /// that does not would overwrite memory of the machine.
    fn ceiling(&self, address: usize) -> usize {
        // Guarded pinned memory is at two addresses.
        let ours = [self.addresses.0, self.backing.start(), self.pinned_region.start(), self.pinned.start()];
        let above = ours.into_iter().chain(self.reserved.starts()).filter(|start| *start > address);
        above.min().unwrap_or(usize::MAX)
    }

    /// The bytes of an allocation as physical memory, which can be shared with other processes. The first call moves
    /// them into a file. Their address does not change, and queued work remains valid.
    ///
    /// During the move the memory is read-only: a write faults, and the fault handler repeats it until the file is
    /// mapped. No write is lost, and the call does not wait for queued work.
    pub fn as_physical(&self, device: u32, extent: Extent) -> Result<Arc<Physical>> {
        let (backing, len) = (self.backing_address(extent.start), extent.size.next_multiple_of(extent::PAGE));
        let mut moved = lock(&self.exchange.moved);
        if let Some(physical) = moved.get(&backing) {
            return Ok(Arc::clone(physical));
        }
        if self.devices[device as usize].find(extent.start) != Some(extent) {
            return fail(Error::NotAllocated { side: "exported", address: extent.start, device });
        }
        let _guard = segv::enter();
        let failed = |error| Error::Feature(format!("the memory could not be made shareable: {error}"));
        let physical = Physical::create(len, MemoryLocation::Device(device), 0).map_err(failed)?;
        self.backing.protect(backing, len, Rights::Read).map_err(failed)?;
        let result = copy_into(&physical, backing, len)
            .and_then(|()| self.backing.map_file(backing, len, &physical.file, 0, Rights::ReadWrite));
        if let Err(error) = result {
            self.backing.protect(backing, len, Rights::ReadWrite).map_err(failed)?;
            return fail(failed(error));
        }
        let physical = Arc::new(physical);
        moved.insert(backing, Arc::clone(&physical));
        self.exchange.moved_count.store(moved.len(), Ordering::Release);
        Ok(physical)
    }

    /// Maps private zeroed memory at the backing addresses of an allocation that was shared with other processes.
    /// Returns `false` if the system refuses; the addresses must then not be reused yet.
    #[must_use]
    #[inline]
    pub fn map_fresh(&self, backing: usize, len: usize) -> bool {
        self.backing.map_fresh(backing, len).is_ok()
    }

    /// True if all of a host range is mapped.
    #[inline]
    pub fn is_mapped(address: usize, len: usize) -> bool {
        region::is_mapped(address, len)
    }

    /// Locks the registered ranges for the look-ups of one request.
    #[inline]
    pub fn finder(&self) -> Finder<'_> {
        Finder { memory: self, registered: self.registered.hold() }
    }
}

impl AddressSpace for Memory {
    fn guard(&self) -> Option<&dyn PageGuard> {
        self.guard.as_deref()
    }

    fn is_guarded(&self, address: usize) -> bool {
        self.guard.is_some() && self.pinned.contains(address)
    }

    fn is_backing(&self, address: usize) -> bool {
        self.backing.contains(address)
    }

    fn allocated_from(&self, address: usize) -> Option<usize> {
        let is_ours =
            self.device_of(address).is_some() || self.pinned.contains(address) || self.reserved.contains(address);
        is_ours.then(|| self.finder().find("array", address).map_or(0, |resolved| resolved.remaining))
    }

    fn describe(&self, address: usize, line: &mut dyn fmt::Write) -> fmt::Result {
        const REMEDY: &str = "Device pointers can only be passed to the runtime; copy the data with aclrtMemcpy.";
        let Some(device) = self.device_of(address) else {
            // The mapping is behind a lock, which the handler must not take.
            return match self.reserved.contains(address) {
                true => writeln!(
                    line,
                    "softacl: the host accessed a reserved address, {address:#x}, \
                     where nothing is mapped for the host. {REMEDY}"
                ),
                false => Ok(()),
            };
        };
        match self.device_extent(address) {
            Some(extent) => writeln!(
                line,
                "softacl: the host accessed device memory: address {address:#x} is byte {} of the {} bytes \
                 at {:#x} on device {device}. {REMEDY}",
                address - extent.start,
                extent.size,
                extent.start
            ),
            None => writeln!(
                line,
                "softacl: the host accessed device memory: address {address:#x} of device {device} \
                 belongs to no live allocation."
            ),
        }
    }
}

/// Copies device memory into a file. Skips blocks of zeroes, which then take no memory in the file.
fn copy_into(physical: &Physical, backing: usize, len: usize) -> io::Result<()> {
    let mut block = vec![0; 64 << 10];
    for start in (0..len).step_by(block.len()) {
        let part = block.len().min(len - start);
        let span = Span { target: block.as_mut_ptr() as usize, source: backing + start, len: part };
        // SAFETY: the source is a live allocation and the target is `block`.
        unsafe { bytes::copy(span) }.map_err(|bytes::AccessFault| io::Error::from(io::ErrorKind::OutOfMemory))?;
        if block[..part].iter().any(|byte| *byte != 0) {
            physical.file.write_all_at(&block[..part], start as u64)?;
        }
    }
    Ok(())
}

/// Memory of the host in bytes, at least 1 GiB.
#[inline]
pub fn host_memory_size() -> usize {
    region::physical_memory().max(1 << 30)
}

/// Reserves addresses for pinned memory: twice the capacity, or as many as the process may have. A process with few
/// addresses, as under valgrind or `ulimit -v`, has less pinned memory.
fn reserve_pinned(host: usize, guarded: bool) -> Result<(Region, isize)> {
    let mut len = (2 * host).next_power_of_two();
    loop {
        let reserved = if guarded {
            Region::reserve_double_mapped(len)
        } else {
            Region::reserve(len, Access::ReadWrite).map(|region| (region, 0))
        };
        match reserved {
            Ok(reserved) => return Ok(reserved),
            Err(_) if len > 64 << 20 => len /= 2,
            Err(error) => {
                return fail(Error::Setup(format!(
                    "could not reserve {} MiB of addresses for pinned memory: {error}",
                    len >> 20
                )));
            }
        }
    }
}

/// Resolves addresses for the duration of one request.
pub struct Finder<'a> {
    memory: &'a Memory,
    registered: Registered<'a>,
}

impl Finder<'_> {
    /// Resolves a program address. Fails if it is in memory of the machine but not allocated or mapped. `side` names
    /// the operand in the error.
    #[inline]
    pub fn find(&self, side: &'static str, address: usize) -> Result<ResolvedAddress> {
        if let Some(device) = self.memory.device_of(address) {
            let Some(extent) = self.memory.devices[device as usize].find(address) else {
                return fail(Error::NotAllocated { side, address, device });
            };
            return Ok(ResolvedAddress::within(
                extent,
                address,
                MemoryKind::Device(device),
                self.memory.backing_address(address),
            ));
        }
        if self.memory.pinned.contains(address) {
            let Some(extent) = self.memory.pinned.find(address) else {
                return fail(Error::PinnedNotAllocated { side, address });
            };
            return Ok(ResolvedAddress::within(
                extent,
                address,
                MemoryKind::Pinned,
                self.memory.pinned_backing_address(address),
            ));
        }
        if self.memory.reserved.contains(address) {
            let mapped = self.memory.reserved.find(side, address)?;
            let resolved = ResolvedAddress::within(mapped.extent, address, mapped.kind, mapped.backing);
            return Ok(ResolvedAddress { is_remote: mapped.is_remote, ..resolved });
        }
        Ok(match self.registered.find(address) {
            Some(extent) => ResolvedAddress::within(extent, address, MemoryKind::Pinned, address),
            None => ResolvedAddress {
                address,
                place: MemoryKind::Pageable,
                extent: None,
                remaining: self.memory.ceiling(address) - address,
                reach: address,
                is_remote: false,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ascendcl_sys::{ACL_ERROR_RT_DRV_INTERNAL_ERROR, ACL_ERROR_RT_PARAM_INVALID};

    #[test]
    fn addresses_are_classified_by_memory_kind() {
        let memory = Memory::new(2, 64 << 20, 64 << 20, false, None).unwrap();
        let device = memory.device(1).allocate(100).unwrap();
        let pinned = memory.pinned().allocate(100).unwrap();
        let local = 0u8;
        let kind = |address| memory.finder().find("source", address).unwrap().place;
        assert_eq!(kind(device + 99), MemoryKind::Device(1));
        assert_eq!(kind(pinned), MemoryKind::Pinned);
        assert_eq!(kind(&raw const local as usize), MemoryKind::Pageable);
        assert_eq!(memory.finder().find("source", device + 100).unwrap_err().code(), ACL_ERROR_RT_PARAM_INVALID);
        let resolved = memory.finder().find("source", device + 50).unwrap();
        assert!(resolved.covers("source", 50).is_ok());
        let hints = Hints::default();
        for _ in 0..2 {
            let fast_path = |target, source, len| memory.fast_path_span(target, source, len, &hints);
            assert_eq!(fast_path(device + 4, pinned, 96).unwrap().target, memory.backing_address(device + 4));
            assert_eq!(fast_path(pinned, device, 100).unwrap().source, memory.backing_address(device));
            assert_eq!(fast_path(device, pinned, 101), None);
            assert_eq!(fast_path(device + 5, pinned, 96), None);
            assert_eq!(fast_path(device, pinned + 5, 96), None);
            assert_eq!(fast_path(device, device, 1), None);
            assert_eq!(fast_path(pinned, pinned, 1), None);
            assert_eq!(fast_path(device, &raw const local as usize, 1), None);
        }
        // A range of pageable memory ends before memory of the machine.
        for below in [pinned, memory.backing_address(device)] {
            let region = if below == pinned { &memory.pinned_region } else { &memory.backing };
            let resolved = memory.finder().find("source", region.start() - 8).unwrap();
            assert_eq!((resolved.place, resolved.covers("source", 8).is_ok()), (MemoryKind::Pageable, true));
            assert_eq!(resolved.covers("source", 9).unwrap_err().code(), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
        }
        let text = resolved.covers("source", 60).unwrap_err().to_string();
        assert!(text.contains("60 bytes at offset 50 of the 100 bytes") && text.contains("10 too many"), "{text}");
    }
}
