//! Span lists that are recycled: those of batches and of coalesced copies.
//!
//! A list returns to its pool when it is dropped, so that a program in a steady state allocates nothing and touches no
//! fresh page.

use crossbeam_queue::ArrayQueue;
use softacl_faults::Resource;
use softacl_faults::system;
use softacl_memory::bytes::Span;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Maximum number of lists in the pool.
const MAX_POOLED_LISTS: usize = 16;
/// Maximum capacity of a pooled list, in entries. Such a list takes 24 MiB.
const MAX_POOLED_SPANS: usize = 1 << 20;

/// Pool of span lists.
#[derive(Clone, Debug)]
pub(crate) struct SpanPool(Arc<ArrayQueue<Vec<Span>>>);

impl Default for SpanPool {
    fn default() -> Self {
        SpanPool(Arc::new(ArrayQueue::new(MAX_POOLED_LISTS)))
    }
}

impl SpanPool {
    /// Returns an empty list with a capacity of at least `capacity`.
    pub(crate) fn list(&self, capacity: usize) -> Spans {
        let mut list = self.0.pop().unwrap_or_default();
        list.reserve(capacity);
        Spans { list, span_pool: self.clone() }
    }

    /// Returns an empty list for a length that the program chose. `None` if the host has too little memory.
    pub(crate) fn list_of(&self, capacity: usize) -> Option<Spans> {
        let mut list = self.0.pop().unwrap_or_default();
        if list.capacity() < capacity {
            grow(&mut list, capacity)?;
        }
        Some(Spans { list, span_pool: self.clone() })
    }
}

/// Grows a list. `None` if the host has too little memory, or a fault rule refuses it.
#[cold]
fn grow(list: &mut Vec<Span>, capacity: usize) -> Option<()> {
    system::check_allowed(Resource::Buffer, capacity * size_of::<Span>()).ok()?;
    list.try_reserve(capacity).ok()
}

/// A list of spans that returns to its pool.
#[derive(Debug)]
pub(crate) struct Spans {
    list: Vec<Span>,
    span_pool: SpanPool,
}

impl Spans {
    /// Copies the list. `None` if the host has too little memory.
    pub(crate) fn try_clone(&self) -> Option<Spans> {
        let mut copy = self.span_pool.list_of(self.list.len())?;
        copy.extend_from_slice(&self.list);
        Some(copy)
    }
}

impl Deref for Spans {
    type Target = Vec<Span>;

    fn deref(&self) -> &Vec<Span> {
        &self.list
    }
}

impl DerefMut for Spans {
    fn deref_mut(&mut self) -> &mut Vec<Span> {
        &mut self.list
    }
}

impl Drop for Spans {
    fn drop(&mut self) {
        let mut list = std::mem::take(&mut self.list);
        if (1..=MAX_POOLED_SPANS).contains(&list.capacity()) {
            list.clear();
            // If the pool is full, the list is freed.
            let _ = self.span_pool.0.push(list);
        }
    }
}

/// Returns `true` if the copies may run in any order: no target overlaps another target or a source. Leaves the spans
/// in `sorted`, ordered by target.
pub(crate) fn commute(spans: &[Span], sorted: &mut Vec<Span>) -> bool {
    sorted.clear();
    sorted.extend_from_slice(spans);
    sorted.sort_unstable_by_key(|span| span.target);
    let end = |span: &Span| span.target + span.len;
    if sorted.windows(2).any(|pair| end(&pair[0]) > pair[1].target) {
        return false;
    }
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return true };
    let lowest = spans.iter().map(|span| span.source).min().unwrap_or(0);
    let highest = spans.iter().map(|span| span.source + span.len).max().unwrap_or(0);
    if highest <= first.target || end(last) <= lowest {
        // The common case: one side is device memory, the other is host memory.
        return true;
    }
    spans.iter().all(|span| {
        let behind = sorted.partition_point(|other| other.target < span.source + span.len);
        behind == 0 || end(&sorted[behind - 1]) <= span.source
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span((target, source, len): (usize, usize, usize)) -> Span {
        Span { target, source, len }
    }

    #[test]
    fn copies_commute_iff_no_target_overlaps_any_range() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut seen = [0, 0];
        for _ in 0..3000 {
            let count = random.usize(1..6);
            let spans: Vec<Span> = (0..count)
                .map(|_| span((random.usize(..60), random.usize(..60) + random.usize(..2) * 60, random.usize(1..9))))
                .collect();
            let overlaps = |a: usize, la: usize, b: usize, lb: usize| a < b + lb && b < a + la;
            let expected = (0..count).all(|i| {
                (0..count).all(|j| {
                    let (a, b) = (spans[i], spans[j]);
                    (i == j || !overlaps(a.target, a.len, b.target, b.len))
                        && !overlaps(a.target, a.len, b.source, b.len)
                })
            });
            assert_eq!(commute(&spans, &mut Vec::new()), expected, "{spans:?}");
            seen[usize::from(expected)] += 1;
        }
        assert!(seen[0] > 100 && seen[1] > 100, "{seen:?}");
    }

    #[test]
    fn dropped_list_is_reused_with_its_capacity() {
        let span_pool = SpanPool::default();
        let mut list = span_pool.list(100);
        list.push(span((1, 2, 3)));
        let room = list.capacity();
        drop(list);
        let again = span_pool.list(1);
        assert_eq!((again.len(), again.capacity()), (0, room));
    }
}
