//! Types for addresses and the memory at them.

use crate::extent::Extent;
use crate::region;
use softacl_errors::{Error, OutOfBounds, Result, fail};
use std::sync::atomic::AtomicU32;

/// The memory that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKind {
    Device(u32),
    /// Host memory that copies can use directly: allocated or registered through the API.
    Pinned,
    /// Any other host memory.
    Pageable,
}

impl MemoryKind {
    #[inline]
    pub fn is_device(self) -> bool {
        matches!(self, MemoryKind::Device(_))
    }

    /// The noun phrase for messages.
    #[inline]
    pub fn describe(self) -> String {
        match self {
            MemoryKind::Device(device) => format!("memory of device {device}"),
            MemoryKind::Pinned => "pinned host memory".to_owned(),
            MemoryKind::Pageable => "pageable host memory".to_owned(),
        }
    }
}

/// A program address with its memory kind, allocation and backing address.
#[derive(Debug, Clone, Copy)]
pub struct ResolvedAddress {
    /// The address that the program uses.
    pub address: usize,
    pub place: MemoryKind,
    /// Bounds of the allocation; `None` for pageable memory.
    pub extent: Option<Extent>,
    /// Bytes from the address to the end of its allocation. For pageable memory: to the start of the next memory of the
    /// machine.
    pub remaining: usize,
    /// The backing address: where the engine accesses the bytes.
    pub reach: usize,
    /// Imported from a process on another device. Only asynchronous copies between devices can use it.
    pub is_remote: bool,
}

impl ResolvedAddress {
    /// Resolves an address inside an allocation.
    #[inline]
    pub fn within(extent: Extent, address: usize, kind: MemoryKind, backing: usize) -> ResolvedAddress {
        let remaining = extent.size - (address - extent.start);
        ResolvedAddress { address, place: kind, extent: Some(extent), remaining, reach: backing, is_remote: false }
    }

    /// The noun phrase for messages. An address that belongs to nothing is looked up, so this is for errors only.
    #[cold]
    pub fn describe(&self) -> String {
        match self.place {
            MemoryKind::Pageable if !region::is_mapped(self.address, 1) => "memory that is not mapped".to_owned(),
            place => place.describe(),
        }
    }

    /// Fails if the range of `len` bytes exceeds its allocation.
    #[inline]
    pub fn covers(&self, side: &'static str, len: usize) -> Result<()> {
        if len <= self.remaining { Ok(()) } else { fail(self.out_of_bounds(side, len)) }
    }

    #[cold]
    fn out_of_bounds(&self, side: &'static str, len: usize) -> Error {
        let Some(Extent { start, size }) = self.extent else {
            return Error::Inaccessible { side, address: self.address, len };
        };
        let place = self.place.describe();
        Error::Range(OutOfBounds { side, place, address: self.address, len, start, size })
    }
}

/// The allocation records in which the copies of a stream last found their device and pinned memory.
#[derive(Debug, Default)]
pub struct Hints {
    pub device: AtomicU32,
    pub pinned: AtomicU32,
}

/// The addresses of pinned memory, and the distance from there to the backing addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub start: usize,
    pub len: usize,
    pub shift: isize,
}

/// The location of physical memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryLocation {
    /// A device, by the id that the program uses.
    Device(u32),
    Host,
    /// Host memory of a NUMA node. Treated as any other host memory.
    HostNode(u32),
}
