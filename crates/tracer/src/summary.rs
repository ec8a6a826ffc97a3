//! A story in numbers: what a reader wants to know before looking at the timeline.

use crate::allocations::Route;
use crate::timeline::{Interval, StreamRow, Task, Timeline};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How finely rows are resolved.
pub const COLUMNS: usize = 600;
/// Threads at most, and streams.
const ROWS: usize = 32;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub process: u32,
    /// From the first call to the end.
    pub ns: u64,
    pub tasks: u64,
    pub failed: u64,
    /// Tasks that never started: their stream was aborted, or the program ended.
    pub never_started: u64,
    /// Moved by tasks and by blocking calls.
    pub bytes: u64,
    /// When anything was moving, and when two streams or threads moved bytes at the same time.
    pub copying_ns: u64,
    pub overlap_ns: u64,
    pub streams: Vec<StreamLine>,
    pub routes: Vec<RouteLine>,
    /// The calls that took longest in all come first.
    pub calls: Vec<CallLine>,
    /// Asynchronous calls that have waited.
    pub blocked_calls: Vec<BlockedCalls>,
    pub rows: Vec<Row>,
    /// Threads and streams that are not among the rows, because others were busier.
    pub rows_omitted: u64,
    /// Facts beyond the limit.
    pub dropped_events: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamLine {
    pub stream: u32,
    pub device: u32,
    /// It runs steps of graphs, and no program sees it.
    pub is_graph_stream: bool,
    pub tasks: u64,
    pub failed: u64,
    pub bytes: u64,
    pub busy_ns: u64,
    /// From submit to start, of the task in the middle.
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

/// A thread or a stream over the whole time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub is_stream: bool,
    /// How much of each column it was in a call, or ran a task, in thousandths.
    pub busy: Vec<u16>,
}

impl Summary {
    pub(crate) fn of(story: &Timeline) -> Summary {
        let tasks = || story.tasks.values();
        let moved = tasks().filter(|task| task.is_done()).map(|task| task.load.bytes);
        let moving = moving(story);
        let (rows, rows_omitted) = rows(story);
        Summary {
            process: std::process::id(),
            ns: story.end - story.start,
            tasks: tasks().count() as u64,
            failed: tasks().filter(|task| task.code != 0).count() as u64,
            never_started: tasks().filter(|task| task.started.is_none()).count() as u64,
            bytes: moved.chain(story.acts.iter().filter(|act| act.is_done).map(|act| act.load.bytes)).sum(),
            copying_ns: covered(&moving, 1),
            overlap_ns: covered(&moving, 2),
            streams: streams(story),
            routes: routes(story),
            calls: calls(story),
            blocked_calls: blocked_calls(story),
            rows,
            rows_omitted,
            dropped_events: story.left_out,
        }
    }
}

/// When bytes moved: of each stream and each thread, in no order.
fn moving(story: &Timeline) -> Vec<Interval> {
    let tasks = story.tasks.values().filter(|task| task.load.bytes > 0 && task.code == 0);
    let acts = story.acts.iter().filter(|act| act.load.bytes > 0 && act.is_done);
    tasks.filter_map(|task| task.busy(story.end)).chain(acts.map(|act| act.span)).collect()
}

/// For how long at least `depth` of the spans were open.
fn covered(spans: &[Interval], depth: i64) -> u64 {
    let mut edges: Vec<(u64, i64)> = spans.iter().flat_map(|span| [(span.start, 1), (span.end, -1)]).collect();
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

fn streams(story: &Timeline) -> Vec<StreamLine> {
    let line = |(lane, tasks): (StreamRow, Vec<&Task>)| {
        let busy = || tasks.iter().filter_map(|task| task.busy(story.end)).map(Interval::ns);
        let mut queued: Vec<u64> =
            tasks.iter().filter_map(|task| Some(task.started?.saturating_sub(task.submitted))).collect();
        queued.sort_unstable();
        StreamLine {
            stream: lane.stream,
            device: lane.device,
            is_graph_stream: lane.is_graph_stream,
            tasks: tasks.len() as u64,
            failed: tasks.iter().filter(|task| task.code != 0).count() as u64,
            bytes: tasks.iter().filter(|task| task.is_done()).map(|task| task.load.bytes).sum(),
            busy_ns: busy().sum(),
            queued_median_ns: queued.get(queued.len() / 2).copied().unwrap_or(0),
            longest_ns: busy().max().unwrap_or(0),
        }
    };
    story.lanes().into_iter().map(line).collect()
}

fn routes(story: &Timeline) -> Vec<RouteLine> {
    let tasks = story.tasks.values().filter(|task| task.load.entries > 0 && task.is_done());
    let tasks = tasks.filter_map(|task| Some((task.name, task.load, task.busy(story.end)?)));
    let acts =
        story.acts.iter().filter(|act| act.load.entries > 0 && act.is_done).map(|act| (act.name, act.load, act.span));
    let mut lines: BTreeMap<(&str, Route), RouteLine> = BTreeMap::new();
    for (name, load, span) in tasks.chain(acts) {
        let fresh = || RouteLine { operation: name.to_owned(), route: load.route, count: 0, bytes: 0, ns: 0 };
        let line = lines.entry((name, load.route)).or_insert_with(fresh);
        line.count += 1;
        line.bytes += load.bytes;
        line.ns += span.ns();
    }
    let mut lines: Vec<RouteLine> = lines.into_values().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.bytes));
    lines
}

