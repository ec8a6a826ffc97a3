//! Counters that several processes use, for IPC events and for notifies with a key.
//!
//! They are in a memory file of the process that created them. Another process opens the file through the file
//! descriptor of the creator and keeps its own mapping, so either process may end first and nothing is left behind.

use crate::region::{memory_file, open_memory_file, random};
use crate::use_lock::{self, UseLock};
use softacl_faults::Resource;
use softacl_faults::system;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = 0x736f_6674_6163_6c31;
const LEN: usize = 4096;
/// Maximum length of the list of allowed processes. The list fits into the file; the API documents no limit.
const MAX_ALLOWED_PROCESSES: usize = 512;
/// Maximum number of outstanding records per event. If more are outstanding, an older record counts as reached when a
/// newer one is. They fit into the file.
const RECORDS: usize = 240;

/// The key by which another process opens the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedName {
    pub process: u32,
    pub descriptor: u32,
    /// Distinguishes this file from a later one with the same descriptor.
    pub nonce: u64,
}

impl SharedName {
    /// True if the process that created the counters still runs, as far as `/proc` shows.
    pub fn is_creator_running(&self) -> bool {
        std::fs::metadata(format!("/proc/{}/fd", self.process)).is_ok()
    }
}

/// The shared state of one event or notify.
#[derive(Debug)]
pub struct SharedCounters {
    address: usize,
    name: SharedName,
    /// Kept open, so that other processes can open it.
    file: File,
}

/// Contents of the file.
#[repr(C)]
struct Layout {
    magic: AtomicU64,
    nonce: AtomicU64,
    latest_record: AtomicU64,
    /// The value of a notify.
    value: AtomicU32,
    /// Not 0 if every process may use the counters; otherwise only those in the first `allowed_count` entries of
    /// `allowed`.
    is_open: AtomicU32,
    allowed_count: AtomicU32,
    allowed: [AtomicU32; MAX_ALLOWED_PROCESSES],
    /// The latest reached record per record number modulo `RECORDS`: streams reach their records in any order.
    reached: [AtomicU64; RECORDS],
}

const _: () = assert!(size_of::<Layout>() <= LEN);

impl SharedCounters {
    /// Creates the counters of a new event or notify.
    pub fn create() -> io::Result<SharedCounters> {
        let file = memory_file(c"softacl-event", LEN)?;
        let address = map(&file)?;
        // Proves that the process that opens the counters was given their name.
        let nonce = u64::from_le_bytes(random()?);
        let name = SharedName { process: std::process::id(), descriptor: file.as_raw_fd() as u32, nonce };
        let counters = SharedCounters { address, name, file };
        counters.layout().nonce.store(name.nonce, Ordering::Relaxed);
        counters.layout().magic.store(MAGIC, Ordering::Release);
        Ok(counters)
    }

