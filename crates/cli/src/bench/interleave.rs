//! Interleaved measurement: softacl and its references alternate for many rounds, in rotating order, so that
//! disturbances of the host affect all of them.

use super::session::Session;
use anyhow::Result;
use std::time::{Duration, Instant};

/// Number of rounds for slow references.
pub const FEW_ROUNDS: usize = 5;
pub const OURS: &str = "softacl";
pub const MEMCPY: &str = "memcpy";
/// A memcpy loop divided among one thread per core: the bandwidth of the host.
pub const ALL_CORES: &str = "memcpy on all cores";
pub const PAIR: &str = "pair";
pub const POCL: &str = "PoCL";

/// A participant of an interleaved measurement.
pub struct Runner<'a> {
    pub name: &'static str,
    /// Number of units (copies, entries, calls) in one run, by which its time is divided.
    pub units: usize,
    pub max_rounds: usize,
    /// Runs one round and returns its duration.
    pub run: Box<dyn FnMut(usize) -> Result<Duration> + 'a>,
}

impl<'a> Runner<'a> {
    pub fn new(name: &'static str, units: usize, run: impl FnMut(usize) -> Result<Duration> + 'a) -> Runner<'a> {
        Runner { name, units, max_rounds: usize::MAX, run: Box::new(run) }
    }

    /// Limits the runner to `FEW_ROUNDS`.
    pub fn few(self) -> Runner<'a> {
        Runner { max_rounds: FEW_ROUNDS, ..self }
    }
}

/// Times of one runner in nanoseconds per unit, one per round.
#[derive(Debug, Clone)]
pub struct Series {
    pub name: &'static str,
    pub samples: Vec<f64>,
}

/// Times work that cannot fail.
pub fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Times work that can fail.
pub fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Runs all runners alternately. Round 0 is a warm-up and does not count. Returns the times and the number of rounds.
pub fn run_interleaved(session: &Session, mut runners: Vec<Runner<'_>>) -> Result<(Vec<Series>, usize)> {
    let mut series: Vec<Series> =
        runners.iter().map(|runner| Series { name: runner.name, samples: Vec::new() }).collect();
    let repeats = session.repeats();
    let start = Instant::now();
    let count = runners.len();
    let mut round = 0;
    while round <= repeats.min_rounds || (round <= repeats.max_rounds && start.elapsed() < repeats.budget) {
        for turn in 0..count {
            let chosen = (turn + round) % count;
            let runner = &mut runners[chosen];
            if round > runner.max_rounds {
                continue;
            }
            let duration = (runner.run)(round)?;
            if round > 0 {
                series[chosen].samples.push(duration.as_nanos() as f64 / runner.units as f64);
            }
            session.tick();
        }
        round += 1;
    }
    Ok((series, round))
}
