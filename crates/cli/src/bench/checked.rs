//! What the checker costs: the same work in two children, one with it and one without.
//!
//! A child copies, calls memcpy, and writes the source anew, in turns; the memcpy that counts is that of the checked child. It does so
//! with one buffer, which stays in the caches, or goes through the blocks of a pool, as a cache of keys and values does.

use super::case::CaseOutcome;
use super::fixture::Fixture;
use super::instructions::{arguments, child};
use super::interleave::{MEMCPY, Series, time, timed};
use super::memory;
use super::session::Session;
use crate::acl::{self, Stream};
use anyhow::{Context, Result, ensure};
use std::process::Command;

pub const CHECKED: &str = "checked";
pub const UNCHECKED: &str = "unchecked";
pub const PROBE: &str = "copies";
pub const POOL_PROBE: &str = "pooled-copies";
/// Larger than the last cache.
const POOL: usize = 64 << 20;
const ROUNDS: usize = 41;
const DEMOS: usize = 5;

pub fn copy_1m(stage: &Session) -> Result<CaseOutcome> {
    copies(stage, PROBE, 1 << 20, 1 << 20)
}

pub fn pool_1m(stage: &Session) -> Result<CaseOutcome> {
    copies(stage, POOL_PROBE, 1 << 20, POOL)
}

pub fn copy_16m(stage: &Session) -> Result<CaseOutcome> {
    copies(stage, PROBE, 16 << 20, 16 << 20)
}

fn copies(stage: &Session, probe: &str, len: usize, total: usize) -> Result<CaseOutcome> {
    let run = |checked| -> Result<(Vec<f64>, Vec<f64>)> {
        let mut command = child(None)?;
        arguments(&mut command, probe, len);
        let text = finish(command, checked)?;
        stage.tick();
        let mut times = (Vec::new(), Vec::new());
        for line in text.lines() {
            let (copy, memcpy) = line.split_once(' ').context("the child printed no pair of numbers")?;
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
    let notes = vec!["in children; schedule early under the checker".to_owned()];
    Ok(CaseOutcome { series, unit_bytes: len, verified_bytes: 2 * total, notes })
}

/// The child: copies and memcpys of so many bytes in turns, of one buffer. Prints both times of each round.
pub fn probe(len: usize) -> Result<()> {
    copy_blocks(len, len, ROUNDS)
}

/// The child: the same, of one block of the pool after the other; twice as many, so that half of them come by again.
pub fn pool_probe(len: usize) -> Result<()> {
    copy_blocks(len, POOL, 2 * POOL / len)
}

fn copy_blocks(len: usize, total: usize, rounds: usize) -> Result<()> {
    let ground = Fixture::new(total)?;
    let stream = Stream::new()?;
    let mut lines = String::new();
    for round in 0..=rounds {
        let at = round * len % total;
        let copy = timed(|| {
            acl::upload_async(ground.target.at(at), ground.source.at(at), len, &stream)?;
            stream.synchronize()
        })?;
        let memcpy =
            time(|| memory::copy_each(&[ground.reference_target.at(at)], &[ground.reference_source.at(at)], len));
        // A program writes what it copies: pages that it never touches would be cheaper to protect.
        memory::copy_each(&[ground.source.at(at)], &[ground.reference_source.at(at)], len);
        if round > 0 {
            lines += &format!("{} {}\n", copy.as_nanos(), memcpy.as_nanos());
        }
    }
    ground.verify((0..total).step_by(len).map(|at| (at, at)), len)?;
    print!("{lines}");
    Ok(())
}

/// The whole demo, with and without, in turns.
pub fn demo(stage: &Session) -> Result<CaseOutcome> {
    let mut series = [UNCHECKED, CHECKED].map(|name| Series { name, samples: Vec::new() });
    for round in 0..=DEMOS {
        for (checked, series) in series.iter_mut().enumerate() {
            let mut command = child(None)?;
            command.arg("demo");
            let duration = timed(|| finish(command, checked == 1).map(drop))?;
            if round > 0 {
                series.samples.push(duration.as_nanos() as f64);
            }
            stage.tick();
        }
    }
    let notes = vec!["whole processes; schedule early under the checker".to_owned()];
    Ok(CaseOutcome { series: series.into(), unit_bytes: 0, verified_bytes: 0, notes })
}

/// Runs a child to its end and gives what it printed.
fn finish(mut command: Command, checked: bool) -> Result<String> {
    command.env_remove("SOFTACL_CHECK").env_remove("SOFTACL_SCHEDULE");
    if checked {
        command.env("SOFTACL_CHECK", "1").env("SOFTACL_SCHEDULE", "early");
    }
    let done = command.output().context("could not start a child of this program")?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "the child ended with {}: {said}", done.status);
    String::from_utf8(done.stdout).context("the child printed no text")
}
