//! Byte routines: the only module that reads or writes memory of the program or of a device.
//!
//! Every access goes through leaf routines whose addresses the fault handler recognizes: if an address is not
//! accessible, the routine returns [`AccessFault`] and the process continues. References or slices to such memory are
//! never formed: the program and other threads may write it at any time.
//!
//! The functions are `unsafe`: the caller promises that the access is allowed. A program allows it by passing the address
//! to a call; other memory belongs to the engine. The address need not be mapped. Ranges of the program are resolved by
//! `Finder::find` and bounded by `ResolvedAddress::covers`.
//!
//! Nothing here depends on streams or allocations.

// Miri does not execute assembly.
#[cfg_attr(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))), path = "portable.rs")]
#[cfg_attr(all(target_arch = "x86_64", not(miri)), path = "x86_64.rs")]
#[cfg_attr(all(target_arch = "aarch64", not(miri)), path = "aarch64.rs")]
mod routines;

/// Tested on every architecture.
#[cfg(test)]
#[expect(dead_code, reason = "only the copy routine is tested")]
mod portable;

pub mod convert;
pub mod rearrange;
pub mod reduce;
mod span;

pub use routines::code_range;
pub use span::Span;

use softacl_faults::Resource;
use softacl_faults::system;
use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Volume in bytes from which on copies bypass the cache. Measured on a host with 32 MiB of shared cache: for repeated
/// copies between the same buffers, bypassing takes 1.2x the time at 8 MiB and 0.7x at 16 MiB; for fresh memory it
/// takes 0.7x at every size. `prepare` sets it to three eighths of the cache.
static STREAMING: AtomicUsize = AtomicUsize::new(12 << 20);
/// Number of entries by which prefetches run ahead in a list.
const PREFETCH_DISTANCE: usize = 12;
/// Length from which on entries that bypass the cache are copied four at a time.
const FOUR_FROM: usize = 1 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Lengths that `copy_short` copies.
const SHORT: RangeInclusive<usize> = 16..=64;
/// Length from which on a span that bypasses the cache is copied as four.
const SPLIT_IN_FOUR_FROM: usize = 64 << 10;

/// Selects the routines for this processor. Optional: without it, copies are slower. Called once per machine.
pub fn prepare() {
    routines::prepare();
    if let Some(cache) = l3_cache_size() {
        STREAMING.store((cache / 8 * 3).clamp(2 << 20, 32 << 20), Ordering::Relaxed);
    }
}

/// Size of the last-level cache in bytes: from the C library, or from the kernel where the library has no value, as on
/// AArch64.
fn l3_cache_size() -> Option<usize> {
    // The value of glibc; other libraries return -1 or 0.
    const LEVEL3_CACHE_SIZE: i32 = 194;
    // SAFETY: `sysconf` has no preconditions.
    let size = unsafe { libc::sysconf(LEVEL3_CACHE_SIZE) };
    if let Ok(size @ 1..) = usize::try_from(size) {
        return Some(size);
    }
    kibibytes(&std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").ok()?)
}

/// Parses a size as the kernel prints it: `32768K`.
fn kibibytes(text: &str) -> Option<usize> {
    text.trim_end().strip_suffix('K')?.parse::<usize>().ok()?.checked_mul(1 << 10).filter(|size| *size > 0)
}

/// Whether stores go through the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// Through the cache. For data that is read again soon.
    Cached,
    /// Around the cache. For data that would only evict other data.
    Streaming,
}

impl CachePolicy {
    /// The policy for work that moves `volume` bytes before they are read.
    #[inline]
    pub fn of(volume: usize) -> CachePolicy {
        if volume >= STREAMING.load(Ordering::Relaxed) { CachePolicy::Streaming } else { CachePolicy::Cached }
    }
}

/// An address was not accessible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessFault;

/// A sequence of copies.
pub trait SpanList {
    /// The copy at `index`.
    fn span(&self, index: usize) -> Span;

    /// The copies as a slice, if they are stored as one; otherwise empty.
    #[inline]
    fn spans(&self) -> &[Span] {
        &[]
    }
}

impl SpanList for [Span] {
    #[inline]
    fn span(&self, index: usize) -> Span {
        self[index]
    }