fn calls(story: &Timeline) -> Vec<CallLine> {
    let mut lines: BTreeMap<&str, CallLine> = BTreeMap::new();
    for call in &story.calls {
        let fresh = || CallLine { function: call.function.to_owned(), calls: 0, failed: 0, ns: 0, longest_ns: 0 };
        let line = lines.entry(call.function).or_insert_with(fresh);
        line.calls += 1;
        line.failed += u64::from(call.code != 0);
        line.ns += call.span.ns();
        line.longest_ns = line.longest_ns.max(call.span.ns());
    }
    let mut lines: Vec<CallLine> = lines.into_values().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.ns));
    lines
}

fn blocked_calls(story: &Timeline) -> Vec<BlockedCalls> {
    let mut lines: BTreeMap<&str, BlockedCalls> = BTreeMap::new();
    for call in story.calls.iter().filter(|call| call.paused > 0) {
        let fresh = || BlockedCalls { function: call.function.to_owned(), calls: 0, ns: 0 };
        let line = lines.entry(call.function).or_insert_with(fresh);
        line.calls += 1;
        line.ns += call.paused;
    }
    lines.into_values().collect()
}

/// The busiest threads and streams, in their own order, and how many there are beside them.
fn rows(story: &Timeline) -> (Vec<Row>, u64) {
    let mut calls: Vec<Vec<Interval>> = vec![Vec::new(); story.threads.len()];
    for call in &story.calls {
        calls[call.thread].push(call.span);
    }
    let name = |index: usize| format!("{} ({})", story.threads[index].name, story.threads[index].id);
    let threads = calls.into_iter().enumerate().filter(|(_, spans)| !spans.is_empty());
    let threads = threads.map(|(index, spans)| (name(index), spans)).collect();
    let lane = |(lane, tasks): (StreamRow, Vec<&Task>)| {
        let spans = tasks.iter().filter_map(|task| task.busy(story.end)).collect();
        (format!("{lane}, device {}", lane.device), spans)
    };
    let (threads, more_threads) = busiest(story, threads, false);
    let (lanes, more_lanes) = busiest(story, story.lanes().into_iter().map(lane).collect(), true);
    (threads.into_iter().chain(lanes).collect(), more_threads + more_lanes)
}

fn busiest(story: &Timeline, rows: Vec<(String, Vec<Interval>)>, is_stream: bool) -> (Vec<Row>, u64) {
    let more = rows.len().saturating_sub(ROWS) as u64;
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(rows[*index].1.iter().map(|span| span.ns()).sum::<u64>()));
    order.truncate(ROWS);
    order.sort_unstable();
    let mut rows: Vec<Option<(String, Vec<Interval>)>> = rows.into_iter().map(Some).collect();
    let chosen = order.into_iter().filter_map(|index| rows[index].take());
    (chosen.map(|(name, spans)| Row { name, is_stream, busy: columns(story, spans) }).collect(), more)
}

/// How much of each column the spans cover, which may lie in each other.
fn columns(story: &Timeline, mut spans: Vec<Interval>) -> Vec<u16> {
    spans.sort_unstable_by_key(|span| span.start);
    let total = (story.end - story.start).max(1);
    let edge = |column: usize| (u128::from(total) * column as u128 / COLUMNS as u128) as u64;
    let column_of = |time: u64| (u128::from(time) * COLUMNS as u128 / u128::from(total)) as usize;
    let mut covered = vec![0u64; COLUMNS];
    let mut reached = 0;
    for span in spans {
        let (start, end) = ((span.start - story.start).max(reached), span.end - story.start);
        for (column, covered) in covered.iter_mut().enumerate().take(column_of(end) + 1).skip(column_of(start)) {
            *covered += edge(column + 1).min(end).saturating_sub(edge(column).max(start));
        }
        reached = reached.max(end);
    }
    let share = |(column, covered): (usize, u64)| {
        let width = (edge(column + 1) - edge(column)).max(1);
        // What is there at all is seen.
        if covered == 0 { 0 } else { (covered * 1000 / width).clamp(1, 1000) as u16 }
    };
    covered.into_iter().enumerate().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(pairs: &[(u64, u64)]) -> Vec<Interval> {
        pairs.iter().map(|(start, end)| Interval { start: *start, end: *end }).collect()
    }

    #[test]
    fn time_together_is_time_of_at_least_two() {
        let all = spans(&[(0, 10), (5, 20), (8, 9), (20, 30), (40, 40)]);
        assert_eq!(covered(&all, 1), 30);
        assert_eq!(covered(&all, 2), 5);
        assert_eq!(covered(&all, 3), 1);
        assert_eq!(covered(&[], 1), 0);
    }

    #[test]
    fn columns_cover_what_spans_cover() {
        let story = Timeline { start: 100, end: 100 + 60_000, ..Timeline::default() };
        // A column is 100 ns wide.
        let busy = columns(&story, spans(&[(100, 250), (150, 200), (1100, 1101), (60_050, 60_100)]));
        assert_eq!(busy.len(), COLUMNS);
        assert_eq!(busy[..3], [1000, 500, 0]);
        assert_eq!((busy[10], busy[COLUMNS - 1]), (10, 500));
        assert_eq!(busy.iter().filter(|share| **share > 0).count(), 4);
    }

    #[test]
    fn short_timelines_still_fill_all_columns() {
        let story = Timeline { start: 7, end: 9, ..Timeline::default() };
        assert_eq!(columns(&story, spans(&[(7, 9)])).len(), COLUMNS);
        let story = Timeline { start: 7, end: 7, ..Timeline::default() };
        assert_eq!(columns(&story, spans(&[(7, 7)])), vec![0; COLUMNS]);
    }
}
