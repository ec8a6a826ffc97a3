//! Comparison of two runs. A difference is significant if the quartile ranges do not overlap and the medians differ by
//! more than a few percent. Everything else is noise.

use super::report::{BenchReport, Color, Table, quantity};
use super::statistics::Summary;
use std::fmt::Write;

/// Smallest relative change of a median that is significant.
const MIN_CHANGE: f64 = 0.03;
/// Smallest relative change of an instruction count that is significant. Counts do not depend on the host's load.
const MIN_COUNT_CHANGE: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Better,
    Same,
    Worse,
}

pub struct Difference {
    key: String,
    measure: String,
    unit: String,
    old: Summary,
    new: Summary,
    pub verdict: Verdict,
}

/// Compares two summaries. Lower is better.
fn verdict(old: &Summary, new: &Summary, min_change: f64) -> Verdict {
    let change = (new.median - old.median) / old.median.abs();
    if change > min_change && new.low > old.high {
        Verdict::Worse
    } else if change < -min_change && new.high < old.low {
        Verdict::Better
    } else {
        Verdict::Same
    }
}

/// Compares every metric that both runs contain.
pub fn compare(old: &BenchReport, new: &BenchReport) -> Vec<Difference> {
    let mut differences = Vec::new();
    for row in &new.cases {
        let Some(old_row) = old.cases.iter().find(|old_row| old_row.key == row.key) else { continue };
        for measurement in &row.results {
            let Some(old) = old_row.results.iter().find(|old| old.measure == measurement.measure) else { continue };
            let min_change = if measurement.unit == "instr" { MIN_COUNT_CHANGE } else { MIN_CHANGE };
            differences.push(Difference {
                key: row.key.clone(),
                measure: measurement.measure.clone(),
                unit: measurement.unit.clone(),
                old: old.value,
                new: measurement.value,
                verdict: verdict(&old.value, &measurement.value, min_change),
            });
        }
    }
    differences
}

pub fn regressions(differences: &[Difference]) -> usize {
    differences.iter().filter(|difference| difference.verdict == Verdict::Worse).count()
}

pub fn table(differences: &[Difference], table: &Table) -> String {
    let heading = format!("\n{:<28} {:<24} {:>12} {:>12} {:>8}  verdict", "case", "measure", "before", "now", "change");
    let mut out = table.paint(Color::Bold, &heading);
    for difference in differences {
        let (color, word) = match difference.verdict {
            Verdict::Better => (Color::Green, "better"),
            Verdict::Same => (Color::Gray, "same"),
            Verdict::Worse => (Color::Red, "WORSE"),
        };
        let percent = 100.0 * (difference.new.median - difference.old.median) / difference.old.median.abs();
        let _ = write!(
            out,
            "\n{:<28} {:<24} {:>12} {:>12} {percent:>+7.1}%  {}",
            difference.key,
            difference.measure,
            quantity(difference.old.median, &difference.unit),
            quantity(difference.new.median, &difference.unit),
            table.paint(color, word)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(low: f64, median: f64, high: f64) -> Summary {
        Summary { median, low, high, samples: 9 }
    }

    #[test]
    fn change_within_the_spread_is_noise() {
        assert_eq!(verdict(&summary(0.5, 0.6, 0.8), &summary(0.7, 0.75, 0.9), 0.03), Verdict::Same);
    }

    #[test]
    fn change_beyond_the_spread_is_significant_in_both_directions() {
        let (fast, slow) = (summary(0.50, 0.51, 0.52), summary(0.60, 0.61, 0.62));
        assert_eq!(verdict(&fast, &slow, 0.03), Verdict::Worse);
        assert_eq!(verdict(&slow, &fast, 0.03), Verdict::Better);
    }

    #[test]
    fn tiny_change_is_noise_even_without_spread() {
        assert_eq!(verdict(&summary(300.0, 300.0, 300.0), &summary(302.0, 302.0, 302.0), 0.01), Verdict::Same);
        assert_eq!(verdict(&summary(300.0, 300.0, 300.0), &summary(304.0, 304.0, 304.0), 0.01), Verdict::Worse);
    }
}
