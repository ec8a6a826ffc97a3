//! The shared memory file of a group: a head, one slot per rank, and one ring per ordered pair of ranks.
//!
//! Everything that ranks read and write at the same time is atomic, except the bytes of a ring, which belong to one side
//! at a time: see `channel`.

use softacl_memory::region::{memory_file, open_memory_file, random};
use softacl_memory::without_size_signal;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = 0x736f_6674_6163_6c34;
/// Size of the head, and of the file until the number of ranks is known.
const HEAD: usize = 4096;
/// Maximum number of ranks of a group.
pub const MAX_RANKS: u32 = 1024;
/// Bytes of the rings that one rank writes, all together, and bounds of one ring. Chosen: a ring should fit into the
/// cache of a core, and a group of many ranks should not need more memory than a few large buffers.
const RINGS_OF_RANK: usize = 8 << 20;
const MIN_RING: usize = 64 << 10;
const MAX_RING: usize = 1 << 20;
/// Longest reason for a failure that a rank leaves to the others.
pub(crate) const MAX_REASON: usize = 448;

/// The beginning of the file.
#[repr(C)]
pub(crate) struct Head {
    magic: AtomicU64,
    nonce: AtomicU64,
    /// Number of ranks, or 0 until the first one has joined.
    pub(crate) ranks: AtomicU32,
}

/// What a rank shows to the others.
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// A `RankState`.
    pub(crate) state: AtomicU32,
    pub(crate) process: AtomicU32,
    pub(crate) device: AtomicU32,
    /// Length of `reason`, written before the state becomes `Failed`.
    pub(crate) reason_len: AtomicU32,
    pub(crate) reason: [AtomicU8; MAX_REASON],
}

/// The positions of a ring. Each side has a separate cache line.
#[repr(C, align(128))]
pub(crate) struct Positions {
    pub(crate) written: Line,
    pub(crate) read: Line,
}

#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) AtomicU64);

const _: () = assert!(size_of::<Head>() <= HEAD && size_of::<Slot>() == 512 && size_of::<Positions>() == 128);

/// How another process opens the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentKey {
    pub process: u32,
    pub descriptor: u32,
    pub nonce: u64,
}

/// The mapped file.
#[derive(Debug)]
pub(crate) struct Segment {
    address: usize,
    len: usize,
    /// Kept open, so that other processes can open it.
    file: File,
    pub(crate) key: SegmentKey,
}

impl Segment {
    /// Creates the file of a new group. `name` is a part of its name in `/proc`.
    pub(crate) fn create(name: &str) -> io::Result<Segment> {
        let file = memory_file(&file_name(name)?, HEAD)?;
        let nonce = u64::from_le_bytes(random()?);
        let key = SegmentKey { process: std::process::id(), descriptor: file.as_raw_fd() as u32, nonce };
        let segment = Segment { address: map(&file, HEAD)?, len: HEAD, file, key };
        segment.head().nonce.store(nonce, Ordering::Relaxed);
        segment.head().magic.store(MAGIC, Ordering::Release);
        Ok(segment)
    }

    /// Opens the file of a group by its key.
    pub(crate) fn open(key: SegmentKey) -> io::Result<Segment> {
        let file = open_memory_file(key.process, key.descriptor.into())?;
        let segment = Segment { address: map(&file, HEAD)?, len: HEAD, file, key };
        let head = segment.head();
        let is_same = head.magic.load(Ordering::Acquire) == MAGIC && head.nonce.load(Ordering::Relaxed) == key.nonce;
        if is_same { Ok(segment) } else { Err(io::Error::from(io::ErrorKind::NotFound)) }
    }

