//! Soak: 8 threads and 200 streams copy for as long as one likes, every byte is verified, nothing may be left.
//!
//! `soak SECONDS [REPORT]` ends with 0 when all went well. A ninth thread copies 64 KiB through pinned and device
//! memory all the time, verifies it and takes the time of each round; memory, open files and threads of the process
//! are looked at in intervals. In a long run the last third must be like the first.

use softacl_engine::{Caller, Config, CopyRequest, Machine, StreamOptions, kinds};
use softacl_testkit::{Program, run};
use std::cell::Cell;
use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const THREADS: u64 = 8;
const STREAMS_PER_THREAD: usize = 25;
const LENGTH: usize = 400;
const ROUND: usize = 64 << 10;
/// Intervals of a run.
const INTERVALS: u64 = 24;
/// Runs that are shorter say nothing about what stays flat.
const LONG: u64 = 300;
/// What counts as flat: the last third against the first, without the first intervals, in which pools fill.
const WARM_UP: usize = 2;
const MEMORY_GROWTH: f64 = 1.15;
const FILE_GROWTH: f64 = 1.5;
const LATENCY_GROWTH: f64 = 2.0;

/// What was seen in one interval.
#[derive(Default)]
struct Sample {
    until: f64,
    programs: u64,
    resident_mib: f64,
    files: usize,
    threads: usize,
    rounds: usize,
    /// Microseconds: half of the rounds, 99 of 100, 999 of 1000, and the longest.
    latency: [f64; 4],
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(60);
    let report = arguments.next();
    let machine = Machine::new(Config { memory: 4 << 30, ..Config::default() }).expect("a machine");
    let start = Instant::now();
    let end = start + Duration::from_secs(seconds);
    let (programs, operations, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let rounds = Mutex::new(Vec::new());
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (machine, programs, operations, failed) = (&machine, &programs, &operations, &failed);
            scope.spawn(move || {
                let mut seed = thread << 32 | start.elapsed().as_nanos() as u64 & 0xffff;
                while Instant::now() < end && !failed.load(Ordering::Relaxed) {
                    seed += 1;
                    let program = Program::with_streams(seed, LENGTH, STREAMS_PER_THREAD);
                    if let Err(failure) = run(machine, (thread % 2) as u32, &program) {
                        eprintln!("soak: seed {seed} of thread {thread}: {failure}");
                        failed.store(true, Ordering::Relaxed);
                    }
                    operations.fetch_add(program.operations.len() as u64, Ordering::Relaxed);
                    programs.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let (machine, rounds, failed) = (&machine, &rounds, &failed);
        scope.spawn(move || {
            if let Err(failure) = measure(machine, end, rounds, failed) {
                eprintln!("soak: measured rounds: {failure}");
                failed.store(true, Ordering::Relaxed);
            }
        });
        let mut before = 0;
        for interval in 1..=INTERVALS {
            let until = start + Duration::from_secs(seconds) * interval as u32 / INTERVALS as u32;
            while Instant::now() < until && !failed.load(Ordering::Relaxed) {
                std::thread::sleep(until.saturating_duration_since(Instant::now()).min(Duration::from_millis(500)));
            }
            let now = programs.load(Ordering::Relaxed);
            samples.push(sample(
                start,
                now - before,
                std::mem::take(&mut rounds.lock().expect("nobody panics with it")),
            ));
            before = now;
        }
    });
    let left = machine.live_allocations();
    let text = format_table(&samples);
    println!("{text}");
    println!(
        "soak: {} programs with {} operations on {THREADS} threads with {STREAMS_PER_THREAD} streams each in {:.0} s, {} measured rounds, {} allocations left",
        programs.into_inner(),
        operations.into_inner(),
        start.elapsed().as_secs_f64(),
        samples.iter().map(|sample| sample.rounds).sum::<usize>(),
        left.len()
    );
    if let Some(report) = report {
        fs::write(&report, text).expect("the report can be written");
    }
    let growth = if seconds >= LONG { growth(&samples) } else { None };
    if let Some(growth) = &growth {
        eprintln!("soak: {growth}");
    }
    let well = !failed.into_inner() && left.is_empty() && growth.is_none();
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Copies to the device and back on a stream of its own, verifies, and notes how long each round took.
fn measure(machine: &Machine, end: Instant, rounds: &Mutex<Vec<f64>>, failed: &AtomicBool) -> Result<(), String> {
    let current = Cell::new(None);
    let caller = Caller::new(machine, &current);
    let told = |error: Box<softacl_engine::Error>| error.to_string();
    let context = caller.create_context(0).map_err(told)?;
    let stream = caller.create_stream(StreamOptions::default()).map_err(told)?.raw();
    let (source, target) = (caller.allocate_host(ROUND).map_err(told)?, caller.allocate_host(ROUND).map_err(told)?);
    let device = caller.allocate(ROUND).map_err(told)?;
    let copy = |target, source| {
        caller.copy_async(CopyRequest { target, capacity: ROUND, source, count: ROUND, kind: kinds::DEFAULT }, stream)
    };
    let mut number = 0u64;
    while Instant::now() < end && !failed.load(Ordering::Relaxed) {
        number += 1;
        for word in 0..ROUND / 8 {
            // SAFETY: pinned memory of ours; nothing is queued.
            unsafe { (source as *mut u64).add(word).write(number ^ word as u64) };
        }
        let start = Instant::now();
        copy(device, source).map_err(told)?;
        copy(target, device).map_err(told)?;
        caller.synchronize_stream(stream, -1).map_err(told)?;
        let took = start.elapsed().as_secs_f64() * 1e6;
        for word in 0..ROUND / 8 {
            // SAFETY: as above.
            let found = unsafe { (target as *const u64).add(word).read() };
            if found != number ^ word as u64 {
                return Err(format!("round {number}: word {word} is {found:#x}"));
            }
        }
        rounds.lock().expect("nobody panics with it").push(took);
        // The load is that of the others; we only look.
        std::thread::sleep(Duration::from_millis(2));
    }
    caller
        .free(device)
        .and_then(|()| caller.free_host(source))
        .and_then(|()| caller.free_host(target))
        .map_err(told)?;
    caller.destroy_stream(stream).and_then(|()| caller.destroy_context(context.raw())).map_err(told)
}

fn sample(start: Instant, programs: u64, mut rounds: Vec<f64>) -> Sample {
    rounds.sort_unstable_by(f64::total_cmp);
    let part =
        |of_thousand: usize| rounds.get((rounds.len() * of_thousand / 1000).min(rounds.len().max(1) - 1)).copied();
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = pages.split_whitespace().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let count = |directory: &str| fs::read_dir(directory).map_or(0, Iterator::count);
    Sample {
        until: start.elapsed().as_secs_f64(),
        programs,
        resident_mib: pages * 4096.0 / (1 << 20) as f64,
        files: count("/proc/self/fd"),
        threads: count("/proc/self/task"),
        latency: [500, 990, 999, 1000].map(|of_thousand| part(of_thousand).unwrap_or(0.0)),
        rounds: rounds.len(),
    }
}

fn format_table(samples: &[Sample]) -> String {
    let mut text = String::from(
        "| after s | programs | resident MiB | files | threads | rounds | p50 us | p99 us | p99.9 us | longest us |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for sample in samples {
        let [half, most, nearly_all, longest] = sample.latency;
        let Sample { until, programs, resident_mib, files, threads, rounds, .. } = sample;
        let _ = writeln!(
            text,
            "| {until:.0} | {programs} | {resident_mib:.0} | {files} | {threads} | {rounds} | {half:.0} | {most:.0} | {nearly_all:.0} | {longest:.0} |"
        );
    }
    text
}

/// A number of an interval.
type Reading = fn(&Sample) -> f64;

/// What grew between the first third and the last, if anything did.
fn growth(samples: &[Sample]) -> Option<String> {
    let steady = samples.get(WARM_UP..)?;
    let third = steady.len() / 3;
    let middle = |samples: &[Sample], of: Reading| {
        let mut values: Vec<f64> = samples.iter().map(of).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let rows: [(&str, Reading, f64); 3] = [
        ("resident memory in MiB", |sample| sample.resident_mib, MEMORY_GROWTH),
        ("open files", |sample| sample.files as f64, FILE_GROWTH),
        ("the median of a round in us", |sample| sample.latency[0], LATENCY_GROWTH),
    ];
    rows.into_iter().find_map(|(what, of, limit)| {
        let (first, last) = (middle(&steady[..third], of), middle(&steady[steady.len() - third..], of));
        (last > first * limit).then(|| format!("{what} grew from {first:.0} to {last:.0}"))
    })
}
