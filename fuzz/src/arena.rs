//! Memory of the fuzzer's own that calls are given: places for arguments and data with nothing behind them, memory
//! that can only be read, memory that is not there. Everything else of the process is out of a call's reach, so
//! that a write beyond what was addressed shows.

use std::ptr;

const PAGE: usize = 4096;
/// Bytes for one argument that is an array, a structure or a result.
pub const SLOT: usize = 1024;
pub const SLOTS: usize = 12;
pub const DATA: usize = 256 << 10;
/// Nothing is mapped for so long behind each part; more than any size that is drawn and could be served.
const GAP: usize = 64 << 20;
const CANARY: u8 = 0xc5;

/// The memory of one thread.
#[derive(Debug)]
pub struct Arena {
    /// Arguments; no call is ever told to move data to or from here.
    slots: usize,
    /// Data.
    pub data: usize,
    /// What structures in the arguments point to.
    pub nested: usize,
    pub read_only: usize,
    pub texts: usize,
    pub nothing: usize,
}

impl Arena {
    pub fn new() -> Arena {
        let part = |bytes: usize, protection: i32| -> usize {
            let whole = PAGE + bytes + GAP;
            // SAFETY: new memory, at a place that nobody uses.
            let start = unsafe {
                libc::mmap(ptr::null_mut(), whole, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
            };
            assert_ne!(start, libc::MAP_FAILED, "no address space for the arena");
            // SAFETY: the beginning of the mapping above; the canary page and the part are ours to write.
            unsafe {
                assert_eq!(libc::mprotect(start, PAGE + bytes, libc::PROT_READ | libc::PROT_WRITE), 0);
                ptr::write_bytes(start.cast::<u8>(), CANARY, PAGE);
            }
            let part = start as usize + PAGE;
            if protection == libc::PROT_READ {
                // SAFETY: our own pages, filled before they are closed for writing.
                unsafe {
                    ptr::write_bytes(part as *mut u8, 0x11, bytes);
                    assert_eq!(libc::mprotect(part as *mut libc::c_void, bytes, protection), 0);
                }
            }
            part
        };
        let rw = libc::PROT_READ | libc::PROT_WRITE;
        let data = part(DATA, rw);
        let arena = Arena {
            slots: part(SLOTS * SLOT, rw),
            data,
            nested: part(PAGE, rw),
            read_only: part(PAGE, libc::PROT_READ),
            texts: part(PAGE, rw),
            nothing: data + DATA + (GAP / 2),
        };
        arena.write_texts();
        arena
    }

    pub fn slot(&self, number: usize) -> usize {
        self.slots + number % SLOTS * SLOT
    }

    /// The last bytes before memory that is not there.
    pub fn end_of_slots(&self, bytes: usize) -> usize {
        self.slots + SLOTS * SLOT - bytes
    }

    pub fn write_words(&self, address: usize, words: &[u64]) {
        for (index, word) in words.iter().enumerate() {
            // SAFETY: a place in one of our parts with room for the words; calls may write it at the same time, which
            // a volatile write of a word survives.
            unsafe { (address as *mut u64).add(index).write_volatile(*word) };
        }
    }

    pub fn read_word(&self, address: usize) -> u64 {
        // SAFETY: a place in one of our parts.
        unsafe { (address as *const u64).read_volatile() }
    }

    /// Whether the pages in front of the parts are as they were.
    pub fn is_intact(&self) -> bool {
        [self.slots, self.data, self.nested, self.read_only, self.texts].into_iter().all(|part| {
            // SAFETY: the canary page in front of a part, which is mapped and written by nobody.
            let page = unsafe { std::slice::from_raw_parts((part - PAGE) as *const u8, PAGE) };
            page.iter().all(|byte| *byte == CANARY)
        })
    }

    /// A text: proper ones, unknown ones, not UTF-8, and one that does not end before memory that is not there.
    pub fn text(&self, number: usize) -> usize {
        match number % (TEXTS.len() + 1) {
            0 => self.texts + PAGE - 16,
            number => self.texts + (number - 1) * 64,
        }
    }

    fn write_texts(&self) {
        for (index, text) in TEXTS.iter().enumerate() {
            // SAFETY: each text is shorter than its 64 bytes, and all together than the page.
            unsafe { ptr::copy_nonoverlapping(text.as_ptr(), (self.texts + index * 64) as *mut u8, text.len()) };
        }
        // SAFETY: the end of the page, without a zero.
        unsafe { ptr::write_bytes((self.texts + PAGE - 16) as *mut u8, b'x', 16) };
    }
}

const TEXTS: &[&[u8]] = &[
    b"\0",
    b"runtime\0",
    b"CANN\0",
    b"Ascend910B\0",
    b"%s%n%d\0",
    b"\xff\xfe\x80\0",
    b"no/such/file.json\0",
    b"config.json\0",
    b"out.json\0",
    b"00000000000000000000000000000000000000000000000000000000\0",
];
