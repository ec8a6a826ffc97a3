//! Contexts as values: whoever needs one holds it, and a call makes it current by itself.
//!
//! The interface has a current context per thread. This crate keeps what it set last in a cell of the thread,
//! so that a copy does not pay for it. Other code may set another one behind its back: work of streams is then
//! refused by the runtime, and done again with the right one; calls that would silently go to another device
//! (allocations) set it every time.

use crate::device::Device;
use crate::error::{Error, Result};
use crate::raw;
use crate::stream::Stream;
use ascendcl_sys::{ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_RT_STREAM_CONTEXT};
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A context of a device: where streams, events and memory are made. Cloning it gives another name for the same.
///
/// It ends when the last value that was made in it is gone, so nothing has to be dropped in any order.
///
/// ```
/// use ascendcl::Device;
///
/// let context = Device::new(0)?.new_context()?;
/// let stream = context.new_stream()?;
/// drop(context);                        // the stream keeps it
/// stream.synchronize()?;
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    /// An `aclrtContext`.
    handle: usize,
    device: Device,
    is_strict: AtomicBool,
    /// The devices that were given access, as bits.
    peers: AtomicU64,
}

thread_local! {
    /// What this crate made current on this thread last.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

impl Context {
    /// A new context on a device.
    ///
    /// ```
    /// use ascendcl::{Context, Device};
    /// let context = Context::new(Device::new(0)?)?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn new(device: Device) -> Result<Context> {
        // SAFETY: creating has no conditions.
        let handle = unsafe { raw::aclrtCreateContext(device.index() as i32) }?;
        CURRENT.set(handle as usize);
        let (is_strict, peers) = (AtomicBool::new(false), AtomicU64::new(0));
        Ok(Context(Arc::new(Inner { handle: handle as usize, device, is_strict, peers })))
    }

    /// The device that it is on.
    ///
    /// ```
    /// # use ascendcl::Device;
    /// assert_eq!(Device::new(1)?.new_context()?.device(), Device::new(1)?);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// The handle, for calls of the C interface beside this crate. It is valid while the context is.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// // SAFETY: the context lives.
    /// unsafe { ascendcl::raw::aclrtSetCurrentContext(context.as_raw()) }?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn as_raw(&self) -> ascendcl_sys::aclrtContext {
        self.0.handle as *mut c_void
    }

    /// A new stream.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let stream = context.new_stream()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn new_stream(&self) -> Result<Stream> {
        Stream::new(self)
    }

    /// In strict mode, the use of a buffer on another stream than the last is an error instead of a wait that is
    /// inserted, unless the earlier work is known to be over. For programs that want to see every dependency.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// context.set_strict(true);
    /// let (one, other) = (context.new_stream()?, context.new_stream()?);
    /// let mut buffer = context.alloc_zeros::<u8>(64)?;
    /// one.fill(&mut buffer, 7)?;
    /// assert!(other.fill(&mut buffer, 8).is_err());
    /// one.synchronize()?;
    /// other.fill(&mut buffer, 8)?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn set_strict(&self, is_strict: bool) {
        self.0.is_strict.store(is_strict, Ordering::Relaxed);
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.0.is_strict.load(Ordering::Relaxed)
    }

    /// Whether the device and another one can reach each other's memory, as [`Stream::copy_peer`] needs it.
    ///
    /// ```
    /// # use ascendcl::Device;
    /// let context = Device::new(0)?.new_context()?;
    /// assert!(context.can_access(Device::new(1)?)?);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn can_access(&self, peer: Device) -> Result<bool> {
        let (own, other) = (self.device().index() as i32, peer.index() as i32);
        if own == other {
            return Ok(true);
        }
        // SAFETY: asking has no conditions.
        self.with_current(|| unsafe { raw::aclrtDeviceCanAccessPeer(own, other) }).map(|answer| answer == 1)
    }

    /// Gives this device access to the memory of another one.
    pub(crate) fn allow_peer(&self, peer: Device) -> Result<()> {
        let bit = 1u64.checked_shl(peer.index()).unwrap_or(0);
        if peer == self.device() || self.0.peers.load(Ordering::Relaxed) & bit != 0 {
            return Ok(());
        }
        // SAFETY: it takes numbers only.
        self.with_current(|| unsafe { raw::aclrtDeviceEnablePeerAccess(peer.index() as i32, 0) })?;
        self.0.peers.fetch_or(bit, Ordering::Relaxed);
        Ok(())
    }

    /// Does a call of a stream of this context: with the context current, whatever the thread did before.
    #[inline(always)]
    pub(crate) fn run<T>(&self, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        if CURRENT.get() != self.0.handle {
            self.make_current()?;
        }
        match call() {
            Ok(done) => Ok(done),
            Err(error) => self.run_again(error, call),
        }
    }

    /// The call once more, if it was refused for the context of the thread.
    #[cold]
    #[inline(never)]
    fn run_again<T>(&self, error: Error, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        if !matches!(error.code(), ACL_ERROR_RT_CONTEXT_NULL | ACL_ERROR_RT_STREAM_CONTEXT) {
            return Err(error);
        }
        self.make_current()?;
        call()
    }

    /// Does a call that would go elsewhere in silence if another context were current.
    pub(crate) fn with_current<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        self.make_current()?;
        call()
    }

    #[cold]
    fn make_current(&self) -> Result<()> {
        // SAFETY: the context lives as long as `self`.
        unsafe { raw::aclrtSetCurrentContext(self.0.handle as *mut c_void) }?;
        CURRENT.set(self.0.handle);
        Ok(())
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:#x} on device {})", self.0.handle, self.0.device.index())
    }
}

/// Two names of one context are equal.
impl PartialEq for Context {
    fn eq(&self, other: &Context) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Context {}

impl Drop for Inner {
    fn drop(&mut self) {
        // A thread that is ending has no cell any more, and needs none.
        let _ = CURRENT.try_with(|current| {
            if current.get() == self.handle {
                current.set(0);
            }
        });
        // SAFETY: created by `new`, and destroyed once: everything made in it held it and is gone. That the device
        // was reset by other code is not an error here.
        let _ = unsafe { raw::aclrtDestroyContext(self.handle as *mut c_void) };
    }
}
