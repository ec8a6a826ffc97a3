//! Contexts and devices: what streams belong to and what threads have current.

use crate::host::HostThread;
use crate::keys::{ContextKey, StreamKey};
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Mutex, Ordering, lock};

#[derive(Default)]
pub struct Context {
    pub(crate) state: Mutex<ContextState>,
    device: AtomicU32,
    stop_on_failure: AtomicBool,
    stopped: AtomicBool,
    sticky: Mutex<Option<Error>>,
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

    /// Notes a failure; later submits and waits return it.
    pub(crate) fn stop(&self, error: &Error) {
        lock(&self.sticky).get_or_insert_with(|| error.clone());
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
        fail(lock(&self.sticky).clone().unwrap_or(Error::ContextGone))
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
    /// What makes calls on this device special; see [`Condition`]. 0 for nothing.
    pub(crate) flags: AtomicU8,
}

impl Device {
    /// A device; `is_watched` by fault rules or not.
    pub(crate) fn new(is_watched: bool) -> Device {
        let condition = if is_watched { DeviceFlags::HAS_FAULT_RULES } else { 0 };
        Device { flags: AtomicU8::new(condition), ..Device::default() }
    }
}

/// Bits of a device's condition. One load tells ordinary calls that there is none.
pub(crate) struct DeviceFlags;

impl DeviceFlags {
    /// Its tasks are being aborted.
    pub(crate) const ABORTING: u8 = 1;
    /// It does not answer until it is reset.
    pub(crate) const LOST: u8 = 2;
    /// Fault rules look at its tasks.
    pub(crate) const HAS_FAULT_RULES: u8 = 4;
}

/// The default context of a device and how often it was set.
#[derive(Default)]
pub(crate) struct Primary {
    pub(crate) count: u32,
    pub(crate) context: Option<ContextKey>,
}
