//! Sweeps over sizes for the plots: bandwidth of asynchronous copies, cost of a batch entry.

use super::interleave::{MEMCPY, OURS, POCL, Series};
use super::session::{RepeatPolicy, Session};
use super::statistics::Summary;
use super::transfer::{Order, Submit, Transfer};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Bytes copied between two waits, if the size of a copy allows it.
const BYTES: usize = 64 << 20;
const MAX_COPIES: usize = 4096;
const MAX_ENTRIES: usize = 10_000;

/// The data of one chart.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sweep {
    pub title: String,
    pub note: String,
    pub quantity: String,
    pub curves: Vec<Curve>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Curve {
    pub name: String,
    pub points: Vec<Sample>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Sample {
    pub bytes: usize,
    #[serde(flatten)]
    pub value: Summary,
}

impl Sweep {
    pub fn new(title: &str, note: &str, quantity: &str, names: &[&str]) -> Sweep {
        let curve = |name: &&str| Curve { name: (*name).to_owned(), points: Vec::new() };
        Sweep {
            title: title.to_owned(),
            note: note.to_owned(),
            quantity: quantity.to_owned(),
            curves: names.iter().map(curve).collect(),
        }
    }

    pub fn add(&mut self, name: &str, bytes: usize, value: Summary) {
        if let Some(curve) = self.curves.iter_mut().find(|curve| curve.name == name) {
            curve.points.push(Sample { bytes, value });
        }
    }
}

/// Returns the number of sizes to measure.
pub fn steps(quick: bool) -> usize {
    copy_sizes(quick).len() + entry_sizes(quick).len()
}

pub fn run(session: &Session) -> Result<Vec<Sweep>> {
    if !session.quick {
        session.set_repeats(RepeatPolicy { min_rounds: 5, max_rounds: 15, budget: Duration::from_millis(400) });
    }
    let mut sweeps = vec![bandwidth(session)?];
    if super::case::Need::Batches.missing(session).is_none() {
        sweeps.push(entry_cost(session)?);
    }
    for sweep in &mut sweeps {
        sweep.curves.retain(|curve| !curve.points.is_empty());
    }
    Ok(sweeps)
}

fn copy_sizes(quick: bool) -> Vec<usize> {
    let max_power = if quick { 24 } else { 28 };
    (6..=max_power).step_by(2).map(|power| 1 << power).collect()
}

fn entry_sizes(quick: bool) -> Vec<usize> {
    (6..=18).step_by(if quick { 4 } else { 2 }).map(|power| 1 << power).collect()
}

/// Submits copies one after the other, then synchronizes once.
fn bandwidth(session: &Session) -> Result<Sweep> {
    let title = "Asynchronous copies, pinned memory to device";
    let note =
        "one after the other, then one synchronize; 64 MiB or 4,096 copies, so that copies below 4 KiB stay cached";
    let mut sweep = Sweep::new(title, note, "GB/s", &[OURS, MEMCPY, POCL]);
    for bytes in copy_sizes(session.quick) {
        session.progress.set_message(format!("plot: copies of {bytes} bytes"));
        let count = (BYTES / bytes).clamp(1, MAX_COPIES);
        for Series { name, samples } in Transfer::loop_of(count, bytes, Order::Sequential).run(session)?.series {
            let rates: Vec<f64> = samples.iter().map(|ns| bytes as f64 / ns).collect();
            sweep.add(name, bytes, Summary::of(&rates));
        }
        session.progress.inc(1);
    }
    Ok(sweep)
}

/// Copies scattered entries as one batch, as a loop of single copies, and as a memcpy loop.
fn entry_cost(session: &Session) -> Result<Sweep> {
    const LOOP: &str = "softacl, loop";
    const BATCH: &str = "softacl, batch";
    let title = "Scattered entries, pinned memory to device";
    let note = "from submit to synchronize; up to 10,000 entries; PoCL has no batches and runs a loop";
    let mut sweep = Sweep::new(title, note, "ns per entry", &[BATCH, LOOP, MEMCPY, POCL]);
    for bytes in entry_sizes(session.quick) {
        session.progress.set_message(format!("plot: entries of {bytes} bytes"));
        let count = (BYTES * 4 / bytes).min(MAX_ENTRIES);
        let batch = Transfer::batch_of(count, bytes, Order::Scattered, Submit::Unmeasured);
        for Series { name, samples } in batch.run(session)?.series {
            sweep.add(if name == OURS { BATCH } else { name }, bytes, Summary::of(&samples));
        }
        let single = Transfer::loop_of(count, bytes, Order::Scattered).run(session)?.series;
        for Series { samples, .. } in single.iter().filter(|series| series.name == OURS) {
            sweep.add(LOOP, bytes, Summary::of(samples));
        }
        session.progress.inc(1);
    }
    Ok(sweep)
}
