//! Memory for the arguments of calls: slots for arguments and data, each followed by unmapped memory, read-only memory,
//! and unmapped addresses. Calls receive no other addresses of the process, so an out-of-bounds write faults or
//! changes a canary.

use std::ptr;

const PAGE: usize = 4096;
/// Size of a slot: one argument that is an array, a structure or a result.
pub const SLOT: usize = 1024;
pub const SLOTS: usize = 12;
/// Size of the data region.
pub const DATA: usize = 256 << 10;
/// Unmapped bytes after each region: more than any generated size that a call could serve.
const GAP: usize = 64 << 20;
/// Fill byte of the page before each region.
const CANARY: u8 = 0xc5;

/// The memory of one thread.
#[derive(Debug)]
pub struct Arena {
    /// Slots for arguments. No call is asked to copy data from or to here.
    slots: usize,
    /// Memory that calls copy from and to.
    pub data: usize,
    /// Targets of pointers in argument structures.
    pub nested: usize,
    pub read_only: usize,
    pub texts: usize,
    /// An unmapped address.
    pub unmapped: usize,
}

impl Arena {
    pub fn new() -> Arena {
        let region = |bytes: usize, protection: i32| -> usize {
            let whole = PAGE + bytes + GAP;
            // SAFETY: a new mapping at an address that the system chooses.
            let start = unsafe {
                libc::mmap(ptr::null_mut(), whole, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
            };
            assert_ne!(start, libc::MAP_FAILED, "no address space for the arena");
            // SAFETY: the start of the mapping above, with the canary page and the region.
            unsafe {
                assert_eq!(libc::mprotect(start, PAGE + bytes, libc::PROT_READ | libc::PROT_WRITE), 0);
                ptr::write_bytes(start.cast::<u8>(), CANARY, PAGE);
            }
            let address = start as usize + PAGE;
            if protection == libc::PROT_READ {
                // SAFETY: pages of the mapping above, filled before they become read-only.
                unsafe {
                    ptr::write_bytes(address as *mut u8, 0x11, bytes);
                    assert_eq!(libc::mprotect(address as *mut libc::c_void, bytes, protection), 0);
                }
            }
            address
        };
        let rw = libc::PROT_READ | libc::PROT_WRITE;
        let data = region(DATA, rw);
        let arena = Arena {
            slots: region(SLOTS * SLOT, rw),
            data,
            nested: region(PAGE, rw),
            read_only: region(PAGE, libc::PROT_READ),
            texts: region(PAGE, rw),
            unmapped: data + DATA + (GAP / 2),
        };
        arena.write_texts();
        arena
    }

    /// Returns the address of a slot.
    pub fn slot(&self, index: usize) -> usize {
        self.slots + index % SLOTS * SLOT
    }

    /// Returns an address `bytes` bytes before the unmapped memory after the slots.
    pub fn end_of_slots(&self, bytes: usize) -> usize {
        self.slots + SLOTS * SLOT - bytes
    }

    pub fn write_words(&self, address: usize, words: &[u64]) {
        for (index, word) in words.iter().enumerate() {
            // SAFETY: the address is in a region with room for the words. Calls may write it concurrently, which
            // volatile accesses of words tolerate.
            unsafe { (address as *mut u64).add(index).write_volatile(*word) };
        }
    }

    pub fn read_word(&self, address: usize) -> u64 {
        // SAFETY: the address is in a region.
        unsafe { (address as *const u64).read_volatile() }
    }

    /// True if the canary pages before all regions are unchanged.
    pub fn is_intact(&self) -> bool {
        [self.slots, self.data, self.nested, self.read_only, self.texts].into_iter().all(|region| {
            // SAFETY: the canary page before a region is mapped, and no correct code writes it.
            let page = unsafe { std::slice::from_raw_parts((region - PAGE) as *const u8, PAGE) };
            page.iter().all(|byte| *byte == CANARY)
        })
    }

    /// Returns a string: a valid one, an unknown one, one that is not UTF-8, or one without a zero before unmapped
    /// memory.
    pub fn text(&self, index: usize) -> usize {
        match index % (TEXTS.len() + 1) {
            0 => self.texts + PAGE - 16,
            index => self.texts + (index - 1) * 64,
        }
    }

    fn write_texts(&self) {
        for (index, text) in TEXTS.iter().enumerate() {
            // SAFETY: each string is at most 64 bytes long, and all fit the page.
            unsafe { ptr::copy_nonoverlapping(text.as_ptr(), (self.texts + index * 64) as *mut u8, text.len()) };
        }
        // SAFETY: the last 16 bytes of the page.
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
