//! Device allocations by address. They give copies their routes (host to device, device to host, ...) and devices
//! their memory use over time.

use serde::{Deserialize, Serialize};
use softacl_engine::MemoryKind;
use softacl_engine::observer::{Mode, Touch, Window};
use std::collections::BTreeMap;
use std::fmt;

/// One side of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Endpoint {
    Host,
    Device(u32),
}

/// Source and target of the bytes. A memset has only a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Route {
    pub source: Option<Endpoint>,
    pub target: Option<Endpoint>,
}

impl Route {
    /// Returns the short form, such as `H2D`, for the names of slices. `None` if a side is missing.
    pub fn short(self) -> Option<&'static str> {
        Some(match (self.source?, self.target?) {
            (Endpoint::Host, Endpoint::Host) => "H2H",
            (Endpoint::Host, Endpoint::Device(_)) => "H2D",
            (Endpoint::Device(_), Endpoint::Host) => "D2H",
            (Endpoint::Device(one), Endpoint::Device(other)) if one == other => "D2D",
            (Endpoint::Device(_), Endpoint::Device(_)) => "P2P",
        })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Host => f.write_str("host"),
            Endpoint::Device(device) => write!(f, "device {device}"),
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.source, self.target) {
            (Some(source), Some(target)) => write!(f, "{source} to {target}"),
            (None, Some(target)) => write!(f, "{target}"),
            (Some(source), None) => write!(f, "from {source}"),
            (None, None) => Ok(()),
        }
    }
}

/// Amount and route of the data that a task or a blocking call moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TransferSize {
    pub(crate) bytes: u64,
    /// Number of written ranges.
    pub(crate) entries: u32,
    pub(crate) route: Route,
}

/// Device memory by address. Every other address is host memory.
#[derive(Debug, Default)]
pub(crate) struct AllocationMap {
    /// Size and device of each allocation, by start address.
    ranges: BTreeMap<usize, (usize, u32)>,
    /// Bytes in use on each device.
    used: BTreeMap<u32, u64>,
    /// The window of pinned memory. It counts as host memory, also on chips whose host memory is device memory.
    pinned: Option<Window>,
}

impl AllocationMap {
    /// Sets the window of pinned memory.
    pub(crate) fn attach(&mut self, pinned: Window) {
        self.pinned = Some(pinned);
    }

    /// Adds an allocation. Returns the device and its bytes in use, or `None` if it is not device memory.
    pub(crate) fn allocated(&mut self, kind: MemoryKind, start: usize, size: usize) -> Option<(u32, u64)> {
        let MemoryKind::Device(device) = kind else { return None };
        // A block of a pool may be reported again with another size.
        self.freed(start);
        self.ranges.insert(start, (size, device));
        let used = self.used.entry(device).or_default();
        *used += size as u64;
        Some((device, *used))
    }

    /// Removes an allocation. Returns its device and the bytes still in use there, or `None` if it is unknown.
    pub(crate) fn freed(&mut self, start: usize) -> Option<(u32, u64)> {
        let (size, device) = self.ranges.remove(&start)?;
        let used = self.used.entry(device).or_default();
        *used = used.saturating_sub(size as u64);
        Some((device, *used))
    }

    /// Removes all allocations of a device.
    pub(crate) fn cleared(&mut self, device: u32) {
        self.ranges.retain(|_, (_, owner)| *owner != device);
        self.used.insert(device, 0);
    }

    /// Returns the owner of an address.
    fn endpoint(&self, address: usize) -> Endpoint {
        let is_pinned = |window: Window| (window.start..window.start + window.len).contains(&address);
        if self.pinned.is_some_and(is_pinned) {
            return Endpoint::Host;
        }
        match self.ranges.range(..=address).next_back() {
            Some((start, (size, device))) if address - start < *size => Endpoint::Device(*device),
            _ => Endpoint::Host,
        }
    }

    /// Sums up the touches of one operation. The route is that of the first read and the first write.
    pub(crate) fn transfer(&self, touches: &[Touch]) -> TransferSize {
        let first = |mode| touches.iter().find(|touch| touch.mode == mode).map(|touch| self.endpoint(touch.address));
        let written = || touches.iter().filter(|touch| touch.mode == Mode::Write);
        TransferSize {
            bytes: written().map(|touch| touch.len as u64).sum(),
            entries: written().count() as u32,
            route: Route { source: first(Mode::Read), target: first(Mode::Write) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_route_follows_the_memory_of_both_sides() {
        let mut map = AllocationMap::default();
        map.attach(Window { start: 0x10_0000, len: 0x1000, shift: 0 });
        assert_eq!(map.allocated(MemoryKind::Device(0), 0x1000, 0x100), Some((0, 0x100)));
        assert_eq!(map.allocated(MemoryKind::Device(1), 0x2000, 0x100), Some((1, 0x100)));
        assert_eq!(map.allocated(MemoryKind::Pinned, 0x10_0000, 64), None);
        let touch = |address, mode| Touch { address, len: 16, mode };
        let short = |source, target| {
            let transfer = map.transfer(&[touch(source, Mode::Read), touch(target, Mode::Write)]);
            assert_eq!((transfer.bytes, transfer.entries), (16, 1));
            transfer.route.short()
        };
        assert_eq!(short(0x10_0000, 0x10f0), Some("H2D"));
        assert_eq!(short(0x10ff, 0x10_0010), Some("D2H"));
        assert_eq!(short(0x1100, 0xff), Some("H2H"));
        assert_eq!(short(0x1000, 0x1080), Some("D2D"));
        assert_eq!(short(0x1000, 0x2000), Some("P2P"));
        let fill = map.transfer(&[touch(0x2000, Mode::Write)]);
        assert_eq!((fill.route.short(), fill.route.to_string().as_str()), (None, "device 1"));
    }

    #[test]
    fn freed_memory_is_not_counted_as_used() {
        let mut map = AllocationMap::default();
        map.allocated(MemoryKind::Device(0), 0x1000, 0x100);
        assert_eq!(map.allocated(MemoryKind::Device(0), 0x1000, 0x80), Some((0, 0x80)));
        assert_eq!(map.allocated(MemoryKind::Device(0), 0x3000, 0x80), Some((0, 0x100)));
        assert_eq!(map.freed(0x1000), Some((0, 0x80)));
        assert_eq!(map.freed(0x1000), None);
        map.cleared(0);
        assert_eq!(map.freed(0x3000), None);
        assert_eq!(map.allocated(MemoryKind::Device(0), 0x1000, 1), Some((0, 1)));
    }
}
