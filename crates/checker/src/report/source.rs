//! Lines of the program's source, if it is on this disk.

use super::format::plain;
use crate::finding::Frame;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};

/// No source file is longer; what is longer is not read to its end.
const MAX_SOURCE_BYTES: u64 = 16 << 20;
const COLUMNS: usize = 96;

/// The line that a frame names, fit for a terminal.
pub fn line(frame: &Frame) -> Option<String> {
    let path = frame.file.as_deref()?;
    let number = usize::try_from(frame.line?).ok()?.checked_sub(1)?;
    // Not a device or a pipe: those could block or never end.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let found = BufReader::new(File::open(path).ok()?.take(MAX_SOURCE_BYTES)).split(b'\n').nth(number)?.ok()?;
    let text = plain(String::from_utf8_lossy(&found).replace('\t', "    ").trim());
    if text.is_empty() {
        return None;
    }
    Some(match text.char_indices().nth(COLUMNS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    })
}
