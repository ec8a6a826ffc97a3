//! Renders a trace as a self-contained HTML page without scripts, external fonts or images.

use super::tables::{Table, plural, remarks, tables, time};
use crate::units::{duration, size};
use softacl_checker::report::escape;
use softacl_tracer::{COLUMNS, Row, Summary};
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");
/// Height of a row and width of its name, in pixels.
const HEIGHT: usize = 22;
const NAME: usize = 210;
const TEXT: &str = "writing to a string cannot fail";

pub fn render(program: &str, summaries: &[Summary], notes: &[String]) -> String {
    let name = escape(program);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>softacl trace: {name}</title>\n<style>{STYLE}</style></head>\n<body><main>\n\
         <h1>softacl trace</h1><p><code>{name}</code></p>\n"
    );
    for note in notes {
        writeln!(page, "<p class=\"note\">{}</p>", escape(note)).expect(TEXT);
    }
    for summary in summaries {
        process(&mut page, summary);
    }
    if summaries.is_empty() {
        page += "<p>No process of the program left a trace.</p>\n";
    }
    page + "</main></body></html>\n"
}

fn process(page: &mut String, summary: &Summary) {
    writeln!(
        page,
        "<article><h2>process {}</h2><ul class=\"totals\"><li><b>{}</b></li><li><b>{}</b></li>\
         <li><b>{}</b></li><li><b>{}</b> moved</li></ul>",
        summary.process,
        time(summary.ns),
        plural(summary.tasks, "task"),
        plural(summary.streams.len() as u64, "stream"),
        size(summary.bytes as usize),
    )
    .expect(TEXT);
    drawing(page, summary);
    for remark in remarks(summary) {
        writeln!(page, "<p class=\"note\">{}</p>", escape(&remark)).expect(TEXT);
    }
    for table in tables(summary) {
        write_table(page, &table);
    }
    page.push_str("</article>\n");
}

/// Draws one row of bars per thread and stream. The height is the share of time spent in calls or running tasks.
fn drawing(page: &mut String, summary: &Summary) {
    let (width, height) = (NAME + COLUMNS, (summary.rows.len() + 1) * HEIGHT);
    writeln!(
        page,
        "<figure><svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"timeline of {} rows\">",
        summary.rows.len()
    )
    .expect(TEXT);
    for tick in 0..=4 {
        let at = NAME + COLUMNS * tick / 4;
        let time = if tick == 0 { "0".to_owned() } else { duration(summary.ns as f64 * tick as f64 / 4.0) };
        let anchor = ["start", "middle", "middle", "middle", "end"][tick];
        writeln!(
            page,
            "<path class=\"grid\" d=\"M{at} 16V{height}\"/>\
             <text class=\"tick\" x=\"{at}\" y=\"11\" text-anchor=\"{anchor}\">{time}</text>"
        )
        .expect(TEXT);
    }
    for (index, row) in summary.rows.iter().enumerate() {
        let foot = (index + 2) * HEIGHT - 3;
        let class = if row.is_stream { "stream" } else { "thread" };
        writeln!(
            page,
            "<g class=\"{class}\"><title>{0}: busy {1:.1} %</title><text x=\"0\" y=\"{2}\">{0}</text>\
             <path class=\"foot\" d=\"M{NAME} {foot}h{COLUMNS}\"/><path class=\"bar\" d=\"{3}\"/></g>",
            escape(&row.name),
            row.busy.iter().map(|share| f64::from(*share)).sum::<f64>() / 10.0 / COLUMNS as f64,
            foot - 4,
            bars(row, foot),
        )
        .expect(TEXT);
    }
    let omitted = match summary.rows_omitted {
        0 => String::new(),
        count => format!(" {count} less busy rows are omitted."),
    };
    writeln!(
        page,
        "</svg><figcaption>The height of a bar is the share of time in which the thread was in a call or the stream \
         ran a task.{omitted}</figcaption></figure>"
    )
    .expect(TEXT);
}

/// Returns the outline of a row: one step per run of equal columns.
fn bars(row: &Row, foot: usize) -> String {
    let mut path = String::new();
    let mut start = 0;
    while start < row.busy.len() {
        let share = row.busy[start];
        let len = row.busy[start..].iter().take_while(|other| **other == share).count();
        if share > 0 {
            let height = (f64::from(share) / 1000.0 * (HEIGHT - 6) as f64).max(1.0);
            write!(path, "M{} {foot}v-{height:.1}h{len}v{height:.1}z", NAME + start).expect(TEXT);
        }
        start += len;
    }
    path
}

fn write_table(page: &mut String, table: &Table) {
    if table.lines.is_empty() {
        return;
    }
    page.push_str("<div class=\"table\"><table><tr>");
    for cell in table.head {
        write!(page, "<th>{}</th>", escape(cell)).expect(TEXT);
    }
    page.push_str("</tr>\n");
    for line in &table.lines {
        page.push_str("<tr>");
        for cell in line {
            write!(page, "<td>{}</td>", escape(cell)).expect(TEXT);
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}
