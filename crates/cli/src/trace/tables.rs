//! Formats the statistics of a trace as tables, for the terminal and for the HTML page.

use crate::units::{digits, duration, size};
use softacl_tracer::{CallLine, RouteLine, StreamLine, Summary};

pub struct Table {
    pub head: &'static [&'static str],
    pub lines: Vec<Vec<String>>,
}

pub fn tables(summary: &Summary) -> [Table; 3] {
    [
        Table {
            head: &["stream", "tasks", "moved", "busy", "queued, median", "longest"],
            lines: summary.streams.iter().map(|line| stream(line, summary.ns)).collect(),
        },
        Table {
            head: &["operation", "count", "moved", "time", "rate"],
            lines: summary.routes.iter().map(route).collect(),
        },
        Table {
            head: &["call", "count", "failed", "time", "mean", "longest"],
            lines: summary.calls.iter().map(call).collect(),
        },
    ]
}

fn stream(line: &StreamLine, ns: u64) -> Vec<String> {
    let name = if line.is_graph_stream { "graph stream" } else { "stream" };
    vec![
        format!("{name} {}, device {}", line.stream, line.device),
        line.tasks.to_string(),
        size(line.bytes as usize),
        format!("{} ({:.0} %)", time(line.busy_ns), share(line.busy_ns, ns)),
        time(line.queued_median_ns),
        time(line.longest_ns),
    ]
}

fn route(line: &RouteLine) -> Vec<String> {
    // Bytes per nanosecond are GB per second.
    let rate = (line.ns > 0).then(|| format!("{} GB/s", digits(line.bytes as f64 / line.ns as f64)));
    vec![
        format!("{}, {}", line.operation, line.route),
        line.count.to_string(),
        size(line.bytes as usize),
        time(line.ns),
        rate.unwrap_or_default(),
    ]
}

fn call(line: &CallLine) -> Vec<String> {
    let failed = if line.failed == 0 { String::new() } else { line.failed.to_string() };
    let mean = line.ns / line.calls.max(1);
    vec![line.function.clone(), line.calls.to_string(), failed, time(line.ns), time(mean), time(line.longest_ns)]
}

/// Returns remarks that complement the tables.
pub fn remarks(summary: &Summary) -> Vec<String> {
    let mut remarks = Vec::new();
    if summary.copying_ns > 0 {
        let overlap = match summary.overlap_ns {
            0 => "no two copies overlapped".to_owned(),
            ns => format!(
                "two or more copies overlapped during {} of that ({:.0} %)",
                time(ns),
                share(ns, summary.copying_ns)
            ),
        };
        let (copying, whole) = (time(summary.copying_ns), time(summary.ns));
        let part = share(summary.copying_ns, summary.ns);
        remarks.push(format!("copies ran during {copying} of {whole} ({part:.0} %); {overlap}"));
    }
    for blocked in &summary.blocked_calls {
        remarks.push(format!(
            "{} of {} blocked on the stream for {} in total: the host memory is pageable (softacl explain P1)",
            plural(blocked.calls, "call"),
            blocked.function,
            time(blocked.ns),
        ));
    }
    if summary.failed > 0 {
        remarks.push(format!("{} failed", plural(summary.failed, "task")));
    }
    if summary.never_started > 0 {
        let never = plural(summary.never_started, "task");
        remarks.push(format!("{never} never started: the stream was aborted or the program ended"));
    }
    if summary.dropped_events > 0 {
        let events = plural(summary.dropped_events, "trace event");
        remarks.push(format!(
            "{events} dropped beyond the limit: the trace ends before the program (SOFTACL_TRACE_LIMIT)"
        ));
    }
    remarks
}

/// Formats a count with its noun.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

pub fn time(ns: u64) -> String {
    duration(ns as f64)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}
