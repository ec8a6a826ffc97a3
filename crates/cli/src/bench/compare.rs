//! Two runs side by side. A difference counts when the middle halves of the samples do not overlap and
//! the medians are apart by more than a few percent; everything else is noise.

use super::report::{BenchReport, Colour, Table, quantity};
use super::statistics::Summary;
use std::fmt::Write;

/// Medians that are nearer than this are the same, however narrow the spread.
const LEAST_CHANGE: f64 = 0.03;
/// Instruction counts do not depend on the machine's mood.
const LEAST_CHANGE_OF_COUNTS: f64 = 0.01;

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

/// Smaller is better.
fn verdict(old: &Summary, new: &Summary, least: f64) -> Verdict {
    let change = (new.median - old.median) / old.median.abs();
    if change > least && new.low > old.high {
        Verdict::Worse
    } else if change < -least && new.high < old.low {
        Verdict::Better
    } else {
        Verdict::Same
    }
}

/// Every quantity that both runs have.
pub fn compare(old: &BenchReport, new: &BenchReport) -> Vec<Difference> {
    let mut changes = Vec::new();
    for row in &new.cases {
        let Some(before) = old.cases.iter().find(|before| before.key == row.key) else { continue };
        for finding in &row.results {
            let Some(found) = before.results.iter().find(|found| found.measure == finding.measure) else { continue };
            let least = if finding.unit == "instr" { LEAST_CHANGE_OF_COUNTS } else { LEAST_CHANGE };
            changes.push(Difference {
                key: row.key.clone(),
                measure: finding.measure.clone(),
                unit: finding.unit.clone(),
                old: found.value,
                new: finding.value,
                verdict: verdict(&found.value, &finding.value, least),
            });
        }
    }
    changes
}

pub fn regressions(changes: &[Difference]) -> usize {
    changes.iter().filter(|change| change.verdict == Verdict::Worse).count()
}

pub fn table(changes: &[Difference], table: &Table) -> String {
    let heading = format!("\n{:<28} {:<24} {:>12} {:>12} {:>8}  verdict", "case", "measure", "before", "now", "change");
    let mut out = table.paint(Colour::Bold, &heading);
    for change in changes {
        let (colour, word) = match change.verdict {
            Verdict::Better => (Colour::Green, "better"),
            Verdict::Same => (Colour::Grey, "same"),
            Verdict::Worse => (Colour::Red, "WORSE"),
        };
        let percent = 100.0 * (change.new.median - change.old.median) / change.old.median.abs();
        let _ = write!(
            out,
            "\n{:<28} {:<24} {:>12} {:>12} {percent:>+7.1}%  {}",
            change.key,
            change.measure,
            quantity(change.old.median, &change.unit),
            quantity(change.new.median, &change.unit),
            table.paint(colour, word)
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
    fn a_change_within_the_spread_is_none() {
        assert_eq!(verdict(&summary(0.5, 0.6, 0.8), &summary(0.7, 0.75, 0.9), 0.03), Verdict::Same);
    }

    #[test]
    fn a_change_beyond_the_spread_is_one_in_either_direction() {
        let (fast, slow) = (summary(0.50, 0.51, 0.52), summary(0.60, 0.61, 0.62));
        assert_eq!(verdict(&fast, &slow, 0.03), Verdict::Worse);
        assert_eq!(verdict(&slow, &fast, 0.03), Verdict::Better);
    }

    #[test]
    fn a_tiny_change_is_none_even_without_spread() {
        assert_eq!(verdict(&summary(300.0, 300.0, 300.0), &summary(302.0, 302.0, 302.0), 0.01), Verdict::Same);
        assert_eq!(verdict(&summary(300.0, 300.0, 300.0), &summary(304.0, 304.0, 304.0), 0.01), Verdict::Worse);
    }
}
