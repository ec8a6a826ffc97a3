//! Soak test: 8 threads with 200 streams copy for a given time; every byte is verified, and no allocation may remain.
//!
//! `soak SECONDS [REPORT]` exits with 0 if everything passed. A ninth thread continuously copies 64 KiB through pinned
//! and device memory, verifies it and measures each round. Memory, open files and threads of the process are sampled in
//! intervals. In a long run the last third must not exceed the first.

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
/// Number of intervals in a run.
const INTERVALS: u64 = 24;
/// Shortest run, in seconds, whose growth is judged.
const MIN_GROWTH_RUN: u64 = 300;
/// Intervals at the start, in which pools fill, that are not judged.
const WARM_UP: usize = 2;
/// Largest permitted ratio of the last third to the first.
const MEMORY_GROWTH: f64 = 1.15;
const FILE_GROWTH: f64 = 1.5;
const LATENCY_GROWTH: f64 = 2.0;

/// Measurements of one interval.
#[derive(Default)]
struct Sample {
    until: f64,
    programs: u64,
    resident_mib: f64,
    files: usize,
    threads: usize,
    rounds: usize,
    /// Microseconds: median, 99th and 99.9th percentile, and the longest round.
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
                std::mem::take(&mut rounds.lock().expect("no thread panics while holding it")),
            ));
            before = now;
        }
    });
    let left = machine.live_allocations();
    let text = format_table(&samples);
    println!("{text}");
    println!(
        "soak: {} programs with {} operations on {THREADS} threads with {STREAMS_PER_THREAD} streams each in {:.0} s, \
         {} measured rounds, {} allocations remain",
        programs.into_inner(),
        operations.into_inner(),
        start.elapsed().as_secs_f64(),
        samples.iter().map(|sample| sample.rounds).sum::<usize>(),
        left.len()
    );
    if let Some(report) = report {
        fs::write(&report, text).expect("the report can be written");
    }
    let growth = if seconds >= MIN_GROWTH_RUN { growth(&samples) } else { None };
    if let Some(growth) = &growth {
        eprintln!("soak: {growth}");
    }
    let passed = !failed.into_inner() && left.is_empty() && growth.is_none();
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Copies to the device and back on a separate stream, verifies the bytes, and records the duration of each round.
fn measure(machine: &Machine, end: Instant, rounds: &Mutex<Vec<f64>>, failed: &AtomicBool) -> Result<(), String> {
    let current = Cell::new(None);
    // SAFETY: every address that is passed on is memory of the machine or of this program.
    let caller = unsafe { Caller::new(machine, &current) };
    let text = |error: Box<softacl_engine::Error>| error.to_string();
    let context = caller.create_context(0).map_err(text)?;
    let stream = caller.create_stream(StreamOptions::default()).map_err(text)?.raw();
    let (source, target) = (caller.allocate_host(ROUND).map_err(text)?, caller.allocate_host(ROUND).map_err(text)?);
    let device = caller.allocate(ROUND).map_err(text)?;
    let copy = |target, source| {
        caller.copy_async(CopyRequest { target, capacity: ROUND, source, count: ROUND, kind: kinds::DEFAULT }, stream)
    };
    let mut number = 0u64;
    while Instant::now() < end && !failed.load(Ordering::Relaxed) {
        number += 1;
        for word in 0..ROUND / 8 {
            // SAFETY: pinned memory of this function; no copy is queued.
            unsafe { (source as *mut u64).add(word).write(number ^ word as u64) };
        }
        let start = Instant::now();
        copy(device, source).map_err(text)?;
        copy(target, device).map_err(text)?;
        caller.synchronize_stream(stream, -1).map_err(text)?;
        let us = start.elapsed().as_secs_f64() * 1e6;
        for word in 0..ROUND / 8 {
            // SAFETY: pinned memory of this function; all copies have finished.
            let found = unsafe { (target as *const u64).add(word).read() };
            if found != number ^ word as u64 {
                return Err(format!("round {number}: word {word} is {found:#x}"));
            }
        }
        rounds.lock().expect("no thread panics while holding it").push(us);
        // The other threads create the load; this one only measures.
        std::thread::sleep(Duration::from_millis(2));
    }
    caller
        .free(device)
        .and_then(|()| caller.free_host(source))
        .and_then(|()| caller.free_host(target))
        .map_err(text)?;
    caller.destroy_stream(stream).and_then(|()| caller.destroy_context(context.raw())).map_err(text)
}

/// Samples the process at the end of an interval.
fn sample(start: Instant, programs: u64, mut rounds: Vec<f64>) -> Sample {
    rounds.sort_unstable_by(f64::total_cmp);
    let percentile =
        |per_mille: usize| rounds.get((rounds.len() * per_mille / 1000).min(rounds.len().max(1) - 1)).copied();
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = pages.split_whitespace().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let count = |directory: &str| fs::read_dir(directory).map_or(0, Iterator::count);
    Sample {
        until: start.elapsed().as_secs_f64(),
        programs,
        resident_mib: pages * 4096.0 / (1 << 20) as f64,
        files: count("/proc/self/fd"),
        threads: count("/proc/self/task"),
        latency: [500, 990, 999, 1000].map(|per_mille| percentile(per_mille).unwrap_or(0.0)),
        rounds: rounds.len(),
    }
}

/// Formats the intervals as a Markdown table.
fn format_table(samples: &[Sample]) -> String {
    let mut text = String::from(
        "| after s | programs | resident MiB | files | threads | rounds | p50 us | p99 us | p99.9 us | longest us |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for sample in samples {
        let [p50, p99, p999, longest] = sample.latency;
        let Sample { until, programs, resident_mib, files, threads, rounds, .. } = sample;
        let _ = writeln!(
            text,
            "| {until:.0} | {programs} | {resident_mib:.0} | {files} | {threads} | {rounds} | \
             {p50:.0} | {p99:.0} | {p999:.0} | {longest:.0} |"
        );
    }
    text
}

/// Reads one measurement of an interval.
type Reading = fn(&Sample) -> f64;

/// Describes what grew between the first third and the last. `None` if nothing did.
fn growth(samples: &[Sample]) -> Option<String> {
    let steady = samples.get(WARM_UP..)?;
    let third = steady.len() / 3;
    let median = |samples: &[Sample], of: Reading| {
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
        let (first, last) = (median(&steady[..third], of), median(&steady[steady.len() - third..], of));
        (last > first * limit).then(|| format!("{what} grew from {first:.0} to {last:.0}"))
    })
}
