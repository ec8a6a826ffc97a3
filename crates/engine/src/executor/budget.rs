//! The inline budget: how much a thread copies inline between two waits.
//!
//! Executing a small copy on an idle stream is cheaper than queueing it. But a thread that submits a lot must not
//! become the copy engine, and inline copies never overlap their cache misses, because each lock waits for the stores
//! before it (measured on cold memory: 570 ns for 64 bytes, against 30 ns in a loop of `memcpy`). Copies that are
//! likely to be cold therefore cost more, and a thread that has spent its budget queues.
//!
//! Next to the budget is the volume: the bytes that a thread has submitted since the last wait of any thread, on all
//! streams. Large volumes bypass the cache, where they would only evict other data.

use crate::task::moves::Batch;
use softacl_memory::bytes::Span;
use softacl_sync::facade::thread_local;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longest copy that runs inline.
pub(super) const MAX_INLINE_COPY: usize = 16 << 10;
/// Bytes that a thread may copy inline between two waits.
const BUDGET: usize = 64 << 10;
/// Minimum cost of a copy that is far from the previous one.
const FAR_PRICE: usize = 2 << 10;
/// Minimum cost of a far entry of a batch. Entries are prefetched, so they take about 26 ns for 64 bytes.
const BATCHED_PRICE: usize = 512;
/// Copies within this distance of the previous one are near.
const NEAR: usize = 4 << 10;

thread_local! {
    /// Bytes spent, and the target of the last copy.
    static SPENT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Bytes submitted, and the value of `WAITS` when the count began.
    static VOLUME: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Counts the waits of all threads, because one thread may submit what another waits for. A lost increment is harmless.
static WAITS: AtomicUsize = AtomicUsize::new(0);

/// Adds to the volume of this thread and returns the sum.
#[inline(always)]
pub(super) fn add_volume(bytes: usize) -> usize {
    let waits = WAITS.load(Ordering::Relaxed);
    VOLUME.with(|cell| {
        let (volume, since) = cell.get();
        let volume = if since == waits { volume + bytes } else { bytes };
        cell.set((volume, waits));
        volume
    })
}

/// Charges a copy to the budget of this thread. Returns `false` if too little is left.
#[inline(always)]
pub(super) fn try_spend(span: Span) -> bool {
    SPENT.with(|cell| {
        let (spent, last) = cell.get();
        let spent = spent + price(span, last, FAR_PRICE);
        let affordable = spent <= BUDGET;
        if affordable {
            cell.set((spent, span.target));
        }
        affordable
    })
}

/// Charges a batch to the budget of this thread, all or nothing. Returns `false` if too little is left.
pub(super) fn try_spend_batch(batch: &Batch) -> bool {
    SPENT.with(|cell| {
        let (mut spent, mut last) = cell.get();
        if spent + batch.bytes > BUDGET {
            return false;
        }
        for span in batch.spans.iter() {
            spent += price(*span, last, BATCHED_PRICE);
            last = span.target;
            if spent > BUDGET {
                return false;
            }
        }
        cell.set((spent, last));
        true
    })
}

/// Cost of a copy after one with the target `last`. `far` is the minimum cost of a far copy.
#[inline]
fn price(span: Span, last: usize, far: usize) -> usize {
    let is_near = span.target.wrapping_sub(last).wrapping_add(NEAR) <= 2 * NEAR;
    if is_near { span.len } else { span.len.max(far) }
}

/// Restores the budget and resets the volumes. Called after a wait.
#[inline]
pub(crate) fn refill() {
    WAITS.store(WAITS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    SPENT.with(|cell| cell.set((0, cell.get().1)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::spans::SpanPool;

    #[test]
    fn far_copies_cost_more_and_wait_restores_budget() {
        let copies = |step: usize| {
            refill();
            (1..).take_while(|n| try_spend(Span { target: n * step, source: 0, len: 64 })).count()
        };
        assert_eq!(copies(1 << 20), BUDGET / FAR_PRICE);
        assert!(copies(64) > 900);
        assert!(!try_spend(Span { target: 0, source: 0, len: MAX_INLINE_COPY }));
        refill();
        assert!(try_spend(Span { target: 0, source: 0, len: MAX_INLINE_COPY }));
    }

    #[test]
    fn volume_grows_until_any_thread_waits() {
        refill();
        assert_eq!((add_volume(10), add_volume(20)), (10, 30));
        std::thread::spawn(refill).join().unwrap();
        assert_eq!(add_volume(5), 5);
    }

    #[test]
    fn batch_is_charged_entirely_or_not_at_all() {
        let batch = |count: usize, step: usize| {
            let mut spans = SpanPool::default().list(count);
            spans.extend((1..=count).map(|n| Span { target: n * step, source: 0, len: 64 }));
            Batch { spans, bytes: 64 * count }
        };
        refill();
        assert!(!try_spend_batch(&batch(BUDGET / BATCHED_PRICE + 1, 1 << 20)));
        assert!(!try_spend_batch(&batch(BUDGET / 64 + 1, 64)));
        assert!(try_spend_batch(&batch(900, 64)));
        assert!(!try_spend_batch(&batch(900, 64)));
        refill();
        assert!(try_spend_batch(&batch(BUDGET / BATCHED_PRICE, 1 << 20)));
    }
}
