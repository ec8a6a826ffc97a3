//! Lists of spans that are used again and again: batches, and groups of queued copies.
//!
//! A list returns to its shelf when it is dropped, so that a program in its stride allocates nothing
//! and touches no fresh page.

use crossbeam_queue::ArrayQueue;
use softacl_faults::Resource;
use softacl_faults::system;
use softacl_memory::bytes::Span;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Lists that are kept.
const MAX_POOLED_LISTS: usize = 16;
/// Entries of the longest list that is kept; it has 24 MiB.
const MAX_POOLED_SPANS: usize = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct SpanPool(Arc<ArrayQueue<Vec<Span>>>);

impl Default for SpanPool {
    fn default() -> Self {
        SpanPool(Arc::new(ArrayQueue::new(MAX_POOLED_LISTS)))
    }
}

impl SpanPool {
    /// An empty list with room for `capacity` entries.
    pub(crate) fn list(&self, capacity: usize) -> Spans {
        let mut list = self.0.pop().unwrap_or_default();
        list.reserve(capacity);
        Spans { list, span_pool: self.clone() }
    }

    /// The same for a number that the program has chosen. `None`: the host has not that much memory.
    pub(crate) fn list_of(&self, capacity: usize) -> Option<Spans> {
        let mut list = self.0.pop().unwrap_or_default();
        if list.capacity() < capacity {
            grow(&mut list, capacity)?;
        }
        Some(Spans { list, span_pool: self.clone() })
    }
}

#[cold]
fn grow(list: &mut Vec<Span>, capacity: usize) -> Option<()> {
    system::check_allowed(Resource::Buffer, capacity * size_of::<Span>()).ok()?;
    list.try_reserve(capacity).ok()
}

#[derive(Debug)]
pub(crate) struct Spans {
    list: Vec<Span>,
    span_pool: SpanPool,
}

impl Spans {
    /// The same once more. `None`: the host has not that much memory.
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
            // A full shelf is no loss.
            let _ = self.span_pool.0.push(list);
        }
    }
}

/// Whether copies may be done in any order: no target meets another target or a source. Leaves the
/// spans in `sorted`, by target.
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
        // The usual case: one side is device memory, the other is host memory.
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
    fn copies_commute_exactly_when_no_target_meets_anything() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut seen = [0, 0];
        for _ in 0..3000 {
            let count = random.usize(1..6);
            let spans: Vec<Span> = (0..count)
                .map(|_| span((random.usize(..60), random.usize(..60) + random.usize(..2) * 60, random.usize(1..9))))
                .collect();
            let meets = |a: usize, la: usize, b: usize, lb: usize| a < b + lb && b < a + la;
            let expected = (0..count).all(|i| {
                (0..count).all(|j| {
                    let (a, b) = (spans[i], spans[j]);
                    (i == j || !meets(a.target, a.len, b.target, b.len)) && !meets(a.target, a.len, b.source, b.len)
                })
            });
            assert_eq!(commute(&spans, &mut Vec::new()), expected, "{spans:?}");
            seen[usize::from(expected)] += 1;
        }
        assert!(seen[0] > 100 && seen[1] > 100, "{seen:?}");
    }

    #[test]
    fn a_list_comes_back_with_its_room() {
        let span_pool = SpanPool::default();
        let mut list = span_pool.list(100);
        list.push(span((1, 2, 3)));
        let room = list.capacity();
        drop(list);
        let again = span_pool.list(1);
        assert_eq!((again.len(), again.capacity()), (0, room));
    }
}
