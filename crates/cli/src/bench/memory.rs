//! Memory of the references: huge pages as ours, the C library's memcpy, patterns and caches. The
//! only file of the benchmark, besides the OpenCL one, that touches memory by address.

use anyhow::{Result, bail};
use std::hint::black_box;
use std::{fs, io, ptr};

const HUGE_PAGE: usize = 2 << 20;
/// Larger than the last cache of the machines we know, by a factor of two.
const CACHE: usize = 64 << 20;

/// Ordinary memory on huge pages, as the pinned and device memory of softacl is.
pub struct HostMemory {
    start: usize,
    mapped: (usize, usize),
}

impl HostMemory {
    pub fn new(bytes: usize) -> Result<HostMemory> {
        let whole = bytes.next_multiple_of(HUGE_PAGE) + HUGE_PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches nothing of ours.
        let mapped = unsafe { libc::mmap(ptr::null_mut(), whole, access, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            bail!("could not map {whole} bytes: {}", io::Error::last_os_error());
        }
        let start = (mapped as usize).next_multiple_of(HUGE_PAGE);
        // SAFETY: inside the mapping. Huge pages are a wish: failure changes nothing.
        unsafe { libc::madvise(start as *mut _, whole - HUGE_PAGE, libc::MADV_HUGEPAGE) };
        Ok(HostMemory { start, mapped: (mapped as usize, whole) })
    }

    pub fn at(&self, offset: usize) -> usize {
        self.start + offset
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; this value is its only owner.
        unsafe { libc::munmap(self.mapped.0 as *mut _, self.mapped.1) };
    }
}

/// A loop of the C library's memcpy over equal pieces that the caller owns.
pub fn copy_each(targets: &[usize], sources: &[usize], bytes: usize) {
    for (&target, &source) in targets.iter().zip(sources) {
        // SAFETY: the caller names pieces of allocations of its own, which do not overlap.
        unsafe { libc::memcpy(target as *mut _, source as *const _, black_box(bytes)) };
    }
}

/// The same on several threads, which are started for it. Each gets equal pieces, or its part of each piece
/// when there are few.
pub fn copy_each_on(threads: usize, targets: &[usize], sources: &[usize], bytes: usize) {
    std::thread::scope(|scope| {
        let run = |part: usize| {
            if targets.len() < threads {
                let (begin, end) = (bytes * part / threads, bytes * (part + 1) / threads);
                let moved = |all: &[usize]| all.iter().map(|address| address + begin).collect::<Vec<_>>();
                copy_each(&moved(targets), &moved(sources), end - begin);
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

/// Fills memory that the caller owns with words that are all different.
pub fn fill(start: usize, bytes: usize, salt: u64) {
    for index in 0..bytes / 8 {
        // SAFETY: inside the range, which starts at a page.
        unsafe { (start as *mut u64).add(index).write(pattern(index, salt)) };
    }
}

fn pattern(index: usize, salt: u64) -> u64 {
    (index as u64 ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Whether memory that the caller owns holds what `fill` wrote with this salt.
pub fn is_filled(start: usize, bytes: usize, salt: u64) -> bool {
    // SAFETY: inside the range, which starts at a page and which nothing writes to now.
    (0..bytes / 8).all(|index| unsafe { (start as *const u64).add(index).read() } == pattern(index, salt))
}

/// Whether two ranges that the caller owns hold the same bytes.
pub fn equal(one: usize, other: usize, bytes: usize) -> bool {
    // SAFETY: the caller names memory of its own that nothing writes to now.
    unsafe { libc::memcmp(one as *const _, other as *const _, bytes) == 0 }
}

/// Writes a byte to every small page of a range that the caller owns.
pub fn touch(start: usize, bytes: usize) {
    for offset in (0..bytes).step_by(4096) {
        // SAFETY: inside the range.
        unsafe { ((start + offset) as *mut u8).write_volatile(1) };
    }
}

/// Memory that is read to push everything else out of the caches.
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

/// Bytes that the system can still hand out.
pub fn available() -> Option<usize> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches(" kB").parse::<usize>().ok().map(|kib| kib << 10)
}

/// An uncontended lock and unlock of a pthread mutex, as often as asked.
pub fn lock_pairs(times: usize) {
    let mut mutex = Box::new(libc::PTHREAD_MUTEX_INITIALIZER);
    let mutex: *mut libc::pthread_mutex_t = black_box(&mut *mutex);
    for _ in 0..times {
        // SAFETY: an initialised mutex that only this thread knows.
        unsafe {
            libc::pthread_mutex_lock(mutex);
            libc::pthread_mutex_unlock(mutex);
        }
    }
}

/// Processor time of this whole process.
pub fn cpu_time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
