//! The budget of a thread for copies that it does itself, on the spot, between two waits.
//!
//! A small copy on an idle stream is cheaper done than queued. But a thread that submits much must
//! not be turned into its own copy engine; and copies on the spot never overlap their cache misses,
//! because each lock waits for the stores before it (measured on cold memory: 570 ns for 64 bytes,
//! against 30 ns in a loop of `memcpy`). So what is likely to be cold costs more, and a thread whose
//! budget is spent queues.
//!
//! Beside it stands the volume: what the thread has submitted since anybody waited, on whatever
//! streams. Much of it goes past the cache, where it would only push other data out.

use crate::task::moves::Batch;
use softacl_memory::bytes::Span;
use softacl_sync::facade::thread_local;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longer copies are always queued.
pub(super) const MAX_INLINE_COPY: usize = 16 << 10;
/// Bytes between two waits.
const BUDGET: usize = 64 << 10;
/// What a copy far from the one before costs at least.
const FAR_PRICE: usize = 2 << 10;
/// The same in a batch, whose entries are fetched ahead: some 26 ns for 64 bytes.
const BATCHED_PRICE: usize = 512;
const NEAR: usize = 4 << 10;

thread_local! {
    /// Bytes spent, and where the last copy went.
    static SPENT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Bytes submitted, and the number of the wait before them.
    static VOLUME: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Counts the waits of all threads: one thread may submit what another waits for. A count that gets
/// lost between two threads does no harm.
static WAITS: AtomicUsize = AtomicUsize::new(0);

/// Adds to the volume of this thread, and tells it.
#[inline]
pub(super) fn add_volume(bytes: usize) -> usize {
    let waits = WAITS.load(Ordering::Relaxed);
    VOLUME.with(|cell| {
        let (volume, since) = cell.get();
        let volume = if since == waits { volume + bytes } else { bytes };
        cell.set((volume, waits));
        volume
    })
}

/// Takes a copy out of this thread's budget. `false`: there is not enough left.
#[inline]
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

/// Takes a batch out of this thread's budget, all or nothing.
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

#[inline]
fn price(span: Span, last: usize, far: usize) -> usize {
    let is_near = span.target.wrapping_sub(last).wrapping_add(NEAR) <= 2 * NEAR;
    if is_near { span.len } else { span.len.max(far) }
}

/// This thread has waited: what it submits now is new work.
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
    fn far_copies_cost_more_than_near_ones_and_a_wait_renews() {
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
    fn the_volume_grows_over_all_streams_until_a_wait() {
        refill();
        assert_eq!((add_volume(10), add_volume(20)), (10, 30));
        std::thread::spawn(refill).join().unwrap();
        assert_eq!(add_volume(5), 5);
    }

    #[test]
    fn a_batch_is_paid_for_as_a_whole_or_not_at_all() {
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
