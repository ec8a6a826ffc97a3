//! Source lines of the program, if the files are available.

use super::format::plain;
use crate::finding::Frame;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};

/// Maximum number of bytes that are read of a source file.
const MAX_SOURCE_BYTES: u64 = 16 << 20;
const MAX_COLUMNS: usize = 96;

/// The source line of a frame, without control characters and at most `MAX_COLUMNS` wide.
pub fn line(frame: &Frame) -> Option<String> {
    let path = frame.file.as_deref()?;
    let number = usize::try_from(frame.line?).ok()?.checked_sub(1)?;
    // Devices and pipes could block or never end.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let found = BufReader::new(File::open(path).ok()?.take(MAX_SOURCE_BYTES)).split(b'\n').nth(number)?.ok()?;
    let text = plain(String::from_utf8_lossy(&found).replace('\t', "    ").trim());
    if text.is_empty() {
        return None;
    }
    Some(match text.char_indices().nth(MAX_COLUMNS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    })
}
