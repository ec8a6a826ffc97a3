//! Batches: several ranges in one call, in any order.
//!
//! On chips that queue as they check, the asynchronous call proceeds entry by entry: when entry i is refused, the
//! entries before it are already queued. Chips with UB links check all entries first. The profile selects the behavior.

mod entries;
mod scan;

pub use entries::{BatchAttribute, Location};

use crate::caller::Caller;
use crate::caller::Submission;
use crate::executor::spans::Spans;
use crate::observer::AccessKind;
use crate::observer::Advisory;
use crate::task::moves::{Batch, Move};
use entries::Entries;
use scan::Scan;
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes::{CachePolicy, Span};
use softacl_memory::{Finder, MemoryKind, ResolvedAddress};

/// Maximum number of entries of a synchronous batch (specification 1.5).
const MAX_SYNC: usize = 4096;

/// Location types of the API.
const HOST: i32 = 0;
const DEVICE: i32 = 1;
const UNREGISTERED: i32 = 2;
const MANAGED: i32 = 3;
const HOST_NUMA: i32 = 4;

/// A batch, as the program passes it. `None` is a NULL array.
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

/// Why a batch was refused, and what the fail index reports.
#[derive(Debug)]
pub struct BatchFailure {
    pub error: Box<Error>,
    pub index: FailIndex,
}

/// What the program receives as the fail index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailIndex {
    /// The output is not written.
    Untouched,
    /// No entry failed.
    None,
    Entry(usize),
}

/// The failure of an entry. Its message names the entry, because not every form of the call has a fail index.
fn of_entry(index: usize, error: Box<Error>) -> BatchFailure {
    BatchFailure { error: Box::new(Error::Entry { index, error }), index: FailIndex::Entry(index) }
}

fn untouched(error: Box<Error>) -> BatchFailure {
    BatchFailure { error, index: FailIndex::Untouched }
}

fn no_entry_failed(error: Box<Error>) -> BatchFailure {
    BatchFailure { error, index: FailIndex::None }
}

type BatchResult<T> = std::result::Result<T, BatchFailure>;

