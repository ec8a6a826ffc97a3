//! The memories of the machine: one per device, pinned host memory, and registered host ranges.
//! Everything else is pageable and belongs to the program. Memory can also be made apart from addresses:
//! `physical`, mapped in a `reservation`, shared with other processes through the `exchange`.
//!
//! Device memory exists twice in the address space: at the addresses that the program sees, where
//! nothing is mapped and every touch faults, and at `shift` from there, where the engine reads and
//! writes it. In root-complex form both are the same, as on the chip.

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

pub struct Memory {
    /// The addresses that belong to devices: start and length.
    addresses: (usize, usize),
    /// Addresses that the program sees; absent where they are the backing itself.
    _public: Option<Region>,
    backing: Region,
    shift: isize,
    /// Each device owns `1 << stride_bits` bytes of addresses.
    stride_bits: u32,
    devices: Vec<Heap>,
    pinned_region: Region,
    /// From the addresses of pinned memory to where the engine reaches it; not 0 only for an observer.
    pinned_shift: isize,
    pinned: Heap,
    pub registered: Registrations,
    pub reserved: Reservations,
    pub handles: Handles,
    pub exchange: IpcRegistry,
    /// Freed memory may be waiting for what is queued. May be set for nothing.
    has_quarantined: AtomicBool,
    /// Decides faults on pinned memory that an observer has protected.
    guard: Option<Arc<dyn PageGuard>>,
    /// Where the fault handler finds this memory.
    fault_domain: segv::Domain,
}

