//! Device allocations by address. They give copies their routes (host to device, device to host, ...) and devices
//! their memory use over time.

use serde::{Deserialize, Serialize};
use softacl_engine::MemoryKind;
use softacl_engine::observer::{Mode, Touch, Window};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

impl TransferSize {
    /// Returns the name of an operation with the short form of its route, such as `copy H2D`.
    pub(crate) fn title(self, name: &str) -> String {
        self.route.short().map_or_else(|| name.to_owned(), |route| format!("{name} {route}"))
    }
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

    /// Returns the owner of an address, and the range around it with the same owner.
    fn owned_range(&self, address: usize) -> OwnedRange {
        let is_inside = |window: &Window| address.wrapping_sub(window.start) < window.len;
        if let Some(window) = self.pinned.as_ref().filter(|window| is_inside(window)) {
            return OwnedRange { start: window.start, len: window.len, owner: Endpoint::Host };
        }
        let before = self.ranges.range(..=address).next_back().map(|(start, (size, device))| (start + size, *device));
        match before {
            Some((end, device)) if address < end => {
                let start = self.ranges.range(..=address).next_back().map_or(0, |(start, _)| *start);
                OwnedRange { start, len: end - start, owner: Endpoint::Device(device) }
            }
            _ => {
                let start = before.map_or(0, |(end, _)| end);
                let end = self.ranges.range(address..).next().map_or(usize::MAX, |(start, _)| *start);
                OwnedRange { start, len: end - start, owner: Endpoint::Host }
            }
        }
    }
}

/// Adjacent bytes with one owner.
#[derive(Debug, Clone, Copy)]
struct OwnedRange {
    start: usize,
    len: usize,
    owner: Endpoint,
}

/// The allocations of a machine, shared by its threads. Each thread remembers the ranges that it used last, so copies
/// take no lock while the allocations do not change.
#[derive(Debug)]
pub(crate) struct Allocations {
    map: Mutex<AllocationMap>,
    /// Changes with the map. Unique in the process, because the memory of a thread serves every tracer.
    generation: AtomicU64,
}

/// Ranges that a thread remembers.
const REMEMBERED: usize = 4;

struct RecentRanges {
    generation: Cell<u64>,
    ranges: [Cell<OwnedRange>; REMEMBERED],
    /// The range that is replaced next.
    next: Cell<usize>,
}

const NO_RANGE: OwnedRange = OwnedRange { start: 0, len: 0, owner: Endpoint::Host };

thread_local! {
    static RECENT: RecentRanges = const {
        RecentRanges { generation: Cell::new(0), ranges: [const { Cell::new(NO_RANGE) }; REMEMBERED], next: Cell::new(0) }
    };
}

fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Allocations {
    pub(crate) fn new() -> Allocations {
        Allocations { map: Mutex::default(), generation: AtomicU64::new(next_generation()) }
    }

    fn lock(&self) -> MutexGuard<'_, AllocationMap> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the map, and calls `then` with the result before anything else can change it.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut AllocationMap) -> R, then: impl FnOnce(R)) {
        let mut map = self.lock();
        let result = change(&mut map);
        self.generation.store(next_generation(), Ordering::Release);
        then(result);
    }

    fn endpoint(&self, address: usize) -> Endpoint {
        RECENT.with(|recent| {
            let generation = self.generation.load(Ordering::Acquire);
            if recent.generation.get() == generation {
                let ranges = recent.ranges.iter().map(Cell::get);
                if let Some(range) = ranges.into_iter().find(|range| address.wrapping_sub(range.start) < range.len) {
                    return range.owner;
                }
            }
            self.find(address, recent)
        })
    }

    /// Looks an address up in the map, and remembers its range.
    #[cold]
    fn find(&self, address: usize, recent: &RecentRanges) -> Endpoint {
        let map = self.lock();
        // The generation changes under the lock, so this one belongs to the map.
        let generation = self.generation.load(Ordering::Acquire);
        if recent.generation.replace(generation) != generation {
            recent.ranges.iter().for_each(|range| range.set(NO_RANGE));
        }
        let (range, next) = (map.owned_range(address), recent.next.get());
        recent.ranges[next].set(range);
        recent.next.set((next + 1) % REMEMBERED);
        range.owner
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
        let map = Allocations::new();
        map.change(|map| map.attach(Window { start: 0x10_0000, len: 0x1000, shift: 0 }), drop);
        let allocate = |kind, start, size| {
            let mut used = None;
            map.change(|map| map.allocated(kind, start, size), |result| used = result);
            used
        };
        assert_eq!(allocate(MemoryKind::Device(0), 0x1000, 0x100), Some((0, 0x100)));
        assert_eq!(allocate(MemoryKind::Device(1), 0x2000, 0x100), Some((1, 0x100)));
        assert_eq!(allocate(MemoryKind::Pinned, 0x10_0000, 64), None);
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
        // A thread does not remember what was freed, and another map has other ranges.
        map.change(|map| map.freed(0x2000), drop);
        assert_eq!(map.endpoint(0x2000), Endpoint::Host);
        assert_eq!((map.endpoint(0x1000), Allocations::new().endpoint(0x1000)), (Endpoint::Device(0), Endpoint::Host));
        assert_eq!((map.endpoint(0), map.endpoint(0xfff), map.endpoint(0x1100)), [Endpoint::Host; 3].into());
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
