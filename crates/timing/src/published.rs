//! Published measurements as tests of the model.
//!
//! `published.toml` has rows of public tables. A row with a path is simulated: its copies become a log, which is
//! replayed like that of a program. Rows of paths that the simulator does not have are only listed. Rows that a figure
//! was fitted to are marked, and do not count as tests: figures come from the ends of a table, or from another table.

use crate::costs::{Bound, Costs};
use crate::log::{Log, Step};
use crate::replay::{Outcome, replay};
use crate::simulation::TaskId;
use crate::work::{Call, Place, Work};
use serde::{Deserialize, Serialize};
use softacl_profiles::{Chip, Unit};
use std::sync::LazyLock;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Blocks in flight, until all have arrived. A rate.
    Stream,
    /// One asynchronous block, until a thread knows that it has arrived. A time.
    Latency,
    /// One synchronous copy. A time.
    Blocking,
    /// Registering and unregistering host memory. A time.
    Register,
    /// An allocation of device memory and a synchronous copy. A time.
    Allocation,
}

/// An end of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    #[serde(rename = "device 0")]
    Device0,
    /// The nearest pair of device 0.
    #[serde(rename = "device 1")]
    Device1,
    #[serde(rename = "device 2")]
    Device2,
    #[serde(rename = "pinned")]
    Pinned,
    #[serde(rename = "pageable")]
    Pageable,
}

impl End {
    fn place(self) -> Place {
        match self {
            End::Device0 => Place::Device(0),
            End::Device1 => Place::Device(1),
            End::Device2 => Place::Device(2),
            End::Pinned => Place::Pinned,
            End::Pageable => Place::Pageable,
        }
    }
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
    /// GB/s for a stream, microseconds otherwise.
    pub measured: f64,
    /// Source and target. Absent if the simulator has no such path, or if nothing is copied.
    #[serde(default)]
    pub path: Option<[End; 2]>,
    /// Number of blocks.
    #[serde(default = "one")]
    pub blocks: u32,
    /// Streams that take the blocks in turn.
    #[serde(default = "one")]
    pub streams: u32,
    /// True if a figure was fitted to this row.
    #[serde(default)]
    pub is_fit: bool,
    pub source: String,
    pub link: String,
}

fn one() -> u32 {
    1
}

/// A row with its prediction.
#[derive(Debug, Clone, Serialize)]
pub struct Prediction {
    pub row: Row,
    pub predicted: f64,
    /// The prediction at the ends of the intervals of all figures.
    pub interval: [f64; 2],
    /// Difference from the measurement, relative to it.
    pub error: f64,
}

/// The errors of the rows that nothing was fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    pub median: f64,
    pub worst: f64,
    pub rows: usize,
    /// Rows whose measurement is inside the interval of the prediction.
    pub inside: usize,
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

/// Predicts the rows of a chip that the simulator has a path for. Rows whose figures are not known are left out.
pub fn predictions(chip: &Chip) -> Vec<Prediction> {
    let of_chip = rows().iter().filter(|row| row.product == chip.product);
    of_chip.filter_map(|row| predict(row, chip)).collect()
}

/// The rows of a chip that are of other paths.
pub fn other_paths(chip: &Chip) -> impl Iterator<Item = &'static Row> {
    let product = chip.product.clone();
    rows().iter().filter(move |row| row.product == product && row.log().is_none())
}

/// Simulates one row. `None` if it is of another path, or if a figure is not known.
fn predict(row: &Row, chip: &Chip) -> Option<Prediction> {
    let log = row.log()?;
    let run = |bound| {
        let outcome = replay(&log, Costs::of(chip, bound));
        outcome.unknown.is_empty().then(|| row.value(&outcome))
    };
    let (predicted, fast, slow) = (run(Bound::Expected)?, run(Bound::Fastest)?, run(Bound::Slowest)?);
    let error = (predicted - row.measured).abs() / row.measured;
    Some(Prediction { row: row.clone(), predicted, interval: [fast.min(slow), fast.max(slow)], error })
}

impl Row {
    pub fn unit(&self) -> Unit {
        match self.shape {
            Shape::Stream => Unit::GigabytesPerSecond,
            _ => Unit::Microseconds,
        }
    }

    /// What a program does that measures the row. `None` if the simulator has no such path.
    fn log(&self) -> Option<Log> {
        let call = |call| Step::Call { thread: 0, call };
        let copy = || Some(self.path?.map(End::place)).map(|[source, target]| Work::copy(source, target, self.bytes));
        let blocking = || Some(Step::Blocking { thread: 0, work: copy()?, is_stall: false });
        let steps = match self.shape {
            Shape::Register => vec![call(Call::Register { pages: self.bytes.div_ceil(4096) as u32 })],
            Shape::Blocking => vec![blocking()?],
            Shape::Allocation => vec![call(Call::Malloc), blocking()?],
            // Pageable memory makes an asynchronous copy synchronous.
            _ if self.path?.contains(&End::Pageable) => vec![blocking()?; self.blocks as usize],
            Shape::Stream | Shape::Latency => self.asynchronous(copy()?),
        };
        Some(Log { steps, ..Log::default() })
    }

