//! Coalescing: consecutive copies of a stream that run under one claim.
//!
//! The thread with the claim takes the whole queue out of the lane in one step, keeps the copies at its front and
//! returns the rest. Copies with disjoint ranges may then run in any order, on several threads. Overlapping ones run in
//! order.

use crate::executor::Executor;
use crate::executor::job::{Job, SHARE_MIN_WEIGHT, weight};
use crate::executor::run::LaneGuard;
use crate::executor::spans::{self, Spans};
use crate::keys::StreamKey;
use crate::machine::Machine;
use crate::slow_path::Reason;
use crate::task::Task;
use crate::task::moves::{self, Move};
use softacl_memory::bytes::{self, AccessFault, CachePolicy, Span};
use softacl_sync::facade::{Ordering, lock};
use std::collections::VecDeque;

/// Maximum number of copies that run under one claim. Large enough that the lane lock does not constantly move between
/// the submitting and the executing thread.
const MAX_GROUP_TASKS: usize = 512;
/// Maximum number of bytes that run under one claim. Completion is published at the end of the group, which is about a
/// millisecond later.
const MAX_GROUP_BYTES: usize = 16 << 20;
/// Minimum average length of entries that may bypass the cache.
const STREAMING_MIN_LEN: usize = 1 << 10;

impl Machine {
    /// Executes a claimed copy and at most `most` copies queued right after it. Returns the number of the last one.
    pub(super) fn run_copies(
        &self,
        key: StreamKey,
        mut lane: LaneGuard<'_>,
        sequence: u64,
        first: Span,
        most: usize,
    ) -> u64 {
        // An observer receives every copy when it runs, so none are coalesced. It may be attached but paused.
        let is_observed = self.observer().is_some() && self.reasons.has(Reason::Observer);
        let most = if is_observed { 0 } else { most };
        let mut rest = if most > 0 { lane.take() } else { VecDeque::new() };
        drop(lane);
        let newest = sequence + rest.len() as u64;
        let group = self.coalesce(&mut rest, first, most);
        if most > 0 {
            self.put_back(key, rest, newest);
        }
        match group {
            None => {
                self.copy_one(key, sequence, first);
                sequence
            }
            Some(group) => {
                self.copy_group(key, sequence, &group);
                sequence + group.len() as u64 - 1
            }
        }
    }

    /// Takes at most `most` copies from the front of `rest`. `None` if it does not begin with a copy.
    fn coalesce(&self, rest: &mut VecDeque<Task>, first: Span, most: usize) -> Option<Spans> {
        let mut take = || match rest.front() {
            Some(Task::Move(Move::Copy(span))) => {
                let span = *span;
                rest.pop_front();
                Some(span)
            }
            _ => None,
        };
        let second = take()?;
        let mut group = self.span_pool.list(MAX_GROUP_TASKS);
        group.extend([first, second]);
        let mut bytes = first.len + second.len;
        while group.len() <= most.min(MAX_GROUP_TASKS - 1) && bytes < MAX_GROUP_BYTES {
            let Some(span) = take() else { break };
            bytes += span.len;
            group.push(span);
        }
        Some(group)
    }

    /// Returns the tasks that were taken out of a lane and not started. Discards those that were dropped in between.
    fn put_back(&self, key: StreamKey, rest: VecDeque<Task>, newest: u64) {
        let dropped = lock(&self.streams.slot(key).tasks.lane).put_back(rest, newest);
        for task in dropped.into_iter().flatten() {
            self.discard(key, task);
        }
    }

    /// Executes one copy and records its failure.
    fn copy_one(&self, key: StreamKey, sequence: u64, span: Span) {
        let stream = self.streams.slot(key);
        let cache_policy = CachePolicy::of(stream.volume.load(Ordering::Relaxed));
        if let Err(error) = self.unless_stopped(stream, || self.copy_span(span, cache_policy)) {
            self.record_failure(key, sequence, "copy", *error);
        }
    }

    /// Executes consecutive copies as a group. Disjoint copies may be split between threads and may bypass the cache,
    /// depending on their total size; overlapping ones run in order.
    fn copy_group(&self, key: StreamKey, first: u64, group: &[Span]) {
        let stream = self.streams.slot(key);
        let bytes = group.iter().map(|span| span.len).sum();
        let cache_policy = self.cache_policy(stream.volume.load(Ordering::Relaxed), group.len(), bytes);
        let is_shared = weight(group.len(), bytes) >= SHARE_MIN_WEIGHT;
        if let Executor::Threads(workers) = &self.executor
            && (is_shared || cache_policy == CachePolicy::Streaming)
            && !self.is_stopped(stream)
        {
            // Without memory for the list, the copies run in order.
            if let Some(mut sorted) = self.span_pool.list_of(group.len())
                && spans::commute(group, &mut sorted)
            {
                let copied = if is_shared {
                    workers.share(self, Job::many(sorted, cache_policy))
                } else {
                    // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
                    unsafe { bytes::copy_unordered(sorted.as_slice(), 0..sorted.len(), cache_policy) }
                };
                if copied.is_ok() {
                    return;
                }
                // An address was not accessible: copies the group again, in order, to find out which. No source was
                // overwritten, so repeating a copy changes nothing.
            }
        }
        if group.iter().any(|span| span.len >= SHARE_MIN_WEIGHT) {
            for (number, span) in (first..).zip(group) {
                self.copy_one(key, number, *span);
            }
            return;
        }
        let mut next = 0;
        while next < group.len() && !self.is_stopped(stream) {
            // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
            let Err(failed) = (unsafe { bytes::copy_in_order(group, next..group.len()) }) else { return };
            let error = moves::inaccessible(group[failed])(AccessFault);
            self.record_failure(key, first + failed as u64, "copy", error);
            next = failed + 1;
        }
    }

    /// Cache policy for entries that belong to `volume` bytes of work. Short entries always go through the cache.
    pub(crate) fn cache_policy(&self, volume: usize, entries: usize, bytes: usize) -> CachePolicy {
        if bytes / entries < STREAMING_MIN_LEN { CachePolicy::Cached } else { CachePolicy::of(volume) }
    }
}
