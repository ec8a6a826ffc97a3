//! What a fuzzing process tells its parent while it runs: a page of counters that both map. It outlives the
//! process, so that its last call is known however it ends.

use crate::interface::FUNCTIONS;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const HEAD: usize = 8;
const FUNCTIONS_AT_MOST: usize = 600;
const WORDS: usize = HEAD + 2 * FUNCTIONS_AT_MOST;

#[derive(Debug, Clone, Copy)]
pub struct Progress(&'static [AtomicU64]);

impl Progress {
    /// Maps the counters in a file.
    pub fn open(file: &File) -> std::io::Result<Progress> {
        assert!(FUNCTIONS.len() <= FUNCTIONS_AT_MOST);
        file.set_len(8 * WORDS as u64)?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping of a file that has the length.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), 8 * WORDS, protection, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the mapping is aligned, has the length, and is never unmapped.
        Ok(Progress(unsafe { std::slice::from_raw_parts(start.cast::<AtomicU64>(), WORDS) }))
    }

    pub fn clear(&self) {
        self.0.iter().for_each(|counter| counter.store(0, Relaxed));
    }

    /// A call begins: which gene of the life, and which function.
    pub fn begin(&self, gene: usize, function: usize) {
        self.0[0].store(gene as u64, Relaxed);
        self.0[1].store(function as u64 + 1, Relaxed);
        self.0[HEAD + 2 * function].fetch_add(1, Relaxed);
    }

    pub fn end(&self, function: usize, succeeded: bool) {
        self.0[1].store(0, Relaxed);
        self.0[2].fetch_add(1, Relaxed);
        if succeeded {
            self.0[HEAD + 2 * function + 1].fetch_add(1, Relaxed);
        }
    }

    /// The function that is being called.
    pub fn function(&self) -> Option<usize> {
        (self.0[1].load(Relaxed) as usize).checked_sub(1)
    }

    pub fn calls(&self) -> u64 {
        self.0[2].load(Relaxed)
    }

    pub fn program_done(&self) {
        self.0[3].fetch_add(1, Relaxed);
    }

    pub fn programs(&self) -> u64 {
        self.0[3].load(Relaxed)
    }

    /// How often a function was called, and how often it succeeded.
    pub fn of(&self, function: usize) -> (u64, u64) {
        (self.0[HEAD + 2 * function].load(Relaxed), self.0[HEAD + 2 * function + 1].load(Relaxed))
    }
}
