//! The progress thread of a stepped machine sleeps while the program makes calls. What it would do they do, and waking it
//! for each of them costs more than the call.

#![cfg(all(target_os = "linux", not(shuttle)))]

use softacl_engine::{Caller, Config, CopyRequest, Machine, Schedule, StreamOptions, kinds};
use std::cell::Cell;
use std::time::{Duration, Instant};
use std::{fs, hint};

const CALLS: u64 = 200;
/// What the program does between two calls: longer than a thread needs to wake up.
const BUSY: Duration = Duration::from_micros(60);
/// Whether it wakes depends on who is first, the new thread or the first copy.
const MACHINES: usize = 20;
/// It looks at the clock a few times in its patience; some turns are for the start.
const LOOK: Duration = Duration::from_millis(50);
const TURNS_AT_THE_START: u64 = 20;

#[test]
fn calls_do_not_wake_the_progress_thread() {
    for number in 0..MACHINES {
        let machine = Machine::new(Config { memory: 1 << 30, schedule: Schedule::Early, ..Config::default() })
            .expect("a machine");
        let current = Cell::new(None);
        let caller = Caller::new(&machine, &current);
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
        let turns = progress_thread_turns();
        let most = TURNS_AT_THE_START + (start.elapsed().as_nanos() / LOOK.as_nanos()) as u64;
        assert!(turns <= most, "machine {number}: {CALLS} copies woke the progress thread {turns} times, not {most}");
    }
}

/// How often the progress thread went to sleep. Those of machines that are gone may still be on their way out: the most
/// counts. None that has its name: it has hardly started.
fn progress_thread_turns() -> u64 {
    let threads = fs::read_dir("/proc/self/task").expect("threads are listed");
    let turns = threads.flatten().filter_map(|thread| {
        let name = fs::read_to_string(thread.path().join("comm")).ok()?;
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        name.starts_with("softacl-progr").then(|| line.trim().parse::<u64>().expect("a number"))
    });
    turns.max().unwrap_or(0)
}
