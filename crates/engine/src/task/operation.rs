//! Operations: kernels that run in steps, because what they do depends on others: the other ranks of a collective, the
//! peer of a transfer.
//!
//! A step never waits. It does what can be done now; if something is left, the task goes back to the front of its stream,
//! which then stands at an external wait until the operation can continue. So an operation occupies no thread while it
//! waits, and streams of one process that depend on each other make progress on any number of workers and under every
//! schedule.

use crate::task::kernel::{self, Kernel, OperationTable, PENDING};
use softacl_errors::{Error, Result, fail};
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Maximum length of a description, in bytes.
const MAX_DESCRIPTION: usize = 1024;

/// Who can continue an operation that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Helpers {
    /// Only streams and threads of this process. The operation fails after `limit`.
    ThisProcess { limit: Option<Duration> },
    /// Perhaps also other processes.
    Anyone,
}

/// A run of an operation. Dropping it ends the run.
pub(crate) struct OperationRun {
    pub(crate) kernel: Arc<Kernel>,
    table: OperationTable,
    state: *mut c_void,
}

// SAFETY: `KernelCode::in_steps` requires that the functions may be called on any thread.
unsafe impl Send for OperationRun {}
// SAFETY: as above; a shared reference calls `is_ready` and `describe`, which may be called at any time, and `step`,
// which only the thread with the claim of the lane calls.
unsafe impl Sync for OperationRun {}

impl OperationRun {
    /// Begins a run of a kernel. `None` if it does not run in steps.
    pub(crate) fn begin(kernel: &Arc<Kernel>) -> Option<OperationRun> {
        let (table, argument) = kernel.code.operation()?;
        // SAFETY: the promise of `in_steps`.
        let state = kernel::while_running(|| unsafe { (table.begin)(argument) });
        Some(OperationRun { kernel: Arc::clone(kernel), table, state })
    }

    /// Continues the run. Returns `false` if it must be continued again.
    pub(crate) fn step(&self) -> Result<bool> {
        // SAFETY: the promise of `in_steps`; the thread that runs the task is the only one that calls this.
        match kernel::while_running(|| unsafe { (self.table.step)(self.state) }) {
            0 => Ok(true),
            PENDING => Ok(false),
            code => fail(Error::Operation { name: self.kernel.name.to_string(), code, why: self.description() }),
        }
    }

    /// True if a step can continue the run.
    pub(crate) fn is_ready(&self) -> bool {
        // SAFETY: the promise of `in_steps`.
        unsafe { (self.table.is_ready)(self.state) != 0 }
    }

    /// Who can continue the run while it waits.
    pub(crate) fn helpers(&self) -> Helpers {
        // SAFETY: the promise of `in_steps`.
        match self.table.waits_inside.map(|waits_inside| unsafe { waits_inside(self.state) }) {
            Some(limit) if limit >= 0 => {
                Helpers::ThisProcess { limit: (limit > 0).then(|| Duration::from_secs(limit.unsigned_abs().into())) }
            }
            _ => Helpers::Anyone,
        }
    }

    /// What the run waits for, or why it failed.
    pub(crate) fn description(&self) -> String {
        let mut text = [0_u8; MAX_DESCRIPTION];
        // SAFETY: the promise of `in_steps`; the text has as many bytes as the call says.
        let len = unsafe { (self.table.describe)(self.state, text.as_mut_ptr().cast(), text.len()) };
        String::from_utf8_lossy(&text[..len.min(text.len())]).trim_end_matches('\0').to_owned()
    }
}

impl Drop for OperationRun {
    fn drop(&mut self) {
        // SAFETY: the promise of `in_steps`; this is the end of the only value that has the state.
        unsafe { (self.table.end)(self.state) }
    }
}

impl fmt::Debug for OperationRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperationRun").field("kernel", &self.kernel).finish_non_exhaustive()
    }
}