    /// Opens the counters of another process. Fails if they no longer exist.
    pub fn open(name: SharedName) -> io::Result<SharedCounters> {
        let file = open_memory_file(name.process, name.descriptor.into())?;
        if file.metadata()?.len() != LEN as u64 {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        let counters = SharedCounters { address: map(&file)?, name, file };
        let layout = counters.layout();
        if layout.magic.load(Ordering::Acquire) != MAGIC || layout.nonce.load(Ordering::Relaxed) != name.nonce {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        Ok(counters)
    }

    /// The key for other processes.
    pub fn name(&self) -> SharedName {
        self.name
    }

    /// Shows the creator that a queued wait of this process uses the counters.
    pub fn hold_use(&self) -> Option<UseLock> {
        UseLock::hold(&self.file)
    }

    /// Other processes with queued waits, as far as they show it.
    pub fn users(&self) -> Vec<u32> {
        use_lock::users(&self.file)
    }

    /// Assigns the number of a new record.
    pub fn next_record(&self) -> u64 {
        self.layout().latest_record.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The number of the latest record of any process.
    pub fn latest_record(&self) -> u64 {
        self.layout().latest_record.load(Ordering::Acquire)
    }

    /// Publishes that a stream has reached the record.
    pub fn mark_reached(&self, record: u64) {
        self.reached(record).fetch_max(record, Ordering::AcqRel);
    }

    /// True if the record was reached.
    pub fn has_reached(&self, record: u64) -> bool {
        self.reached(record).load(Ordering::Acquire) >= record
    }

    fn reached(&self, record: u64) -> &AtomicU64 {
        &self.layout().reached[(record % RECORDS as u64) as usize]
    }

    /// The value of a notify.
    pub fn value(&self) -> u32 {
        self.layout().value.load(Ordering::Acquire)
    }

    /// Changes the value of a notify atomically. Returns `false`, without effect, if `change` returns `None`.
    pub fn update(&self, change: impl Fn(u32) -> Option<u32>) -> bool {
        self.layout().value.fetch_update(Ordering::AcqRel, Ordering::Acquire, change).is_ok()
    }

    /// Allows every process.
    pub fn open_to_all(&self) {
        self.layout().is_open.store(1, Ordering::Release);
    }

    /// Adds a process to the list. Returns `false` if the list is full.
    pub fn allow(&self, process: u32) -> bool {
        let Layout { allowed_count, allowed, .. } = self.layout();
        let Ok(at) = allowed_count.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
            ((count as usize) < MAX_ALLOWED_PROCESSES).then_some(count + 1)
        }) else {
            return false;
        };
        allowed[at as usize].store(process, Ordering::Release);
        true
    }

    /// True if a process may use the counters. The creator always may.
    pub fn is_allowed(&self, process: u32) -> bool {
        let Layout { is_open, allowed_count, allowed, .. } = self.layout();
        let count = (allowed_count.load(Ordering::Acquire) as usize).min(MAX_ALLOWED_PROCESSES);
        process == self.name.process
            || is_open.load(Ordering::Acquire) != 0
            || allowed[..count].iter().any(|entry| entry.load(Ordering::Acquire) == process)
    }

    fn layout(&self) -> &Layout {
        // SAFETY: `map` returned a mapping of `LEN` bytes, which `Layout` fits (asserted above) and which is unmapped
        // only in `drop`. All fields are atomic, for which all bit patterns are valid.
        unsafe { &*(self.address as *const Layout) }
    }
}

impl Drop for SharedCounters {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `map` returned. No reference from `layout` outlives `self`.
        unsafe { libc::munmap(self.address as *mut _, LEN) };
    }
}

/// Maps the whole file. Returns the address.
fn map(file: &File) -> io::Result<usize> {
    system::check_allowed(Resource::Map, LEN)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses replaces no other.
    let address = unsafe { libc::mmap(ptr::null_mut(), LEN, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_opened_by_name_and_outlive_their_creator() {
        let ours = SharedCounters::create().unwrap();
        let name = ours.name();
        let theirs = SharedCounters::open(name).unwrap();
        let record = ours.next_record();
        assert_eq!(theirs.latest_record(), record);
        assert!(!theirs.has_reached(record));
        ours.mark_reached(record);
        assert!(theirs.has_reached(record));
        let (second, third) = (theirs.next_record(), ours.next_record());
        ours.mark_reached(third);
        assert!(theirs.has_reached(third) && !theirs.has_reached(second), "streams reach their records in any order");
        theirs.mark_reached(second);
        assert!(ours.has_reached(second));
        drop(ours);
        assert!(theirs.has_reached(record));
        assert!(SharedCounters::open(SharedName { nonce: name.nonce ^ 1, ..name }).is_err());
        assert!(SharedCounters::open(SharedName { descriptor: 999_999, ..name }).is_err());
        assert!(SharedCounters::open(SharedName { process: 0, ..name }).is_err());
    }

    #[test]
    fn access_list_admits_listed_processes_or_all() {
        let counters = SharedCounters::create().unwrap();
        assert!(counters.is_allowed(std::process::id()) && !counters.is_allowed(7));
        assert!(counters.allow(7) && counters.is_allowed(7) && !counters.is_allowed(8));
        counters.open_to_all();
        assert!(counters.is_allowed(8));
        (1..MAX_ALLOWED_PROCESSES).for_each(|_| assert!(counters.allow(9)));
        assert!(!counters.allow(9));
    }
}
