//! Memory of the references: huge pages, the C library's memcpy, fill patterns and cache eviction. Besides the OpenCL
//! module, this is the only part of the benchmark that accesses memory by address.

use anyhow::{Result, bail};
use std::hint::black_box;
use std::{fs, io, ptr};

const HUGE_PAGE: usize = 2 << 20;
/// Twice the last-level cache of known hosts.
const CACHE: usize = 64 << 20;

/// Ordinary memory on huge pages, like the pinned and device memory of softacl.
pub struct HostMemory {
    start: usize,
    mapped: (usize, usize),
}

impl HostMemory {
    pub fn new(bytes: usize) -> Result<HostMemory> {
        let whole = bytes.next_multiple_of(HUGE_PAGE) + HUGE_PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh anonymous mapping at an address that the kernel chooses overlaps no other memory.
        let mapped = unsafe { libc::mmap(ptr::null_mut(), whole, access, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            bail!("could not map {whole} bytes: {}", io::Error::last_os_error());
        }
        let start = (mapped as usize).next_multiple_of(HUGE_PAGE);
        // SAFETY: inside the mapping. Huge pages are a hint; failure is harmless.
        unsafe { libc::madvise(start as *mut _, whole - HUGE_PAGE, libc::MADV_HUGEPAGE) };
        Ok(HostMemory { start, mapped: (mapped as usize, whole) })
    }

    pub fn at(&self, offset: usize) -> usize {
        self.start + offset
    }

    /// The first `len` bytes.
    pub fn bytes(&self, len: usize) -> &[u8] {
        assert!(self.start + len <= self.mapped.0 + self.mapped.1);
        // SAFETY: inside the mapping, which the kernel has zeroed; no copy writes to it during the borrow.
        unsafe { std::slice::from_raw_parts(self.start as *const u8, len) }
    }

    /// The first `len` bytes.
    pub fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        assert!(self.start + len <= self.mapped.0 + self.mapped.1);
        // SAFETY: inside the mapping, which the kernel has zeroed; no copy uses it during the borrow.
        unsafe { std::slice::from_raw_parts_mut(self.start as *mut u8, len) }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping created in `new`, which this value owns.
        unsafe { libc::munmap(self.mapped.0 as *mut _, self.mapped.1) };
    }
}

/// Copies equal pieces, which the caller owns, with the C library's memcpy.
pub fn copy_each(targets: &[usize], sources: &[usize], bytes: usize) {
    for (&target, &source) in targets.iter().zip(sources) {
        // SAFETY: the caller owns the pieces, which do not overlap.
        unsafe { libc::memcpy(target as *mut _, source as *const _, black_box(bytes)) };
    }
}

/// Copies equal pieces like `copy_each`, on several new threads. Each thread copies a share of the pieces, or a share
/// of every piece if there are fewer pieces than threads.
pub fn copy_each_on(threads: usize, targets: &[usize], sources: &[usize], bytes: usize) {
    std::thread::scope(|scope| {
        let run = |part: usize| {
            if targets.len() < threads {
                let (begin, end) = (bytes * part / threads, bytes * (part + 1) / threads);
                let shifted = |all: &[usize]| all.iter().map(|address| address + begin).collect::<Vec<_>>();
                copy_each(&shifted(targets), &shifted(sources), end - begin);
            } else {
                let range = targets.len() * part / threads..targets.len() * (part + 1) / threads;
                copy_each(&targets[range.clone()], &sources[range], bytes);
            }
        };
        for part in 1..threads {
            scope.spawn(move || run(part));
        }
        run(0);
    });
}

/// Fills memory that the caller owns with distinct words.
pub fn fill(start: usize, bytes: usize, salt: u64) {
    for index in 0..bytes / 8 {
        // SAFETY: inside the range, which is page-aligned.
        unsafe { (start as *mut u64).add(index).write(pattern(index, salt)) };
    }
}

fn pattern(index: usize, salt: u64) -> u64 {
    (index as u64 ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// True if memory that the caller owns contains what `fill` writes with this salt.
pub fn is_filled(start: usize, bytes: usize, salt: u64) -> bool {
    // SAFETY: inside the range, which is page-aligned and not being written.
    (0..bytes / 8).all(|index| unsafe { (start as *const u64).add(index).read() } == pattern(index, salt))
}

/// True if two ranges that the caller owns contain the same bytes.
pub fn equal(one: usize, other: usize, bytes: usize) -> bool {
    // SAFETY: the caller owns both ranges, which are not being written.
    unsafe { libc::memcmp(one as *const _, other as *const _, bytes) == 0 }
}

/// Writes a byte to every small page of a range that the caller owns.
pub fn touch(start: usize, bytes: usize) {
    for offset in (0..bytes).step_by(4096) {
        // SAFETY: inside the range.
        unsafe { ((start + offset) as *mut u8).write_volatile(1) };
    }
}

/// Memory that is read to evict everything else from the caches.
pub struct CacheFlush(HostMemory);

impl CacheFlush {
    pub fn new() -> Result<CacheFlush> {
        let memory = HostMemory::new(CACHE)?;
        fill(memory.at(0), CACHE, 1);
        Ok(CacheFlush(memory))
    }

    pub fn flush(&self) {
        let mut sum = 0u64;
        for offset in (0..CACHE).step_by(64) {
            // SAFETY: inside the memory of this value.
            sum = sum.wrapping_add(unsafe { (self.0.at(offset) as *const u64).read_volatile() });
        }
        black_box(sum);
    }
}

/// Returns the available memory of the host in bytes.
pub fn available() -> Option<usize> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches(" kB").parse::<usize>().ok().map(|kib| kib << 10)
}

/// Locks and unlocks an uncontended pthread mutex `times` times.
pub fn lock_pairs(times: usize) {
    let mut mutex = Box::new(libc::PTHREAD_MUTEX_INITIALIZER);
    let mutex: *mut libc::pthread_mutex_t = black_box(&mut *mutex);
    for _ in 0..times {
        // SAFETY: an initialized mutex that only this thread uses.
        unsafe {
            libc::pthread_mutex_lock(mutex);
            libc::pthread_mutex_unlock(mutex);
        }
    }
}

/// Returns the processor time of this process.
pub fn cpu_time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
