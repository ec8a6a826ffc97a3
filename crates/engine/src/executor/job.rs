//! Jobs: large pieces of work that several threads share.
//!
//! `WorkUnits` hands out the units. The thread that created the job returns only when every unit is done. After that,
//! helpers access only the job, which they keep alive by reference count.

use crate::executor::spans::Spans;
use crate::task::moves::Plane;
use crossbeam_utils::Backoff;
use softacl_memory::bytes::{self, AccessFault, CachePolicy, Span, SpanList};
use softacl_sync::work_units::WorkUnits;

/// Bytes of one unit. Chosen, not measured: small enough to balance two threads, large enough to hide the cost of the
/// counter.
const UNIT: usize = 256 << 10;
/// Minimum weight of an entry, in bytes: a short copy costs its cache misses, not its length.
const MIN_ENTRY_WEIGHT: usize = 512;

/// Minimum weight of work that is shared between threads.
pub(crate) const SHARE_MIN_WEIGHT: usize = 1 << 20;

/// One piece of work, and its units.
pub(crate) struct Job {
    work: JobWork,
    cache_policy: CachePolicy,
    units: WorkUnits,
}

enum JobWork {
    One(Span),
    /// Entries of equal length, `per_unit` to a unit.
    Many {
        spans: Spans,
        per_unit: usize,
    },
    /// Entries of any length. `ends` has the index after the last entry of each unit.
    Mixed {
        spans: Spans,
        ends: Box<[usize]>,
    },
    Rows {
        plane: Plane,
        per_unit: usize,
    },
}

/// Weight of a copy of `entries` entries with `bytes` bytes in total.
pub(crate) fn weight(entries: usize, bytes: usize) -> usize {
    bytes.max(entries * MIN_ENTRY_WEIGHT)
}

impl Job {
    /// A job that copies one range.
    pub(crate) fn one(span: Span, cache_policy: CachePolicy) -> Job {
        Job::new(JobWork::One(span), span.len.div_ceil(UNIT), cache_policy)
    }

    /// A job that copies entries in any order. `spans` must not be empty.
    pub(crate) fn many(mut spans: Spans, cache_policy: CachePolicy) -> Job {
        let len = spans[0].len;
        if len <= 2 * UNIT && spans.iter().all(|span| span.len == len) {
            let per_unit = per_unit(len);
            let units = spans.len().div_ceil(per_unit);
            return Job::new(JobWork::Many { spans, per_unit }, units, cache_policy);
        }
        split_long(&mut spans);
        let mut ends = Vec::new();
        let mut load = 0;
        for (index, span) in spans.iter().enumerate() {
            load += span.len.max(MIN_ENTRY_WEIGHT);
            if load >= UNIT {
                ends.push(index + 1);
                load = 0;
            }
        }
        if load > 0 {
            ends.push(spans.len());
        }
        let units = ends.len();
        Job::new(JobWork::Mixed { spans, ends: ends.into_boxed_slice() }, units, cache_policy)
    }

    /// A job that copies rows in any order.
    pub(crate) fn rows(plane: Plane, cache_policy: CachePolicy) -> Job {
        let per_unit = per_unit(plane.width);
        Job::new(JobWork::Rows { plane, per_unit }, plane.height.div_ceil(per_unit), cache_policy)
    }

    fn new(work: JobWork, units: usize, cache_policy: CachePolicy) -> Job {
        Job { work, cache_policy, units: WorkUnits::new(units) }
    }

    /// Runs units until none is left.
    pub(crate) fn run_units(&self) {
        while self.run_unit() {}
    }

    /// Runs one unit. Returns `false` if none is left.
    pub(crate) fn run_unit(&self) -> bool {
        self.units.take(|unit| self.run(unit).is_ok())
    }

    /// Runs units, then waits for the helpers.
    pub(crate) fn run_to_completion(&self) -> Result<(), AccessFault> {
        self.run_units();
        let backoff = Backoff::new();
        while !self.units.is_complete() && !backoff.is_completed() {
            backoff.snooze();
        }
        self.units.wait();
        if self.units.has_failed() { Err(AccessFault) } else { Ok(()) }
    }

    /// Copies the entries of one unit.
    fn run(&self, unit: usize) -> Result<(), AccessFault> {
        let several = |count: usize, per_unit: usize| unit * per_unit..count.min((unit + 1) * per_unit);
        match &self.work {
            JobWork::One(span) => {
                let offset = unit * UNIT;
                // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                unsafe { bytes::copy_as(part(*span, offset, UNIT.min(span.len - offset)), self.cache_policy) }
            }
            JobWork::Many { spans, per_unit } => {
                // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                unsafe { bytes::copy_unordered(spans.as_slice(), several(spans.len(), *per_unit), self.cache_policy) }
            }
            JobWork::Mixed { spans, ends } => {
                let start = unit.checked_sub(1).map_or(0, |before| ends[before]);
                // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                unsafe { bytes::copy_unordered(spans.as_slice(), start..ends[unit], self.cache_policy) }
            }
            JobWork::Rows { plane, per_unit } => {
                // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                unsafe { bytes::copy_unordered(plane, several(plane.height, *per_unit), self.cache_policy) }
            }
        }
    }
}

impl SpanList for Plane {
    #[inline]
    fn span(&self, index: usize) -> Span {
        self.row(index)
    }
}

/// Number of entries of length `len` in a unit.
fn per_unit(len: usize) -> usize {
    (UNIT / len.max(MIN_ENTRY_WEIGHT)).max(1)
}

/// Splits entries that are longer than a unit.
fn split_long(spans: &mut Vec<Span>) {
    for index in 0..spans.len() {
        let span = spans[index];
        let mut offset = UNIT;
        while offset < span.len {
            spans[index].len = UNIT;
            spans.push(part(span, offset, UNIT.min(span.len - offset)));
            offset += UNIT;
        }
    }
}

fn part(span: Span, offset: usize, len: usize) -> Span {
    Span { target: span.target + offset, source: span.source + offset, len }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::spans::SpanPool;

    /// Every byte of every entry is moved exactly once, for all lengths.
    #[test]
    fn units_cover_every_entry_once() {
        for lens in [vec![64; 3000], vec![UNIT; 3], vec![3 * UNIT + 5, 1, UNIT, UNIT + 1, 700_000], vec![1]] {
            let total: usize = lens.iter().sum();
            let source: Vec<u8> = (0..total).map(|i| (i * 7 + i / 251) as u8).collect();
            let mut target = vec![0u8; total];
            let mut spans = SpanPool::default().list(0);
            let mut at = 0;
            for len in lens {
                spans.push(Span {
                    target: target.as_mut_ptr() as usize + at,
                    source: source.as_ptr() as usize + at,
                    len,
                });
                at += len;
            }
            for cache_policy in [CachePolicy::Cached, CachePolicy::Streaming] {
                let mut list = SpanPool::default().list(0);
                list.extend_from_slice(&spans);
                target.fill(0);
                Job::many(list, cache_policy).run_to_completion().unwrap();
                assert!(target == source);
            }
        }
    }
}
