//! Medians and quartiles, independent of what was measured.

use serde::{Deserialize, Serialize};

/// A median with the middle half of the samples around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub median: f64,
    pub low: f64,
    pub high: f64,
    pub samples: usize,
}

impl Summary {
    /// Summarizes at least one sample.
    pub fn of(samples: &[f64]) -> Summary {
        assert!(!samples.is_empty(), "a summary needs at least one sample");
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        Summary {
            median: quantile(&sorted, 0.5),
            low: quantile(&sorted, 0.25),
            high: quantile(&sorted, 0.75),
            samples: sorted.len(),
        }
    }
}

/// Interpolates linearly between neighbors.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    below + (above - below) * position.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_ignores_outliers_and_quartiles_bound_the_middle_half() {
        let summary = Summary::of(&[5.0, 1.0, 3.0, 2.0, 1000.0]);
        assert_eq!((summary.low, summary.median, summary.high, summary.samples), (2.0, 3.0, 5.0, 5));
    }

    #[test]
    fn quantiles_of_two_samples_are_interpolated() {
        let summary = Summary::of(&[1.0, 2.0]);
        assert_eq!((summary.low, summary.median, summary.high), (1.25, 1.5, 1.75));
        assert_eq!(Summary::of(&[7.0]).high, 7.0);
    }
}
