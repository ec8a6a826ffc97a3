//! Source lines of the program, if the files are available.

use super::format::plain;
use crate::finding::Frame;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};

/// Maximum number of bytes that are read of a source file.
const MAX_SOURCE_BYTES: u64 = 16 << 20;
const MAX_COLUMNS: usize = 96;

/// A source line next to or at a frame.
pub struct SourceLine {
    pub number: u32,
    pub text: String,
    pub is_frame: bool,
}

/// The source line of a frame and up to `around` lines before and after it, without their common indentation. Empty if
/// the file is not available.
pub fn context(frame: &Frame, around: u32) -> Vec<SourceLine> {
    let Some(number) = frame.line.filter(|number| *number > 0) else { return Vec::new() };
    let first = number.saturating_sub(around).max(1);
    let Some(lines) = frame.file.as_deref().and_then(lines) else { return Vec::new() };
    let found: Vec<SourceLine> = lines
        .skip(first as usize - 1)
        .zip(first..=number.saturating_add(around))
        .map(|(text, at)| SourceLine { number: at, text, is_frame: at == number })
        .collect();
    if !found.iter().any(|line| line.is_frame) {
        return Vec::new();
    }
    let indentation = |line: &SourceLine| line.text.len() - line.text.trim_start().len();
    let shared = found.iter().filter(|line| !line.text.trim().is_empty()).map(indentation).min().unwrap_or(0);
    let dedent = |line: SourceLine| SourceLine { text: cut(line.text.get(shared..).unwrap_or("")), ..line };
    found.into_iter().map(dedent).collect()
}

/// The source line of a frame, without control characters and at most `MAX_COLUMNS` wide.
pub fn line(frame: &Frame) -> Option<String> {
    let number = usize::try_from(frame.line?).ok()?.checked_sub(1)?;
    let found = lines(frame.file.as_deref()?)?.nth(number)?;
    let text = found.trim();
    (!text.is_empty()).then(|| cut(text))
}

/// The lines of a file, without control characters.
fn lines(path: &str) -> Option<impl Iterator<Item = String> + use<>> {
    // Devices and pipes could block or never end.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let lines = BufReader::new(File::open(path).ok()?.take(MAX_SOURCE_BYTES)).split(b'\n');
    Some(lines.map_while(Result::ok).map(|line| plain(&String::from_utf8_lossy(&line).replace('\t', "    "))))
}

/// Shortens a line to `MAX_COLUMNS`.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_COLUMNS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_surrounds_the_line_and_loses_its_indentation() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "void f(void) {\n\n    if (x) {\n\t\tcopy();\n    }\n}\n").unwrap();
        let frame = |line| {
            let file = Some(file.path().display().to_string());
            Frame { file, line: Some(line), ..Frame::default() }
        };
        let shown = |line, around| -> Vec<(u32, String, bool)> {
            context(&frame(line), around).into_iter().map(|line| (line.number, line.text, line.is_frame)).collect()
        };
        let expected = [(3, "if (x) {".into(), false), (4, "    copy();".into(), true), (5, "}".into(), false)];
        assert_eq!(shown(4, 1)[..], expected);
        assert_eq!(shown(1, 9).len(), 6, "the file is short");
        assert!(shown(99, 2).is_empty());
        assert_eq!(line(&frame(4)).as_deref(), Some("copy();"));
    }
}