    #[inline]
    fn spans(&self) -> &[Span] {
        self
    }
}

/// Copies a span. The order of the bytes is unspecified if the ranges overlap, as on the device.
///
/// # Safety
///
/// The program or the engine allows access to the ranges. They need not be mapped.
#[inline(always)]
pub unsafe fn copy(span: Span) -> Result<(), AccessFault> {
    if CachePolicy::of(span.len) == CachePolicy::Streaming {
        // SAFETY: the caller's promise covers the ranges.
        return unsafe { copy_as(span, CachePolicy::Streaming) };
    }
    plain(span)
}

/// Copies a span with a cache policy.
///
/// # Safety
///
/// The program or the engine allows access to the ranges. They need not be mapped.
pub unsafe fn copy_as(span: Span, policy: CachePolicy) -> Result<(), AccessFault> {
    match policy {
        CachePolicy::Cached => plain(span),
        CachePolicy::Streaming => {
            let result = if span.len >= SPLIT_IN_FOUR_FROM && routines::takes_four() {
                copy_in_quarters(span)
            } else {
                streaming(span)
            };
            routines::fence();
            result
        }
    }
}

/// Copies the entries of a list in order. The error is the index of the entry that is not accessible; later entries are
/// not copied.
///
/// # Safety
///
/// The program or the engine allows access to the ranges. They need not be mapped.
pub unsafe fn copy_in_order<L: SpanList + ?Sized>(list: &L, range: Range<usize>) -> Result<(), usize> {
    let Range { start, end } = range;
    for index in start..end.min(start + PREFETCH_DISTANCE) {
        prefetch(list.span(index));
    }
    let mut index = start;
    while index < end {
        let span = list.span(index);
        if let Some(spans) = list.spans().get(index..end)
            && SHORT.contains(&span.len)
        {
            let (copied, result) = copy_short(spans);
            index += copied;
            result.map_err(|AccessFault| index)?;
            continue;
        }
        if index + PREFETCH_DISTANCE < end {
            prefetch(list.span(index + PREFETCH_DISTANCE));
        }
        // SAFETY: the caller's promise covers the ranges.
        unsafe { copy(span) }.map_err(|AccessFault| index)?;
        index += 1;
    }
    Ok(())
}

/// Copies entries from the first on while their lengths are in `SHORT`. Returns how many it copied.
#[inline]
fn copy_short(spans: &[Span]) -> (usize, Result<(), AccessFault>) {
    let ends = spans.as_ptr_range();
    let mut next = ends.start;
    // SAFETY: as for `plain`, for the ranges of all spans. The routine reads the slice and writes `next`, a pointer
    // into it.
    let fault = unsafe { routines::copy_short(ends.start, ends.end, &raw mut next) };
    let copied = (next as usize - ends.start as usize) / size_of::<Span>();
    (copied, if fault == 0 { Ok(()) } else { Err(AccessFault) })
}

/// Copies the entries of a list in any order.
///
/// # Safety
///
/// The program or the engine allows access to the ranges. They need not be mapped.
pub unsafe fn copy_unordered<L: SpanList + ?Sized>(
    list: &L,
    range: Range<usize>,
    policy: CachePolicy,
) -> Result<(), AccessFault> {
    if policy == CachePolicy::Cached {
        // SAFETY: the caller's promise covers the ranges.
        return unsafe { copy_in_order(list, range) }.map_err(|_| AccessFault);
    }
    let result = copy_fours(list, range);
    routines::fence();
    result
}

/// Copies entries around the cache, four at a time where possible. A fence must follow.
fn copy_fours<L: SpanList + ?Sized>(list: &L, range: Range<usize>) -> Result<(), AccessFault> {
    let Range { start: mut index, end } = range;
    while index + 4 <= end && routines::takes_four() {
        let four = [0, 1, 2, 3].map(|n| list.span(index + n));
        let next = [4, 5, 6, 7].map(|n| list.span((index + n).min(end - 1)).source);
        copy_four(four, next)?;
        index += 4;
    }
    (index..end).try_for_each(|index| streaming(list.span(index)))
}

