//! Marks of the program: points in time, ranges, and texts of tasks, rebuilt from the logs of all threads.
//!
//! Trace events have a fixed size, so they carry the number of a text.

use crate::trace_event::{Interval, TextId, TimedEvent, TraceEvent};
use std::collections::BTreeMap;

/// A point in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// Index into `Timeline::threads`.
    pub(crate) thread: usize,
    pub(crate) ns: u64,
    pub(crate) text: TextId,
}

/// A range of time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// Index of the thread that opened it.
    pub(crate) thread: usize,
    pub(crate) number: u64,
    pub(crate) text: TextId,
    /// True if it nests in other ranges of its thread.
    pub(crate) is_nested: bool,
    pub(crate) interval: Interval,
}

/// All marks of a run.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub(crate) points: Vec<Point>,
    /// Ordered by their start.
    pub(crate) ranges: Vec<Range>,
    /// Numbers of texts, by stream and sequence number of the task.
    labels: BTreeMap<(u32, u64), TextId>,
}

impl Marks {
    /// Collects the marks in the records of all threads. A range that is not closed ends with the run; one that was
    /// opened before the run is left out.
    pub(crate) fn of(records: impl Iterator<Item = (usize, TimedEvent)>, run: Interval) -> Marks {
        let mut marks = Marks::default();
        let mut ends = BTreeMap::new();
        for (thread, TimedEvent { ns, event }) in records {
            match event {
                TraceEvent::Marked(text) => marks.points.push(Point { thread, ns, text }),
                TraceEvent::RangeOpened { range: number, text, is_nested } => {
                    let interval = Interval { start: ns, end: run.end };
                    marks.ranges.push(Range { thread, number, text, is_nested, interval });
                }
                TraceEvent::RangeClosed(number) => drop(ends.insert(number, ns)),
                TraceEvent::Labeled(at, text) => drop(marks.labels.insert((at.stream, at.sequence), text)),
                _ => {}
            }
        }
        for range in &mut marks.ranges {
            range.interval.end = ends.get(&range.number).copied().unwrap_or(run.end).max(range.interval.start);
        }
        marks.ranges.sort_by_key(|range| (range.interval.start, std::cmp::Reverse(range.interval.end)));
        marks
    }

    /// Returns the text that the program gave to a task.
    pub(crate) fn label(&self, stream: u32, sequence: u64) -> Option<TextId> {
        self.labels.get(&(stream, sequence)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_where_any_thread_closes_them_or_with_the_run() {
        let [outer, inner] = [TextId(0), TextId(1)];
        let opened = |range, text| TraceEvent::RangeOpened { range, text, is_nested: true };
        let records = [
            (0, 10, opened(1, outer)),
            (0, 20, opened(2, inner)),
            (0, 25, TraceEvent::Marked(inner)),
            (1, 30, TraceEvent::RangeClosed(2)),
            (1, 40, TraceEvent::RangeClosed(7)),
        ];
        let records = records.into_iter().map(|(thread, ns, event)| (thread, TimedEvent { ns, event }));
        let marks = Marks::of(records, Interval { start: 0, end: 50 });
        assert_eq!(marks.points, [Point { thread: 0, ns: 25, text: inner }]);
        let found = marks.ranges.iter().map(|range| (range.text, range.interval.start, range.interval.end));
        assert_eq!(found.collect::<Vec<_>>(), [(outer, 10, 50), (inner, 20, 30)]);
        assert_eq!(marks.label(0, 1), None);
    }
}