    /// Opens the file with a name that a process has open. `None` if it has none.
    pub(crate) fn find(process: u32, name: &str) -> Option<Segment> {
        let wanted = format!("/memfd:{} (deleted)", file_name(name).ok()?.to_str().ok()?);
        let entries = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
        entries.flatten().map(|entry| entry.path()).find_map(|path| {
            let is_wanted = fs::read_link(&path).is_ok_and(|target| target.as_os_str().as_bytes() == wanted.as_bytes());
            let descriptor = path.file_name()?.to_str()?.parse().ok().filter(|_| is_wanted)?;
            let file = open_memory_file(process, descriptor).ok()?;
            if file.metadata().ok()?.len() < HEAD as u64 {
                return None;
            }
            let key = SegmentKey { process, descriptor: descriptor as u32, nonce: 0 };
            let mut segment = Segment { address: map(&file, HEAD).ok()?, len: HEAD, file, key };
            if segment.head().magic.load(Ordering::Acquire) != MAGIC {
                return None;
            }
            segment.key.nonce = segment.head().nonce.load(Ordering::Relaxed);
            Some(segment)
        })
    }

    /// Makes room for the slots and rings of `ranks` ranks, which all ranks of the group agree on.
    pub(crate) fn grow(&mut self, ranks: u32) -> io::Result<()> {
        let len = HEAD + size_of::<Slot>() * ranks as usize + ring_stride(ranks) * (ranks * ranks) as usize;
        let len = len.next_multiple_of(HEAD);
        if self.file.metadata()?.len() < len as u64 {
            // Another rank may do the same at the same time, with the same result. The file cannot shrink.
            without_size_signal(|| self.file.set_len(len as u64))?;
        }
        let address = map(&self.file, len)?;
        let (old, old_len) = (self.address, self.len);
        (self.address, self.len) = (address, len);
        // SAFETY: exactly the mapping that `map` returned; `&mut self` shows that no reference into it exists.
        unsafe { libc::munmap(old as *mut _, old_len) };
        Ok(())
    }

    pub(crate) fn head(&self) -> &Head {
        // SAFETY: the mapping has at least `HEAD` bytes, which `Head` fits, and lives as long as `self`. All fields are
        // atomic, for which all bit patterns are valid.
        unsafe { &*(self.address as *const Head) }
    }

    /// The slot of a rank, after `grow`.
    pub(crate) fn slot(&self, rank: u32) -> &Slot {
        let offset = HEAD + rank as usize * size_of::<Slot>();
        assert!(offset + size_of::<Slot>() <= self.len, "rank {rank} is not in the group");
        // SAFETY: inside the mapping (asserted), aligned because `HEAD` and the size of a slot are, and all fields are
        // atomic.
        unsafe { &*((self.address + offset) as *const Slot) }
    }

    /// The positions of the ring from one rank to another, and the address and length of its bytes.
    pub(crate) fn ring(&self, ranks: u32, from: u32, to: u32) -> (&Positions, *mut u8, usize) {
        let index = from as usize * ranks as usize + to as usize;
        let offset = HEAD + size_of::<Slot>() * ranks as usize + index * ring_stride(ranks);
        assert!(offset + ring_stride(ranks) <= self.len, "rank {from} or {to} is not in the group");
        // SAFETY: as in `slot`.
        let positions = unsafe { &*((self.address + offset) as *const Positions) };
        (positions, (self.address + offset + size_of::<Positions>()) as *mut u8, ring_len(ranks))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `map` returned. No reference into it outlives `self`.
        unsafe { libc::munmap(self.address as *mut _, self.len) };
    }
}

/// Bytes of one ring.
pub(crate) fn ring_len(ranks: u32) -> usize {
    let share = RINGS_OF_RANK / (ranks.max(1) as usize).next_power_of_two();
    share.clamp(MIN_RING, MAX_RING)
}

fn ring_stride(ranks: u32) -> usize {
    size_of::<Positions>() + ring_len(ranks)
}

fn file_name(name: &str) -> io::Result<CString> {
    CString::new(format!("softacl-group-{name}")).map_err(io::Error::other)
}

/// Maps the beginning of the file. Returns the address.
fn map(file: &File, len: usize) -> io::Result<usize> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
    // SAFETY: a new mapping at an address that the kernel chooses replaces no other.
    let address = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, file.as_raw_fd(), 0) };
    if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address as usize) }
}
