//! Moving bytes. The only module that reads or writes memory of the program or of a device.
//!
//! Every access goes through leaf routines that the fault handler knows: when an address turns out
//! not to be accessible, the routine returns `Fault` instead of killing the process. No references
//! or slices to such memory are ever formed: the program and other threads may write it at any time.
//!
//! Deliberately absent: any knowledge of streams, allocations or who asked.

#[cfg_attr(not(target_arch = "x86_64"), path = "portable.rs")]
#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
mod routines;

pub(crate) mod reduce;

pub(crate) use routines::code_range;

/// Above this size a single copy bypasses the cache. A choice, not measured here: below it the
/// destination is often read again soon, above it plain stores cost an extra read of every line.
const STREAMING: usize = 4 << 20;

/// An address was not accessible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault;

/// One contiguous move, in addresses that the engine can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) target: usize,
    pub(crate) source: usize,
    pub(crate) len: usize,
}

/// Copies one span. Overlapping ranges give bytes in an unspecified order, as on the device.
#[inline]
pub(crate) fn copy(span: Span) -> Result<(), Fault> {
    let streaming = span.len >= STREAMING;
    // SAFETY: the routines touch exactly the two ranges and return on a fault; the check of the
    // request has established that they are the caller's to touch.
    let fault = unsafe {
        if streaming {
            routines::copy_streaming(span.target as *mut u8, span.source as *const u8, span.len)
        } else {
            routines::copy(span.target as *mut u8, span.source as *const u8, span.len)
        }
    };
    if fault == 0 { Ok(()) } else { Err(Fault) }
}

/// Copies a part of a copy that is large as a whole, past the cache.
pub(crate) fn copy_part(span: Span) -> Result<(), Fault> {
    // SAFETY: as for `copy`.
    let fault = unsafe { routines::copy_streaming(span.target as *mut u8, span.source as *const u8, span.len) };
    if fault == 0 { Ok(()) } else { Err(Fault) }
}

/// Fills `len` bytes with one byte.
pub(crate) fn fill(target: usize, byte: u8, len: usize) -> Result<(), Fault> {
    // SAFETY: as for `copy`, with one range.
    let fault = unsafe { routines::fill(target as *mut u8, byte, len) };
    if fault == 0 { Ok(()) } else { Err(Fault) }
}

/// Fills `count` 32-bit words.
pub(crate) fn fill_words(target: usize, word: u32, count: usize) -> Result<(), Fault> {
    // SAFETY: as for `fill`; the address is aligned to four bytes by the check of the request.
    let fault = unsafe { routines::fill_words(target as *mut u32, word, count) };
    if fault == 0 { Ok(()) } else { Err(Fault) }
}

/// Reads a small value.
pub(crate) fn read<const N: usize>(source: usize) -> Result<[u8; N], Fault> {
    let mut value = [0; N];
    copy(Span { target: value.as_mut_ptr() as usize, source, len: N })?;
    Ok(value)
}

/// Writes a small value.
pub(crate) fn write(target: usize, value: &[u8]) -> Result<(), Fault> {
    copy(Span { target, source: value.as_ptr() as usize, len: value.len() })
}

/// A buffer of the engine, or `None` when the host has not that much memory.
pub(crate) fn buffer(len: usize) -> Option<Box<[u8]>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(len).ok()?;
    buffer.resize(len, 0);
    Some(buffer.into_boxed_slice())
}

/// Takes bytes into a buffer of the engine.
pub(crate) fn take(mut buffer: Box<[u8]>, source: usize) -> Result<Box<[u8]>, Fault> {
    let len = buffer.len();
    copy(Span { target: buffer.as_mut_ptr() as usize, source, len })?;
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares a routine with a byte loop for every length and alignment around its boundaries.
    fn agrees(lengths: impl Iterator<Item = usize> + Clone, run: impl Fn(*mut u8, *const u8, usize) -> u32) {
        let size = lengths.clone().max().unwrap() + 256;
        let source: Vec<u8> = (0..size).map(|i| (i * 7 + i / 251) as u8).collect();
        for len in lengths {
            for (to, from) in [(0, 0), (1, 0), (0, 1), (3, 17), (31, 33), (64, 63)] {
                let mut target = vec![0xee; size];
                let t = target.as_mut_ptr().wrapping_add(to);
                assert_eq!(run(t, source.as_ptr().wrapping_add(from), len), 0);
                assert!(target[..to].iter().all(|b| *b == 0xee), "before, {len}");
                assert_eq!(target[to..to + len], source[from..from + len], "{len} {to} {from}");
                assert!(target[to + len..].iter().all(|b| *b == 0xee), "after, {len}");
            }
        }
    }

    #[test]
    fn copies_of_every_length_and_alignment_agree_with_a_byte_loop() {
        let lengths = (0..700).chain([1023, 1024, 1025, 4095, 4096, 4097, 65_537]);
        // SAFETY: `agrees` passes ranges inside its two buffers.
        agrees(lengths.clone(), |t, s, n| unsafe { routines::copy(t, s, n) });
        // SAFETY: as above.
        agrees(lengths, |t, s, n| unsafe { routines::copy_streaming(t, s, n) });
    }

    #[test]
    fn large_copies_use_the_streaming_routine_and_agree() {
        let source: Vec<u8> = (0..STREAMING + 77).map(|i| (i * 31 + i / 4099) as u8).collect();
        let mut target = vec![0; source.len()];
        copy(Span { target: target.as_mut_ptr() as usize, source: source.as_ptr() as usize, len: source.len() })
            .unwrap();
        assert!(source == target);
    }

    #[test]
    fn fills_stay_inside_their_range() {
        for len in (0..300).chain([5000]) {
            let mut bytes = vec![1u8; len + 16];
            fill(bytes.as_mut_ptr() as usize + 8, 9, len).unwrap();
            assert_eq!(bytes[..8], [1; 8]);
            assert!(bytes[8..8 + len].iter().all(|b| *b == 9));
            assert_eq!(bytes[8 + len..], [1; 8]);
        }
        let mut words = [1u32; 20];
        fill_words(words[2..].as_mut_ptr() as usize, 0xdead_beef, 16).unwrap();
        assert!(words[2..18].iter().all(|w| *w == 0xdead_beef));
        assert_eq!((words[1], words[18]), (1, 1));
    }
}
