//! The time limit of operators. Operators compute on the CPU and are not ended, so the value is only stored
//! and returned.

use crate::argument::OutPtr;
use crate::entry::export;
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit of the process, in microseconds. 0 is none.
static LIMIT_US: AtomicU64 = AtomicU64::new(0);
/// A limit is a multiple of this. Cards have a coarser clock, whose period is not public for every chip.
const INTERVAL_US: u64 = 1;

export! {
    fn aclrtSetOpExecuteTimeOut(seconds: u32) |call| {
        call.require_supported()?;
        LIMIT_US.store(u64::from(seconds) * 1_000_000, Ordering::Relaxed);
        Ok(())
    }

    /// The limit is not rounded.
    fn aclrtSetOpExecuteTimeOutV2(microseconds: u64, actual: OutPtr<u64>) |call| {
        call.require_supported()?;
        actual.set(microseconds)?;
        LIMIT_US.store(microseconds, Ordering::Relaxed);
        Ok(())
    }

    /// Milliseconds, rounded up, so that a limit is never reported as none.
    fn aclrtGetOpExecuteTimeout(milliseconds: OutPtr<u32>) |call| {
        call.require_supported()?;
        let limit = LIMIT_US.load(Ordering::Relaxed).div_ceil(1000);
        milliseconds.set(u32::try_from(limit).unwrap_or(u32::MAX))
    }

    fn aclrtGetOpTimeOutInterval(interval: OutPtr<u64>) |call| {
        call.require_supported()?;
        interval.set(INTERVAL_US)
    }
}
