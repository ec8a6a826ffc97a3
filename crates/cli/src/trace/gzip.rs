//! Writes and reads gzip files (RFC 1952): a header, the compressed data, its checksum and its length.

use miniz_oxide::deflate::core::{CompressorOxide, create_comp_flags_from_zip_params};
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use std::io::{self, BufRead, Read, Write};

/// The fastest level. Traces repeat themselves, so it compresses them well.
const LEVEL: i32 = 1;
/// Negative for data without a zlib header.
const WINDOW_BITS: i32 = -15;
/// Compressed with deflate, without name and time, by an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];
const BUFFER: usize = 1 << 16;

/// Compresses what is written to it. `finish` must be called at the end.
pub struct GzipWriter<W> {
    to: W,
    compressor: Box<CompressorOxide>,
    buffer: Box<[u8]>,
    checksum: u32,
    len: u32,
    has_header: bool,
}

impl<W: Write> GzipWriter<W> {
    pub fn new(to: W) -> GzipWriter<W> {
        GzipWriter {
            to,
            compressor: Box::new(CompressorOxide::new(create_comp_flags_from_zip_params(LEVEL, WINDOW_BITS, 0))),
            buffer: vec![0; BUFFER].into(),
            checksum: !0,
            len: 0,
            has_header: false,
        }
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.compress(&[], MZFlush::Finish)?;
        self.to.write_all(&(!self.checksum).to_le_bytes())?;
        self.to.write_all(&self.len.to_le_bytes())?;
        self.to.flush()
    }

    fn compress(&mut self, mut data: &[u8], flush: MZFlush) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_header, true) {
            self.to.write_all(&HEADER)?;
        }
        loop {
            let result = deflate(&mut self.compressor, data, &mut self.buffer, flush);
            self.to.write_all(&self.buffer[..result.bytes_written])?;
            data = &data[result.bytes_consumed..];
            match result.status {
                Ok(MZStatus::StreamEnd) => return Ok(()),
                Ok(_) if data.is_empty() && flush == MZFlush::None => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(io::Error::other(format!("the trace could not be compressed: {error:?}"))),
            }
        }
    }
}

impl<W: Write> Write for GzipWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if !data.is_empty() {
            self.compress(data, MZFlush::None)?;
        }
        for byte in data {
            self.checksum = TABLE[usize::from(self.checksum as u8 ^ byte)] ^ self.checksum >> 8;
        }
        // The length is stored modulo 2^32.
        self.len = self.len.wrapping_add(data.len() as u32);
        Ok(data.len())
    }

    /// Without effect until the end: a block that ends early would compress less.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decompresses what a `GzipWriter` or another program has compressed. The checksum is not compared: what was read
/// must make sense to its reader anyway.
pub struct GzipReader<R> {
    from: R,
    state: Box<InflateState>,
    is_done: bool,
}

impl<R: BufRead> GzipReader<R> {
    /// Skips the header.
    pub fn new(mut from: R) -> io::Result<GzipReader<R>> {
        let mut head = [0; 10];
        from.read_exact(&mut head)?;
        let invalid = |text| io::Error::new(io::ErrorKind::InvalidData, text);
        if head[..3] != HEADER[..3] {
            return Err(invalid("this is not a gzip file"));
        }
        let flags = head[3];
        if flags & 4 != 0 {
            let mut len = [0; 2];
            from.read_exact(&mut len)?;
            io::copy(&mut (&mut from).take(u16::from_le_bytes(len).into()), &mut io::sink())?;
        }
        // A name and a comment, each with a zero at its end.
        for flag in [8, 16] {
            if flags & flag != 0 {
                from.read_until(0, &mut Vec::new())?;
            }
        }
        if flags & 2 != 0 {
            from.read_exact(&mut [0; 2])?;
        }
        Ok(GzipReader { from, state: InflateState::new_boxed(DataFormat::Raw), is_done: false })
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_done && !buffer.is_empty() {
            let input = self.from.fill_buf()?;
            let is_end = input.is_empty();
            let result = inflate(&mut self.state, input, buffer, MZFlush::None);
            self.from.consume(result.bytes_consumed);
            match result.status {
                Ok(MZStatus::StreamEnd) => self.is_done = true,
                Ok(_) | Err(MZError::Buf) if !is_end || result.bytes_written > 0 => {}
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the compressed file is cut or damaged")),
            }
            if result.bytes_written > 0 {
                return Ok(result.bytes_written);
            }
        }
        Ok(0)
    }
}

/// CRC-32 of each byte.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let (mut value, mut bit) = (byte as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { 0xedb8_8320 ^ value >> 1 } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn compressed(data: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut writer = GzipWriter::new(&mut file);
        data.chunks(100_000).for_each(|chunk| writer.write_all(chunk).unwrap());
        writer.finish().unwrap();
        file
    }

    /// Unpacks with the system's program, which verifies the checksum.
    fn unpacked(file: &[u8]) -> Vec<u8> {
        let mut child =
            Command::new("gzip").args(["-dc"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("gzip");
        let (mut input, file) = (child.stdin.take().unwrap(), file.to_vec());
        let writer = std::thread::spawn(move || input.write_all(&file));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.status.success());
        output.stdout
    }

    #[test]
    fn file_contains_what_was_written() {
        let long: Vec<u8> = (0..3_000_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for data in [&b""[..], b"one line\n", &long] {
            let file = compressed(data);
            assert!(unpacked(&file) == data, "{} bytes", data.len());
            let mut read = Vec::new();
            GzipReader::new(&file[..]).unwrap().read_to_end(&mut read).unwrap();
            assert!(read == data, "{} bytes", data.len());
            let cut = GzipReader::new(&file[..file.len() - 9]).unwrap().read_to_end(&mut Vec::new());
            assert!(cut.is_err(), "{} bytes", data.len());
        }
        assert!(compressed(&long).len() < long.len() / 2);
    }
}
