//! The contents of a log at one time, read from memory or from the file that a process left.

use crate::block::{ALIGNMENT, Block};
use crate::log_head::LogHead;
use crate::record::{Record, Slot};
use crate::trace_event::{TextId, TimedEvent};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bound on the memory per trace event until it is written to the trace.
const BYTES_PER_EVENT: usize = 512;

/// Contents of the log of a process.
#[derive(Debug, Default)]
pub(crate) struct LogSnapshot {
    pub(crate) process: u32,
    /// When the log was created, since the Unix epoch.
    pub(crate) start_time: Duration,
    pub(crate) threads: Vec<ThreadRecords>,
    pub(crate) texts: Texts,
    /// Trace events beyond the limit.
    pub(crate) dropped: u64,
    /// True if only a part of the run was recorded, or the run has not ended.
    pub(crate) is_partial: bool,
    /// When the process ended or the snapshot was taken. `None` if the process was killed or still runs.
    pub(crate) end: Option<u64>,
}

/// Trace events of one thread, in their order.
#[derive(Debug, Default)]
pub(crate) struct ThreadRecords {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) records: Vec<TimedEvent>,
}

/// Texts by number.
#[derive(Debug, Default)]
pub(crate) struct Texts(BTreeMap<u32, Vec<u8>>);

impl Texts {
    /// Returns a text, or an empty one if it was dropped.
    pub(crate) fn get(&self, TextId(number): TextId) -> &str {
        self.0.get(&number).and_then(|text| str::from_utf8(text).ok()).unwrap_or("")
    }

    pub(crate) fn append(&mut self, TextId(number): TextId, bytes: &[u8]) {
        self.0.entry(number).or_default().extend_from_slice(bytes);
    }
}

impl LogSnapshot {
    /// Reads blocks in the order of their creation. `None` if there is too little memory.
    pub(crate) fn read(head: &LogHead, blocks: &[&Block]) -> Option<LogSnapshot> {
        let count: usize = blocks.iter().map(|block| block.slots().len()).sum();
        // Test for enough memory first: a failing small allocation later would abort the process.
        Vec::<u8>::new().try_reserve_exact(count * BYTES_PER_EVENT).ok()?;
        let process = head.process();
        let mut threads: BTreeMap<u64, ThreadRecords> = BTreeMap::new();
        let mut texts = Texts::default();
        for block in blocks {
            let writer = block.writer();
            let thread = threads.entry(writer.thread).or_default();
            (thread.id, thread.name) = (writer.thread_id, thread_name(process, writer.thread_id, &writer.name));
            for record in block.slots().iter().filter_map(Slot::read) {
                match record {
                    Record::Event(event) => thread.records.push(event),
                    Record::Pair(one, other) => thread.records.extend([one, other]),
                    Record::Text(number, bytes) => texts.append(number, &bytes),
                }
            }
        }
        let mut threads: Vec<ThreadRecords> = threads.into_values().collect();
        for thread in &mut threads {
            // Ends are next to their starts, and a signal handler may have started a block while the interrupted code
            // was starting one.
            thread.records.sort_by_key(|record| record.ns);
        }
        Some(LogSnapshot {
            process,
            start_time: head.start_time(),
            threads,
            texts,
            dropped: head.dropped.load(Ordering::Relaxed),
            is_partial: head.is_partial.load(Ordering::Relaxed) != 0,
            end: Some(head.end.load(Ordering::Acquire)).filter(|end| *end > 0),
        })
    }

    /// Reads the log that a process left in a file.
    pub(crate) fn open(path: &Path) -> io::Result<LogSnapshot> {
        let memory = Mapping::open(path)?;
        let words = memory.words();
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "this is not the log of a process");
        let head = LogHead::parse(words).ok_or_else(invalid)?;
        let (mut blocks, mut at) = (Vec::new(), ALIGNMENT);
        while let Some(rest) = words.get(at / size_of::<u64>()..).filter(|rest| !rest.is_empty()) {
            // A process that is killed may leave an unused block, whose length is unknown.
            let block = Block::parse(rest);
            at += block.map_or(ALIGNMENT, Block::len);
            blocks.extend(block);
        }
        let exhausted = || io::Error::new(io::ErrorKind::OutOfMemory, "not enough memory to build the trace");
        LogSnapshot::read(head, &blocks).ok_or_else(exhausted)
    }
}

/// Name of a thread for people. The first thread of a process is the "main thread": the system names it after the
/// program.
fn thread_name(process: u32, thread: u32, name: &[u8; 16]) -> String {
    if thread == process {
        return "main thread".to_owned();
    }
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    // The name is printed to terminals.
    String::from_utf8_lossy(&name[..end]).replace(char::is_control, "?")
}

/// A file in memory. Its process may still write it.
struct Mapping {
    start: *mut libc::c_void,
    len: usize,
}

impl Mapping {
    fn open(path: &Path) -> io::Result<Mapping> {
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        if len == 0 {
            return Ok(Mapping { start: ptr::null_mut(), len });
        }
        // SAFETY: new memory at an address that the system chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Mapping { start, len }) }
    }

    fn words(&self) -> &[AtomicU64] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: mapped and aligned; a log only grows. Other processes may write it, which atomics allow.
        unsafe { std::slice::from_raw_parts(self.start.cast::<AtomicU64>(), self.len / size_of::<u64>()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: mapped by `open`, and no reference remains.
            unsafe { libc::munmap(self.start, self.len) };
        }
    }
}
