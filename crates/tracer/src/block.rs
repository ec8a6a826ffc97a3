//! Blocks: the memory of a log, private to the process or shared with a file.
//!
//! Memory comes from `mmap`, not from the program's allocator: a signal handler that ends the process may interrupt a
//! thread in here and never return, and the allocator would then stay inconsistent, with its lock held. No lock is
//! taken either. Blocks that are shared with a file survive the process, however it ends.
//!
//! A block starts with a head of two slots. Its slots are reserved one after the other by one thread, and by signal
//! handlers on that thread.

use crate::record::Slot;
use softacl_memory::without_size_signal;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Blocks start and end at multiples of this.
pub(crate) const ALIGNMENT: usize = 4096;
/// First word of a block that is in use.
const MAGIC: u64 = u64::from_le_bytes(*b"aclblock");
/// `MADV_POPULATE_WRITE`, available since Linux 5.14: one call is cheaper than a fault per page.
const POPULATE_WRITE: i32 = 23;

/// Start of a block. Zeroed memory is the head of an unused block.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Block {
    magic: AtomicU64,
    /// Length of the block in bytes, and in the high half its number of slots, possibly fewer than fit.
    size: AtomicU64,
    /// Process-wide number of the thread. Unlike its id, it is never reused.
    thread: AtomicU64,
    /// The system's id of the thread.
    thread_id: AtomicU64,
    /// The system's name of the thread.
    name: [AtomicU64; 2],
    /// Number of reserved slots, possibly more than the block has.
    reserved: AtomicU64,
    /// The block that was added before. Meaningless in a file.
    previous: AtomicPtr<Block>,
}

/// Who writes a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) thread: u64,
    pub(crate) thread_id: u32,
    pub(crate) name: [u8; 16],
}

impl Block {
    /// Bytes of a block with this many slots.
    pub(crate) fn bytes_for(slots: usize) -> usize {
        (size_of::<Block>() + slots * size_of::<Slot>()).next_multiple_of(ALIGNMENT)
    }

    /// Interprets mapped memory as a block. `None` if it is not one or if its length is wrong.
    pub(crate) fn parse(memory: &[AtomicU64]) -> Option<&Block> {
        if memory.len() < ALIGNMENT / size_of::<u64>() {
            return None;
        }
        // SAFETY: the memory is long enough, and the structure consists of words for which every value is valid. The
        // pointer is not followed in a block of a file.
        let block = unsafe { &*memory.as_ptr().cast::<Block>() };
        let len = block.len();
        let is_sound = len.is_multiple_of(ALIGNMENT)
            && len <= size_of_val(memory)
            && size_of::<Block>() + block.capacity() * size_of::<Slot>() <= len;
        (block.magic.load(Ordering::Acquire) == MAGIC && is_sound).then_some(block)
    }

    pub(crate) fn len(&self) -> usize {
        self.size.load(Ordering::Relaxed) as u32 as usize
    }

    fn capacity(&self) -> usize {
        (self.size.load(Ordering::Relaxed) >> 32) as usize
    }

    pub(crate) fn writer(&self) -> Writer {
        let [one, other] = self.name.each_ref().map(|word| word.load(Ordering::Relaxed));
        let name = (u128::from(one) | u128::from(other) << 64).to_le_bytes();
        let thread_id = self.thread_id.load(Ordering::Relaxed) as u32;
        Writer { thread: self.thread.load(Ordering::Relaxed), thread_id, name }
    }

    /// Reserves adjacent slots. `None` if the block is full.
    #[inline]
    pub(crate) fn reserve(&self, count: usize) -> Option<&[Slot]> {
        let first = self.reserved.fetch_add(count as u64, Ordering::Relaxed) as usize;
        self.slots().get(first..first + count)
    }

    /// All slots, reserved or not.
    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        // SAFETY: a block is followed by its slots in the same mapping, and zeroes are valid slots.
        unsafe { std::slice::from_raw_parts(ptr::from_ref(self).add(1).cast::<Slot>(), self.capacity()) }
    }

    fn begin(&self, bytes: u32, slots: u32, writer: Writer) {
        self.size.store(u64::from(bytes) | u64::from(slots) << 32, Ordering::Relaxed);
        self.thread.store(writer.thread, Ordering::Relaxed);
        self.thread_id.store(writer.thread_id.into(), Ordering::Relaxed);
        for (word, bytes) in self.name.iter().zip(writer.name.as_chunks().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        self.magic.store(MAGIC, Ordering::Release);
    }
}

/// All blocks of a log.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// The file that the blocks are shared with.
    file: Option<File>,
    /// End of the file.
    end: AtomicU64,
    newest: AtomicPtr<Block>,
}

