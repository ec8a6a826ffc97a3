//! Addresses and what is known about them: the words that every other module uses.

use crate::extent::Extent;
use softacl_errors::{Error, OutOfBounds, Result, fail};
use std::sync::atomic::AtomicU32;

/// Where an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKind {
    Device(u32),
    /// Host memory that copies can use directly: allocated or registered through the interface.
    Pinned,
    /// Any other host memory.
    Pageable,
}

impl MemoryKind {
    pub fn is_device(self) -> bool {
        matches!(self, MemoryKind::Device(_))
    }

    pub fn describe(self) -> String {
        match self {
            MemoryKind::Device(device) => format!("memory of device {device}"),
            MemoryKind::Pinned => "pinned host memory".to_owned(),
            MemoryKind::Pageable => "pageable host memory".to_owned(),
        }
    }
}

/// An address and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct ResolvedAddress {
    pub address: usize,
    pub place: MemoryKind,
    /// Bounds of the allocation; pageable memory has none that we know.
    pub extent: Option<Extent>,
    /// Bytes from the address on: to the end of the allocation, or from pageable memory to the first that is ours.
    pub remaining: usize,
    /// Where the engine reaches it.
    pub reach: usize,
    /// Imported from a process on another device: only devices can copy it, in stream order.
    pub is_remote: bool,
}

impl ResolvedAddress {
    /// An address in an allocation.
    #[inline]
    pub fn within(extent: Extent, address: usize, place: MemoryKind, reach: usize) -> ResolvedAddress {
        let room = extent.size - (address - extent.start);
        ResolvedAddress { address, place, extent: Some(extent), remaining: room, reach, is_remote: false }
    }

    /// Refuses a range that leaves its allocation.
    #[inline]
    pub fn covers(&self, side: &'static str, len: usize) -> Result<()> {
        if len <= self.remaining { Ok(()) } else { fail(self.fault(side, len)) }
    }

    #[cold]
    fn fault(&self, side: &'static str, len: usize) -> Error {
        let Some(Extent { start, size }) = self.extent else {
            return Error::Inaccessible { side, address: self.address, len };
        };
        let place = self.place.describe();
        Error::Range(OutOfBounds { side, place, address: self.address, len, start, size })
    }
}

/// The records in which the copies of a stream last found their device and their pinned memory.
#[derive(Debug, Default)]
pub struct Hints {
    pub device: AtomicU32,
    pub pinned: AtomicU32,
}

/// Where pinned memory is, and how far from there the engine accesses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub start: usize,
    pub len: usize,
    pub shift: isize,
}

/// Where physical memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryLocation {
    /// A device, by the number that the program knows it by.
    Device(u32),
    Host,
    /// Host memory of a NUMA node, which is like any other here.
    HostNode(u32),
}
