//! Published measurements as tests of the model.
//!
//! `published.toml` has rows of public tables. A row says which figures predict it. Rows that a figure was fitted to are
//! marked, and do not count as tests: figures come from the ends of a table, or from another table.

use serde::{Deserialize, Serialize};
use softacl_profiles::{Chip, FigureName, Figures, Unit, chips};
use std::sync::LazyLock;

/// How a row is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Blocks in flight: each takes the larger of the time to submit it and the time to move it. A rate.
    Stream,
    /// One block: submit, start, transfer and wake-up follow each other. A time.
    Latency,
}

/// A published measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// Product: A2 or A3.
    pub product: String,
    pub shape: Shape,
    /// Bytes of one block.
    pub bytes: u64,
    /// GB/s for a stream, microseconds for a latency.
    pub measured: f64,
    /// Times that must pass before the next block can be submitted, or that add up.
    pub submit: Vec<FigureName>,
    /// Device time of a block that does not depend on its size.
    #[serde(default)]
    pub start: Option<FigureName>,
    pub bandwidth: Option<FigureName>,
    /// True if a figure was fitted to this row.
    #[serde(default)]
    pub is_fit: bool,
    pub source: String,
    pub link: String,
}

/// A row with its prediction.
#[derive(Debug, Clone, Serialize)]
pub struct Prediction {
    pub row: Row,
    pub predicted: f64,
    /// Difference from the measurement, relative to it.
    pub error: f64,
}

#[derive(Deserialize)]
struct File {
    row: Vec<Row>,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("../published.toml")).expect("the file of rows is valid");
    file.row
});

/// All rows.
pub fn rows() -> &'static [Row] {
    &ROWS
}

/// Predicts the rows of a chip. Rows whose figures are not known are left out.
pub fn predictions(chip: &Chip) -> Vec<Prediction> {
    let of_chip = rows().iter().filter(|row| row.product == chip.product);
    of_chip.filter_map(|row| predict(row, &chip.timing)).collect()
}

/// Predicts one row. `None` if a figure is not known.
fn predict(row: &Row, figures: &Figures) -> Option<Prediction> {
    let value = |name: FigureName| figures.get(name).map(|figure| figure.value);
    let submit = row.submit.iter().map(|name| value(*name)).sum::<Option<f64>>()?;
    // A start of its own is optional on a chip: A3 has none for the nearest pair.
    let start = row.start.and_then(value).unwrap_or(0.0);
    let transfer = match row.bandwidth {
        Some(name) => row.bytes as f64 / (1e3 * value(name)?),
        None => 0.0,
    };
    let predicted = match row.shape {
        Shape::Stream => row.bytes as f64 / 1e3 / submit.max(start + transfer),
        Shape::Latency => submit + start + transfer,
    };
    Some(Prediction { row: row.clone(), predicted, error: (predicted - row.measured).abs() / row.measured })
}

impl Row {
    pub fn unit(&self) -> Unit {
        match self.shape {
            Shape::Stream => Unit::GigabytesPerSecond,
            Shape::Latency => Unit::Microseconds,
        }
    }
}

/// Median and largest error of the rows that nothing was fitted to, and their number. `None` if there are none.
pub fn errors(predictions: &[Prediction]) -> Option<(f64, f64, usize)> {
    let mut errors: Vec<f64> =
        predictions.iter().filter(|prediction| !prediction.row.is_fit).map(|prediction| prediction.error).collect();
    errors.sort_by(f64::total_cmp);
    let middle = *errors.get(errors.len() / 2)?;
    Some((middle, *errors.last()?, errors.len()))
}

/// Chips with predictions.
pub fn tested_chips() -> impl Iterator<Item = &'static Chip> {
    chips().iter().filter(|chip| !predictions(chip).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use softacl_profiles::profile;

    fn of(soc: &str) -> Vec<Prediction> {
        predictions(profile(Some(soc), None).unwrap().chip)
    }

    #[test]
    fn a3_is_predicted_within_the_documented_error() {
        let predictions = of("Ascend910C");
        for prediction in &predictions {
            // The fitted constants are rounded to three digits.
            let limit = if prediction.row.is_fit { 0.03 } else { 0.20 };
            assert!(prediction.error <= limit, "{}: {:.3}", prediction.row.what, prediction.error);
        }
        let (median, worst, count) = errors(&predictions).unwrap();
        assert!(median < 0.08 && worst < 0.20 && count >= 25, "{median} {worst} {count}");
    }

    #[test]
    fn a2_is_predicted_within_the_documented_error() {
        let predictions = of("Ascend910B");
        let (median, worst, count) = errors(&predictions).unwrap();
        // Reads are faster than writes, and the model has one bandwidth per link.
        assert!(median < 0.15 && worst < 0.25 && count >= 3, "{median} {worst} {count}");
    }

    #[test]
    fn chips_without_figures_predict_nothing() {
        assert!(of("Ascend310P").is_empty());
        assert_eq!(tested_chips().map(|chip| chip.product.as_str()).collect::<Vec<_>>(), ["A2", "A3"]);
    }
}