/// Copies four spans in an interleaved way, up to the length that they have in common, and the rest one by one.
/// Prefetches the start of `next`. A fence must follow.
fn copy_four(spans: [Span; 4], next: [usize; 4]) -> Result<(), AccessFault> {
    let heads = spans.map(|span| span.target.wrapping_neg() % LINE);
    let common = (0..4).map(|n| spans[n].len.saturating_sub(heads[n])).min().unwrap_or(0) & !127;
    if common < FOUR_FROM - LINE {
        return spans.into_iter().try_for_each(streaming);
    }
    for n in 0..4 {
        plain(Span { len: heads[n], ..spans[n] })?;
    }
    let four = routines::Four {
        targets: [0, 1, 2, 3].map(|n| spans[n].target + heads[n]),
        sources: [0, 1, 2, 3].map(|n| spans[n].source + heads[n]),
        next,
    };
    // SAFETY: as for `plain`, for four pairs of ranges inside the spans. The targets start at cache lines and `common`
    // is a multiple of 128, at least 512.
    if unsafe { routines::copy_four(&four, common) } != 0 {
        return Err(AccessFault);
    }
    for n in 0..4 {
        let done = heads[n] + common;
        streaming(Span { target: spans[n].target + done, source: spans[n].source + done, len: spans[n].len - done })?;
    }
    Ok(())
}

/// Copies the quarters of a span in an interleaved way. A fence must follow.
fn copy_in_quarters(span: Span) -> Result<(), AccessFault> {
    let len = (span.len / 4) & !(2 * LINE - 1);
    let part = |n: usize, len| Span { target: span.target + n, source: span.source + n, len };
    copy_four([0, 1, 2, 3].map(|n| part(n * len, len)), [1, 2, 3, 4].map(|n| span.source + n * len))?;
    streaming(part(4 * len, span.len - 4 * len))
}

/// Prefetches the first cache lines of a span.
#[inline]
fn prefetch(span: Span) {
    routines::prefetch_read(span.source);
    routines::prefetch_write(span.target);
    if span.len > LINE {
        routines::prefetch_read(span.source + LINE);
        routines::prefetch_write(span.target + LINE);
    }
}

/// Copies a span through the cache.
#[inline]
fn plain(span: Span) -> Result<(), AccessFault> {
    // SAFETY: the routine accesses exactly the two ranges and returns 1 if they fault. The check of the request
    // (`Finder::find` and `ResolvedAddress::covers`) has established that the engine may access them.
    let fault = unsafe { routines::copy(span.target as *mut u8, span.source as *const u8, span.len) };
    if fault == 0 { Ok(()) } else { Err(AccessFault) }
}

/// Copies a span around the cache. A fence must follow.
#[inline]
fn streaming(span: Span) -> Result<(), AccessFault> {
    // SAFETY: as for `plain`.
    let fault = unsafe { routines::copy_streaming(span.target as *mut u8, span.source as *const u8, span.len) };
    if fault == 0 { Ok(()) } else { Err(AccessFault) }
}

/// Fills `len` bytes with `byte`.
///
/// # Safety
///
/// The program or the engine allows access to the ranges. They need not be mapped.
pub unsafe fn fill(target: usize, byte: u8, len: usize) -> Result<(), AccessFault> {
    // SAFETY: as for `plain`, for one range.
    let fault = unsafe { routines::fill(target as *mut u8, byte, len) };
    if fault == 0 { Ok(()) } else { Err(AccessFault) }
}

/// Fills `count` 32-bit words with `word`. `target` is a multiple of 4.
///
/// # Safety
///
/// The program or the engine allows access to the ranges. They need not be mapped.
pub unsafe fn fill_words(target: usize, word: u32, count: usize) -> Result<(), AccessFault> {
    // SAFETY: as for `fill`. The check of the request has established that the address is aligned to 4 bytes.
    let fault = unsafe { routines::fill_words(target as *mut u32, word, count) };
    if fault == 0 { Ok(()) } else { Err(AccessFault) }
}

/// Reads `N` bytes.
///
/// # Safety
///
/// The program or the engine allows access to the ranges. They need not be mapped.
pub unsafe fn read<const N: usize>(source: usize) -> Result<[u8; N], AccessFault> {
    let mut value = [0; N];
    // SAFETY: the caller's promise covers the source; the target is `value`.
    unsafe { copy(Span { target: value.as_mut_ptr() as usize, source, len: N }) }?;
    Ok(value)
}

