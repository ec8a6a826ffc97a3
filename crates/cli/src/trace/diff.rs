//! `softacl trace diff`: compares the statistics of two traces.

use super::open;
use super::tables::time;
use crate::output;
use crate::units::size;
use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use softacl_tracer::Summary;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Compare two traces
///
/// Adds up all processes of each trace and compares operations and calls: how often, how much data, how long. Lines are
/// ordered by the difference of their times.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Trace file (trace.json, trace.json.gz) or log of a process
    before: PathBuf,
    /// The other trace
    after: PathBuf,
    /// Write the comparison as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Show at most this many lines per table
    #[arg(long, default_value_t = 15)]
    lines: usize,
}

const EXAMPLES: &str = "\
Examples:
  softacl trace -o before.json -- ./app
  softacl trace -o after.json -- ./app --overlap
  softacl trace diff before.json after.json";

/// Count, bytes and time of one operation or function in both traces.
#[derive(Debug, Default, Clone, Serialize, PartialEq)]
struct Line {
    name: String,
    before: Totals,
    after: Totals,
}

#[derive(Debug, Default, Clone, Copy, Serialize, PartialEq, Eq)]
struct Totals {
    count: u64,
    bytes: u64,
    ns: u64,
}

#[derive(Debug, Serialize)]
struct Comparison {
    whole: Line,
    copying: Line,
    overlapping: Line,
    operations: Vec<Line>,
    calls: Vec<Line>,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let read = |path: &PathBuf| {
        open::read(path).map(|trace| trace.summaries).with_context(|| format!("could not read {}", path.display()))
    };
    let comparison = compare(&read(&arguments.before)?, &read(&arguments.after)?);
    match &arguments.json {
        Some(path) => output::write_json(path, &comparison),
        None => output::print(render(&comparison, if output::is_verbose() { usize::MAX } else { arguments.lines })),
    }
}

fn compare(before: &[Summary], after: &[Summary]) -> Comparison {
    let total = |name: &str, of: fn(&Summary) -> Totals| {
        let sum = |summaries: &[Summary]| summaries.iter().map(of).fold(Totals::default(), Totals::plus);
        Line { name: name.to_owned(), before: sum(before), after: sum(after) }
    };
    Comparison {
        whole: total("whole run", |s| Totals { count: s.tasks, bytes: s.bytes, ns: s.ns }),
        copying: total("copies ran", |s| Totals { ns: s.copying_ns, ..Totals::default() }),
        overlapping: total("copies overlapped", |s| Totals { ns: s.overlap_ns, ..Totals::default() }),
        operations: lines(before, after, |summary| {
            let line = |line: &softacl_tracer::RouteLine| {
                let totals = Totals { count: line.count, bytes: line.bytes, ns: line.ns };
                (format!("{}, {}", line.operation, line.route), totals)
            };
            summary.routes.iter().map(line).collect()
        }),
        calls: lines(before, after, |summary| {
            let line = |line: &softacl_tracer::CallLine| {
                (line.function.clone(), Totals { count: line.calls, bytes: 0, ns: line.ns })
            };
            summary.calls.iter().map(line).collect()
        }),
    }
}

impl Totals {
    fn plus(self, other: Totals) -> Totals {
        Totals { count: self.count + other.count, bytes: self.bytes + other.bytes, ns: self.ns + other.ns }
    }
}

/// Returns a line for each name in either trace, the largest difference first.
fn lines(before: &[Summary], after: &[Summary], of: impl Fn(&Summary) -> Vec<(String, Totals)>) -> Vec<Line> {
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for (summaries, is_after) in [(before, false), (after, true)] {
        for (name, totals) in summaries.iter().flat_map(&of) {
            let line = lines.entry(name.clone()).or_insert_with(|| Line { name, ..Line::default() });
            let side = if is_after { &mut line.after } else { &mut line.before };
            *side = side.plus(totals);
        }
    }
    let mut lines: Vec<Line> = lines.into_values().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.before.ns.abs_diff(line.after.ns)));
    lines
}

fn render(comparison: &Comparison, limit: usize) -> String {
    let mut text = String::new();
    let totals = [comparison.whole.clone(), comparison.copying.clone(), comparison.overlapping.clone()];
    table(&mut text, "", &totals, usize::MAX);
    table(&mut text, "operation", &comparison.operations, limit);
    table(&mut text, "call", &comparison.calls, limit);
    text
}

fn table(text: &mut String, head: &str, lines: &[Line], limit: usize) {
    if lines.is_empty() {
        return;
    }
    let cells = |line: &Line| {
        [
            line.name.clone(),
            counts(line, |totals| totals.count, |count| count.to_string()),
            counts(line, |totals| totals.bytes, |bytes| size(bytes as usize)),
            time(line.before.ns),
            time(line.after.ns),
            change(line),
        ]
    };
    let head = [head, "count", "moved", "before", "after", "change"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(lines.iter().take(limit).map(cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    for row in &rows {
        let mut line = format!("{:1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            write!(line, "  {cell:>width$}").expect("writing to a string cannot fail");
        }
        *text += line.trim_end();
        text.push('\n');
    }
    if lines.len() > limit {
        *text += &format!("and {} more\n", lines.len() - limit);
    }
    text.push('\n');
}

/// Shows one value if both traces have the same, both otherwise, and nothing for zero.
fn counts(line: &Line, of: fn(&Totals) -> u64, show: fn(u64) -> String) -> String {
    match (of(&line.before), of(&line.after)) {
        (0, 0) => String::new(),
        (one, other) if one == other => show(one),
        (one, other) => format!("{} -> {}", show(one), show(other)),
    }
}

fn change(line: &Line) -> String {
    match (line.before.ns, line.after.ns) {
        (0, 0) => String::new(),
        (0, _) => "new".to_owned(),
        (_, 0) => "gone".to_owned(),
        (before, after) => format!("{:+.0} %", (after as f64 / before as f64 - 1.0) * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, before: u64, after: u64) -> Line {
        let totals = |ns| Totals { count: 3, bytes: 0, ns };
        Line { name: name.to_owned(), before: totals(before), after: totals(after) }
    }

    #[test]
    fn changes_are_relative_to_the_first_trace() {
        let lines = [line("a", 1_000_000, 1_500_000), line("b", 0, 10), line("c", 10, 0), line("d", 0, 0)];
        assert_eq!(lines.map(|line| change(&line)), ["+50 %", "new", "gone", ""]);
        let mut text = String::new();
        table(&mut text, "call", &[line("aclrtMalloc", 2_000_000, 1_000_000), line("b", 1, 1)], 1);
        let expected = "\
call         count  moved   before    after  change
aclrtMalloc      3         2.00 ms  1.00 ms   -50 %
and 1 more

";
        assert_eq!(text, expected);
    }
}
