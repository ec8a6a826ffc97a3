//! Totals of a timeline: data per stream, route and function, and the utilization of threads and streams over time.

use crate::allocations::Route;
use crate::timeline::{Interval, StreamRow, Task, Timeline};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of columns in a row, each an equal part of the run.
pub const COLUMNS: usize = 600;
/// Maximum number of rows for threads, and for streams.
const MAX_ROWS: usize = 32;

/// Totals of one process. Its JSON is the last line of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub process: u32,
    /// Time from the first trace event to the end of the process.
    pub ns: u64,
    pub tasks: u64,
    pub failed: u64,
    /// Tasks that never started because their stream was aborted or the program ended.
    pub never_started: u64,
    /// Bytes moved by tasks and by blocking calls.
    pub bytes: u64,
    /// Time during which at least one stream or thread moved bytes.
    pub copying_ns: u64,
    /// Time during which at least two streams or threads moved bytes.
    pub overlap_ns: u64,
    pub streams: Vec<StreamLine>,
    pub routes: Vec<RouteLine>,
    /// Sorted by total time, longest first.
    pub calls: Vec<CallLine>,
    /// Asynchronous calls that waited for their stream.
    pub blocked_calls: Vec<BlockedCalls>,
    pub rows: Vec<Row>,
    /// Number of threads and streams without a row, because busier ones filled the limit.
    pub rows_omitted: u64,
    /// Trace events beyond the limit.
    pub dropped_events: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamLine {
    pub stream: u32,
    pub device: u32,
    /// True for an internal stream that runs the steps of graphs.
    pub is_graph_stream: bool,
    pub tasks: u64,
    pub failed: u64,
    pub bytes: u64,
    pub busy_ns: u64,
    /// Median time from submit to start.
    pub queued_median_ns: u64,
    pub longest_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RouteLine {
    pub operation: String,
    pub route: Route,
    pub count: u64,
    pub bytes: u64,
    pub ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallLine {
    pub function: String,
    pub calls: u64,
    pub failed: u64,
    pub ns: u64,
    pub longest_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockedCalls {
    pub function: String,
    pub calls: u64,
    pub ns: u64,
}

/// Utilization of a thread or a stream over the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub is_stream: bool,
    /// Share of each column that was spent in a call or running a task, in thousandths.
    pub busy: Vec<u16>,
}

impl Summary {
    pub(crate) fn of(timeline: &Timeline) -> Summary {
        let tasks = || timeline.tasks.values();
        let moved = tasks().filter(|task| task.is_done()).map(|task| task.transfer.bytes);
        let moving = moving(timeline);
        let (rows, rows_omitted) = rows(timeline);
        Summary {
            process: timeline.process,
            ns: timeline.end - timeline.start,
            tasks: tasks().count() as u64,
            failed: tasks().filter(|task| task.code != 0).count() as u64,
            // A task whose start may have gone unrecorded is not counted.
            never_started: tasks()
                .filter(|task| task.started.is_none() && (task.dropped.is_some() || !timeline.is_partial))
                .count() as u64,
            bytes: moved
                .chain(timeline.accesses.iter().filter(|access| access.is_done).map(|access| access.transfer.bytes))
                .sum(),
            copying_ns: covered(&moving, 1),
            overlap_ns: covered(&moving, 2),
            streams: streams(timeline),
            routes: routes(timeline),
            calls: calls(timeline),
            blocked_calls: blocked_calls(timeline),
            rows,
            rows_omitted,
            dropped_events: timeline.dropped,
        }
    }
}

/// Returns the intervals in which a stream or a thread moved bytes, unsorted.
fn moving(timeline: &Timeline) -> Vec<Interval> {
    let tasks = timeline.tasks.values().filter(|task| task.transfer.bytes > 0 && task.code == 0);
    let accesses = timeline.accesses.iter().filter(|access| access.transfer.bytes > 0 && access.is_done);
    tasks.filter_map(|task| task.busy(timeline.end)).chain(accesses.map(|access| access.interval)).collect()
}

/// Returns how long at least `depth` of the intervals were open.
fn covered(intervals: &[Interval], depth: i64) -> u64 {
    let mut edges: Vec<(u64, i64)> =
        intervals.iter().flat_map(|interval| [(interval.start, 1), (interval.end, -1)]).collect();
    edges.sort_unstable();
    let (mut open, mut since, mut total) = (0, 0, 0);
    for (time, step) in edges {
        if open >= depth {
            total += time - since;
        }
        open += step;
        since = time;
    }
    total
}

fn streams(timeline: &Timeline) -> Vec<StreamLine> {
    let line = |(row, tasks): (StreamRow, Vec<&Task>)| {
        let busy = || tasks.iter().filter_map(|task| task.busy(timeline.end)).map(Interval::ns);
        let mut queued: Vec<u64> =
            tasks.iter().filter_map(|task| Some(task.started?.saturating_sub(task.submitted))).collect();
        queued.sort_unstable();
        StreamLine {
            stream: row.stream,
            device: row.device,
            is_graph_stream: row.is_graph_stream,
            tasks: tasks.len() as u64,
            failed: tasks.iter().filter(|task| task.code != 0).count() as u64,
            bytes: tasks.iter().filter(|task| task.is_done()).map(|task| task.transfer.bytes).sum(),
            busy_ns: busy().sum(),
            queued_median_ns: queued.get(queued.len() / 2).copied().unwrap_or(0),
            longest_ns: busy().max().unwrap_or(0),
        }
    };
    timeline.stream_rows().into_iter().map(line).collect()
}

fn routes(timeline: &Timeline) -> Vec<RouteLine> {
    let tasks = timeline.tasks.values().filter(|task| task.transfer.entries > 0 && task.is_done());
    let tasks = tasks.filter_map(|task| Some((task.name, task.transfer, task.busy(timeline.end)?)));
    let accesses = timeline
        .accesses
        .iter()
        .filter(|access| access.transfer.entries > 0 && access.is_done)
        .map(|access| (access.name, access.transfer, access.interval));
    let mut lines: BTreeMap<(&str, Route), RouteLine> = BTreeMap::new();
    for (name, transfer, interval) in tasks.chain(accesses) {
        let name = timeline.text(name);
        let fresh = || RouteLine { operation: name.to_owned(), route: transfer.route, count: 0, bytes: 0, ns: 0 };
        let line = lines.entry((name, transfer.route)).or_insert_with(fresh);
        line.count += 1;
        line.bytes += transfer.bytes;
        line.ns += interval.ns();
    }
    let mut lines: Vec<RouteLine> = lines.into_values().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.bytes));
    lines
}

