//! Schedules: when queued tasks run.
//!
//! This is the setting and its text form. `executor::steps` carries it out.

use std::fmt;
use std::str::FromStr;

/// When queued tasks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// On worker threads, as fast as possible.
    #[default]
    Threads,
    /// As soon as they are ready.
    Early,
    /// Only when a wait needs them.
    Late,
    /// At legal points drawn from this seed.
    Random(u64),
    /// In the order of a file. [`Order`](crate::order::Order) is its contents.
    Replay,
    /// When a virtual clock has come to them. [`Timing`](crate::Timing) configures the clock.
    Timed,
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("random:")) {
            _ if text.starts_with("replay:") => Ok(Schedule::Replay),
            ("threads", _) => Ok(Schedule::Threads),
            ("early", _) => Ok(Schedule::Early),
            ("late", _) => Ok(Schedule::Late),
            (_, Some(seed)) => seed
                .parse()
                .map(Schedule::Random)
                .map_err(|e| format!("the seed {seed:?} of the schedule is not a number from 0 to {}: {e}", u64::MAX)),
            _ => Err(format!("unknown schedule {text:?}; known: threads, early, late, random:SEED, replay:FILE")),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Threads => f.write_str("threads"),
            Schedule::Early => f.write_str("early"),
            Schedule::Late => f.write_str("late"),
            Schedule::Random(seed) => write!(f, "random:{seed}"),
            Schedule::Replay => f.write_str("replay"),
            Schedule::Timed => f.write_str("timed"),
        }
    }
}