impl Memory {
    /// `capacity`: bytes of each device, `host`: of pinned memory. `unified`: the host may touch device memory, as in root-complex form. `guarded`: the engine
    /// reaches pinned memory by other addresses than the program, which can then be protected.
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
                Error::Setup(format!("could not reserve {} GiB of addresses: {e}; configure less device memory or fewer devices, or raise the limit (ulimit -v)", len >> 30))
            })
        };
        let heap = |base, len, capacity| {
            Heap::new(base, len, capacity)
                .map_err(|e| Box::new(Error::Setup(format!("could not make a heap index: {e}"))))
        };
        // Twice the capacity, so that fragmented addresses never look like missing memory.
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
    /// page guard. Only the memory that was named last is consulted, until it is dropped.
    ///
    /// # Safety
    ///
    /// The memory is not moved from now until it is dropped.
    pub unsafe fn diagnose_faults(&self) {
        // SAFETY: `fault_domain` is a field of this memory, and the caller guarantees that the memory is not moved.
        unsafe { self.fault_domain.activate(self) };
        segv::ensure_installed();
    }

    pub fn device(&self, device: u32) -> &Heap {
        &self.devices[device as usize]
    }

    pub fn pinned(&self) -> &Heap {
        &self.pinned
    }

    /// Freed memory has to wait for what is queued.
    pub fn note_quarantined(&self) {
        self.has_quarantined.store(true, Ordering::Relaxed);
    }

    /// Somebody has waited, which freed memory may have done as well.
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

    /// Gives committed memory of a device that is no longer used back, when it is much.
    pub fn trim(&self, device: u32) {
        self.devices[device as usize].trim(&self.backing, self.shift);
    }

    pub fn trim_pinned(&self) {
        self.pinned.trim(&self.pinned_region, self.pinned_shift);
    }

    /// The device whose addresses include `address`, live or not.
    #[inline]
    pub fn device_of(&self, address: usize) -> Option<u32> {
        let (start, len) = self.addresses;
        let offset = address.wrapping_sub(start);
        (offset < len).then_some((offset >> self.stride_bits) as u32)
    }

    /// The same, also for device memory that is mapped at a reserved address.
    pub fn device_of_mapped(&self, address: usize) -> Option<u32> {
        let mapped =
            || match self.reserved.contains(address).then(|| self.reserved.find("mapped", address))?.ok()?.place {
                MemoryKind::Device(device) => Some(device),
                _ => None,
            };
        self.device_of(address).or_else(mapped)
    }

    /// Where the engine reaches a device address.
    #[inline]
    pub fn backing_address(&self, address: usize) -> usize {
        address.wrapping_add_signed(self.shift)
    }

    /// Where the engine reaches pinned memory.
    pub fn pinned_backing_address(&self, address: usize) -> usize {
        address.wrapping_add_signed(self.pinned_shift)
    }

    /// The address by which the program knows what the engine reaches at `reach`.
    pub fn program_address(&self, reach: usize) -> usize {
        if reach.wrapping_sub(self.backing.start()) < self.backing.len() {
            reach.wrapping_add_signed(-self.shift)
        } else if self.pinned.contains(reach.wrapping_add_signed(-self.pinned_shift)) {
            reach.wrapping_add_signed(-self.pinned_shift)
        } else {
            self.reserved.visible(reach).unwrap_or(reach)
        }
    }

    pub fn pinned_window(&self) -> Window {
        Window { start: self.pinned.start(), len: self.pinned_region.len(), shift: self.pinned_shift }
    }

    /// The span of an ordinary copy: between live pinned and live device memory, in bounds. `None`: it
    /// is something else, and the full check says what.
    #[inline]
    pub fn fast_path_span(&self, target: usize, source: usize, len: usize, hints: &Hints) -> Option<Span> {
        let (device, host, span) = match (self.device_of(target), self.device_of(source)) {
            (Some(device), None) => (device, source, Span { target: self.backing_address(target), source, len }),
            (None, Some(device)) => (device, target, Span { target, source: self.backing_address(source), len }),
            _ => return None,
        };
        let there = if host == source { target } else { source };
        let fits = self.devices[device as usize].bytes_to_end(there, &hints.device) >= len
            && self.pinned.bytes_to_end(host, &hints.pinned) >= len;
        fits.then_some(span)
    }

    /// The allocation at a device address, for reports. Takes no lock.
    pub fn device_extent(&self, address: usize) -> Option<Extent> {
        self.devices[self.device_of(address)? as usize].find(address)
    }

    /// Where memory of ours begins above an address of the program. No range of the program's own reaches so far,
    /// and one that does would write what is somebody else's.
    fn ceiling(&self, address: usize) -> usize {
        // Pinned memory has two addresses when an observer guards it.
        let ours = [self.addresses.0, self.backing.start(), self.pinned_region.start(), self.pinned.start()];
        let above = ours.into_iter().chain(self.reserved.starts()).filter(|start| *start > address);
        above.min().unwrap_or(usize::MAX)
    }

    /// The bytes of an allocation as physical memory, which other processes can have. They are moved into
    /// a file the first time; their address stays, and so does everything that is queued on them.
    ///
    /// Meanwhile the memory is read-only: a write faults, and the fault handler repeats it until the
    /// file is in its place. No write is lost, and nothing waits for queued work.
    pub fn as_physical(&self, device: u32, extent: Extent) -> Result<Arc<Physical>> {
        let (reach, len) = (self.backing_address(extent.start), extent.size.next_multiple_of(extent::PAGE));
        let mut moved = lock(&self.exchange.moved);
        if let Some(physical) = moved.get(&reach) {
            return Ok(Arc::clone(physical));
        }
        if self.devices[device as usize].find(extent.start) != Some(extent) {
            return fail(Error::NotAllocated { side: "exported", address: extent.start, device });
        }
        let _hearing = segv::enter();
        let failed = |error| Error::Feature(format!("the memory could not be made shareable: {error}"));
        let physical = Physical::create(len, MemoryLocation::Device(device), 0).map_err(failed)?;
        self.backing.protect(reach, len, Rights::Read).map_err(failed)?;
        let put = copy_into(&physical, reach, len)
            .and_then(|()| self.backing.map_file(reach, len, &physical.file, 0, Rights::ReadWrite));
        if let Err(error) = put {
            self.backing.protect(reach, len, Rights::ReadWrite).map_err(failed)?;
            return fail(failed(error));
        }
        let physical = Arc::new(physical);
        moved.insert(reach, Arc::clone(&physical));
        self.exchange.moved_count.store(moved.len(), Ordering::Release);
        Ok(physical)
    }

    /// Gives the addresses of an allocation that other processes may have memory of their own again. `false`:
    /// the system has refused, and they must not be given out yet.
    #[must_use]
    pub fn map_fresh(&self, reach: usize, len: usize) -> bool {
        self.backing.map_fresh(reach, len).is_ok()
    }

    /// Whether all of a host range is mapped.
    pub fn is_mapped(address: usize, len: usize) -> bool {
        region::is_mapped(address, len)
    }

    /// Holds the registered ranges still and finds addresses.
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

    fn describe(&self, address: usize, line: &mut dyn fmt::Write) -> fmt::Result {
        const REMEDY: &str = "Device pointers can only be passed to the runtime; copy the data with aclrtMemcpy.";
        let Some(device) = self.device_of(address) else {
            // What is mapped there is behind a lock, which the handler must not take.
            return match self.reserved.contains(address) {
                true => writeln!(
                    line,
                    "softacl: the host touched a reserved address, {address:#x}, where nothing is mapped for it. {REMEDY}"
                ),
                false => Ok(()),
            };
        };
        match self.device_extent(address) {
            Some(extent) => writeln!(
                line,
                "softacl: the host touched device memory: address {address:#x} is byte {} of the {} bytes at {:#x} on device {device}. {REMEDY}",
                address - extent.start,
                extent.size,
                extent.start
            ),
            None => writeln!(
                line,
                "softacl: the host touched device memory: address {address:#x} of device {device} belongs to no live allocation."
            ),
        }
    }
}

