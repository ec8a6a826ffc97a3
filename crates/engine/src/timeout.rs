//! Timeouts, as the API counts them: in milliseconds, with -1 for none.

use std::time::{Duration, Instant};

/// The moment that a timeout in milliseconds means; -1 is never.
pub(crate) fn deadline(timeout_ms: i32) -> Option<Instant> {
    let ms = u64::try_from(timeout_ms).ok()?;
    Instant::now().checked_add(Duration::from_millis(ms))
}
