//! Known mistakes, which a sanitizer must report: so a build in which it is silent cannot pass for a clean one.
//!
//! `canary address` writes behind a block, `canary leak` loses one, `canary thread` races. `canary mutex` makes no
//! mistake, and must not be reported: a sanitizer that does not know the standard library would.

use std::hint::black_box;
use std::process::ExitCode;
use std::ptr;
use std::sync::{Barrier, Condvar, Mutex};

static mut SHARED: u64 = 0;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("address") => {
            let mut block = vec![1u8; black_box(8)];
            // SAFETY: none; this is the mistake that must be reported.
            unsafe { block.as_mut_ptr().add(black_box(8)).write_volatile(2) };
            black_box(&block);
        }
        Some("leak") => {
            for _ in 0..100 {
                let block = Box::leak(black_box(vec![1u8; 1234]).into_boxed_slice());
                black_box(block[0]);
            }
        }
        Some("thread") => {
            // Both are there before one of them begins: a thread that is over may order the next one.
            let start = Barrier::new(2);
            let add = || {
                start.wait();
                for _ in 0..100_000 {
                    let shared = &raw mut SHARED;
                    // SAFETY: none; two threads do this at once, which must be reported.
                    unsafe { ptr::write_volatile(shared, ptr::read_volatile(shared) + 1) };
                }
            };
            std::thread::scope(|scope| {
                scope.spawn(add);
                scope.spawn(add);
            });
        }
        Some("mutex") => {
            let (counter, changed) = (Mutex::new(0u32), Condvar::new());
            std::thread::scope(|scope| {
                for turn in 0..2 {
                    let (counter, changed) = (&counter, &changed);
                    scope.spawn(move || {
                        for _ in 0..1000 {
                            let guard = counter.lock().expect("nobody panics with it");
                            let mut guard =
                                changed.wait_while(guard, |count| *count % 2 != turn).expect("nobody panics with it");
                            *guard += 1;
                            changed.notify_all();
                        }
                    });
                }
            });
            black_box(counter.into_inner().expect("nobody panics with it"));
        }
        _ => {
            eprintln!("usage: canary address, leak, thread or mutex");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
