//! Which edges of the code a run has taken, where the build counts them (`-C passes=sancov-module`).
//!
//! The compiler gives us its counters before `main`. Without them every question is answered with no.

use std::sync::Mutex;

/// The counters of each part of the program, and the classes of counts seen at each.
static PARTS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());
static SEEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Called by the code that the compiler adds.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, end: *mut u8) {
    let mut parts = PARTS.lock().expect("nobody panics with it");
    if start != end && !parts.iter().any(|part| part.0 == start as usize) {
        parts.push((start as usize, end as usize - start as usize));
    }
}

/// Called by the code that the compiler adds. Where the edges are does not matter here.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_cov_pcs_init(_start: *const usize, _end: *const usize) {}

/// Whether the run since the last question has taken an edge that none had, or one much more often.
pub fn is_new() -> bool {
    let parts = PARTS.lock().expect("nobody panics with it");
    let mut seen = SEEN.lock().expect("nobody panics with it");
    let mut is_new = false;
    let mut index = 0;
    for (start, len) in parts.iter() {
        let known = seen.len();
        seen.resize(known.max(index + len), 0);
        for offset in 0..*len {
            let counter = (start + offset) as *mut u8;
            // SAFETY: a counter of the compiler's; it lives as long as the program.
            let count = unsafe { counter.read() };
            if count != 0 {
                let class = 1 << (8 - count.leading_zeros()).min(7);
                is_new |= seen[index + offset] & class == 0;
                seen[index + offset] |= class;
                // SAFETY: as above.
                unsafe { counter.write(0) };
            }
        }
        index += len;
    }
    is_new
}

pub fn edges() -> usize {
    PARTS.lock().expect("nobody panics with it").iter().map(|part| part.1).sum()
}

pub fn reached() -> usize {
    SEEN.lock().expect("nobody panics with it").iter().filter(|classes| **classes != 0).count()
}
