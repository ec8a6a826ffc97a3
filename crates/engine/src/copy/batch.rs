//! Many ranges in one call, in any order.
//!
//! The asynchronous call goes entry by entry on chips that queue as they check: when entry i is
//! refused, the entries before it are on their way. Chips with UB links check everything first.
//! Which one it is, the profile says.

use super::Submission;
use crate::bytes::{CachePolicy, Span};
use crate::calls::Caller;
use crate::error::{Error, MemoryPool, Result, fail};
use crate::executor::Spans;
use crate::machine::Machine;
use crate::memory::{Finder, MemoryKind, ResolvedAddress};
use crate::observer::{AccessKind, Advisory};
use crate::task::{Batch, Task};
use std::ops::Range;

/// Entries of a synchronous batch at most (specification 1.5).
const MAX_SYNC: usize = 4096;
/// Entries of a batch that surely is work for more than one thread.
const WORTH_WAKING: usize = 2048;
/// Entries that are checked while a worker wakes: at 10 ns each, about 40 us.
const WAKE_LEAD: usize = 4096;
/// Neighbours are joined up to this length. Longer ones gain nothing: what remains of the entries is
/// to be shared between threads and copied several at a time.
const COALESCE_MAX_LEN: usize = 4 << 10;

/// A declared location: numbers of the interface, untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    pub kind: i32,
    pub device: u32,
}

const HOST: i32 = 0;
const DEVICE: i32 = 1;
const HOST_NUMA: i32 = 4;

/// What the program declares for a run of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchAttribute {
    pub target: Location,
    pub source: Location,
    pub reserved_is_zero: bool,
}

/// A batch, as the program asked for it. `None` is a NULL array.
#[derive(Debug, Clone, Copy)]
pub struct BatchRequest<'a> {
    pub targets: Option<&'a [usize]>,
    pub capacities: Option<&'a [usize]>,
    pub sources: Option<&'a [usize]>,
    pub sizes: Option<&'a [usize]>,
    pub attributes: Option<&'a [BatchAttribute]>,
    /// First entry of each attribute.
    pub starts: Option<&'a [usize]>,
}

/// Why a batch was refused, and what the program learns about the entry.
#[derive(Debug)]
pub struct BatchFailure {
    pub error: Box<Error>,
    pub index: FailIndex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailIndex {
    /// The output is not written at all.
    Untouched,
    /// No entry is to blame.
    None,
    Entry(usize),
}

/// A batch whose arrays are there and agree.
struct Entries<'a> {
    targets: &'a [usize],
    sources: &'a [usize],
    sizes: &'a [usize],
    attributes: &'a [BatchAttribute],
    starts: &'a [usize],
}

fn untouched(error: Box<Error>) -> BatchFailure {
    BatchFailure { error, index: FailIndex::Untouched }
}

fn no_entry_failed(error: Box<Error>) -> BatchFailure {
    BatchFailure { error, index: FailIndex::None }
}

type BatchResult<T> = std::result::Result<T, BatchFailure>;

