//! Contexts and devices: what streams belong to and what threads have current.

pub(crate) mod calls;
mod stop;

use crate::host::HostThread;
use crate::keys::{ContextKey, StreamKey};
use crate::slow_path::{ReasonGuard, Reasons};
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{AtomicBool, AtomicU32, AtomicU64, Mutex, Ordering, lock};
use std::sync::Arc;

#[derive(Default)]
pub struct Context {
    pub(crate) state: Mutex<ContextState>,
    device: AtomicU32,
    stop_on_failure: AtomicBool,
    stopped: AtomicBool,
    /// The failure that stopped the context, and what keeps the fast path closed until the context ends.
    sticky: Mutex<Option<(Error, ReasonGuard)>>,
    pub(crate) host: Mutex<Option<HostThread>>,
}

#[derive(Default)]
pub(crate) struct ContextState {
    /// The default context of its device, made by the first set.
    pub(crate) is_primary: bool,
    /// Being taken down: no new streams.
    pub(crate) is_ending: bool,
    pub(crate) default_stream: Option<StreamKey>,
    /// All streams, the default one first.
    pub(crate) streams: Vec<StreamKey>,
}

impl Context {
    /// Gives the slot a new identity. Called while it is being taken.
    pub(crate) fn open(&self, device: u32, is_primary: bool) {
        self.device.store(device, Ordering::Relaxed);
        self.stop_on_failure.store(false, Ordering::Relaxed);
        self.stopped.store(false, Ordering::Relaxed);
        *lock(&self.sticky) = None;
        *lock(&self.state) = ContextState { is_primary, ..ContextState::default() };
    }

    /// Takes back what a failure of the context has closed. Called when the context ends.
    pub(crate) fn close(&self) {
        *lock(&self.sticky) = None;
    }

    pub(crate) fn device(&self) -> u32 {
        self.device.load(Ordering::Relaxed)
    }

    /// Whether a failure of one task stops the whole context.
    pub(crate) fn stops_on_failure(&self) -> bool {
        self.stop_on_failure.load(Ordering::Relaxed)
    }

    pub(crate) fn stop_on_failure(&self) {
        self.stop_on_failure.store(true, Ordering::Relaxed);
    }

    /// Stores a failure that later submits and waits return. The first one stays.
    pub(crate) fn stop(&self, error: &Error, reason: ReasonGuard) {
        lock(&self.sticky).get_or_insert((error.clone(), reason));
        self.stopped.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_stopped() {
            return Ok(());
        }
        fail(lock(&self.sticky).as_ref().map_or(Error::ContextGone, |(error, _)| error.clone()))
    }
}

/// One device of the machine.
#[derive(Default)]
pub(crate) struct Device {
    pub(crate) primary: Mutex<Primary>,
    pub(crate) streams: AtomicU32,
    pub(crate) events: AtomicU32,
    /// Bit n: this device may access device n.
    pub(crate) peers: AtomicU64,
    /// Why calls on this device take the slow path.
    pub(crate) reasons: Arc<Reasons>,
    /// Held while the device does not answer.
    pub(crate) lost: Mutex<Option<ReasonGuard>>,
}

/// The default context of a device and how often it was set.
#[derive(Default)]
pub(crate) struct Primary {
    pub(crate) count: u32,
    pub(crate) context: Option<ContextKey>,
}
