//! A race: softacl and its references in turns, many rounds, each round in another order. Whatever
//! disturbs the machine disturbs all of them.

use super::session::Session;
use anyhow::Result;
use std::time::{Duration, Instant};

/// Slow references need not run in every round.
pub const FEW_ROUNDS: usize = 5;
pub const OURS: &str = "softacl";
pub const MEMCPY: &str = "memcpy";
/// The loop of memcpy, divided among as many threads as there are cores: what the machine gives.
pub const ALL_CORES: &str = "memcpy on all cores";
pub const PAIR: &str = "pair";
pub const POCL: &str = "PoCL";

/// One that takes part.
pub struct Runner<'a> {
    pub name: &'static str,
    /// What one run is divided by: copies, entries, calls.
    pub units: usize,
    pub most_rounds: usize,
    /// Does the work of a round and says how long it took.
    pub run: Box<dyn FnMut(usize) -> Result<Duration> + 'a>,
}

impl<'a> Runner<'a> {
    pub fn new(name: &'static str, units: usize, run: impl FnMut(usize) -> Result<Duration> + 'a) -> Runner<'a> {
        Runner { name, units, most_rounds: usize::MAX, run: Box::new(run) }
    }

    pub fn few(self) -> Runner<'a> {
        Runner { most_rounds: FEW_ROUNDS, ..self }
    }
}

/// Times of one runner, in nanoseconds per unit, one for each round.
#[derive(Debug, Clone)]
pub struct Series {
    pub name: &'static str,
    pub samples: Vec<f64>,
}

/// How long something takes that cannot fail.
pub fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// How long something takes that can fail.
pub fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Runs all in turns. Round 0 warms up and does not count. Gives the times and the number of rounds run.
pub fn run_interleaved(stage: &Session, mut runners: Vec<Runner<'_>>) -> Result<(Vec<Series>, usize)> {
    let mut series: Vec<Series> =
        runners.iter().map(|runner| Series { name: runner.name, samples: Vec::new() }).collect();
    let pace = stage.pace();
    let start = Instant::now();
    let count = runners.len();
    let mut round = 0;
    while round <= pace.least || (round <= pace.most && start.elapsed() < pace.budget) {
        for turn in 0..count {
            let chosen = (turn + round) % count;
            let runner = &mut runners[chosen];
            if round > runner.most_rounds {
                continue;
            }
            let duration = (runner.run)(round)?;
            if round > 0 {
                series[chosen].samples.push(duration.as_nanos() as f64 / runner.units as f64);
            }
            stage.tick();
        }
        round += 1;
    }
    Ok((series, round))
}
