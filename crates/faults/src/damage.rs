//! Lasting effects of injected faults: bad memory, broken links and failed devices.
//!
//! Damage lasts until it is repaired or the device is reset.

use crate::rule::ByteRange;
use softacl_errors::Code;
use std::fmt;

// The codes of damage (specification 3).

/// Returned for an access to bad memory.
pub const ECC: Code = ascendcl_sys::ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR;
/// Returned for a copy over a broken link.
pub const LINK: Code = ascendcl_sys::ACL_ERROR_RT_LINK_ERROR;
/// Returned for a lost device.
pub const HEARTBEAT: Code = ascendcl_sys::ACL_ERROR_RT_LOST_HEARTBEAT;

/// Device memory that fails every access with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadRange {
    pub device: u32,
    pub start: usize,
    pub len: usize,
}

/// The state of a device: the first variant after `Well` that applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceHealth {
    Well,
    /// The device refuses every call until it is reset.
    Lost,
    BadMemory(Vec<BadRange>),
    /// A link to another device is broken.
    LinkGone,
    /// A task failed with an injected code.
    Failed,
}

/// All damage on a machine.
#[derive(Debug, Default)]
pub struct Damage {
    ranges: Vec<BadRange>,
    /// Broken links, as pairs of devices with the smaller id first.
    links: Vec<(u32, u32)>,
    /// Devices with a task that an injected fault failed.
    failed: Vec<u32>,
}

impl Damage {
    /// Marks device memory as bad. Ignores empty ranges and duplicates.
    pub fn mark_bad(&mut self, range: BadRange) {
        if range.len > 0 && !self.ranges.contains(&range) {
            self.ranges.push(range);
        }
    }

    /// Breaks the link between two devices.
    pub fn break_link(&mut self, one: u32, other: u32) {
        let link = (one.min(other), one.max(other));
        if !self.links.contains(&link) {
            self.links.push(link);
        }
    }

    /// Records that an injected fault failed a task of the device.
    pub fn record_failure(&mut self, device: u32) {
        if !self.failed.contains(&device) {
            self.failed.push(device);
        }
    }

    /// A bad range that overlaps the given one.
    pub fn bad(&self, start: usize, len: usize) -> Option<BadRange> {
        self.ranges.iter().copied().find(|bad| bad.start < start + len && start < bad.start + bad.len)
    }

    /// True if the link between the two devices is broken.
    pub fn is_link_broken(&self, one: u32, other: u32) -> bool {
        self.links.contains(&(one.min(other), one.max(other)))
    }

    /// The bad ranges of a device.
    pub fn ranges_of(&self, device: u32) -> Vec<BadRange> {
        self.ranges.iter().copied().filter(|range| range.device == device).collect()
    }

    /// True if a link of the device is broken.
    pub fn has_broken_link(&self, device: u32) -> bool {
        self.links.iter().any(|(one, other)| *one == device || *other == device)
    }

    /// True if an injected fault failed a task of the device.
    pub fn has_failed(&self, device: u32) -> bool {
        self.failed.contains(&device)
    }

    /// Removes the bad bytes of a range that is being unmapped. Returns them as offsets from `start`: they stay bad,
    /// but the addresses do not.
    pub fn detach(&mut self, device: u32, start: usize, len: usize) -> Vec<ByteRange> {
        let end = start + len;
        let mut detached = Vec::new();
        for bad in std::mem::take(&mut self.ranges) {
            let (first, last) = (bad.start.max(start), (bad.start + bad.len).min(end));
            if bad.device != device || first >= last {
                self.ranges.push(bad);
                continue;
            }
            detached.push(ByteRange { offset: (first - start) as u64, len: (last - first) as u64 });
            // A copy over two adjacent mappings marks one range that spans both. Keep the rest of it.
            self.mark_bad(BadRange { len: first - bad.start, ..bad });
            self.mark_bad(BadRange { start: last, len: bad.start + bad.len - last, ..bad });
        }
        detached
    }

    /// Marks the bad ranges that overlap the given one as good. Returns `false` if there are none.
    pub fn repair(&mut self, device: u32, start: usize, len: usize) -> bool {
        let before = self.ranges.len();
        let is_disjoint =
            |bad: &BadRange| bad.device != device || bad.start + bad.len <= start || start + len <= bad.start;
        self.ranges.retain(is_disjoint);
        self.ranges.len() < before
    }

    /// Repairs all links of the device.
    pub fn repair_links(&mut self, device: u32) {
        self.links.retain(|(one, other)| *one != device && *other != device);
    }

    /// Removes the record of `record_failure`.
    pub fn forget_failure(&mut self, device: u32) {
        self.failed.retain(|other| *other != device);
    }

    /// Removes all damage of a device that is being reset.
    pub fn reset(&mut self, device: u32) {
        self.ranges.retain(|bad| bad.device != device);
        self.repair_links(device);
        self.forget_failure(device);
    }
}

impl fmt::Display for BadRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x} of device {}", self.len, self.start, self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detached_memory_takes_its_bad_bytes_along() {
        let mut damage = Damage::default();
        let ranges = [(0, 0x1000, 16), (0, 0x1ff0, 32), (1, 0x1000, 16), (0, 0x3000, 8)];
        for (device, start, len) in ranges {
            damage.mark_bad(BadRange { device, start, len });
        }
        let detached = damage.detach(0, 0x1000, 0x1000);
        assert_eq!(detached, [ByteRange { offset: 0, len: 16 }, ByteRange { offset: 0xff0, len: 16 }]);
        assert_eq!(damage.bad(0x1000, 0x1000), Some(BadRange { device: 1, start: 0x1000, len: 16 }));
        assert_eq!(damage.bad(0x2000, 1), Some(BadRange { device: 0, start: 0x2000, len: 16 }));
        assert_eq!(damage.ranges_of(0).len(), 2);
        assert_eq!(damage.detach(0, 0x5000, 0x1000), []);
    }
}
