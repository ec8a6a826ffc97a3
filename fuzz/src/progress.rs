//! Progress of a child process: counters in a file that child and parent map. The counters outlive the child, so the
//! parent can read its last call however it ends.

use crate::api::FUNCTIONS;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words before the counters of the functions: position and function of the current call, calls, programs.
const HEAD: usize = 8;
const MAX_FUNCTIONS: usize = 600;
const WORDS: usize = HEAD + 2 * MAX_FUNCTIONS;

/// The mapped counters.
#[derive(Debug, Clone, Copy)]
pub struct Progress(&'static [AtomicU64]);

impl Progress {
    /// Maps the counters in a file.
    pub fn open(file: &File) -> std::io::Result<Progress> {
        assert!(FUNCTIONS.len() <= MAX_FUNCTIONS);
        file.set_len(8 * WORDS as u64)?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping of a file with this length.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), 8 * WORDS, protection, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the mapping is aligned, has this length, and is never unmapped.
        Ok(Progress(unsafe { std::slice::from_raw_parts(start.cast::<AtomicU64>(), WORDS) }))
    }

    pub fn clear(&self) {
        self.0.iter().for_each(|counter| counter.store(0, Relaxed));
    }

    /// Records the start of a call: its position in the input, and the function.
    pub fn begin(&self, position: usize, function: usize) {
        self.0[0].store(position as u64, Relaxed);
        self.0[1].store(function as u64 + 1, Relaxed);
        self.0[HEAD + 2 * function].fetch_add(1, Relaxed);
    }

    /// Records the end of a call.
    pub fn end(&self, function: usize, succeeded: bool) {
        self.0[1].store(0, Relaxed);
        self.0[2].fetch_add(1, Relaxed);
        if succeeded {
            self.0[HEAD + 2 * function + 1].fetch_add(1, Relaxed);
        }
    }

    /// Returns the function that is being called.
    pub fn function(&self) -> Option<usize> {
        (self.0[1].load(Relaxed) as usize).checked_sub(1)
    }

    /// Number of finished calls.
    pub fn calls(&self) -> u64 {
        self.0[2].load(Relaxed)
    }

    pub fn program_done(&self) {
        self.0[3].fetch_add(1, Relaxed);
    }

    pub fn programs(&self) -> u64 {
        self.0[3].load(Relaxed)
    }

    /// Returns how often a function was called, and how often it succeeded.
    pub fn of(&self, function: usize) -> (u64, u64) {
        (self.0[HEAD + 2 * function].load(Relaxed), self.0[HEAD + 2 * function + 1].load(Relaxed))
    }
}