impl Blocks {
    /// Blocks in private memory, or in a file behind its first `start` bytes.
    pub(crate) fn new(file: Option<File>, start: usize) -> Blocks {
        Blocks { file, end: AtomicU64::new(start as u64), newest: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Adds a block with this many slots. `None` if the system has no room for it.
    pub(crate) fn add(&self, slots: usize, writer: Writer) -> Option<&Block> {
        let bytes = Block::bytes_for(slots);
        let offset = self.end.fetch_add(bytes as u64, Ordering::Relaxed);
        let start = map(self.file.as_ref(), offset, bytes).ok()?.cast::<Block>();
        // SAFETY: fresh zeroed memory, which is the head of an unused block, mapped until the list is dropped.
        let block = unsafe { start.as_ref() };
        block.begin(u32::try_from(bytes).ok()?, u32::try_from(slots).ok()?, writer);
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            block.previous.store(newest, Ordering::Relaxed);
            match self.newest.compare_exchange(newest, start.as_ptr(), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Some(block),
                Err(other) => newest = other,
            }
        }
    }

    /// All blocks, newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Block> {
        // SAFETY: the list contains blocks that stay mapped until it is dropped.
        let at = |start: *mut Block| unsafe { start.as_ref() };
        let newest = at(self.newest.load(Ordering::Acquire));
        std::iter::successors(newest, move |block| at(block.previous.load(Ordering::Relaxed)))
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        let mut next = NonNull::new(*self.newest.get_mut());
        while let Some(block) = next {
            // SAFETY: a mapped block, to which no reference remains.
            unsafe {
                next = NonNull::new(block.as_ref().previous.load(Ordering::Relaxed));
                libc::munmap(block.as_ptr().cast(), block.as_ref().len());
            }
        }
    }
}

/// Maps zeroed memory: private, or shared with a part of a file, for which the file system reserves room.
pub(crate) fn map(file: Option<&File>, offset: u64, bytes: usize) -> io::Result<NonNull<u8>> {
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let (flags, fd) = file.map_or((private, -1), |file| (libc::MAP_SHARED, file.as_raw_fd()));
    let offset = i64::try_from(if file.is_some() { offset } else { 0 }).map_err(io::Error::other)?;
    // Without reserved room, a full disk would end the process with SIGBUS.
    let reserve = || {
        // SAFETY: has no conditions.
        match unsafe { libc::posix_fallocate(fd, offset, bytes as i64) } {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    };
    if file.is_some() {
        without_size_signal(reserve)?;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new memory at an address that the system chooses.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, fd, offset) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the memory was just mapped. A failure only costs time.
    unsafe { libc::madvise(start, bytes, POPULATE_WRITE) };
    NonNull::new(start.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITER: Writer = Writer { thread: 3, thread_id: 4, name: *b"a thread\0\0\0\0\0\0\0\0" };

    #[test]
    fn head_takes_the_room_of_two_slots() {
        assert_eq!((size_of::<Block>(), Block::bytes_for(126), Block::bytes_for(127)), (64, 4096, 8192));
    }

    #[test]
    fn slots_are_reserved_once_until_the_block_is_full() {
        let blocks = Blocks::new(None, 0);
        let block = blocks.add(100, WRITER).unwrap();
        let first = block.reserve(2).unwrap();
        assert_eq!((first.len(), block.slots().len(), block.writer()), (2, 100, WRITER));
        assert!(ptr::eq(block.reserve(98).unwrap(), &raw const block.slots()[2..]));
        assert!(block.reserve(1).is_none() && block.reserve(1).is_none());
        blocks.add(127, WRITER).unwrap();
        assert_eq!(blocks.iter().map(Block::len).collect::<Vec<_>>(), [8192, 4096]);
    }

    #[test]
    fn only_blocks_with_a_plausible_length_are_parsed() {
        let blocks = Blocks::new(None, 0);
        let block = blocks.add(126, WRITER).unwrap();
        // SAFETY: the memory of the block, which consists of words.
        let memory = unsafe { std::slice::from_raw_parts(ptr::from_ref(block).cast::<AtomicU64>(), 512) };
        assert!(Block::parse(memory).is_some() && Block::parse(&memory[..500]).is_none());
        for (bytes, slots) in [(8192, 1), (4095, 1), (4096, 127), (0, 0)] {
            block.begin(bytes, slots, WRITER);
            assert!(Block::parse(memory).is_none(), "{bytes} {slots}");
        }
        block.begin(4096, 126, WRITER);
        block.magic.store(0, Ordering::Relaxed);
        assert!(Block::parse(memory).is_none());
    }
}
