//! Limits of devices: stacks and buffers of kernels. Kernels run on the CPU, so the values are only stored
//! and returned.

use crate::argument::OutPtr;
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Limits by device and kind.
static LIMITS: LazyLock<Mutex<HashMap<(u32, i32), usize>>> = LazyLock::new(Mutex::default);

export! {
    fn aclrtDeviceSetLimit(limit: i32, value: usize) |call| {
        check_limit(limit)?;
        call.require_supported()?;
        let device = call.device()?;
        LIMITS.lock().unwrap_or_else(PoisonError::into_inner).insert((device, limit), value);
        Ok(())
    }

    fn aclrtDeviceGetLimit(limit: i32, value: OutPtr<usize>) |call| {
        check_limit(limit)?;
        call.require_supported()?;
        let device = call.device()?;
        let found = LIMITS.lock().unwrap_or_else(PoisonError::into_inner).get(&(device, limit)).copied();
        let unknown = || Error::Feature(format!("no public default is known for limit {limit}: set it first"));
        value.set(found.ok_or_else(unknown)?)
    }
}

fn check_limit(limit: i32) -> Result<()> {
    if (ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE..=ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE).contains(&limit) {
        return Ok(());
    }
    fail(Error::Parameter(format!("device limit {limit} is not in 0 to 4")))
}
