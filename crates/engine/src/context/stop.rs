//! Stopping: contexts that a failure has stopped, and devices that are lost or being aborted.
//!
//! A reason is always held before the state that it stands for becomes visible, because the fast path tests reasons only.

use crate::machine::Machine;
use crate::slow_path::Reason;
use crate::stream::Stream;
use softacl_errors::{Error, Result, fail};
use softacl_faults::{FiredRule, HEARTBEAT};
use softacl_sync::facade::lock;

impl Machine {
    /// Runs `work` unless a failure has stopped the context, which turns later tasks into nothing.
    pub(crate) fn unless_stopped(&self, stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_stopped(stream) { Ok(()) } else { work() }
    }

    pub(crate) fn is_stopped(&self, stream: &Stream) -> bool {
        stream.context().is_some_and(|context| self.contexts.slot(context).is_stopped())
    }

    /// Stops the context of a stream, if it is one that failures stop.
    pub(crate) fn stop_context(&self, stream: &Stream, error: &Error) {
        if let Some(context) = stream.context() {
            let context = self.contexts.slot(context);
            if context.stops_on_failure() {
                // Before the context is stopped: the fast path does not look at contexts.
                context.stop(error, self.reasons.hold(Reason::StoppedContext));
            }
        }
    }

    /// Refuses what uses a device that is being aborted or that is lost. Called when the condition is not 0.
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

    /// Refuses a device that is lost. One whose tasks are being aborted may be set.
    pub(crate) fn check_not_lost(&self, device: i64) -> Result<()> {
        if self.device(device)?.reasons.has(Reason::Lost) { fail(lost(device as u32)) } else { Ok(()) }
    }

    /// A device stops to answer: its contexts are stopped and it refuses everything until it is reset.
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

    /// A device was reset: what rules have broken is whole again.
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