impl Caller<'_> {
    pub fn copy_batch(&self, request: &BatchRequest<'_>) -> BatchResult<()> {
        let Some(entries) = self.check_arrays(request).map_err(untouched)? else { return Ok(()) };
        entries.check_attributes().map_err(no_entry_failed)?;
        if entries.sizes.len() > MAX_SYNC {
            let text = format!("a synchronous batch has at most {MAX_SYNC} entries, not {}", entries.sizes.len());
            return Err(no_entry_failed(Box::new(Error::Parameter(text))));
        }
        entries.check_starts().map_err(no_entry_failed)?;
        let mut spans = self.list_for(&entries)?;
        let finder = self.machine.memory.finder();
        for (index, attribute) in entries.with_attributes() {
            let entry = |error| BatchFailure { error, index: FailIndex::Entry(index) };
            if entries.sizes[index] == 0 {
                continue;
            }
            entries.check_elements(index).map_err(|(side, address)| {
                entry(Box::new(Error::Inaccessible { side, address, len: entries.sizes[index] }))
            })?;
            spans.push(self.check_entry(&finder, &entries, index, attribute).map_err(entry)?.span);
        }
        drop(finder);
        self.copy_batch_now(spans)
    }

    pub fn copy_batch_async(&self, request: &BatchRequest<'_>, stream: usize) -> BatchResult<()> {
        let Some(entries) = self.check_arrays(request).map_err(untouched)? else { return Ok(()) };
        let explicit = self.explicit_stream(stream).map_err(untouched)?;
        entries.check_attributes().map_err(no_entry_failed)?;
        entries.check_starts().map_err(no_entry_failed)?;
        let at = self.submission(explicit).map_err(no_entry_failed)?;
        self.check_sub_graph_copy(at).map_err(no_entry_failed)?;
        if self.machine.config.profile.chip.copy.batch_validates_first {
            self.batch_checked_first(&entries, at)
        } else {
            self.batch_entry_by_entry(&entries, at)
        }
    }

    /// An empty list with room for all entries.
    fn list_for(&self, entries: &Entries<'_>) -> BatchResult<Spans> {
        let count = entries.sizes.len();
        let none = || Error::OutOfMemory {
            pool: MemoryPool::HostBuffer("batch"),
            asked: count * size_of::<Span>(),
            free: 0,
            total: 0,
        };
        self.machine.shelf.list_of(count).ok_or_else(|| no_entry_failed(Box::new(none())))
    }

    /// Checks an entry, queues it, goes on with the next. What is queued is one task as long as no
    /// pageable entry comes between.
    fn batch_entry_by_entry(&self, entries: &Entries<'_>, at: Submission<'_>) -> BatchResult<()> {
        let mut spans = self.list_for(entries)?;
        let mut finder = self.machine.memory.finder();
        let mut scan = self.scan(entries);
        while let Some((index, attribute)) = scan.next(&mut spans) {
            let checked =
                entries.check_async_entry(index).and_then(|()| self.check_entry(&finder, entries, index, attribute));
            let checked = match checked {
                Ok(checked) => checked,
                Err(error) => {
                    self.queue_batch(&mut spans, at)?;
                    return Err(BatchFailure { error, index: FailIndex::Entry(index) });
                }
            };
            let span = checked.span;
            if !checked.is_pageable() {
                if spans.is_empty() && at.stream.context() != Some(at.context) {
                    return Err(no_entry_failed(Box::new(self.machine.other_context("stream", at.stream, at.context))));
                }
                spans.push(span);
                scan.cache_allocations(&checked);
                continue;
            }
            // Its first entry must be seen again: what is queued then is another task.
            scan.forget();
            drop(finder);
            self.queue_batch(&mut spans, at)?;
            self.check_may_drain(at.stream).map_err(no_entry_failed)?;
            self.drain_for(at, MemoryKind::Pageable, MemoryKind::Pageable).map_err(no_entry_failed)?;
            let _hearing = crate::segv::enter();
            let touches = || self.machine.memory.touches_of(&span).to_vec();
            let run = || self.machine.copy_span(span, CachePolicy::of(span.len));
            self.machine.with_access(AccessKind::Copy, touches, run).map_err(no_entry_failed)?;
            finder = self.machine.memory.finder();
        }
        drop(finder);
        self.queue_batch(&mut spans, at)
    }

    fn batch_checked_first(&self, entries: &Entries<'_>, at: Submission<'_>) -> BatchResult<()> {
        let mut spans = self.list_for(entries)?;
        let mut any_pageable = false;
        let finder = self.machine.memory.finder();
        let mut scan = self.scan(entries);
        while let Some((index, attribute)) = scan.next(&mut spans) {
            let checked = entries
                .check_async_entry(index)
                .and_then(|()| self.check_entry(&finder, entries, index, attribute))
                .map_err(|error| BatchFailure { error, index: FailIndex::Entry(index) })?;
            any_pageable |= checked.is_pageable();
            spans.push(checked.span);
            scan.cache_allocations(&checked);
        }
        drop(finder);
        if !any_pageable {
            return self.queue_batch(&mut spans, at);
        }
        self.check_may_drain(at.stream).map_err(no_entry_failed)?;
        self.drain_for(at, MemoryKind::Pageable, MemoryKind::Pageable).map_err(no_entry_failed)?;
        self.copy_batch_now(spans)
    }

    /// Copies on the calling thread, now.
    fn copy_batch_now(&self, spans: Spans) -> BatchResult<()> {
        let _hearing = crate::segv::enter();
        let touches = match self.machine.has_hooks() {
            true => spans.iter().flat_map(|span| self.machine.memory.touches_of(span)).collect(),
            false => Vec::new(),
        };
        let run = || self.machine.copy_batch(batch(spans), 0);
        self.machine.with_access(AccessKind::BatchCopy, || touches, run).map_err(no_entry_failed)
    }

    fn queue_batch(&self, spans: &mut Spans, at: Submission<'_>) -> BatchResult<()> {
        if spans.is_empty() {
            return Ok(());
        }
        let queued = std::mem::replace(spans, self.machine.shelf.list(0));
        self.queue(at, Task::Batch(Box::new(batch(queued)))).map_err(no_entry_failed)
    }

    /// The checks that leave the fail index alone. `None`: there is nothing to copy.
    fn check_arrays<'r>(&self, request: &BatchRequest<'r>) -> Result<Option<Entries<'r>>> {
        let sizes = request.sizes.ok_or(Error::Null("sizes"))?;
        if sizes.is_empty() {
            return fail(Error::Argument("the batch has no entries (numBatches is 0)".to_owned()));
        }
        if sizes.iter().all(|size| *size == 0) {
            return Ok(None);
        }
        let entries = Entries {
            targets: request.targets.ok_or(Error::Null("dsts"))?,
            sources: {
                request.capacities.ok_or(Error::Null("destMaxs"))?;
                request.sources.ok_or(Error::Null("srcs"))?
            },
            sizes,
            attributes: request.attributes.ok_or(Error::Null("attrs"))?,
            starts: request.starts.ok_or(Error::Null("attrsIndexes"))?,
        };
        let capacities = request.capacities.unwrap_or_default();
        // Without a way out of the loop first, which is several times faster.
        let fit = sizes.iter().zip(capacities).fold(true, |fit, (size, capacity)| fit & (capacity >= size));
        let too_long = || sizes.iter().zip(capacities).position(|(size, capacity)| capacity < size);
        if !fit && let Some(index) = too_long() {
            return fail(Error::Argument(format!(
                "entry {index} has {} bytes but its destination was declared to hold {} (destMaxs)",
                sizes[index], capacities[index]
            )));
        }
        if self.machine.probe.is_some() && sizes.len() > 1 && sizes == capacities {
            self.machine.advise(|| Advisory::TightCapacities { entries: sizes.len() });
        }
        if let Some(index) = entries.attributes.iter().position(|attribute| !attribute.reserved_is_zero) {
            return fail(Error::Argument(format!("the reserved bytes of attrs[{index}] are not zero")));
        }
        if !self.machine.config.profile.chip.copy.batch {
            return fail(self.machine.unsupported("a batch copy"));
        }
        Ok(Some(entries))
    }

    fn scan<'s>(&'s self, entries: &'s Entries<'s>) -> Scan<'s> {
        let machine = self.machine;
        let joins = !machine.must_queue_all();
        let end = entries.starts.get(1).copied().unwrap_or(entries.sizes.len());
        let (target, source) = (CachedAllocation::default(), CachedAllocation::default());
        Scan { entries, machine, next: 0, attribute: 0, end, alarm: entries.alarm(), joins, target, source }
    }

    /// Where the bytes of one entry are.
    fn check_entry(
        &self,
        finder: &Finder<'_>,
        entries: &Entries<'_>,
        index: usize,
        attribute: &BatchAttribute,
    ) -> Result<Checked> {
        let target = finder.find("destination", entries.targets[index])?;
        check_location("destination", target, attribute.target)?;
        let source = finder.find("source", entries.sources[index])?;
        check_location("source", source, attribute.source)?;
        if target.place.is_device() == source.place.is_device() {
            return fail(Error::Parameter(format!(
                "entry {index} goes from {} to {}; a batch copies between host and device only",
                source.place.describe(),
                target.place.describe()
            )));
        }
        self.check_not_remote([target, source])?;
        let span = self.span(target, source, entries.sizes[index])?;
        Ok(Checked { span, target, source })
    }
}

