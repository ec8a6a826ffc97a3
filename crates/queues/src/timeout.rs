//! How long a call waits for room or for a message, as the API counts it.

use softacl_errors::{Error, Result, fail};
use std::fmt;
use std::time::{Duration, Instant};

/// A timeout in milliseconds: -1 waits without limit, 0 does not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(i32);

impl Timeout {
    /// Never waits.
    pub const NONE: Timeout = Timeout(0);

    /// Checks a timeout that the program passed.
    pub fn from_ms(ms: i32) -> Result<Timeout> {
        if ms >= -1 {
            return Ok(Timeout(ms));
        }
        fail(Error::Argument(format!("timeout {ms} is neither -1 (no limit) nor a number of milliseconds")))
    }

    /// The time at which the wait ends. `None` if it has no limit, or one too far in the future to represent.
    pub(crate) fn deadline(self) -> Option<Instant> {
        let ms = u64::try_from(self.0).ok()?;
        Instant::now().checked_add(Duration::from_millis(ms))
    }
}

impl fmt::Display for Timeout {
    /// Completes "the queue is full": nothing for a call that does not wait.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            -1 => f.write_str(", and the wait was ended"),
            ms => write!(f, " after {ms} ms"),
        }
    }
}
