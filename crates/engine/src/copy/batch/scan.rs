//! Scanning a batch: entries in an allocation that was already checked need only a comparison of bounds.

use crate::copy::batch::entries::{BatchAttribute, Entries};
use crate::machine::Machine;
use softacl_memory::ResolvedAddress;
use softacl_memory::bytes::Span;
use std::ops::Range;

/// Neighbours are joined up to this length. Longer ones gain nothing: what remains of the entries is
/// to be shared between threads and copied several at a time.
const COALESCE_MAX_LEN: usize = 4 << 10;

/// Goes through entries. Those of the same two allocations as one that was checked before, declared
/// the same way, differ only in their bounds; the others come out for the full check.
pub(super) struct Scan<'a> {
    entries: &'a Entries<'a>,
    machine: &'a Machine,
    /// The next entry, its attribute, and where that ends.
    next: usize,
    attribute: usize,
    end: usize,
    /// The entry at which to wake a worker.
    wake_at: usize,
    /// Whether neighbours may become one span. Schedules and observers want them as they are.
    coalesces: bool,
    target: CachedAllocation,
    source: CachedAllocation,
}

/// An allocation and the distance at which the engine reaches it. The default has no bytes.
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

    /// Appends the spans of entries whose memory is known, up to one that needs the full check.
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

    /// Gives the entry at which it stopped.
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
            // No bytes at all wrap around to too many.
            if len.wrapping_sub(1) >= remaining {
                break;
            }
            index += 1;
            let remaining = remaining.min(max_len);
            while index < end
                && targets[index] == target + len
                && sources[index] == source + len
                && sizes[index].wrapping_sub(1) < remaining.saturating_sub(len)
            {
                len += sizes[index];
                index += 1;
            }
            let (target, source) = (target.wrapping_add(to.shift), source.wrapping_add(from.shift));
            spans.push(Span { target, source, len });
        }
        index
    }

    /// Remembers the allocations of an entry.
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

    /// Bytes of the allocation from an address on; none when it lies elsewhere.
    #[inline]
    fn remaining(&self, address: usize) -> usize {
        let offset = address.wrapping_sub(self.start);
        self.size.saturating_sub(offset)
    }
}
