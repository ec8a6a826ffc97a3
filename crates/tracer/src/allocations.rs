//! Where memory is: which addresses are of which device, so that a copy can be called host to device.

use serde::{Deserialize, Serialize};
use softacl_engine::MemoryKind;
use softacl_engine::observer::{Mode, Touch, Window};
use std::collections::BTreeMap;
use std::fmt;

/// A side of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Endpoint {
    Host,
    Device(u32),
}

/// From where to where bytes go. A fill has only a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Route {
    pub source: Option<Endpoint>,
    pub target: Option<Endpoint>,
}

impl Route {
    /// Such as `H2D`, for the names of slices.
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

/// What a task or a blocking call moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TransferSize {
    pub(crate) bytes: u64,
    /// Ranges that are written.
    pub(crate) entries: u32,
    pub(crate) route: Route,
}

/// Device memory by address. Everything else is the host's.
#[derive(Debug, Default)]
pub(crate) struct AllocationMap {
    ranges: BTreeMap<usize, (usize, u32)>,
    /// Bytes in use on each device.
    used: BTreeMap<u32, u64>,
    /// On chips whose host memory is device memory too, pinned addresses are allocations of no device.
    pinned: Option<Window>,
}

impl AllocationMap {
    pub(crate) fn attach(&mut self, pinned: Window) {
        self.pinned = Some(pinned);
    }

    /// Device memory was allocated: how much of the device is in use now.
    pub(crate) fn allocated(&mut self, place: MemoryKind, start: usize, size: usize) -> Option<(u32, u64)> {
        let MemoryKind::Device(device) = place else { return None };
        // A block of a pool may be told again with another size.
        self.freed(start);
        self.ranges.insert(start, (size, device));
        let used = self.used.entry(device).or_default();
        *used += size as u64;
        Some((device, *used))
    }

    pub(crate) fn freed(&mut self, start: usize) -> Option<(u32, u64)> {
        let (size, device) = self.ranges.remove(&start)?;
        let used = self.used.entry(device).or_default();
        *used = used.saturating_sub(size as u64);
        Some((device, *used))
    }

    /// All memory of a device is gone.
    pub(crate) fn cleared(&mut self, device: u32) {
        self.ranges.retain(|_, (_, owner)| *owner != device);
        self.used.insert(device, 0);
    }

    fn site(&self, address: usize) -> Endpoint {
        let is_pinned = |window: Window| (window.start..window.start + window.len).contains(&address);
        if self.pinned.is_some_and(is_pinned) {
            return Endpoint::Host;
        }
        match self.ranges.range(..=address).next_back() {
            Some((start, (size, device))) if address - start < *size => Endpoint::Device(*device),
            _ => Endpoint::Host,
        }
    }

    /// What touches amount to. The route is that of the first pair.
    pub(crate) fn load(&self, touches: &[Touch]) -> TransferSize {
        let first = |mode| touches.iter().find(|touch| touch.mode == mode).map(|touch| self.site(touch.address));
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
    fn a_copy_is_named_by_where_its_memory_is() {
        let mut book = AllocationMap::default();
        book.attach(Window { start: 0x10_0000, len: 0x1000, shift: 0 });
        assert_eq!(book.allocated(MemoryKind::Device(0), 0x1000, 0x100), Some((0, 0x100)));
        assert_eq!(book.allocated(MemoryKind::Device(1), 0x2000, 0x100), Some((1, 0x100)));
        assert_eq!(book.allocated(MemoryKind::Pinned, 0x10_0000, 64), None);
        let touch = |address, mode| Touch { address, len: 16, mode };
        let short = |source, target| {
            let load = book.load(&[touch(source, Mode::Read), touch(target, Mode::Write)]);
            assert_eq!((load.bytes, load.entries), (16, 1));
            load.route.short()
        };
        assert_eq!(short(0x10_0000, 0x10f0), Some("H2D"));
        assert_eq!(short(0x10ff, 0x10_0010), Some("D2H"));
        assert_eq!(short(0x1100, 0xff), Some("H2H"));
        assert_eq!(short(0x1000, 0x1080), Some("D2D"));
        assert_eq!(short(0x1000, 0x2000), Some("P2P"));
        let fill = book.load(&[touch(0x2000, Mode::Write)]);
        assert_eq!((fill.route.short(), fill.route.to_string().as_str()), (None, "device 1"));
    }

    #[test]
    fn freed_memory_is_no_longer_counted() {
        let mut book = AllocationMap::default();
        book.allocated(MemoryKind::Device(0), 0x1000, 0x100);
        assert_eq!(book.allocated(MemoryKind::Device(0), 0x1000, 0x80), Some((0, 0x80)));
        assert_eq!(book.allocated(MemoryKind::Device(0), 0x3000, 0x80), Some((0, 0x100)));
        assert_eq!(book.freed(0x1000), Some((0, 0x80)));
        assert_eq!(book.freed(0x1000), None);
        book.cleared(0);
        assert_eq!(book.freed(0x3000), None);
        assert_eq!(book.allocated(MemoryKind::Device(0), 0x1000, 1), Some((0, 1)));
    }
}
