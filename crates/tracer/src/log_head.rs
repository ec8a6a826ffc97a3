//! The first page of a log: which process wrote it, and when.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// First word of a log.
const MAGIC: u64 = u64::from_le_bytes(*b"acltrac1");

/// Start of a log. The rest of its page is unused.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct LogHead {
    magic: AtomicU64,
    process: AtomicU64,
    start_time: AtomicU64,
    /// When the process ended in an orderly way, in ns since the log was created, or 0.
    pub(crate) end: AtomicU64,
    /// Trace events beyond the limit.
    pub(crate) dropped: AtomicU64,
    /// 1 if recording was deliberately stopped for some time.
    pub(crate) is_partial: AtomicU64,
}

impl LogHead {
    /// Initializes the head. `start_time` is the time since the Unix epoch.
    pub(crate) fn begin(&self, process: u32, start_time: Duration) {
        self.process.store(process.into(), Ordering::Relaxed);
        self.start_time.store(u64::try_from(start_time.as_nanos()).unwrap_or(0), Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Interprets memory as the head of a log. `None` if it is not one.
    pub(crate) fn parse(memory: &[AtomicU64]) -> Option<&LogHead> {
        if size_of_val(memory) < size_of::<LogHead>() || memory[0].load(Ordering::Acquire) != MAGIC {
            return None;
        }
        // SAFETY: the memory is long enough, and consists of words, for which every value is valid.
        Some(unsafe { &*memory.as_ptr().cast::<LogHead>() })
    }

    pub(crate) fn process(&self) -> u32 {
        self.process.load(Ordering::Relaxed) as u32
    }

    /// When the log was created, since the Unix epoch. Aligns the logs of several processes.
    pub(crate) fn start_time(&self) -> Duration {
        Duration::from_nanos(self.start_time.load(Ordering::Relaxed))
    }
}