/// An entry that may be copied.
struct Checked {
    span: Span,
    target: ResolvedAddress,
    source: ResolvedAddress,
}

impl Checked {
    fn is_pageable(&self) -> bool {
        self.target.place == MemoryKind::Pageable || self.source.place == MemoryKind::Pageable
    }
}

/// Goes through entries. Those of the same two allocations as one that was checked before, declared
/// the same way, differ only in their bounds; the others come out for the full check.
struct Scan<'a> {
    entries: &'a Entries<'a>,
    machine: &'a Machine,
    /// The next entry, its attribute, and where that ends.
    next: usize,
    attribute: usize,
    end: usize,
    /// The entry at which to wake a worker.
    alarm: usize,
    /// Whether neighbours may become one span. Schedules and observers want them as they are.
    joins: bool,
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
    /// Appends the spans of entries whose memory is known, up to one that needs the full check.
    fn next(&mut self, spans: &mut Vec<Span>) -> Option<(usize, &'a BatchAttribute)> {
        loop {
            self.next = self.append(self.next..self.end.min(self.alarm), spans);
            let index = self.next;
            if index == self.alarm {
                self.machine.wake_worker_early();
                self.alarm = usize::MAX;
            } else if index < self.end {
                self.next += 1;
                return Some((index, &self.entries.attributes[self.attribute]));
            } else {
                self.attribute += 1;
                let starts = self.entries.starts;
                starts.get(self.attribute)?;
                self.end = starts.get(self.attribute + 1).copied().unwrap_or(self.entries.sizes.len());
                self.forget();
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
        let longest = if self.joins { COALESCE_MAX_LEN } else { 0 };
        while index < end {
            let (target, source, mut len) = (targets[index], sources[index], sizes[index]);
            let room = to.room(target).min(from.room(source));
            // No bytes at all wrap around to too many.
            if len.wrapping_sub(1) >= room {
                break;
            }
            index += 1;
            let room = room.min(longest);
            while index < end
                && targets[index] == target + len
                && sources[index] == source + len
                && sizes[index].wrapping_sub(1) < room.saturating_sub(len)
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
    fn cache_allocations(&mut self, checked: &Checked) {
        match (CachedAllocation::new(checked.target), CachedAllocation::new(checked.source)) {
            (Some(target), Some(source)) => (self.target, self.source) = (target, source),
            _ => self.forget(),
        }
    }

    fn forget(&mut self) {
        (self.target, self.source) = (CachedAllocation::default(), CachedAllocation::default());
    }
}

impl CachedAllocation {
    fn new(spot: ResolvedAddress) -> Option<CachedAllocation> {
        let extent = spot.extent?;
        Some(CachedAllocation { start: extent.start, size: extent.size, shift: spot.reach.wrapping_sub(spot.address) })
    }

    /// Bytes of the allocation from an address on; none when it lies elsewhere.
    #[inline]
    fn room(&self, address: usize) -> usize {
        let offset = address.wrapping_sub(self.start);
        self.size.saturating_sub(offset)
    }
}

#[inline]
fn check_location(side: &'static str, spot: ResolvedAddress, declared: Location) -> Result<()> {
    let fits = match spot.place {
        MemoryKind::Device(device) => declared.kind == DEVICE && declared.device == device,
        MemoryKind::Pinned | MemoryKind::Pageable => declared.kind == HOST || declared.kind == HOST_NUMA,
    };
    if fits {
        return Ok(());
    }
    fail(Error::Parameter(format!(
        "the {side} at {:#x} is {}, but was declared with location type {} and id {}{}",
        spot.address,
        spot.place.describe(),
        declared.kind,
        declared.device,
        if declared.kind == 2 { " (UNREGISTERED never matches: declare ordinary host memory as HOST)" } else { "" }
    )))
}

impl<'a> Entries<'a> {
    fn check_attributes(&self) -> Result<()> {
        let (attributes, entries) = (self.attributes.len(), self.sizes.len());
        if attributes == 0 || attributes > entries {
            return fail(Error::Parameter(format!(
                "{attributes} attributes (numAttrs) for {entries} entries: there must be 1 to {entries}"
            )));
        }
        Ok(())
    }

    fn check_starts(&self) -> Result<()> {
        let first = self.starts[0];
        if first != 0 {
            return fail(Error::Parameter(format!("attrsIndexes[0] is {first}, and must be 0")));
        }
        if let Some(k) = self.starts.windows(2).position(|pair| pair[0] >= pair[1]) {
            return fail(Error::Parameter(format!(
                "attrsIndexes must increase: element {} is {}, after {}",
                k + 1,
                self.starts[k + 1],
                self.starts[k]
            )));
        }
        let last = self.starts[self.starts.len() - 1];
        if last >= self.sizes.len() {
            return fail(Error::Parameter(format!(
                "attrsIndexes ends with {last}, but there are only {} entries",
                self.sizes.len()
            )));
        }
        Ok(())
    }

    /// The entry at which to wake a worker: about as long before the end as waking takes. Beyond the
    /// end for short batches.
    fn alarm(&self) -> usize {
        let count = self.sizes.len();
        if count < WORTH_WAKING { usize::MAX } else { count.saturating_sub(WAKE_LEAD) }
    }

    /// Each entry with its attribute.
    fn with_attributes(&self) -> impl Iterator<Item = (usize, &'a BatchAttribute)> + use<'a> {
        let ends = self.starts[1..].iter().copied().chain([self.sizes.len()]);
        let runs = self.starts.iter().copied().zip(ends).zip(self.attributes);
        runs.flat_map(|((start, end), attribute)| (start..end).map(move |index| (index, attribute)))
    }

    /// What the asynchronous call refuses in an entry before it looks at memory.
    #[inline]
    fn check_async_entry(&self, index: usize) -> Result<()> {
        if self.sizes[index] == 0 {
            return fail(Error::Parameter(format!("entry {index} has no bytes, while others have")));
        }
        self.check_elements(index)
            .map_err(|(side, _)| Box::new(Error::Parameter(format!("the {side} of entry {index} is NULL"))))
    }

    /// Names the element that is NULL.
    #[inline]
    fn check_elements(&self, index: usize) -> std::result::Result<(), (&'static str, usize)> {
        for (side, address) in [("destination", self.targets[index]), ("source", self.sources[index])] {
            if address == 0 {
                return Err((side, address));
            }
        }
        Ok(())
    }
}

fn batch(spans: Spans) -> Batch {
    let bytes = spans.iter().map(|span| span.len).sum();
    Batch { spans, bytes }
}
