//! Values: 64-bit cells in device memory that streams write and wait for.
//!
//! The waiting is an external wait, in `task::external_wait`. This module pairs writes with waits for observers.

pub(crate) mod calls;

use crate::keys::StreamPoint;
use crate::task::external_wait::ValueCondition;
use std::collections::HashMap;

/// Value writes and the waits that they resolve, as far as that is known when they are queued. Used only with an
/// observer.
#[derive(Default)]
pub(crate) struct Values {
    /// The newest write to each cell.
    pub(crate) writes: HashMap<usize, (StreamPoint, u64)>,
    /// Waits without a matching write: cell, task, value and condition.
    pub(crate) waits: Vec<(usize, StreamPoint, u64, ValueCondition)>,
}
