//! Deliberate errors that a sanitizer must report, to prove that it is active in a build.
//!
//! `canary address` writes past the end of a block, `canary leak` leaks one, `canary thread` has a data race.
//! `canary mutex` is correct and must not be reported; a sanitizer without an instrumented standard library reports it.

use std::hint::black_box;
use std::process::ExitCode;
use std::ptr;
use std::sync::{Barrier, Condvar, Mutex};

static mut SHARED: u64 = 0;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("address") => {
            let mut block = vec![1u8; black_box(8)];
            // SAFETY: none; this is the error that must be reported.
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
            // Both threads exist before one begins: the end of a thread could order the next one after it.
            let start = Barrier::new(2);
            let add = || {
                start.wait();
                for _ in 0..100_000 {
                    let shared = &raw mut SHARED;
                    // SAFETY: none; two threads do this concurrently, which must be reported.
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
                            let guard = counter.lock().expect("no thread panics while holding it");
                            let mut guard = changed
                                .wait_while(guard, |count| *count % 2 != turn)
                                .expect("no thread panics while holding it");
                            *guard += 1;
                            changed.notify_all();
                        }
                    });
                }
            });
            black_box(counter.into_inner().expect("no thread panics while holding it"));
        }
        _ => {
            eprintln!("usage: canary address, leak, thread or mutex");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
