//! A job: one large piece of work that several threads share.
//!
//! Units are taken from a counter, so nobody waits for a slow helper until the end. The thread that
//! made the job returns only when every unit is done: helpers touch nothing afterwards but the job
//! itself, which they hold by reference count.

use crate::bytes::{self, Fault, Span};
use crate::stream::bell::Bell;
use crate::task::Batch;
use crossbeam_utils::Backoff;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes of one unit. A choice, not measured here: meant to be small enough to balance two threads
/// and large enough that the counter does not show.
const UNIT: usize = 256 << 10;

pub(crate) struct Job {
    work: Work,
    units: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    faulted: AtomicBool,
    bell: Bell,
}

enum Work {
    One(Span),
    Many { spans: Box<[Span]>, per_unit: usize },
}

impl Job {
    pub(crate) fn one(span: Span) -> Job {
        Job::new(Work::One(span), span.len.div_ceil(UNIT))
    }

    pub(crate) fn many(batch: Batch) -> Job {
        let average = (batch.bytes / batch.spans.len()).max(1);
        let per_unit = (UNIT / average).max(1);
        let units = batch.spans.len().div_ceil(per_unit);
        Job::new(Work::Many { spans: batch.spans, per_unit }, units)
    }

    fn new(work: Work, units: usize) -> Job {
        Job {
            work,
            units,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            faulted: AtomicBool::new(false),
            bell: Bell::default(),
        }
    }

    /// Takes units until there are none left.
    pub(crate) fn help(&self) {
        while self.help_once() {}
    }

    /// Takes one unit. `false` when there are none left.
    pub(crate) fn help_once(&self) -> bool {
        let unit = self.next.fetch_add(1, Ordering::Relaxed);
        if unit >= self.units {
            return false;
        }
        let mut done = 1;
        if self.run(unit) == Err(Fault) {
            self.faulted.store(true, Ordering::Relaxed);
            // The rest would only fault again: nobody needs to try.
            let taken = self.next.swap(self.units, Ordering::Relaxed);
            done += self.units.saturating_sub(taken);
        }
        if self.done.fetch_add(done, Ordering::AcqRel) + done == self.units {
            self.bell.ring();
        }
        true
    }

    /// Helps, then waits for the other helpers.
    pub(crate) fn complete(&self) -> Result<(), Fault> {
        self.help();
        let finished = || self.done.load(Ordering::Acquire) == self.units;
        let backoff = Backoff::new();
        while !finished() && !backoff.is_completed() {
            backoff.snooze();
        }
        self.bell.sleep_until(None, finished);
        if self.faulted.load(Ordering::Relaxed) { Err(Fault) } else { Ok(()) }
    }

    fn run(&self, unit: usize) -> Result<(), Fault> {
        match &self.work {
            Work::One(span) => {
                let offset = unit * UNIT;
                bytes::copy_part(Span {
                    target: span.target + offset,
                    source: span.source + offset,
                    len: UNIT.min(span.len - offset),
                })
            }
            Work::Many { spans, per_unit } => {
                let first = unit * per_unit;
                let last = (first + per_unit).min(spans.len());
                spans[first..last].iter().try_for_each(|span| bytes::copy(*span))
            }
        }
    }
}
