//! Contexts and devices: what streams belong to, and what threads have current.
//!
//! Lock order: `Device::primary` before `Context::state`.

pub(crate) mod calls;
mod stop;

use crate::host::HostThread;
use crate::keys::{ContextKey, StreamKey};
use crate::slow_path::{ReasonGuard, Reasons};
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{AtomicBool, AtomicU32, AtomicU64, Mutex, Ordering, lock};
use std::sync::Arc;

/// A context of the API. Its slot outlives it.
#[derive(Default)]
pub struct Context {
    pub(crate) state: Mutex<ContextState>,
    device: AtomicU32,
    stop_on_failure: AtomicBool,
    stopped: AtomicBool,
    /// The failure that stopped the context, and the guard that keeps the fast path closed until the context ends.
    sticky: Mutex<Option<(Error, ReasonGuard)>>,
    pub(crate) host: Mutex<Option<HostThread>>,
    /// Device address of the overflow flags; 0 until the program asks for it.
    pub(crate) overflow_flags: Mutex<usize>,
}

/// What a context has, under its lock.
#[derive(Default)]
pub(crate) struct ContextState {
    /// True for the default context of a device, which the first `set_device` creates.
    pub(crate) is_primary: bool,
    /// True while the context is being ended: it takes no new streams.
    pub(crate) is_ending: bool,
    pub(crate) default_stream: Option<StreamKey>,
    /// All streams; the default stream is the first.
    pub(crate) streams: Vec<StreamKey>,
}

impl Context {
    /// Gives the slot a new identity. Called while the slot is being taken.
    pub(crate) fn open(&self, device: u32, is_primary: bool) {
        self.device.store(device, Ordering::Relaxed);
        self.stop_on_failure.store(false, Ordering::Relaxed);
        self.stopped.store(false, Ordering::Relaxed);
        *lock(&self.sticky) = None;
        *lock(&self.overflow_flags) = 0;
        *lock(&self.state) = ContextState { is_primary, ..ContextState::default() };
    }

    /// Reopens the fast path if a failure had stopped the context. Called when the context ends.
    pub(crate) fn close(&self) {
        *lock(&self.sticky) = None;
    }

    pub(crate) fn device(&self) -> u32 {
        self.device.load(Ordering::Relaxed)
    }

    /// True if a failed task stops the whole context.
    pub(crate) fn stops_on_failure(&self) -> bool {
        self.stop_on_failure.load(Ordering::Relaxed)
    }

    pub(crate) fn stop_on_failure(&self) {
        self.stop_on_failure.store(true, Ordering::Relaxed);
    }

    /// Stops the context. Later submits and waits return the first failure that stopped it.
    pub(crate) fn stop(&self, error: &Error, reason: ReasonGuard) {
        lock(&self.sticky).get_or_insert((error.clone(), reason));
        self.stopped.store(true, Ordering::Release);
    }

    /// True if a failure has stopped the context.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Fails with the failure that stopped the context, if any.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if !self.is_stopped() {
            return Ok(());
        }
        fail(lock(&self.sticky).as_ref().map_or(Error::ContextGone, |(error, _)| error.clone()))
    }
}

/// A device of the machine.
#[derive(Default)]
pub(crate) struct Device {
    pub(crate) primary: Mutex<Primary>,
    /// Streams in use, of the limit of the chip.
    pub(crate) streams: AtomicU32,
    /// Those of them that belong to graphs.
    pub(crate) graph_streams: AtomicU32,
    pub(crate) events: AtomicU32,
    pub(crate) notifies: AtomicU32,
    /// Bit n is set if this device can access device n.
    pub(crate) peers: AtomicU64,
    /// Reasons that send calls on this device to the slow path.
    pub(crate) reasons: Arc<Reasons>,
    /// Present while the device is lost.
    pub(crate) lost: Mutex<Option<ReasonGuard>>,
}

/// The default context of a device, and how often the device was set.
#[derive(Default)]
pub(crate) struct Primary {
    pub(crate) count: u32,
    pub(crate) context: Option<ContextKey>,
}
