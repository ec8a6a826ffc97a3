//! Edge coverage, in builds with `-C passes=sancov-module`.
//!
//! Compiler-generated code registers its counters before `main`. In builds without counters nothing is ever new.

use std::sync::Mutex;

/// Start and length of each registered array of counters.
static COUNTERS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());
/// Bit set of the count classes seen at each edge.
static SEEN: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Registers counters. Called by compiler-generated code.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, end: *mut u8) {
    let mut arrays = COUNTERS.lock().expect("no thread panics while holding it");
    if start != end && !arrays.iter().any(|array| array.0 == start as usize) {
        arrays.push((start as usize, end as usize - start as usize));
    }
}

/// Called by compiler-generated code with the addresses of the edges, which are not needed.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_cov_pcs_init(_start: *const usize, _end: *const usize) {}

/// Returns `true` if the run since the last call took a new edge, or a known edge in a new count class. Clears the
/// counters.
pub fn is_new() -> bool {
    let arrays = COUNTERS.lock().expect("no thread panics while holding it");
    let mut seen = SEEN.lock().expect("no thread panics while holding it");
    let mut is_new = false;
    let mut index = 0;
    for (start, len) in arrays.iter() {
        let known = seen.len();
        seen.resize(known.max(index + len), 0);
        for offset in 0..*len {
            let counter = (start + offset) as *mut u8;
            // SAFETY: a registered counter, which lives as long as the program.
            let count = unsafe { counter.read() };
            if count != 0 {
                let class = 1 << (8 - count.leading_zeros()).min(7);
                is_new |= seen[index + offset] & class == 0;
                seen[index + offset] |= class;
                // SAFETY: a registered counter, which lives as long as the program.
                unsafe { counter.write(0) };
            }
        }
        index += len;
    }
    is_new
}

/// Number of instrumented edges.
pub fn edges() -> usize {
    COUNTERS.lock().expect("no thread panics while holding it").iter().map(|array| array.1).sum()
}

/// Number of edges taken so far.
pub fn reached() -> usize {
    SEEN.lock().expect("no thread panics while holding it").iter().filter(|classes| **classes != 0).count()
}
