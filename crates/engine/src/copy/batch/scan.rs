//! Scanning a batch: entries in an allocation that was already checked need only a comparison of bounds.

use crate::copy::batch::entries::{BatchAttribute, Entries};
use crate::machine::Machine;
use softacl_memory::ResolvedAddress;
use softacl_memory::bytes::Span;
use std::ops::Range;

/// Adjacent entries are merged up to this length. Longer ones gain nothing, because the remaining entries are to be
/// shared between threads and copied several at a time.
const COALESCE_MAX_LEN: usize = 4 << 10;

/// Iterates over entries. Entries in the same two allocations as a checked entry, with the same attribute, differ only
/// in their bounds and are accepted here. All others are returned for the full check.
pub(super) struct Scan<'a> {
    entries: &'a Entries<'a>,
    machine: &'a Machine,
    /// The next entry, the index of its attribute, and the end of that attribute.
    next: usize,
    attribute: usize,
    end: usize,
    /// The entry at which to wake a worker.
    wake_at: usize,
    /// True if adjacent entries may become one span. Schedules and observers require the original entries.
    coalesces: bool,
    target: CachedAllocation,
    source: CachedAllocation,
}

/// The allocation of the last checked entry, and the distance to its backing address. The default has no bytes.
#[derive(Default, Clone, Copy)]
struct CachedAllocation {
    start: usize,
    size: usize,
    shift: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(machine: &'a Machine, entries: &'a Entries<'a>) -> Scan<'a> {
        let coalesces = !machine.must_queue_all();
        let end = entries.starts.get(1).copied().unwrap_or(entries.sizes.len());
        let (target, source) = (CachedAllocation::default(), CachedAllocation::default());
        Scan { entries, machine, next: 0, attribute: 0, end, wake_at: entries.wake_at(), coalesces, target, source }
    }

    /// Appends the spans of entries in cached allocations. Returns the next entry that needs the full check.
    pub(super) fn next(&mut self, spans: &mut Vec<Span>) -> Option<(usize, &'a BatchAttribute)> {
        loop {
            self.next = self.append(self.next..self.end.min(self.wake_at), spans);
            let index = self.next;
            if index == self.wake_at {
                self.machine.wake_worker_early();
                self.wake_at = usize::MAX;
            } else if index < self.end {
                self.next += 1;
                return Some((index, &self.entries.attributes[self.attribute]));
            } else {
                self.attribute += 1;
                let starts = self.entries.starts;
                starts.get(self.attribute)?;
                self.end = starts.get(self.attribute + 1).copied().unwrap_or(self.entries.sizes.len());
                self.clear_cache();
            }
        }
    }

    /// Appends the spans of entries in cached allocations. Returns the entry at which it stopped.
    #[inline]
    fn append(&self, range: Range<usize>, spans: &mut Vec<Span>) -> usize {
        let Range { start: mut index, end } = range;
        let (targets, sources) = (&self.entries.targets[..end], &self.entries.sources[..end]);
        let sizes = &self.entries.sizes[..end];
        let (to, from) = (self.target, self.source);
        let max_len = if self.coalesces { COALESCE_MAX_LEN } else { 0 };
        while index < end {
            let (target, source, mut len) = (targets[index], sources[index], sizes[index]);
            let remaining = to.remaining(target).min(from.remaining(source));
            // A length of 0 wraps around to a value that is too large.
            if len.wrapping_sub(1) >= remaining {
                break;
            }
            index += 1;
            let mut room = remaining.min(max_len).saturating_sub(len);
            while index < end
                && targets[index] == target + len
                && sources[index] == source + len
                && sizes[index].wrapping_sub(1) < room
            {
                len += sizes[index];
                room -= sizes[index];
                index += 1;
            }
            let (target, source) = (target.wrapping_add(to.shift), source.wrapping_add(from.shift));
            spans.push(Span { target, source, len });
        }
        index
    }

    /// Caches the allocations of a checked entry.
    pub(super) fn cache_allocations(&mut self, target: ResolvedAddress, source: ResolvedAddress) {
        match (CachedAllocation::new(target), CachedAllocation::new(source)) {
            (Some(target), Some(source)) => (self.target, self.source) = (target, source),
            _ => self.clear_cache(),
        }
    }

    pub(super) fn clear_cache(&mut self) {
        (self.target, self.source) = (CachedAllocation::default(), CachedAllocation::default());
    }
}

impl CachedAllocation {
    fn new(resolved: ResolvedAddress) -> Option<CachedAllocation> {
        let extent = resolved.extent?;
        Some(CachedAllocation {
            start: extent.start,
            size: extent.size,
            shift: resolved.reach.wrapping_sub(resolved.address),
        })
    }

    /// Bytes from an address to the end of the allocation; 0 if the address is outside.
    #[inline]
    fn remaining(&self, address: usize) -> usize {
        let offset = address.wrapping_sub(self.start);
        self.size.saturating_sub(offset)
    }
}
