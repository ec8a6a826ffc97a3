//! The overhead of the checker: the same work in two child processes, one with the checker and one without.
//!
//! A child alternates between a copy, a memcpy and a rewrite of the source. The reported memcpy is that of the checked
//! child. The work uses one buffer, which stays in the caches, or the blocks of a pool, as a KV cache does.

use super::c_api;
use super::fixture::Fixture;
use super::interleave::{MEMCPY, Series, time, timed};
use super::memory;
use super::outcome::CaseOutcome;
use super::probe::{arguments, this_program};
use super::session::Session;
use anyhow::{Context as _, Result, ensure};
use ascendcl::Context;
use std::process::Command;

pub const CHECKED: &str = "checked";
pub const UNCHECKED: &str = "unchecked";
pub const PROBE: &str = "copies";
pub const POOL_PROBE: &str = "pooled-copies";
/// Larger than the last-level cache.
const POOL: usize = 64 << 20;
const ROUNDS: usize = 41;
const DEMOS: usize = 5;

pub fn copy_1m(session: &Session) -> Result<CaseOutcome> {
    copies(session, PROBE, 1 << 20, 1 << 20)
}

pub fn pool_1m(session: &Session) -> Result<CaseOutcome> {
    copies(session, POOL_PROBE, 1 << 20, POOL)
}

pub fn copy_16m(session: &Session) -> Result<CaseOutcome> {
    copies(session, PROBE, 16 << 20, 16 << 20)
}

fn copies(session: &Session, probe: &str, len: usize, total: usize) -> Result<CaseOutcome> {
    let run = |checked| -> Result<(Vec<f64>, Vec<f64>)> {
        let mut command = Command::new(this_program()?);
        arguments(&mut command, probe, len);
        let text = finish(command, checked)?;
        session.tick();
        let mut times = (Vec::new(), Vec::new());
        for line in text.lines() {
            let (copy, memcpy) = line.split_once(' ').context("the child process did not print a pair of numbers")?;
            times.0.push(copy.parse()?);
            times.1.push(memcpy.parse()?);
        }
        Ok(times)
    };
    let (unchecked, _) = run(false)?;
    let (checked, memcpy) = run(true)?;
    let series = vec![
        Series { name: UNCHECKED, samples: unchecked },
        Series { name: CHECKED, samples: checked },
        Series { name: MEMCPY, samples: memcpy },
    ];
    let notes = vec!["in child processes; schedule early under the checker".to_owned()];
    Ok(CaseOutcome { series, unit_bytes: len, verified_bytes: 2 * total, notes })
}

/// Child process: alternates between copies and memcpys of one buffer of `len` bytes. Prints both times of each round.
pub fn probe(context: &Context, len: usize) -> Result<()> {
    copy_blocks(context, len, len, ROUNDS)
}

/// Child process: alternates between copies and memcpys of `len` bytes, going through the blocks of a pool twice.
/// Prints both times of each round.
pub fn pool_probe(context: &Context, len: usize) -> Result<()> {
    copy_blocks(context, len, POOL, 2 * POOL / len)
}

fn copy_blocks(context: &Context, len: usize, total: usize, rounds: usize) -> Result<()> {
    let fixture = Fixture::new(context, total)?;
    let stream = context.new_stream()?;
    let mut lines = String::new();
    for round in 0..=rounds {
        let at = round * len % total;
        let copy = timed(|| {
            c_api::upload(fixture.target.at(at), fixture.source.at(at), len, &stream)?;
            c_api::synchronize(&stream)
        })?;
        let memcpy =
            time(|| memory::copy_each(&[fixture.reference_target.at(at)], &[fixture.reference_source.at(at)], len));
        // Programs write what they copy. Pages that are never touched would be cheaper to protect.
        memory::copy_each(&[fixture.source.at(at)], &[fixture.reference_source.at(at)], len);
        if round > 0 {
            lines += &format!("{} {}\n", copy.as_nanos(), memcpy.as_nanos());
        }
    }
    fixture.verify((0..total).step_by(len).map(|at| (at, at)), len)?;
    print!("{lines}");
    Ok(())
}

/// Alternates between the whole demo with and without the checker.
pub fn demo(session: &Session) -> Result<CaseOutcome> {
    let mut series = [UNCHECKED, CHECKED].map(|name| Series { name, samples: Vec::new() });
    for round in 0..=DEMOS {
        for (checked, series) in series.iter_mut().enumerate() {
            let mut command = Command::new(this_program()?);
            command.arg("demo");
            let duration = timed(|| finish(command, checked == 1).map(drop))?;
            if round > 0 {
                series.samples.push(duration.as_nanos() as f64);
            }
            session.tick();
        }
    }
    let notes = vec!["whole processes; schedule early under the checker".to_owned()];
    Ok(CaseOutcome { series: series.into(), unit_bytes: 0, verified_bytes: 0, notes })
}

/// Runs a child process to its end and returns its output.
fn finish(mut command: Command, checked: bool) -> Result<String> {
    command.env_remove("SOFTACL_CHECK").env_remove("SOFTACL_SCHEDULE");
    if checked {
        command.env("SOFTACL_CHECK", "1").env("SOFTACL_SCHEDULE", "early");
    }
    let output = command.output().context("could not start a child process")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the child process ended with {}: {stderr}", output.status);
    String::from_utf8(output.stdout).context("the child process printed bytes that are not UTF-8")
}