fn calls(timeline: &Timeline) -> Vec<CallLine> {
    let mut lines: BTreeMap<&str, CallLine> = BTreeMap::new();
    for call in &timeline.calls {
        let function = timeline.text(call.function);
        let fresh = || CallLine { function: function.to_owned(), calls: 0, failed: 0, ns: 0, longest_ns: 0 };
        let line = lines.entry(function).or_insert_with(fresh);
        line.calls += 1;
        line.failed += u64::from(call.code != 0);
        line.ns += call.interval.ns();
        line.longest_ns = line.longest_ns.max(call.interval.ns());
    }
    let mut lines: Vec<CallLine> = lines.into_values().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.ns));
    lines
}

fn blocked_calls(timeline: &Timeline) -> Vec<BlockedCalls> {
    let mut lines: BTreeMap<&str, BlockedCalls> = BTreeMap::new();
    for call in timeline.calls.iter().filter(|call| call.blocked_ns > 0) {
        let function = timeline.text(call.function);
        let fresh = || BlockedCalls { function: function.to_owned(), calls: 0, ns: 0 };
        let line = lines.entry(function).or_insert_with(fresh);
        line.calls += 1;
        line.ns += call.blocked_ns;
    }
    lines.into_values().collect()
}

/// Returns the busiest threads and streams in their original order, and the number of omitted ones.
fn rows(timeline: &Timeline) -> (Vec<Row>, u64) {
    let mut calls: Vec<Vec<Interval>> = vec![Vec::new(); timeline.threads.len()];
    for call in &timeline.calls {
        calls[call.thread].push(call.interval);
    }
    let name = |index: usize| format!("{} ({})", timeline.threads[index].name, timeline.threads[index].id);
    let threads = calls.into_iter().enumerate().filter(|(_, intervals)| !intervals.is_empty());
    let threads = threads.map(|(index, intervals)| (name(index), intervals)).collect();
    let stream = |(row, tasks): (StreamRow, Vec<&Task>)| {
        let intervals = tasks.iter().filter_map(|task| task.busy(timeline.end)).collect();
        (format!("{row}, device {}", row.device), intervals)
    };
    let (threads, more_threads) = busiest(timeline, threads, false);
    let (streams, more_streams) = busiest(timeline, timeline.stream_rows().into_iter().map(stream).collect(), true);
    (threads.into_iter().chain(streams).collect(), more_threads + more_streams)
}

