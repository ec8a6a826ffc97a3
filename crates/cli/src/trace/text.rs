//! Renders the summary of a trace for the terminal: a timeline of a few lines, and tables.

use super::tables::{Table, plural, remarks, tables, time};
use crate::output;
use crate::units::size;
use softacl_tracer::{Row, Summary};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Width of the timeline in characters, where it is not that of the terminal.
const WIDTH: usize = 60;
const MAX_WIDTH: usize = 160;
/// Maximum number of lines per table, unless nothing is to be left out.
const MAX_LINES: usize = 12;
/// The first column of a table is not shortened to less.
const MIN_NAME: usize = 16;
/// Maximum number of threads, and of streams, in the timeline.
const MAX_ROWS: usize = 10;
const TEXT: &str = "writing to a string cannot fail";

pub fn render(summaries: &[Summary], notes: &[String], written: &[PathBuf]) -> String {
    let mut text = String::new();
    for summary in summaries {
        process(&mut text, summary);
    }
    if summaries.is_empty() && notes.is_empty() {
        text += "softacl trace: no process of the program called AscendCL; no trace was written\n";
    }
    for note in notes {
        writeln!(text, "softacl trace: {note}").expect(TEXT);
    }
    for file in written.iter().filter(|file| file.as_path() != Path::new("-")) {
        let with = match file.extension().and_then(|extension| extension.to_str()) {
            Some("html") => "a browser",
            Some("pftrace") => "https://ui.perfetto.dev",
            _ => "https://ui.perfetto.dev or chrome://tracing",
        };
        writeln!(text, "softacl trace: wrote {}; open it with {with}", file.display()).expect(TEXT);
    }
    text
}

fn process(text: &mut String, summary: &Summary) {
    writeln!(
        text,
        "softacl trace: process {}, {}, {} on {}, {} moved",
        summary.process,
        time(summary.ns),
        plural(summary.tasks, "task"),
        plural(summary.streams.len() as u64, "stream"),
        size(summary.bytes as usize),
    )
    .expect(TEXT);
    timeline(text, summary);
    let lines = if output::is_verbose() { usize::MAX } else { MAX_LINES };
    for table in tables(summary) {
        write_table(text, &table, lines, output::width(std::io::stderr()));
    }
    text.push('\n');
    for remark in remarks(summary) {
        writeln!(text, "  {remark}").expect(TEXT);
    }
}

/// Draws one character per time slice, as high as the row was busy. Streams are shown for any number of threads.
fn timeline(text: &mut String, summary: &Summary) {
    let rows = |is_stream| summary.rows.iter().filter(move |row| row.is_stream == is_stream).take(MAX_ROWS);
    let rows: Vec<&Row> = rows(false).chain(rows(true)).collect();
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let end = time(summary.ns);
    let columns = output::width(std::io::stderr());
    let columns = columns.map_or(WIDTH, |all| all.saturating_sub(width + 5).clamp(WIDTH / 2, MAX_WIDTH));
    writeln!(text, "\n  {:width$} 0{end:>1$}", "", columns + 1, width = width).expect(TEXT);
    for row in &rows {
        writeln!(text, "  {:width$} |{}|", row.name, bar(row, columns), width = width).expect(TEXT);
    }
    more(text, summary.rows.len() + summary.rows_omitted as usize, rows.len());
}

fn bar(row: &Row, width: usize) -> String {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let level = |columns: &[u16]| {
        let mean = columns.iter().map(|share| u32::from(*share)).sum::<u32>() as usize / columns.len();
        let is_empty = columns.iter().all(|share| *share == 0);
        LEVELS[if is_empty { 0 } else { (mean * 8).div_ceil(1000).clamp(1, 8) }]
    };
    let edge = |column: usize| row.busy.len() * column / width;
    (0..width).map(|column| level(&row.busy[edge(column)..edge(column + 1).max(edge(column) + 1)])).collect()
}

/// Writes a table with the first column left-aligned, and shortened to the terminal, and the others right-aligned.
fn write_table(text: &mut String, table: &Table, max_lines: usize, columns: Option<usize>) {
    let shown = &table.lines[..table.lines.len().min(max_lines)];
    if shown.is_empty() {
        return;
    }
    let head: Vec<String> = table.head.iter().map(|word| (*word).to_owned()).collect();
    let lines = || std::iter::once(&head).chain(shown);
    let width = |column: usize| lines().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..head.len()).map(width).collect();
    let excess =
        columns.map_or(0, |columns| widths.iter().map(|width| width + 2).sum::<usize>().saturating_sub(columns));
    widths[0] = widths[0].saturating_sub(excess).max(widths[0].min(MIN_NAME));
    text.push('\n');
    for line in lines() {
        let mut row = format!("  {:1$}", shortened(&line[0], widths[0]), widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            write!(row, "  {cell:>width$}").expect(TEXT);
        }
        writeln!(text, "{}", row.trim_end()).expect(TEXT);
    }
    more(text, table.lines.len(), max_lines);
}

fn shortened(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    name.chars().take(width - 1).chain(['…']).collect()
}

fn more(text: &mut String, count: usize, shown: usize) {
    if count > shown {
        writeln!(text, "  and {} more", count - shown).expect(TEXT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_height_is_the_busy_share() {
        let mut busy = vec![0; 600];
        busy[..10].fill(1000);
        busy[10..20].fill(500);
        busy[20] = 1;
        let row = Row { name: String::new(), is_stream: true, busy };
        let bar: Vec<char> = bar(&row, WIDTH).chars().collect();
        assert_eq!(bar.len(), WIDTH);
        assert_eq!(bar[..4], ['█', '▄', '▁', ' ']);
    }

    #[test]
    fn long_tables_are_truncated_with_a_note() {
        let mut text = String::new();
        let lines = (0..15).map(|n| vec![format!("line {n}"), n.to_string()]).collect();
        let table = Table { head: &["name", "n"], lines };
        write_table(&mut text, &table, MAX_LINES, None);
        assert_eq!(text.lines().count(), 1 + 1 + MAX_LINES + 1);
        assert!(text.contains("\n  line 10  10\n") && text.ends_with("  and 3 more\n"), "{text}");
        let mut all = String::new();
        write_table(&mut all, &table, usize::MAX, None);
        assert_eq!(all.lines().count(), 1 + 1 + 15);
    }

    #[test]
    fn names_are_shortened_to_the_terminal() {
        let mut text = String::new();
        let lines = vec![vec!["aclrtMemcpyBatchAsyncV2".to_owned(), "12".to_owned()]];
        write_table(&mut text, &Table { head: &["name", "n"], lines }, MAX_LINES, Some(24));
        assert_eq!(text, "\n  name                 n\n  aclrtMemcpyBatchA…  12\n");
    }
}
