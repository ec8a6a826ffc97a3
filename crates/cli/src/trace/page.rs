//! Renders a trace as one HTML page: a timeline that a browser draws, and all tables. It loads nothing from elsewhere.
//!
//! | file | content |
//! | --- | --- |
//! | `page.html`, `page.css` | what is around the timeline |
//! | `data.js` | unpacks the data and computes statistics |
//! | `view.js` | lanes, and how they are drawn |
//! | `page.js` | pointer, keys, search and selection |

use super::tables::{Table, plural, remarks, tables, time};
use crate::units::size;
use softacl_checker::report::escape;
use softacl_tracer::{Summary, Tracks, columns};
use std::fmt::Write as _;
use std::io;

const STYLE: &str = include_str!("page/page.css");
const BODY: &str = include_str!("page/page.html");
const SCRIPTS: [&str; 3] = [include_str!("page/data.js"), include_str!("page/view.js"), include_str!("page/page.js")];
/// A level that is fast, and far smaller than none.
const COMPRESSION: u8 = 4;
const TEXT: &str = "writing to a string cannot fail";

/// Writes the page of a trace.
pub fn write(
    program: &str,
    summaries: &[Summary],
    notes: &[String],
    tracks: &Tracks,
    to: &mut impl io::Write,
) -> io::Result<()> {
    let name = escape(program);
    let (layout, data) = columns(tracks);
    let packed = base64(&miniz_oxide::deflate::compress_to_vec(&data, COMPRESSION));
    // A text may contain the end tag of a script.
    let layout = serde_json::to_string(&layout)?.replace('<', "\\u003c");
    let body = BODY.replace("SUMMARY", &summary(summaries, notes)).replace("PROGRAM", &name);
    write!(
        to,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>softacl trace: {name}</title>\n<style>{STYLE}</style></head>\n<body>\n{body}\
         <script type=\"application/json\" id=\"layout\">{layout}</script>\n\
         <script type=\"text/plain\" id=\"columns\">{packed}</script>\n"
    )?;
    for script in SCRIPTS {
        writeln!(to, "<script>\n{script}</script>")?;
    }
    to.write_all(b"</body></html>\n")
}

/// Renders notes, totals and tables, which need no script.
fn summary(summaries: &[Summary], notes: &[String]) -> String {
    let mut page = String::new();
    for note in notes {
        writeln!(page, "<p class=\"note\">{}</p>", escape(note)).expect(TEXT);
    }
    for summary in summaries {
        process(&mut page, summary);
    }
    if summaries.is_empty() {
        page += "<p>No process of the program left a trace.</p>\n";
    }
    page
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
    for remark in remarks(summary) {
        writeln!(page, "<p class=\"note\">{}</p>", escape(&remark)).expect(TEXT);
    }
    for table in tables(summary) {
        write_table(page, &table);
    }
    page.push_str("</article>\n");
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

/// Encodes bytes as text (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for letter in 0..4 {
            let index = (word >> (18 - 6 * letter) & 63) as usize;
            text.push(if letter > chunk.len() { '=' } else { LETTERS[index].into() });
        }
    }
    text
}

#[cfg(test)]
mod browser;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_to_four_letters() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }
}
