//! Stopping: contexts that a failure has stopped, and devices that are lost or being aborted.
//!
//! A reason is held before the state that it stands for becomes visible, because the fast path tests reasons only.

use crate::machine::Machine;
use crate::slow_path::Reason;
use crate::stream::Stream;
use softacl_errors::{Error, Result, fail};
use softacl_faults::{FiredRule, HEARTBEAT};
use softacl_sync::facade::lock;

impl Machine {
    /// Runs `work` unless a failure has stopped the context of the stream. Tasks of a stopped context do nothing.
    pub(crate) fn unless_stopped(&self, stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_stopped(stream) { Ok(()) } else { work() }
    }

    /// True if a failure has stopped the context of the stream.
    pub(crate) fn is_stopped(&self, stream: &Stream) -> bool {
        stream.context().is_some_and(|context| self.contexts.slot(context).is_stopped())
    }

    /// Stops the context of a stream, if its failure mode requires that.
    pub(crate) fn stop_context(&self, stream: &Stream, error: &Error) {
        if let Some(context) = stream.context() {
            let context = self.contexts.slot(context);
            if context.stops_on_failure() {
                // The reason is held before the context is stopped, because the fast path tests no contexts.
                context.stop(error, self.reasons.hold(Reason::StoppedContext));
            }
        }
    }

    /// Refuses a device that is lost or being aborted. Called if the device holds any reason.
    #[cold]
    pub(crate) fn check_device_usable(&self, device: u32) -> Result<()> {
        let reasons = &self.devices[device as usize].reasons;
        if reasons.has(Reason::Lost) {
            return fail(lost(device));
        }
        if reasons.has(Reason::Aborting) {
            return fail(Error::Aborting(device));
        }
        Ok(())
    }

    /// Refuses a lost device. A device whose tasks are being aborted can be set.
    pub(crate) fn check_not_lost(&self, device: i64) -> Result<()> {
        if self.device(device)?.reasons.has(Reason::Lost) { fail(lost(device as u32)) } else { Ok(()) }
    }

    /// Marks a device as lost: stops its contexts and refuses every call until the device is reset.
    pub(crate) fn mark_lost(&self, device: u32, fired: &FiredRule<'_>) -> Error {
        let error = fired.error_with(HEARTBEAT, &format!("device {device} was lost and must be reset; "));
        if let Some(device) = self.devices.get(device as usize) {
            lock(&device.lost).get_or_insert_with(|| self.reasons.hold_for(&device.reasons, Reason::Lost));
        }
        for (_, context) in self.contexts.live() {
            if context.device() == device {
                context.stop(&error, self.reasons.hold(Reason::StoppedContext));
            }
        }
        error
    }

    /// Restores a device that was reset: it is no longer lost, and its injected damage is gone.
    pub(crate) fn restore(&self, device: u32) {
        if let Some(injection) = self.injection() {
            drop(lock(&self.devices[device as usize].lost).take());
            injection.damage().reset(device);
        }
    }
}

fn lost(device: u32) -> Error {
    Error::Injected { code: HEARTBEAT, what: format!("device {device} is lost and must be reset") }
}