impl Caller<'_> {
    /// Copies a batch immediately. Ordered with no stream.
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
            let entry = |error| of_entry(index, error);
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

    /// Queues a batch on a stream.
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

    /// Returns an empty list with room for all entries.
    fn list_for(&self, entries: &Entries<'_>) -> BatchResult<Spans> {
        let count = entries.sizes.len();
        let none = || Error::NoHostBuffer { what: "a batch", asked: count * size_of::<Span>() };
        self.machine.span_pool.list_of(count).ok_or_else(|| no_entry_failed(Box::new(none())))
    }

    /// Checks and queues entry by entry. Entries are queued as one task, unless a pageable entry comes between.
    fn batch_entry_by_entry(&self, entries: &Entries<'_>, at: Submission<'_>) -> BatchResult<()> {
        let mut spans = self.list_for(entries)?;
        let mut finder = self.machine.memory.finder();
        let mut scan = Scan::new(self.machine, entries);
        while let Some((index, attribute)) = scan.next(&mut spans) {
            let checked =
                entries.check_async_entry(index).and_then(|()| self.check_entry(&finder, entries, index, attribute));
            let checked = match checked {
                Ok(checked) => checked,
                Err(error) => {
                    self.queue_batch(&mut spans, at)?;
                    return Err(of_entry(index, error));
                }
            };
            let span = checked.span;
            if !checked.is_pageable() {
                if spans.is_empty() && at.stream.context() != Some(at.context) {
                    return Err(no_entry_failed(Box::new(self.machine.other_context("stream", at.stream, at.context))));
                }
                spans.push(span);
                scan.cache_allocations(checked.target, checked.source);
                continue;
            }
            // Clears the cache, because what is queued next is another task, whose first entry must take the full
            // check.
            scan.clear_cache();
            drop(finder);
            self.queue_batch(&mut spans, at)?;
            self.check_may_drain(at.stream).map_err(no_entry_failed)?;
            self.drain_for(at, MemoryKind::Pageable, MemoryKind::Pageable).map_err(no_entry_failed)?;
            let _guard = softacl_memory::segv::enter();
            let touches = || self.machine.memory.touches_of(&span).to_vec();
            let run = || self.machine.copy_span(span, CachePolicy::of(span.len));
            self.machine.with_access(AccessKind::Copy, touches, run).map_err(no_entry_failed)?;
            finder = self.machine.memory.finder();
        }
        drop(finder);
        self.queue_batch(&mut spans, at)
    }

    /// Checks all entries before it queues any.
    fn batch_checked_first(&self, entries: &Entries<'_>, at: Submission<'_>) -> BatchResult<()> {
        let mut spans = self.list_for(entries)?;
        let mut any_pageable = false;
        let finder = self.machine.memory.finder();
        let mut scan = Scan::new(self.machine, entries);
        while let Some((index, attribute)) = scan.next(&mut spans) {
            let checked = entries
                .check_async_entry(index)
                .and_then(|()| self.check_entry(&finder, entries, index, attribute))
                .map_err(|error| of_entry(index, error))?;
            any_pageable |= checked.is_pageable();
            spans.push(checked.span);
            scan.cache_allocations(checked.target, checked.source);
        }
        drop(finder);
        if !any_pageable {
            return self.queue_batch(&mut spans, at);
        }
        self.check_may_drain(at.stream).map_err(no_entry_failed)?;
        self.drain_for(at, MemoryKind::Pageable, MemoryKind::Pageable).map_err(no_entry_failed)?;
        self.copy_batch_now(spans)
    }

    /// Copies on the calling thread, immediately.
    fn copy_batch_now(&self, spans: Spans) -> BatchResult<()> {
        let _guard = softacl_memory::segv::enter();
        let touches = match self.machine.has_hooks() {
            true => spans.iter().flat_map(|span| self.machine.memory.touches_of(span)).collect(),
            false => Vec::new(),
        };
        let run = || self.machine.copy_batch(batch(spans), 0);
        self.machine.with_access(AccessKind::BatchCopy, || touches, run).map_err(no_entry_failed)
    }

    /// Queues the collected spans as one task and leaves an empty list.
    fn queue_batch(&self, spans: &mut Spans, at: Submission<'_>) -> BatchResult<()> {
        if spans.is_empty() {
            return Ok(());
        }
        let queued = std::mem::replace(spans, self.machine.span_pool.list(0));
        self.queue(at, Move::Batch(Box::new(batch(queued)))).map_err(no_entry_failed)
    }

    /// The checks that leave the fail index unwritten. `None` if there is nothing to copy.
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
        // First without an early exit, which is several times faster.
        let fit = sizes.iter().zip(capacities).fold(true, |fit, (size, capacity)| fit & (capacity >= size));
        let too_long = || sizes.iter().zip(capacities).position(|(size, capacity)| capacity < size);
        if !fit && let Some(index) = too_long() {
            return fail(Error::Argument(format!(
                "entry {index} has {} bytes but its destination was declared to hold {} (destMaxs)",
                sizes[index], capacities[index]
            )));
        }
        if self.machine.observer().is_some() && sizes.len() > 1 && sizes == capacities {
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

    /// Validates one entry.
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
                "it goes from {} to {}, and a batch copies between host and device only",
                source.describe(),
                target.describe()
            )));
        }
        self.check_not_remote([target, source])?;
        let span = self.span(target, source, entries.sizes[index])?;
        Ok(Checked { span, target, source })
    }
}

/// An entry that passed validation.
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

#[inline]
fn check_location(side: &'static str, resolved: ResolvedAddress, declared: Location) -> Result<()> {
    let fits = match resolved.place {
        MemoryKind::Device(device) => declared.kind == DEVICE && declared.device == device,
        MemoryKind::Pinned | MemoryKind::Pageable => declared.kind == HOST || declared.kind == HOST_NUMA,
    };
    if fits {
        return Ok(());
    }
    fail(Error::Parameter(format!(
        "{side} is {}, declared {} (its address is {:#x})",
        resolved.describe(),
        describe_declared(declared),
        resolved.address,
    )))
}

/// A declared location in words.
fn describe_declared(declared: Location) -> String {
    match declared.kind {
        HOST => "host".to_owned(),
        DEVICE => format!("device {}", declared.device),
        UNREGISTERED => "unregistered, which never matches: declare pageable host memory as host".to_owned(),
        MANAGED => format!("managed memory of device {}", declared.device),
        HOST_NUMA => format!("host, NUMA node {}", declared.device),
        other => format!("with location type {other}, which does not exist"),
    }
}

fn batch(spans: Spans) -> Batch {
    let bytes = spans.iter().map(|span| span.len).sum();
    Batch { spans, bytes }
}