    /// Copies that one thread submits to the streams in turn, and then waits for.
    fn asynchronous(&self, work: Work) -> Vec<Step> {
        let id = |block: u32| TaskId { stream: block % self.streams, sequence: u64::from(block / self.streams) + 1 };
        let submits = (0..self.blocks).map(|block| Step::Submit { thread: 0, id: id(block), work });
        let last = self.blocks.saturating_sub(self.streams)..self.blocks;
        submits.chain(last.map(|block| Step::Wait { thread: 0, id: id(block), is_stall: false })).collect()
    }

    /// What the row says about an outcome, in its unit.
    fn value(&self, outcome: &Outcome) -> f64 {
        match self.shape {
            Shape::Stream => (u64::from(self.blocks) * self.bytes) as f64 / outcome.total as f64,
            _ => outcome.total as f64 / 1e3,
        }
    }
}

/// The errors of the rows that nothing was fitted to. `None` if there are none.
pub fn errors(predictions: &[Prediction]) -> Option<Errors> {
    let tests: Vec<&Prediction> = predictions.iter().filter(|prediction| !prediction.row.is_fit).collect();
    let mut errors: Vec<f64> = tests.iter().map(|prediction| prediction.error).collect();
    errors.sort_by(f64::total_cmp);
    let is_inside = |prediction: &&&Prediction| {
        let [low, high] = prediction.interval;
        (low..=high).contains(&prediction.row.measured)
    };
    Some(Errors {
        median: *errors.get(errors.len() / 2)?,
        worst: *errors.last()?,
        rows: errors.len(),
        inside: tests.iter().filter(is_inside).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use softacl_profiles::profile;

    fn of(soc: &str) -> Vec<Prediction> {
        predictions(profile(Some(soc), None).unwrap().chip)
    }

    /// Checks that fitted rows agree, that the rows beyond `limit` are exactly these, and prints the errors.
    fn check(soc: &str, limit: f64, misses: &[&str]) -> Errors {
        let predictions = of(soc);
        for prediction in predictions.iter().filter(|prediction| prediction.row.is_fit) {
            // Constants have three digits, and streams begin with a submit and end with a wake-up.
            assert!(prediction.error <= 0.03, "{}: {:.3}", prediction.row.what, prediction.error);
        }
        let missed = predictions.iter().filter(|prediction| prediction.error > limit);
        assert_eq!(missed.map(|prediction| prediction.row.what.as_str()).collect::<Vec<_>>(), misses);
        errors(&predictions).unwrap()
    }

    #[test]
    fn a3_is_predicted_but_for_known_misses() {
        let errors = check(
            "Ascend910C",
            0.20,
            &[
                // A remote device submits these; the model has the submits of the host.
                "A3 one box, host-submitted, D2rH, 16 KiB",
                "A3 one box, host-submitted, rH2D, 16 KiB",
                // Reads of the host memory of another process are faster than any published copy of a process.
                "A3 one box, host-submitted, rH2D, 2 MiB",
                "A3 one box, host-submitted, rH2H, 16 KiB",
                // The submitter of memfabric is faster than that of the runtime.
                "A3 pod, 0 to 1, 32 blocks, 32 KiB",
                "A3 pod, 0 to 2, 32 blocks, 32 KiB",
                "A3 pod, 0 to 2, 32 blocks, 512 KiB",
            ],
        );
        assert!(errors.median < 0.11 && errors.rows >= 17, "{errors:?}");
    }

    #[test]
    fn a2_is_predicted_but_for_known_misses() {
        let errors = check(
            "Ascend910B",
            0.20,
            &[
                // The device submits these; the model has the submits of the host.
                "A2 one box, HCCS, write, 16 KiB",
                "A2 one box, HCCS, read, 16 KiB",
                // Reads are faster than writes, and the model has one bandwidth per link.
                "A2 one box, HCCS, read, 2 MiB",
            ],
        );
        assert!(errors.rows >= 3, "{errors:?}");
    }

    #[test]
    fn rows_of_other_paths_are_listed_and_not_predicted() {
        let chip = profile(Some("Ascend910C"), None).unwrap().chip;
        let other: Vec<&str> = other_paths(chip).map(|row| row.what.as_str()).collect();
        assert!(other.contains(&"A3 RoCE, 16 KiB (middle of 18 to 19)") && other.len() > 20, "{other:?}");
        assert!(predictions(chip).iter().all(|prediction| !other.contains(&prediction.row.what.as_str())));
    }

    #[test]
    fn chips_without_figures_predict_nothing() {
        assert!(of("Ascend310P").is_empty());
    }
}
