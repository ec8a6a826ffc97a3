//! Reads a trace that was written before: a trace file, compressed or not, or the log of a process.

use super::convert::{Converted, add_all};
use super::gzip::GzipReader;
use anyhow::{Result, ensure};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _};
use std::path::Path;

/// First bytes of a compressed file, and of the log of a process.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const LOG: &[u8] = b"acltrac";

pub fn read(path: &Path) -> Result<Converted> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    (&mut file).take(LOG.len() as u64).read_to_end(&mut head)?;
    file.rewind()?;
    if head == LOG {
        let mut converted = Converted::default();
        let process = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        add_all(&[(process.unwrap_or(0), path.to_owned())], io::sink(), true, &mut converted)?;
        ensure!(!converted.summaries.is_empty(), "the log is empty");
        return Ok(converted);
    }
    let file = BufReader::with_capacity(super::convert::BUFFER, file);
    let (tracks, summaries) = match head.starts_with(&GZIP) {
        true => softacl_tracer::read(BufReader::with_capacity(super::convert::BUFFER, GzipReader::new(file)?))?,
        false => softacl_tracer::read(file)?,
    };
    Ok(Converted { summaries, notes: Vec::new(), tracks })
}
