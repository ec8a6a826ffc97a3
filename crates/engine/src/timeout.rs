//! Timeouts as the API counts them: in milliseconds, with -1 for no timeout.

use std::time::{Duration, Instant};

/// The time at which a timeout expires; `None` if it is negative, or too far in the future to represent.
pub(crate) fn deadline(timeout_ms: i32) -> Option<Instant> {
    let ms = u64::try_from(timeout_ms).ok()?;
    Instant::now().checked_add(Duration::from_millis(ms))
}
