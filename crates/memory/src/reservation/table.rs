//! The table of reservations and mappings. Pure bookkeeping: nothing is mapped here.

use crate::address::{MemoryKind, MemoryLocation};
use crate::extent::Extent;
use crate::physical::Physical;
use crate::region::Rights;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Granularity of reservations and mappings: the page size of a device.
pub const GRANULE: usize = 2 << 20;

/// A request to map physical memory.
pub struct MapRequest<'a> {
    pub physical: &'a Arc<Physical>,
    /// Offset in the file.
    pub offset: usize,
    /// The bytes that the program may use. They start within the first granule of the mapping.
    pub extent: Extent,
    pub has_access: bool,
    pub is_remote: bool,
}

/// What is reserved and mapped.
#[derive(Default)]
pub(super) struct Table {
    /// Reservations by start. Released ones stay until all their bytes are unmapped.
    pub(super) ranges: BTreeMap<usize, Range>,
    pub(super) mappings: BTreeMap<usize, Mapping>,
    /// Adjacent mappings with access, merged for look-ups.
    pub(super) runs: BTreeMap<usize, MappedRun>,
}

/// A reservation.
pub(super) struct Range {
    pub(super) len: usize,
    pub(super) is_released: bool,
}

/// Mapped physical memory.
pub(super) struct Mapping {
    pub(super) physical: Arc<Physical>,
    /// Number of addresses, a multiple of `GRANULE`.
    pub(super) span: usize,
    /// The bytes that the program may use.
    pub(super) extent: Extent,
    pub(super) rights: BTreeMap<MemoryLocation, Rights>,
    pub(super) is_remote: bool,
}

/// Adjacent mappings of one kind with access.
#[derive(Clone, Copy)]
pub(super) struct MappedRun {
    pub(super) size: usize,
    pub(super) kind: MemoryKind,
    pub(super) is_remote: bool,
}

impl Mapping {
    pub(super) fn new(request: &MapRequest<'_>) -> Mapping {
        let physical = Arc::clone(request.physical);
        let lead = request.extent.start % GRANULE;
        let span = (lead + request.extent.size).next_multiple_of(GRANULE);
        let rights = request.has_access.then_some((physical.home, Rights::ReadWrite)).into_iter().collect();
        Mapping { physical, span, extent: request.extent, rights, is_remote: request.is_remote }
    }

    /// The maximum of the rights of all locations. Peer access between devices is checked elsewhere.
    pub(super) fn access(&self) -> Rights {
        self.rights.values().copied().max().unwrap_or(Rights::None)
    }

    /// Bytes of the file that are mapped, a multiple of `PAGE`.
    pub(super) fn len(&self) -> usize {
        (self.extent.start % GRANULE + self.extent.size).next_multiple_of(crate::extent::PAGE)
    }
}

impl Table {
    /// Addresses that are not free: those of all reservations, also of released ones that are still mapped.
    pub(super) fn reserved(&self) -> usize {
        self.ranges.values().map(|range| range.len).sum()
    }

    /// The start of a free range, which is followed by an unused granule.
    pub(super) fn free_range(&self, first: usize, last: usize, len: usize, alignment: usize) -> Option<usize> {
        let mut start = first.next_multiple_of(alignment);
        for (&other, range) in &self.ranges {
            if start.checked_add(len)?.checked_add(GRANULE)? <= other {
                break;
            }
            start = start.max((other + range.len + GRANULE).next_multiple_of(alignment));
        }
        (start.checked_add(len)? <= last).then_some(start)
    }

    /// Start and length of the reservation that contains an address.
    pub(super) fn range_at(&self, address: usize) -> Option<(usize, usize)> {
        let (&start, range) = self.ranges.range(..=address).next_back()?;
        (address - start < range.len && !range.is_released).then_some((start, range.len))
    }

    /// The mapping that contains an address, and its start.
    pub(super) fn mapping_at(&self, address: usize) -> Option<(usize, &Mapping)> {
        let (&start, mapping) = self.mappings.range(..=address).next_back()?;
        (address - start < mapping.span).then_some((start, mapping))
    }

    /// Starts of the mappings that cover a range exactly. `None` if it is not covered by whole mappings.
    pub(super) fn cover(&self, start: usize, size: usize) -> Option<Vec<usize>> {
        let (mut at, end) = (start, start.checked_add(size)?);
        let mut starts = Vec::new();
        while at < end {
            starts.push(at);
            at += self.mappings.get(&at)?.span;
        }
        (at == end).then_some(starts)
    }

    /// Adds a mapping to the runs, merged with adjacent mappings of the same kind and reservation.
    pub(super) fn merge_run(&mut self, start: usize) {
        let mapping = &self.mappings[&start];
        let Extent { mut start, size } = mapping.extent;
        let (mut end, kind, is_remote) = (start + size, mapping.physical.place, mapping.is_remote);
        let range = self.range_at(start);
        let fits = |table: &Table, at: usize, run: &MappedRun| {
            (run.kind, run.is_remote) == (kind, is_remote) && table.range_at(at) == range
        };
        let before = self.runs.range(..start).next_back().map(|(start, run)| (*start, *run));
        if let Some((first, run)) = before.filter(|(first, run)| first + run.size == start && fits(self, *first, run)) {
            self.runs.remove(&first);
            start = first;
            debug_assert!(run.size > 0);
        }
        if let Some(run) = self.runs.get(&end).copied().filter(|run| fits(self, end, run)) {
            self.runs.remove(&end);
            end += run.size;
        }
        self.runs.insert(start, MappedRun { size: end - start, kind, is_remote });
    }

    /// Removes a mapping from its run.
    pub(super) fn split_run(&mut self, start: usize) {
        let Extent { start, size } = self.mappings[&start].extent;
        let Some((first, run)) = self.runs.range(..=start).next_back().map(|(first, run)| (*first, *run)) else {
            return;
        };
        let (end, last) = (start + size, first + run.size);
        if start >= last {
            return;
        }
        self.runs.remove(&first);
        if first < start {
            self.runs.insert(first, MappedRun { size: start - first, ..run });
        }
        if end < last {
            self.runs.insert(end, MappedRun { size: last - end, ..run });
        }
    }
}