fn busiest(timeline: &Timeline, rows: Vec<(String, Vec<Interval>)>, is_stream: bool) -> (Vec<Row>, u64) {
    let more = rows.len().saturating_sub(MAX_ROWS) as u64;
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(rows[*index].1.iter().map(|interval| interval.ns()).sum::<u64>()));
    order.truncate(MAX_ROWS);
    order.sort_unstable();
    let mut rows: Vec<Option<(String, Vec<Interval>)>> = rows.into_iter().map(Some).collect();
    let chosen = order.into_iter().filter_map(|index| rows[index].take());
    (chosen.map(|(name, intervals)| Row { name, is_stream, busy: columns(timeline, intervals) }).collect(), more)
}

/// Returns the share of each column that the intervals cover. Intervals may be nested.
fn columns(timeline: &Timeline, mut intervals: Vec<Interval>) -> Vec<u16> {
    intervals.sort_unstable_by_key(|interval| interval.start);
    let total = (timeline.end - timeline.start).max(1);
    let edge = |column: usize| (u128::from(total) * column as u128 / COLUMNS as u128) as u64;
    let column_of = |time: u64| (u128::from(time) * COLUMNS as u128 / u128::from(total)) as usize;
    let mut covered = vec![0u64; COLUMNS];
    let mut reached = 0;
    for interval in intervals {
        let (start, end) = ((interval.start - timeline.start).max(reached), interval.end - timeline.start);
        for (column, covered) in covered.iter_mut().enumerate().take(column_of(end) + 1).skip(column_of(start)) {
            *covered += edge(column + 1).min(end).saturating_sub(edge(column).max(start));
        }
        reached = reached.max(end);
    }
    let share = |(column, covered): (usize, u64)| {
        let width = (edge(column + 1) - edge(column)).max(1);
        // Even the shortest interval is visible.
        if covered == 0 { 0 } else { (covered * 1000 / width).clamp(1, 1000) as u16 }
    };
    covered.into_iter().enumerate().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(pairs: &[(u64, u64)]) -> Vec<Interval> {
        pairs.iter().map(|(start, end)| Interval { start: *start, end: *end }).collect()
    }

    #[test]
    fn overlap_counts_time_with_at_least_that_many_intervals() {
        let all = intervals(&[(0, 10), (5, 20), (8, 9), (20, 30), (40, 40)]);
        assert_eq!(covered(&all, 1), 30);
        assert_eq!(covered(&all, 2), 5);
        assert_eq!(covered(&all, 3), 1);
        assert_eq!(covered(&[], 1), 0);
    }

    #[test]
    fn columns_hold_the_covered_share_of_nested_intervals() {
        let timeline = Timeline { start: 100, end: 100 + 60_000, ..Timeline::default() };
        // A column is 100 ns wide.
        let busy = columns(&timeline, intervals(&[(100, 250), (150, 200), (1100, 1101), (60_050, 60_100)]));
        assert_eq!(busy.len(), COLUMNS);
        assert_eq!(busy[..3], [1000, 500, 0]);
        assert_eq!((busy[10], busy[COLUMNS - 1]), (10, 500));
        assert_eq!(busy.iter().filter(|share| **share > 0).count(), 4);
    }

    #[test]
    fn short_timelines_still_fill_all_columns() {
        let timeline = Timeline { start: 7, end: 9, ..Timeline::default() };
        assert_eq!(columns(&timeline, intervals(&[(7, 9)])).len(), COLUMNS);
        let timeline = Timeline { start: 7, end: 7, ..Timeline::default() };
        assert_eq!(columns(&timeline, intervals(&[(7, 7)])), vec![0; COLUMNS]);
    }
}
