//! Soak: 8 threads and 200 streams copy for a while, every byte is verified, nothing may be left.
//!
//! `soak SECONDS` ends with 0 when all went well.

use softacl_engine::{Config, Machine};
use softacl_testkit::{Program, run};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const THREADS: u64 = 8;
const STREAMS_PER_THREAD: usize = 25;
const LENGTH: usize = 400;

fn main() -> ExitCode {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(60);
    let machine = Machine::new(Config { memory: 4 << 30, ..Config::default() }).expect("a machine");
    let start = Instant::now();
    let end = start + Duration::from_secs(seconds);
    let (programs, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (machine, programs, failed) = (&machine, &programs, &failed);
            scope.spawn(move || {
                let mut seed = thread << 32 | start.elapsed().as_nanos() as u64 & 0xffff;
                while Instant::now() < end && !failed.load(Ordering::Relaxed) {
                    seed += 1;
                    let program = Program::with_streams(seed, LENGTH, STREAMS_PER_THREAD);
                    if let Err(failure) = run(machine, (thread % 2) as u32, &program) {
                        eprintln!("soak: seed {seed} of thread {thread}: {failure}");
                        failed.store(true, Ordering::Relaxed);
                    }
                    programs.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let left = machine.live_allocations();
    println!(
        "soak: {} programs of {LENGTH} operations on {THREADS} threads with {STREAMS_PER_THREAD} streams each in {:.0} s, {} allocations left",
        programs.into_inner(),
        start.elapsed().as_secs_f64(),
        left.len()
    );
    if failed.into_inner() || !left.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