/// Writes a value.
///
/// # Safety
///
/// The program or the engine allows access to the ranges. They need not be mapped.
pub unsafe fn write(target: usize, value: &[u8]) -> Result<(), AccessFault> {
    // SAFETY: the caller's promise covers the target; the source is `value`.
    unsafe { copy(Span { target, source: value.as_ptr() as usize, len: value.len() }) }
}

/// Allocates a zeroed buffer of the engine. `None` if the host has not enough memory.
pub fn buffer(len: usize) -> Option<Box<[u8]>> {
    system::check_allowed(Resource::Buffer, len).ok()?;
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(len).ok()?;
    buffer.resize(len, 0);
    Some(buffer.into_boxed_slice())
}

/// Fills a buffer of the engine from memory.
///
/// # Safety
///
/// The program or the engine allows access to the ranges. They need not be mapped.
pub unsafe fn take(mut buffer: Box<[u8]>, source: usize) -> Result<Box<[u8]>, AccessFault> {
    let len = buffer.len();
    // SAFETY: the caller's promise covers the source; the target is `buffer`.
    unsafe { copy(Span { target: buffer.as_mut_ptr() as usize, source, len }) }?;
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths around every point at which the routines change: all short ones, and those near larger thresholds.
    fn lengths() -> impl Iterator<Item = usize> + Clone {
        (0..700).chain([1024, 4096, 8192, 16_384, 65_536].into_iter().flat_map(|n| n - 2..n + 3))
    }

    /// Compares a routine with a byte loop: lengths around the thresholds with every alignment of the target to a cache
    /// line and several of the source, other lengths with a few.
    fn agrees(what: &str, copy: impl Fn(*mut u8, *const u8, usize) -> u32) {
        let boundaries = [4, 8, 16, 32, 64, 128, 256, 320, 512, 640, 1024, 8192];
        let few = [(0, 0), (1, 0), (0, 1), (3, 17), (31, 33), (64, 63)];
        let size = lengths().max().unwrap() + 256;
        let source: Vec<u8> = (0..size).map(|i| (i * 7 + i / 251) as u8).collect();
        let mut target = vec![0xee; size];
        let mut try_one = |to: usize, from: usize, len: usize| {
            let end = to + len + 160;
            let t = target.as_mut_ptr().wrapping_add(to);
            assert_eq!(copy(t, source.as_ptr().wrapping_add(from), len), 0);
            let (before, rest) = target[..end].split_at(to);
            let (copied, after) = rest.split_at(len);
            assert!(before.iter().chain(after).all(|b| *b == 0xee), "{what}: beside {len} bytes, {to} {from}");
            assert!(copied == &source[from..from + len], "{what}: {len} bytes, {to} {from}");
            target[..end].fill(0xee);
        };
        for len in lengths() {
            few.into_iter().for_each(|(to, from)| try_one(to, from, len));
        }
        for len in boundaries.into_iter().flat_map(|n| n - 2..n + 3) {
            for to in 0..64 {
                [0, 1, 15, 16, 33, 63].into_iter().for_each(|from| try_one(to, from, len));
            }
        }
    }

    #[test]
    fn copies_of_every_length_and_alignment_agree_with_a_byte_loop() {
        for kernel in kernels() {
            kernel.select();
            // SAFETY: `agrees` passes ranges inside its two buffers.
            agrees(&format!("{kernel:?}"), |t, s, n| unsafe { routines::copy(t, s, n) });
            // SAFETY: as for the first routine.
            agrees(&format!("{kernel:?} around the cache"), |t, s, n| unsafe { routines::copy_streaming(t, s, n) });
        }
        // SAFETY: as for the first routine.
        agrees("portable", |t, s, n| unsafe { portable::copy(t, s, n) });
        prepare();
    }

    /// The kernels that this processor supports. Prints a line for each other one. Tests that run concurrently use the
    /// selected kernel too; every kernel is correct for them.
    fn kernels() -> Vec<routines::Kernel> {
        let (supported, missing): (Vec<_>, Vec<_>) =
            routines::Kernel::ALL.into_iter().partition(|kernel| kernel.is_supported());
        missing.iter().for_each(|kernel| eprintln!("skipped: this CPU has no {kernel:?}"));
        supported
    }

    #[test]
    fn lists_of_every_shape_agree_with_a_byte_loop() {
        let lengths: [&[usize]; 9] = [
            &[],
            &[0, 1, 64, 65],
            &[64; 40],
            &[16, 17, 31, 32, 33, 48, 63, 64, 65, 15, 16, 0, 64, 200, 32, 64, 1, 20, 20, 20, 20],
            &[1024; 9],
            &[4096, 4096, 4096, 4096, 4097],
            &[1087, 1088, 1151, 1152, 1153, 1215, 1216, 1217],
            &[100, 5000, 1, 70_000, 3, 3],
            &[8192, 2048, 1024, 40_000, 1500, 1500, 1500, 1500, 1500],
        ];
        for kernel in kernels() {
            kernel.select();
            for (lens, skew, policy) in lengths.iter().flat_map(|lens| {
                let policies = [CachePolicy::Cached, CachePolicy::Streaming];
                [0, 1, 31, 63].into_iter().flat_map(move |skew| policies.map(|policy| (*lens, skew, policy)))
            }) {
                let size = lens.iter().map(|len| len + 160).sum::<usize>() + 256;
                let source: Vec<u8> = (0..size).map(|i| (i * 7 + i / 251) as u8).collect();
                let mut expected = vec![0xee; size];
                let mut target = [expected.clone(), expected.clone()];
                let lists = [0, 1].map(|which| {
                    let (to, from) = (target[which].as_mut_ptr() as usize, source.as_ptr() as usize);
                    let mut at = skew;
                    let list = lens.iter().map(|len| {
                        let span = Span { target: to + at, source: from + at + 5, len: *len };
                        at += len + 97;
                        span
                    });
                    list.collect::<Vec<_>>()
                });
                let mut at = skew;
                for len in lens {
                    expected[at..at + len].copy_from_slice(&source[at + 5..at + len + 5]);
                    at += len + 97;
                }
                // SAFETY: the ranges are buffers and mappings of the test.
                assert_eq!(unsafe { copy_in_order(lists[0].as_slice(), 0..lens.len()) }, Ok(()));
                // SAFETY: the ranges are buffers and mappings of the test.
                assert_eq!(unsafe { copy_unordered(lists[1].as_slice(), 0..lens.len(), policy) }, Ok(()));
                assert!(target.iter().all(|target| *target == expected), "{lens:?} {skew} {policy:?} {kernel:?}");
                target[0].clear();
            }
        }
        prepare();
    }

    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    #[test]
    fn copy_in_order_stops_at_an_inaccessible_entry() {
        let _guard = crate::segv::enter();
        for lens in [[64; 5], [4096; 5], [20, 64, 100, 33, 64]] {
            let source = vec![7u8; 4096];
            let mut target = vec![0u8; 5 * 4096];
            let mut spans = [0, 1, 2, 3, 4].map(|n: usize| Span {
                target: target.as_mut_ptr() as usize + n * 4096,
                source: source.as_ptr() as usize,
                len: lens[n],
            });
            // The first page of a process is never mapped.
            spans[3].source = 64;
            // SAFETY: the ranges are buffers and mappings of the test.
            assert_eq!(unsafe { copy_in_order(spans.as_slice(), 0..5) }, Err(3));
            for n in 0..5 {
                let expected = if n < 3 { 7 } else { 0 };
                assert!(target[n * 4096..n * 4096 + lens[n]].iter().all(|byte| *byte == expected), "{n} {lens:?}");
            }
            target.clear();
        }
    }

    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    #[test]
    fn every_routine_recovers_from_a_fault_in_its_middle() {
        const LEN: usize = 128 << 10;
        const PROTECTED: usize = 64 << 10;
        let _guard = crate::segv::enter();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, of which the last PROTECTED bytes are protected.
        let edge = unsafe {
            let start =
                libc::mmap(std::ptr::null_mut(), LEN + PROTECTED, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.byte_add(LEN), PROTECTED, libc::PROT_NONE), 0);
            start as usize + LEN
        };
        let mut room = vec![0u8; LEN];
        let room = room.as_mut_ptr() as usize;
        for kernel in kernels() {
            kernel.select();
            for len in [2, 5, 12, 20, 40, 100, 130, 300, 1000, 5000, 9000, 20_000, 70_000] {
                let near = edge - len / 2 - 1;
                for span in [
                    Span { target: room, source: near, len: len + 2 },
                    Span { target: near, source: room, len: len + 2 },
                ] {
                    // SAFETY: the ranges are buffers and mappings of the test.
                    assert_eq!(unsafe { copy_as(span, CachePolicy::Cached) }, Err(AccessFault), "{kernel:?} {len}");
                    // SAFETY: the ranges are buffers and mappings of the test.
                    assert_eq!(unsafe { copy_as(span, CachePolicy::Streaming) }, Err(AccessFault), "{kernel:?} {len}");
                    let whole = Span { target: room + 4096, source: room, len: 1024 };
                    for place in 0..4 {
                        let mut spans = [whole; 4];
                        spans[place] = span;
                        // SAFETY: the ranges are buffers and mappings of the test.
                        let failed = unsafe { copy_unordered(spans.as_slice(), 0..4, CachePolicy::Streaming) };
                        assert_eq!(failed, Err(AccessFault), "{kernel:?} {len} {place}");
                        // SAFETY: the ranges are buffers and mappings of the test.
                        assert_eq!(unsafe { copy_in_order(spans.as_slice(), 0..4) }, Err(place), "{kernel:?} {len}");
                    }
                }
                // SAFETY: the ranges are buffers and mappings of the test.
                assert_eq!(unsafe { fill(near, 1, len + 2) }, Err(AccessFault));
                // SAFETY: the ranges are buffers and mappings of the test.
                assert_eq!(unsafe { fill_words(near & !3, 1, len / 4 + 2) }, Err(AccessFault));
            }
        }
        prepare();
        // SAFETY: exactly the mapping made above, which is not used after this.
        unsafe { libc::munmap((edge - LEN) as *mut _, LEN + PROTECTED) };
    }

    #[test]
    fn large_copies_use_the_streaming_routine_and_agree() {
        let source: Vec<u8> = (0..STREAMING.load(Ordering::Relaxed) + 77).map(|i| (i * 31 + i / 4099) as u8).collect();
        let mut target = vec![0; source.len()];
        // SAFETY: the ranges are buffers and mappings of the test.
        unsafe {
            copy(Span { target: target.as_mut_ptr() as usize, source: source.as_ptr() as usize, len: source.len() })
        }
        .unwrap();
        assert!(source == target);
    }

    #[test]
    fn cache_sizes_of_the_kernel_are_parsed() {
        assert_eq!(kibibytes("32768K\n"), Some(32 << 20));
        for text in ["", "K", "0K", "32M", "99999999999999999999K"] {
            assert_eq!(kibibytes(text), None, "{text}");
        }
    }

    #[test]
    fn fills_stay_inside_their_range() {
        for (len, skew) in (0..300).chain([5000]).flat_map(|len| [0, 1, 7, 8, 15].map(|skew| (len, skew))) {
            let mut bytes = vec![1u8; len + 32];
            // SAFETY: the ranges are buffers and mappings of the test.
            unsafe { fill(bytes.as_mut_ptr() as usize + 8 + skew, 9, len) }.unwrap();
            let end = 8 + skew + len;
            assert!(bytes[..8 + skew].iter().chain(&bytes[end..]).all(|b| *b == 1), "{len} {skew}");
            assert!(bytes[8 + skew..end].iter().all(|b| *b == 9), "{len} {skew}");
        }
        for count in 0..100 {
            let mut words = vec![1u32; count + 4];
            // SAFETY: the ranges are buffers and mappings of the test.
            unsafe { fill_words(words[2..].as_mut_ptr() as usize, 0xdead_beef, count) }.unwrap();
            assert!(words[2..count + 2].iter().all(|w| *w == 0xdead_beef), "{count}");
            assert_eq!((words[1], words[count + 2]), (1, 1), "{count}");
        }
    }
}
