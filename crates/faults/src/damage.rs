//! What injected faults leave behind: memory that is bad, links that are gone, devices that are lost.
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

/// Device memory that gives an error when it is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadRange {
    pub device: u32,
    pub start: usize,
    pub len: usize,
}

/// What is wrong with a device. The first of these that is true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceHealth {
    Well,
    /// It does not answer until it is reset.
    Lost,
    BadMemory(Vec<BadRange>),
    /// A link to another device is gone.
    LinkGone,
    /// A task failed with an injected code.
    Failed,
}

#[derive(Debug, Default)]
pub struct Damage {
    ranges: Vec<BadRange>,
    /// Pairs of devices, the smaller number first.
    links: Vec<(u32, u32)>,
    /// Devices with a task that failed on purpose.
    failed: Vec<u32>,
}

impl Damage {
    pub fn spoil(&mut self, range: BadRange) {
        if range.len > 0 && !self.ranges.contains(&range) {
            self.ranges.push(range);
        }
    }

    pub fn break_link(&mut self, one: u32, other: u32) {
        let link = (one.min(other), one.max(other));
        if !self.links.contains(&link) {
            self.links.push(link);
        }
    }

    pub fn record_link_failure(&mut self, device: u32) {
        if !self.failed.contains(&device) {
            self.failed.push(device);
        }
    }

    /// Bad memory in a range.
    pub fn bad(&self, start: usize, len: usize) -> Option<BadRange> {
        self.ranges.iter().copied().find(|bad| bad.start < start + len && start < bad.start + bad.len)
    }

    pub fn is_link_broken(&self, one: u32, other: u32) -> bool {
        self.links.contains(&(one.min(other), one.max(other)))
    }

    pub fn ranges_of(&self, device: u32) -> Vec<BadRange> {
        self.ranges.iter().copied().filter(|range| range.device == device).collect()
    }

    pub fn has_cut_link(&self, device: u32) -> bool {
        self.links.iter().any(|(one, other)| *one == device || *other == device)
    }

    pub fn has_failed(&self, device: u32) -> bool {
        self.failed.contains(&device)
    }

    /// Addresses lose their memory: what was bad of it, from its start.
    pub fn lift(&mut self, device: u32, start: usize, len: usize) -> Vec<ByteRange> {
        let end = start + len;
        let mut lifted = Vec::new();
        for bad in std::mem::take(&mut self.ranges) {
            let (first, last) = (bad.start.max(start), (bad.start + bad.len).min(end));
            if bad.device != device || first >= last {
                self.ranges.push(bad);
                continue;
            }
            lifted.push(ByteRange { offset: (first - start) as u64, len: (last - first) as u64 });
            // A copy over two mappings that touch each other has made one range bad.
            self.spoil(BadRange { len: first - bad.start, ..bad });
            self.spoil(BadRange { start: last, len: bad.start + bad.len - last, ..bad });
        }
        lifted
    }

    /// The memory of a device at these addresses is good again. Whether any was bad.
    pub fn repair(&mut self, device: u32, start: usize, len: usize) -> bool {
        let before = self.ranges.len();
        let apart = |bad: &BadRange| bad.device != device || bad.start + bad.len <= start || start + len <= bad.start;
        self.ranges.retain(apart);
        self.ranges.len() < before
    }

    pub fn mend_links(&mut self, device: u32) {
        self.links.retain(|(one, other)| *one != device && *other != device);
    }

    pub fn forget_failure(&mut self, device: u32) {
        self.failed.retain(|other| *other != device);
    }

    /// The device was reset.
    pub fn reset(&mut self, device: u32) {
        self.ranges.retain(|bad| bad.device != device);
        self.mend_links(device);
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
    fn damage_leaves_addresses_with_their_memory() {
        let mut damage = Damage::default();
        let ranges = [(0, 0x1000, 16), (0, 0x1ff0, 32), (1, 0x1000, 16), (0, 0x3000, 8)];
        for (device, start, len) in ranges {
            damage.spoil(BadRange { device, start, len });
        }
        let lifted = damage.lift(0, 0x1000, 0x1000);
        assert_eq!(lifted, [ByteRange { offset: 0, len: 16 }, ByteRange { offset: 0xff0, len: 16 }]);
        assert_eq!(damage.bad(0x1000, 0x1000), Some(BadRange { device: 1, start: 0x1000, len: 16 }));
        assert_eq!(damage.bad(0x2000, 1), Some(BadRange { device: 0, start: 0x2000, len: 16 }));
        assert_eq!(damage.ranges_of(0).len(), 2);
        assert_eq!(damage.lift(0, 0x5000, 0x1000), []);
    }
}
