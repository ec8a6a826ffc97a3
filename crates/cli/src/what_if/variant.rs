//! A row of the comparison: one chip, and one way to submit its copies.

use serde::Serialize;
use softacl_timing::report::Range;

/// A row of the comparison.
#[derive(Debug, Clone, Serialize)]
pub struct Variant {
    pub soc: String,
    /// Largest number of entries of a batch; `None` is the program as it is.
    pub batch: Option<u32>,
    /// A figure that is different, as NAME=VALUE.
    pub set: Option<String>,
    pub total_ns: Range,
    pub kernels_ns: Range,
    pub copying_ns: Range,
    /// Part of the copies behind kernels, from 0 to 1. `None` for batches.
    pub overlap: Option<Range>,
    pub saves_ns: Option<Range>,
    /// What limits the program.
    pub limit: String,
}

impl Variant {
    /// What is different from the program as it is.
    pub fn name(&self) -> String {
        match (self.batch, &self.set) {
            (Some(size), _) => format!("batches of {size}"),
            (None, Some(set)) => set.clone(),
            (None, None) => "as it is".to_owned(),
        }
    }
}
