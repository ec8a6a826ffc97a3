//! Numbers that several processes see: what an event of the IPC kind and a notify with a key are made of.
//!
//! They live in a memory file of the process that made them. Another process opens that file through
//! the maker's descriptor and keeps its own mapping, so either may end first and nothing is left behind.

use crate::region::{memory_file, open_memory_file, random};
use softacl_faults::Resource;
use softacl_faults::system;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = 0x736f_6674_6163_6c31;
const LEN: usize = 4096;
/// Processes that can be admitted by name. They fit the file; the interface names no limit.
const MAX_ALLOWED_PROCESSES: usize = 512;
/// So many records of one event may be under way at once; of more, a late one counts as reached when a later one is. They fit
/// the file.
const RECORDS: usize = 240;

/// How another process finds the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedName {
    pub process: u32,
    pub descriptor: u32,
    /// Tells this file from a later one with the same descriptor.
    pub nonce: u64,
}

/// Records made and records reached, of one event in all processes.
#[derive(Debug)]
pub struct SharedCounters {
    address: usize,
    name: SharedName,
    /// The maker keeps the file open, so that others can find it.
    _file: File,
}

#[repr(C)]
struct Layout {
    magic: AtomicU64,
    nonce: AtomicU64,
    made: AtomicU64,
    /// The number of a notify.
    value: AtomicU32,
    /// Whether every process may open it, or only those in `admitted`; the first `guests` count.
    is_open: AtomicU32,
    guests: AtomicU32,
    admitted: [AtomicU32; MAX_ALLOWED_PROCESSES],
    /// The newest reached record of every number modulo `RECORDS`: streams come to theirs in any order.
    reached: [AtomicU64; RECORDS],
}

const _: () = assert!(size_of::<Layout>() <= LEN);

impl SharedCounters {
    pub fn create() -> io::Result<SharedCounters> {
        let file = memory_file(c"softacl-event", LEN)?;
        let address = map(&file)?;
        // It proves that whoever opens the counters was told of them.
        let nonce = u64::from_le_bytes(random()?);
        let name = SharedName { process: std::process::id(), descriptor: file.as_raw_fd() as u32, nonce };
        let counters = SharedCounters { address, name, _file: file };
        counters.layout().nonce.store(name.nonce, Ordering::Relaxed);
        counters.layout().magic.store(MAGIC, Ordering::Release);
        Ok(counters)
    }

    /// Opens the counters of another process; fails when they are gone.
    pub fn open(name: SharedName) -> io::Result<SharedCounters> {
        let file = open_memory_file(name.process, name.descriptor.into())?;
        if file.metadata()?.len() != LEN as u64 {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        let counters = SharedCounters { address: map(&file)?, name, _file: file };
        let layout = counters.layout();
        if layout.magic.load(Ordering::Acquire) != MAGIC || layout.nonce.load(Ordering::Relaxed) != name.nonce {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        Ok(counters)
    }

    pub fn name(&self) -> SharedName {
        self.name
    }

    /// Numbers a record.
    pub fn next_record(&self) -> u64 {
        self.layout().made.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The newest record of any process.
    pub fn latest_record(&self) -> u64 {
        self.layout().made.load(Ordering::Acquire)
    }

    /// A record was reached.
    pub fn mark_reached(&self, record: u64) {
        self.reached(record).fetch_max(record, Ordering::AcqRel);
    }

    pub fn has_reached(&self, record: u64) -> bool {
        self.reached(record).load(Ordering::Acquire) >= record
    }

    fn reached(&self, record: u64) -> &AtomicU64 {
        &self.layout().reached[(record % RECORDS as u64) as usize]
    }

    /// The number of a notify.
    pub fn value(&self) -> u32 {
        self.layout().value.load(Ordering::Acquire)
    }

    /// Changes the number of a notify in one step; `false` when `change` does not want to.
    pub fn update(&self, change: impl Fn(u32) -> Option<u32>) -> bool {
        self.layout().value.fetch_update(Ordering::AcqRel, Ordering::Acquire, change).is_ok()
    }

    /// Lets every process in.
    pub fn open_to_all(&self) {
        self.layout().is_open.store(1, Ordering::Release);
    }

    /// Lets a process in; `false` when no more names fit.
    pub fn admit(&self, process: u32) -> bool {
        let Layout { guests, admitted, .. } = self.layout();
        let Ok(at) = guests.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
            ((count as usize) < MAX_ALLOWED_PROCESSES).then_some(count + 1)
        }) else {
            return false;
        };
        admitted[at as usize].store(process, Ordering::Release);
        true
    }

    /// Whether a process may use it. The maker always may.
    pub fn admits(&self, process: u32) -> bool {
        let Layout { is_open, guests, admitted, .. } = self.layout();
        let count = (guests.load(Ordering::Acquire) as usize).min(MAX_ALLOWED_PROCESSES);
        process == self.name.process
            || is_open.load(Ordering::Acquire) != 0
            || admitted[..count].iter().any(|guest| guest.load(Ordering::Acquire) == process)
    }

    fn layout(&self) -> &Layout {
        // SAFETY: the mapping has this length and lives as long as `self`; all fields are atomic.
        unsafe { &*(self.address as *const Layout) }
    }
}

impl Drop for SharedCounters {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`.
        unsafe { libc::munmap(self.address as *mut _, LEN) };
    }
}

fn map(file: &File) -> io::Result<usize> {
    system::check_allowed(Resource::Map, LEN)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new shared mapping of our own descriptor at an address of the kernel's choice.
    let address = unsafe { libc::mmap(ptr::null_mut(), LEN, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_and_outlive_their_maker() {
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
        assert!(
            theirs.has_reached(third) && !theirs.has_reached(second),
            "another stream may come to its record first"
        );
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
        assert!(counters.admits(std::process::id()) && !counters.admits(7));
        assert!(counters.admit(7) && counters.admits(7) && !counters.admits(8));
        counters.open_to_all();
        assert!(counters.admits(8));
        (1..MAX_ALLOWED_PROCESSES).for_each(|_| assert!(counters.admit(9)));
        assert!(!counters.admit(9));
    }
}
