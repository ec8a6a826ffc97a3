//! A benchmark case as data: its key, its requirements, its targets, and its body.

use super::interleave::{MEMCPY, OURS, PAIR, POCL, Series};
use super::outcome::CaseOutcome;
use super::session::Session;
use super::statistics::Summary;
use super::transfer::Transfer;
use super::{instructions, memory};
use anyhow::Result;
use ascendcl::Device;

pub struct Case {
    pub key: &'static str,
    pub title: &'static str,
    pub needs: &'static [Need],
    pub targets: &'static [Target],
    pub body: CaseBody,
}

pub enum CaseBody {
    /// Copies of pieces to the device, compared with a memcpy loop over the same pieces.
    Transfer(Transfer),
    Other(fn(&Session) -> Result<CaseOutcome>),
    /// Instructions of a hot path, counted in a child process under callgrind.
    Instructions(instructions::Path),
}

/// A requirement of a case.
pub enum Need {
    Cores(usize),
    Devices(u32),
    /// Bytes of free memory.
    Memory(usize),
    Batches,
    Valgrind,
    /// Takes too long for `--quick`.
    Time,
}

/// A metric and the limit that it should stay below. Lower is better for every metric.
pub struct Target {
    pub measure: Measure,
    pub limit: Option<f64>,
}

/// How a metric is computed from the times of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// Time of one runner divided by the time of another.
    Ratio(&'static str, &'static str),
    /// Time in units of one uncontended mutex lock and unlock.
    Pairs(&'static str),
    /// Time in excess of the memcpy, in units of one uncontended mutex lock and unlock.
    PairsOverMemcpy(&'static str),
    /// The sample itself.
    Plain(&'static str, Unit),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    Nanoseconds,
    Instructions,
    /// Percent of one core.
    Percent,
}

impl Target {
    pub const fn at_most(limit: f64, measure: Measure) -> Target {
        Target { measure, limit: Some(limit) }
    }

    pub const fn unlimited(measure: Measure) -> Target {
        Target { measure, limit: None }
    }

    /// Limits the time to a multiple of the memcpy.
    pub const fn memcpy(limit: f64) -> Target {
        Target::at_most(limit, Measure::Ratio(OURS, MEMCPY))
    }

    pub const fn pocl(limit: f64) -> Target {
        Target::at_most(limit, Measure::Ratio(OURS, POCL))
    }

    pub const fn pairs(limit: f64) -> Target {
        Target::at_most(limit, Measure::Pairs(OURS))
    }
}

impl Measure {
    pub fn name(self) -> String {
        match self {
            Measure::Ratio(one, other) => format!("{one} / {other}"),
            Measure::Pairs(one) => format!("{one}, pairs"),
            Measure::PairsOverMemcpy(one) => format!("{one} - memcpy, pairs"),
            Measure::Plain(one, Unit::Nanoseconds) => format!("{one}, ns"),
            Measure::Plain(one, Unit::Instructions) => format!("{one}, instructions"),
            Measure::Plain(one, Unit::Percent) => format!("{one}, % of a core"),
        }
    }

    /// True if the samples are counts, not times.
    pub fn is_count(self) -> bool {
        matches!(self, Measure::Plain(_, Unit::Instructions | Unit::Percent))
    }

    pub fn suffix(self) -> &'static str {
        match self {
            Measure::Ratio(..) => "x",
            Measure::Pairs(_) | Measure::PairsOverMemcpy(_) => " pairs",
            Measure::Plain(_, Unit::Nanoseconds) => " ns",
            Measure::Plain(_, Unit::Instructions) => " instr",
            Measure::Plain(_, Unit::Percent) => " %",
        }
    }

    /// Computes the metric round by round. `None` if a runner is missing.
    pub fn value(self, series: &[Series]) -> Option<Summary> {
        let find = |name: &str| series.iter().find(|series| series.name == name).map(|series| &series.samples);
        let each = |one: &[f64], other: &[f64], formula: fn(f64, f64) -> f64| {
            one.iter().zip(other).map(|(a, b)| formula(*a, *b)).collect::<Vec<_>>()
        };
        let values = match self {
            Measure::Ratio(one, other) => each(find(one)?, find(other)?, |a, b| a / b),
            Measure::Pairs(one) => each(find(one)?, find(PAIR)?, |a, b| a / b),
            Measure::PairsOverMemcpy(one) => {
                let over = each(find(one)?, find(MEMCPY)?, |a, b| a - b);
                each(&over, find(PAIR)?, |a, b| a / b)
            }
            Measure::Plain(one, _) => find(one)?.clone(),
        };
        (!values.is_empty()).then(|| Summary::of(&values))
    }
}

impl Need {
    /// Returns why the requirement is not met, or `None` if it is.
    pub fn missing(&self, session: &Session) -> Option<String> {
        match self {
            Need::Cores(count) => {
                let found = std::thread::available_parallelism().map_or(1, usize::from);
                (found < *count).then(|| format!("needs {count} cores, found {found}"))
            }
            Need::Devices(count) => {
                let found = Device::count().unwrap_or(0);
                (found < *count).then(|| format!("needs {count} devices, found {found}"))
            }
            Need::Memory(bytes) => {
                let found = memory::available().unwrap_or(usize::MAX);
                (found < *bytes).then(|| format!("needs {} MiB of free memory, found {}", bytes >> 20, found >> 20))
            }
            Need::Batches => {
                let soc = Device::soc_name().unwrap_or_default();
                let has = softacl_profiles::profile(Some(&soc), None).is_ok_and(|profile| profile.chip.copy.batch);
                (!has).then(|| format!("{soc} does not support batches"))
            }
            Need::Valgrind => (!instructions::available()).then(|| "valgrind is not installed".to_owned()),
            Need::Time => session.quick.then(|| "takes too long for --quick".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &'static str, samples: &[f64]) -> Series {
        Series { name, samples: samples.to_vec() }
    }

    #[test]
    fn ratios_are_computed_per_round() {
        // The host was slow in the second round for both.
        let both = [series(OURS, &[5.0, 50.0, 6.0]), series(MEMCPY, &[10.0, 100.0, 10.0])];
        let ratio = Measure::Ratio(OURS, MEMCPY).value(&both).expect("both series are present");
        assert_eq!((ratio.median, ratio.samples), (0.5, 3));
        assert_eq!(Measure::Ratio(OURS, POCL).value(&both), None);
    }

    #[test]
    fn pairs_over_memcpy_subtract_the_memcpy() {
        let all = [series(OURS, &[90.0]), series(MEMCPY, &[10.0]), series(PAIR, &[20.0])];
        assert_eq!(Measure::PairsOverMemcpy(OURS).value(&all).map(|s| s.median), Some(4.0));
        assert_eq!(Measure::Pairs(OURS).value(&all).map(|s| s.median), Some(4.5));
    }

    #[test]
    fn series_with_fewer_rounds_are_compared_over_the_common_rounds() {
        let all = [series(OURS, &[1.0, 1.0, 9.0]), series(POCL, &[100.0, 100.0])];
        assert_eq!(Measure::Ratio(OURS, POCL).value(&all).map(|s| (s.median, s.samples)), Some((0.01, 2)));
    }
}
