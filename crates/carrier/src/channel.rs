//! A channel: a one-way stream of bytes from one rank to another, in a ring of shared memory.
//!
//! One side writes, one side reads. `written` and `read` count bytes since the beginning and only grow; the bytes between
//! them belong to the reader, all others to the writer. The side that changes a position publishes the bytes with it (release),
//! and the side that sees it may use them (acquire). The length of the ring is a multiple of every alignment that occurs, so an
//! element that begins at a multiple of its size is never split.

use crate::segment::{Positions, Segment};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The two sides of a ring, as one process sees them.
#[derive(Debug, Clone)]
struct Ring {
    segment: Arc<Segment>,
    ranks: u32,
    from: u32,
    to: u32,
}

impl Ring {
    fn parts(&self) -> (&Positions, *mut u8, usize) {
        self.segment.ring(self.ranks, self.from, self.to)
    }
}

/// The writing side of a channel. The rank has one, and uses it from one thread at a time.
#[derive(Debug)]
pub struct Outgoing(Ring);

/// The reading side of a channel. The rank has one, and uses it from one thread at a time.
#[derive(Debug)]
pub struct Incoming(Ring);

impl Outgoing {
    pub(crate) fn new(segment: Arc<Segment>, ranks: u32, from: u32, to: u32) -> Outgoing {
        Outgoing(Ring { segment, ranks, from, to })
    }

    /// Bytes that can be written now.
    pub fn room(&self) -> usize {
        let (positions, _, len) = self.0.parts();
        let used = self.written() - positions.read.0.load(Ordering::Acquire);
        len - (used as usize).min(len)
    }

    /// Number of bytes written since the beginning.
    pub fn written(&self) -> u64 {
        self.0.parts().0.written.0.load(Ordering::Relaxed)
    }

    /// Number of bytes that the other side has read since the beginning.
    pub fn read_by_peer(&self) -> u64 {
        self.0.parts().0.read.0.load(Ordering::Acquire)
    }

    /// Writes as many bytes as there is room for. Returns their number.
    ///
    /// # Safety
    ///
    /// `source` is readable for `len` bytes.
    pub unsafe fn write(&self, source: *const u8, len: usize) -> usize {
        let (positions, bytes, capacity) = self.0.parts();
        let count = len.min(self.room());
        let start = self.written();
        let at = (start % capacity as u64) as usize;
        let first = count.min(capacity - at);
        // SAFETY: the caller promises the source. The bytes of the ring beyond `written` and before `read` plus its
        // length belong to the writer, and both parts are inside the ring.
        unsafe {
            ptr::copy_nonoverlapping(source, bytes.add(at), first);
            ptr::copy_nonoverlapping(source.add(first), bytes, count - first);
        }
        positions.written.0.store(start + count as u64, Ordering::Release);
        count
    }
}

impl Incoming {
    pub(crate) fn new(segment: Arc<Segment>, ranks: u32, from: u32, to: u32) -> Incoming {
        Incoming(Ring { segment, ranks, from, to })
    }

    /// Bytes that can be read now.
    pub fn available(&self) -> usize {
        let (positions, _, len) = self.0.parts();
        let read = positions.read.0.load(Ordering::Relaxed);
        // A peer that is not ours to trust could write any number.
        (positions.written.0.load(Ordering::Acquire).saturating_sub(read) as usize).min(len)
    }

    /// The longest contiguous part that can be read now. Valid until `consume`.
    pub fn contiguous(&self) -> (*const u8, usize) {
        let (positions, bytes, capacity) = self.0.parts();
        let at = (positions.read.0.load(Ordering::Relaxed) % capacity as u64) as usize;
        // SAFETY: `at` is inside the ring.
        (unsafe { bytes.add(at) }.cast_const(), self.available().min(capacity - at))
    }

    /// Copies the next bytes without consuming them. Returns `false`, without effect, if fewer can be read.
    pub fn peek(&self, target: &mut [u8]) -> bool {
        if self.available() < target.len() {
            return false;
        }
        let (positions, bytes, capacity) = self.0.parts();
        let at = (positions.read.0.load(Ordering::Relaxed) % capacity as u64) as usize;
        let first = target.len().min(capacity - at);
        // SAFETY: the bytes between `read` and `written` belong to the reader, and both parts are inside the ring.
        unsafe {
            ptr::copy_nonoverlapping(bytes.add(at), target.as_mut_ptr(), first);
            ptr::copy_nonoverlapping(bytes, target.as_mut_ptr().add(first), target.len() - first);
        }
        true
    }

    /// Gives `count` bytes back to the writer.
    pub fn consume(&self, count: usize) {
        let read = &self.0.parts().0.read.0;
        read.store(read.load(Ordering::Relaxed) + count as u64, Ordering::Release);
    }

    /// Reads at most `len` bytes. Returns their number.
    ///
    /// # Safety
    ///
    /// `target` is writable for `len` bytes.
    pub unsafe fn read(&self, target: *mut u8, len: usize) -> usize {
        let mut done = 0;
        while done < len {
            let (source, count) = self.contiguous();
            let count = count.min(len - done);
            if count == 0 {
                break;
            }
            // SAFETY: the caller promises the target; the source belongs to the reader until it is consumed.
            unsafe { ptr::copy_nonoverlapping(source, target.add(done), count) };
            self.consume(count);
            done += count;
        }
        done
    }
}