/// Copies device memory into a file, except where it is all zero: that costs no memory in either.
fn copy_into(physical: &Physical, reach: usize, len: usize) -> io::Result<()> {
    let mut block = vec![0; 64 << 10];
    for start in (0..len).step_by(block.len()) {
        let part = block.len().min(len - start);
        let span = Span { target: block.as_mut_ptr() as usize, source: reach + start, len: part };
        bytes::copy(span).map_err(|bytes::AccessFault| io::Error::from(io::ErrorKind::OutOfMemory))?;
        if block[..part].iter().any(|byte| *byte != 0) {
            physical.file.write_all_at(&block[..part], start as u64)?;
        }
    }
    Ok(())
}

/// Bytes of memory that the host has.
pub fn host_memory_size() -> usize {
    region::physical_memory().max(1 << 30)
}

/// Addresses for pinned memory: twice what there is, or as much as the process may reserve. A
/// process with few addresses, as under valgrind or `ulimit -v`, has less pinned memory.
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

/// Classifies addresses for the length of one request.
pub struct Finder<'a> {
    memory: &'a Memory,
    registered: Registered<'a>,
}

impl Finder<'_> {
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
            let sight = self.memory.reserved.find(side, address)?;
            let spot = ResolvedAddress::within(sight.extent, address, sight.place, sight.reach);
            return Ok(ResolvedAddress { is_remote: sight.is_distant, ..spot });
        }
        Ok(match self.registered.find(address) {
            Some(extent) => ResolvedAddress::within(extent, address, MemoryKind::Pinned, address),
            None => {
                let room = self.memory.ceiling(address) - address;
                ResolvedAddress {
                    address,
                    place: MemoryKind::Pageable,
                    extent: None,
                    remaining: room,
                    reach: address,
                    is_remote: false,
                }
            }
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
        let place = |address| memory.finder().find("source", address).unwrap().place;
        assert_eq!(place(device + 99), MemoryKind::Device(1));
        assert_eq!(place(pinned), MemoryKind::Pinned);
        assert_eq!(place(&raw const local as usize), MemoryKind::Pageable);
        assert_eq!(memory.finder().find("source", device + 100).unwrap_err().code(), ACL_ERROR_RT_PARAM_INVALID);
        let spot = memory.finder().find("source", device + 50).unwrap();
        assert!(spot.covers("source", 50).is_ok());
        let hints = Hints::default();
        for _ in 0..2 {
            let ordinary = |target, source, len| memory.fast_path_span(target, source, len, &hints);
            assert_eq!(ordinary(device + 4, pinned, 96).unwrap().target, memory.backing_address(device + 4));
            assert_eq!(ordinary(pinned, device, 100).unwrap().source, memory.backing_address(device));
            assert_eq!(ordinary(device, pinned, 101), None);
            assert_eq!(ordinary(device + 5, pinned, 96), None);
            assert_eq!(ordinary(device, pinned + 5, 96), None);
            assert_eq!(ordinary(device, device, 1), None);
            assert_eq!(ordinary(pinned, pinned, 1), None);
            assert_eq!(ordinary(device, &raw const local as usize, 1), None);
        }
        // Pageable memory does not reach into ours.
        for below in [pinned, memory.backing_address(device)] {
            let region = if below == pinned { &memory.pinned_region } else { &memory.backing };
            let spot = memory.finder().find("source", region.start() - 8).unwrap();
            assert_eq!((spot.place, spot.covers("source", 8).is_ok()), (MemoryKind::Pageable, true));
            assert_eq!(spot.covers("source", 9).unwrap_err().code(), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
        }
        let text = spot.covers("source", 60).unwrap_err().to_string();
        assert!(text.contains("60 bytes at offset 50 of the 100 bytes") && text.contains("10 too many"), "{text}");
    }
}
