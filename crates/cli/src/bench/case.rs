//! What a case is: data. Its key, what it needs, the bars it should reach, and how it is run.

use super::interleave::{MEMCPY, OURS, PAIR, POCL, Series};
use super::session::Session;
use super::statistics::Summary;
use super::transfer::Transfer;
use super::{instructions, memory};
use crate::acl;
use anyhow::Result;

pub struct Case {
    pub key: &'static str,
    pub title: &'static str,
    pub needs: &'static [Need],
    pub bars: &'static [Target],
    pub work: CaseBody,
}

pub enum CaseBody {
    /// Pieces moved to the device, against a memcpy of the same pieces.
    Transfer(Transfer),
    Other(fn(&Session) -> Result<CaseOutcome>),
    /// Instructions of a hot path, counted in a child under callgrind.
    Instructions(instructions::Path),
}

/// What a case cannot be run without.
pub enum Need {
    Cores(usize),
    Devices(u32),
    /// Bytes of free memory.
    Memory(usize),
    Batches,
    Valgrind,
    /// Lasts too long for `--quick`.
    Time,
}

/// A quantity with the limit it should stay below; smaller is better in all of them.
pub struct Target {
    pub measure: Measure,
    pub limit: Option<f64>,
}

/// How a quantity follows from the times of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// The time of one runner over that of another.
    Ratio(&'static str, &'static str),
    /// In uncontended locks of a mutex.
    Pairs(&'static str),
    /// The same, without what the memcpy itself takes.
    PairsOverMemcpy(&'static str),
    /// As it is.
    Plain(&'static str, Unit),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    Nanoseconds,
    Instructions,
    /// Of one core.
    Percent,
}

impl Target {
    pub const fn at_most(limit: f64, measure: Measure) -> Target {
        Target { measure, limit: Some(limit) }
    }

    pub const fn unlimited(measure: Measure) -> Target {
        Target { measure, limit: None }
    }

    /// At most so many times the memcpy.
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

    /// Whether the samples behind it are something else than times.
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

    /// From the times of the same rounds; `None` when a runner was not there.
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

/// What a case found.
pub struct CaseOutcome {
    pub series: Vec<Series>,
    /// Bytes that one unit of softacl moves; 0 when it moves none.
    pub unit_bytes: usize,
    /// Bytes that were looked at afterwards and were right.
    pub verified_bytes: usize,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

impl Need {
    /// Why the case cannot be run here.
    pub fn missing(&self, stage: &Session) -> Option<String> {
        match self {
            Need::Cores(count) => {
                let here = std::thread::available_parallelism().map_or(1, usize::from);
                (here < *count).then(|| format!("needs {count} cores, here {here}"))
            }
            Need::Devices(count) => {
                let here = acl::device_count().unwrap_or(0);
                (here < *count).then(|| format!("needs {count} devices, here {here}"))
            }
            Need::Memory(bytes) => {
                let here = memory::available().unwrap_or(usize::MAX);
                (here < *bytes).then(|| format!("needs {} MiB of free memory, here {}", bytes >> 20, here >> 20))
            }
            Need::Batches => {
                let soc = acl::soc_name();
                let has = softacl_profiles::profile(Some(&soc), None).is_ok_and(|profile| profile.chip.copy.batch);
                (!has).then(|| format!("{soc} has no batches"))
            }
            Need::Valgrind => (!instructions::available()).then(|| "valgrind is not installed".to_owned()),
            Need::Time => stage.quick.then(|| "takes too long for --quick".to_owned()),
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
    fn ratios_are_taken_round_by_round() {
        // The machine was slow in the second round for both.
        let both = [series(OURS, &[5.0, 50.0, 6.0]), series(MEMCPY, &[10.0, 100.0, 10.0])];
        let ratio = Measure::Ratio(OURS, MEMCPY).value(&both).expect("both were there");
        assert_eq!((ratio.median, ratio.samples), (0.5, 3));
        assert_eq!(Measure::Ratio(OURS, POCL).value(&both), None);
    }

    #[test]
    fn pairs_are_counted_over_the_memcpy() {
        let all = [series(OURS, &[90.0]), series(MEMCPY, &[10.0]), series(PAIR, &[20.0])];
        assert_eq!(Measure::PairsOverMemcpy(OURS).value(&all).map(|s| s.median), Some(4.0));
        assert_eq!(Measure::Pairs(OURS).value(&all).map(|s| s.median), Some(4.5));
    }

    #[test]
    fn fewer_rounds_of_a_reference_still_compare() {
        let all = [series(OURS, &[1.0, 1.0, 9.0]), series(POCL, &[100.0, 100.0])];
        assert_eq!(Measure::Ratio(OURS, POCL).value(&all).map(|s| (s.median, s.samples)), Some((0.01, 2)));
    }
}
