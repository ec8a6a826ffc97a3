//! The cost of small copies under the observers and on a virtual clock, and of the first large copy under the checker. All of it runs in child
//! processes, one with each observer and one with none.
//!
//! Small copies are made by ten threads, each with its own stream and its own buffer, or ring of buffers, which it writes
//! after every wait. Only the program's side is measured: turning a log into a trace happens after the program.

use super::c_api;
use super::fixture::Fixture;
use super::interleave::{Series, timed};
use super::memory;
use super::outcome::CaseOutcome;
use super::probe::{arguments, this_program};
use super::session::Session;
use anyhow::{Context as _, Result, ensure};
use ascendcl::Context;
use std::process::Command;
use std::sync::Barrier;
use std::time::Instant;

pub const CHECKED: &str = "checked";
pub const TRACED: &str = "traced";
pub const TIMED: &str = "timed";
pub const PLAIN: &str = "not observed";
pub const FIRST: &str = "first copy";
pub const SECOND: &str = "second copy";
pub const CHECKED_RING: &str = "checked, ring of buffers";
pub const THREADS_PROBE: &str = "threads";
pub const RING_PROBE: &str = "threads-ring";
pub const FIRST_PROBE: &str = "first-copy";

const THREADS: usize = 10;
const LEN: usize = 4 << 10;
/// Copies between two waits, and buffers of a ring. Each buffer is a page, whose protection changes with every copy.
pub const RING: usize = 64;
const COPIES: usize = 64 * 50;
const ROUNDS: usize = 9;
/// Larger than the huge pages that the checker requests for one process.
const LARGE: usize = 2 << 30;
const PROCESSES: usize = 3;

enum Observation {
    None,
    Checker,
    Tracer,
    Clock,
}

pub fn checked(session: &Session) -> Result<CaseOutcome> {
    let mut outcome = small_copies(session, CHECKED, Observation::Checker)?;
    outcome.series.push(Series { name: CHECKED_RING, samples: times(session, RING_PROBE, Observation::Checker)? });
    Ok(outcome)
}

pub fn traced(session: &Session) -> Result<CaseOutcome> {
    small_copies(session, TRACED, Observation::Tracer)
}

pub fn timed_copies(session: &Session) -> Result<CaseOutcome> {
    small_copies(session, TIMED, Observation::Clock)
}

fn small_copies(session: &Session, name: &'static str, observation: Observation) -> Result<CaseOutcome> {
    let plain = times(session, THREADS_PROBE, Observation::None)?;
    let observed = times(session, THREADS_PROBE, observation)?;
    let series = vec![Series { name: PLAIN, samples: plain }, Series { name, samples: observed }];
    let notes = vec![format!("in child processes; {THREADS} threads, {RING} copies between two waits")];
    Ok(CaseOutcome { series, unit_bytes: LEN, verified_bytes: THREADS * LEN, notes })
}

/// The times per copy that a probe prints.
fn times(session: &Session, probe: &str, observation: Observation) -> Result<Vec<f64>> {
    let text = finish(probe, COPIES, observation)?;
    session.tick();
    text.lines().map(|line| Ok(line.parse()?)).collect()
}

/// Child process: each thread makes `copies` copies of its `buffers`. Prints the time per copy of each round, in ns.
pub fn threads_probe(context: &Context, copies: usize, buffers: usize) -> Result<()> {
    let barrier = Barrier::new(THREADS + 1);
    let copy_all = || -> Result<()> {
        c_api::make_current(context)?;
        let fixture = Fixture::new(context, buffers * LEN)?;
        let stream = context.new_stream()?;
        for _ in 0..=ROUNDS {
            barrier.wait();
            for copy in 0..copies {
                let at = copy % buffers * LEN;
                c_api::upload(fixture.target.at(at), fixture.source.at(at), LEN, &stream)?;
                if copy % RING == RING - 1 {
                    c_api::synchronize(&stream)?;
                    memory::fill(fixture.source.at(0), LEN, copy as u64);
                }
            }
            c_api::synchronize(&stream)?;
            barrier.wait();
        }
        c_api::upload(fixture.target.at(0), fixture.source.at(0), LEN, &stream)?;
        c_api::synchronize(&stream)?;
        fixture.verify((0..buffers).map(|piece| (piece * LEN, piece * LEN)), LEN)?;
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(copy_all)).collect();
        for round in 0..=ROUNDS {
            barrier.wait();
            let start = Instant::now();
            barrier.wait();
            if round > 0 {
                println!("{}", start.elapsed().as_nanos() as f64 / (THREADS * copies) as f64);
            }
        }
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })
}

/// Compares the first copy of fresh memory under the checker with the second one.
pub fn first_copy(session: &Session) -> Result<CaseOutcome> {
    let mut series = [FIRST, SECOND].map(|name| Series { name, samples: Vec::new() });
    for _ in 0..PROCESSES {
        let text = finish(FIRST_PROBE, LARGE, Observation::Checker)?;
        let mut times = text.lines().map(str::parse::<f64>);
        for series in &mut series {
            series.samples.push(times.next().context("the child process printed too little")??);
        }
        session.tick();
    }
    let notes = vec!["in child processes; schedule early".to_owned()];
    Ok(CaseOutcome { series: series.into(), unit_bytes: LARGE, verified_bytes: 0, notes })
}

/// Child process: copies `len` bytes twice, to memory that was written before. Prints both times in ns.
pub fn first_probe(context: &Context, len: usize) -> Result<()> {
    let mut source = context.alloc_pinned::<u8>(len)?;
    let mut target = context.alloc_uninit::<u8>(len)?;
    source.fill(1);
    // Device memory has its pages before the first copy.
    target.copy_from_slice(&source)?;
    let stream = context.new_stream()?;
    for byte in [1, 2] {
        source.fill(byte);
        let (to, from) = (target.as_raw() as usize, source.as_ptr() as usize);
        let time = timed(|| {
            c_api::upload(to, from, len, &stream)?;
            c_api::synchronize(&stream)
        })?;
        println!("{}", time.as_nanos());
    }
    Ok(())
}

/// Runs a probe to its end and returns its output.
fn finish(probe: &str, calls: usize, observation: Observation) -> Result<String> {
    let mut command = Command::new(this_program()?);
    arguments(&mut command, probe, calls);
    for variable in ["SOFTACL_CHECK", "SOFTACL_SCHEDULE", "SOFTACL_TRACE", "SOFTACL_TIMING"] {
        command.env_remove(variable);
    }
    let directory = tempfile::tempdir().context("could not create a temporary directory")?;
    match observation {
        Observation::None => {}
        Observation::Checker => _ = command.env("SOFTACL_CHECK", "1").env("SOFTACL_SCHEDULE", "early"),
        Observation::Tracer => _ = command.env("SOFTACL_TRACE", directory.path().join("probe.log")),
        Observation::Clock => _ = command.env("SOFTACL_TIMING", "1").env("SOFTACL_SOC", "Ascend910C"),
    }
    let output = command.output().context("could not start a child process")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the child process ended with {}: {stderr}", output.status);
    String::from_utf8(output.stdout).context("the child process printed bytes that are not UTF-8")
}
