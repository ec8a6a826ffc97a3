//! Values: 64-bit cells in device memory that streams write and wait for.

pub(crate) mod calls;

use crate::keys::StreamPoint;
use crate::task::external_wait::ValueCondition;
use std::collections::HashMap;

/// Which writes and waits belong together, as far as it can be seen when they are queued. For an
/// observer only.
#[derive(Default)]
pub(crate) struct Values {
    /// The newest write to each cell.
    pub(crate) writes: HashMap<usize, (StreamPoint, u64)>,
    /// Waits that no write was made for yet: cell, task and what they want.
    pub(crate) waits: Vec<(usize, StreamPoint, u64, ValueCondition)>,
}
