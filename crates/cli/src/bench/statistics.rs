//! Medians and quartiles. Nothing here knows what was measured.

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
    /// Of at least one sample.
    pub fn of(samples: &[f64]) -> Summary {
        assert!(!samples.is_empty(), "a summary of nothing");
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

/// Linear between neighbours.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    below + (above - below) * position.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_outliers_and_the_quartiles_show_the_middle() {
        let summary = Summary::of(&[5.0, 1.0, 3.0, 2.0, 1000.0]);
        assert_eq!((summary.low, summary.median, summary.high, summary.samples), (2.0, 3.0, 5.0, 5));
    }

    #[test]
    fn between_two_samples_is_the_middle() {
        let summary = Summary::of(&[1.0, 2.0]);
        assert_eq!((summary.low, summary.median, summary.high), (1.25, 1.5, 1.75));
        assert_eq!(Summary::of(&[7.0]).high, 7.0);
    }
}
