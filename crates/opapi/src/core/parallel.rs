//! Large work on several threads.
//!
//! The threads live as long as the work: a process that forks, exits or computes nothing has none, and the workers of
//! the runtime, which sleep while a kernel runs, are not kept from their cores. Starting a thread costs some ten
//! microseconds, so only work that takes much longer is divided.

use std::num::NonZero;
use std::ops::Range;
use std::sync::OnceLock;
use std::thread;

/// Threads for one operator.
pub fn threads() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get).min(64))
}

/// Calls `work` for parts of `0..count`. Parts have at least `grain` elements, and all but the last a multiple of `unit`.
pub fn divide(count: usize, grain: usize, unit: usize, work: impl Fn(Range<usize>) + Sync) {
    let parts = (count / grain.max(1)).clamp(1, threads());
    if parts == 1 {
        if count > 0 {
            work(0..count);
        }
        return;
    }
    let length = count.div_ceil(parts).next_multiple_of(unit);
    thread::scope(|scope| {
        let mut start = length;
        while start < count {
            let part = start..count.min(start + length);
            start = part.end;
            let work = &work;
            let spawned = thread::Builder::new().name("aclnn".into()).spawn_scoped(scope, {
                let part = part.clone();
                move || work(part)
            });
            if spawned.is_err() {
                // No thread to be had: the caller does this part, too.
                work(part);
            }
        }
        work(0..length.min(count));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_element_is_in_exactly_one_part() {
        for count in [0, 1, 7, 1000, 1001, 4096] {
            for unit in [1, 64] {
                let seen: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                divide(count, 10, unit, |part| {
                    for index in part {
                        seen[index].fetch_add(1, Ordering::Relaxed);
                    }
                });
                assert!(seen.iter().all(|times| times.load(Ordering::Relaxed) == 1), "{count} {unit}");
            }
        }
    }
}
