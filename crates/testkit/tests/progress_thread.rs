//! The progress thread of a stepped machine stays parked while the program makes calls. The calls run the ready work,
//! and waking the thread for each of them would cost more than the call.

#![cfg(all(target_os = "linux", not(shuttle)))]

use softacl_engine::{Caller, Config, CopyRequest, Machine, Schedule, StreamOptions, kinds};
use std::cell::Cell;
use std::time::{Duration, Instant};
use std::{fs, hint};

const CALLS: u64 = 200;
/// How long the program computes between two calls: longer than a thread needs to wake up.
const BUSY: Duration = Duration::from_micros(60);
/// Several machines, because an unwanted wake-up depends on which is first, the new thread or the first copy.
const MACHINES: usize = 20;
/// Lower bound on the interval at which the thread polls the clock.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Permitted wake-ups while the thread starts.
const STARTUP_WAKEUPS: u64 = 20;

#[test]
fn calls_do_not_wake_the_progress_thread() {
    for index in 0..MACHINES {
        let machine = Machine::new(Config { memory: 1 << 30, schedule: Schedule::Early, ..Config::default() })
            .expect("a machine");
        let current = Cell::new(None);
        // SAFETY: every address that is passed on is memory of the machine or of this program.
        let caller = unsafe { Caller::new(&machine, &current) };
        caller.create_context(0).expect("a context");
        let stream = caller.create_stream(StreamOptions::default()).expect("a stream").raw();
        let host = caller.allocate_host(64).expect("host memory");
        let device = caller.allocate(64).expect("device memory");
        let start = Instant::now();
        for _ in 0..CALLS {
            let copy = CopyRequest { target: device, capacity: 64, source: host, count: 64, kind: kinds::DEFAULT };
            caller.copy_async(copy, stream).expect("a copy");
            caller.synchronize_stream(stream, -1).expect("a wait");
            let done = Instant::now();
            while done.elapsed() < BUSY {
                hint::spin_loop();
            }
        }
        let wakeups = progress_thread_wakeups();
        let max = STARTUP_WAKEUPS + (start.elapsed().as_nanos() / POLL_INTERVAL.as_nanos()) as u64;
        assert!(
            wakeups <= max,
            "machine {index}: {CALLS} copies woke the progress thread {wakeups} times, limit {max}"
        );
    }
}

/// Returns how often the progress thread parked. Threads of destroyed machines may still be ending, so the maximum
/// counts. 0 if no thread has the name yet, because the thread has hardly started.
fn progress_thread_wakeups() -> u64 {
    let threads = fs::read_dir("/proc/self/task").expect("threads are listed");
    let switches = threads.flatten().filter_map(|thread| {
        let name = fs::read_to_string(thread.path().join("comm")).ok()?;
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        name.starts_with("softacl-progr").then(|| line.trim().parse::<u64>().expect("a number"))
    });
    switches.max().unwrap_or(0)
}
