//! Contexts as values. Objects hold their context, and every call makes it current.
//!
//! AscendCL has one current context per thread. This crate caches the context that it set last in a thread-local cell,
//! so that a copy does not set it again. Other code may change the current context without updating the cell. The
//! runtime then rejects work of streams, and the call is repeated with the right context. Calls that would silently use
//! another device (allocations) set the context every time.

use crate::device::{Device, MemoryInfo};
use crate::error::{Error, Result};
use crate::raw;
use ascendcl_sys::{ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_RT_STREAM_CONTEXT, ACL_HBM_MEM};
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A context of a device, in which streams, events and memory are created.
///
/// Cloning is cheap; clones refer to the same context. Streams, events and buffers keep their context alive: it is
/// destroyed when the last of them is dropped, so values can be dropped in any order.
///
/// A context is `Send` and `Sync`. Any thread can use it, whatever its current context is.
///
/// ```
/// use ascendcl::Device;
///
/// let context = Device::new(0)?.new_context()?;
/// let stream = context.new_stream()?;
/// drop(context);                        // the stream keeps the context alive
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
    /// Bit set of the devices whose memory this one can access.
    peers: AtomicU64,
}

thread_local! {
    /// The context that this crate made current on this thread last.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

impl Context {
    /// Creates a context on a device.
    ///
    /// # Errors
    ///
    /// Fails if the device is lost or the runtime has no resources for another context.
    ///
    /// ```
    /// use ascendcl::{Context, Device};
    /// let context = Context::new(Device::new(0)?)?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn new(device: Device) -> Result<Context> {
        // SAFETY: the call takes an integer and has no preconditions.
        let handle = unsafe { raw::aclrtCreateContext(device.index() as i32) }?;
        CURRENT.set(handle as usize);
        let (is_strict, peers) = (AtomicBool::new(false), AtomicU64::new(0));
        Ok(Context(Arc::new(Inner { handle: handle as usize, device, is_strict, peers })))
    }

    /// Returns the device of the context.
    ///
    /// ```
    /// # use ascendcl::Device;
    /// assert_eq!(Device::new(1)?.new_context()?.device(), Device::new(1)?);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// Returns the C handle, for functions of [`raw`]. It is valid while the context exists.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// // SAFETY: the context exists.
    /// unsafe { ascendcl::raw::aclrtSetCurrentContext(context.as_raw()) }?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn as_raw(&self) -> ascendcl_sys::aclrtContext {
        self.0.handle as *mut c_void
    }

    /// Turns strict mode on or off.
    ///
    /// By default, using a buffer on a stream inserts a wait for pending uses on other streams. In strict mode, the
    /// call fails instead, unless the earlier work is known to have finished. Strict mode makes every dependency
    /// between streams visible in the program.
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

    /// Returns the total and the free memory of the device.
    ///
    /// # Errors
    ///
    /// Fails if the runtime rejects the query.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let before = context.memory_info()?;
    /// let buffer = context.alloc_zeros::<u8>(1 << 20)?;
    /// assert!(context.memory_info()?.free < before.free);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both pointers are valid for writes.
        self.with_current(|| unsafe { raw::aclrtGetMemInfo(ACL_HBM_MEM, &mut free, &mut total) })?;
        Ok(MemoryInfo { free, total })
    }

    /// Returns `true` if the device and `peer` can access each other's memory, which
    /// [`Stream::copy_peer`](crate::Stream::copy_peer) requires.
    ///
    /// # Errors
    ///
    /// Fails if the runtime rejects the query, for example because the device is lost.
    ///
    /// ```
    /// # use ascendcl::Device;
    /// let context = Device::new(0)?.new_context()?;
    /// assert!(context.can_access_peer(Device::new(1)?)?);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn can_access_peer(&self, peer: Device) -> Result<bool> {
        let (own, other) = (self.device().index() as i32, peer.index() as i32);
        if own == other {
            return Ok(true);
        }
        // SAFETY: the call takes integers and has no preconditions.
        self.with_current(|| unsafe { raw::aclrtDeviceCanAccessPeer(own, other) }).map(|can_access| can_access == 1)
    }

    /// Gives this device access to the memory of `peer`, unless it already has it.
    pub(crate) fn allow_peer(&self, peer: Device) -> Result<()> {
        let bit = 1u64.checked_shl(peer.index()).unwrap_or(0);
        if peer == self.device() || self.0.peers.load(Ordering::Relaxed) & bit != 0 {
            return Ok(());
        }
        // SAFETY: the call takes integers and has no preconditions.
        self.with_current(|| unsafe { raw::aclrtDeviceEnablePeerAccess(peer.index() as i32, 0) })?;
        self.0.peers.fetch_or(bit, Ordering::Relaxed);
        Ok(())
    }

    /// Makes a call on an object of this context. Sets the context if the cached one differs, and repeats the call if
    /// the runtime rejects it because of the current context.
    #[inline(always)]
    pub(crate) fn run<T>(&self, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        if CURRENT.get() != self.0.handle {
            self.make_current()?;
        }
        match call() {
            Ok(value) => Ok(value),
            Err(error) => self.retry(error, call),
        }
    }

    /// Repeats a call that was rejected because of the current context. Returns other errors.
    #[cold]
    #[inline(never)]
    fn retry<T>(&self, error: Error, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        if !matches!(error.code(), ACL_ERROR_RT_CONTEXT_NULL | ACL_ERROR_RT_STREAM_CONTEXT) {
            return Err(error);
        }
        self.make_current()?;
        call()
    }

    /// Sets the context unconditionally, then makes the call. For calls that would silently use another device if
    /// another context were current.
    pub(crate) fn with_current<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        self.make_current()?;
        call()
    }

    #[cold]
    fn make_current(&self) -> Result<()> {
        // SAFETY: the context exists as long as `self`.
        unsafe { raw::aclrtSetCurrentContext(self.0.handle as *mut c_void) }?;
        CURRENT.set(self.0.handle);
        Ok(())
    }
}

impl Device {
    /// Creates a context on this device. Equivalent to [`Context::new`].
    ///
    /// # Errors
    ///
    /// Fails if the device is lost or the runtime has no resources for another context.
    ///
    /// ```
    /// let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.device().index(), 0);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn new_context(self) -> Result<Context> {
        Context::new(self)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:#x} on device {})", self.0.handle, self.0.device.index())
    }
}

/// Clones of one context are equal.
impl PartialEq for Context {
    fn eq(&self, other: &Context) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Context {}

impl Drop for Inner {
    fn drop(&mut self) {
        // A thread that is exiting may have no cell any more, and needs none.
        let _ = CURRENT.try_with(|current| {
            if current.get() == self.handle {
                current.set(0);
            }
        });
        // SAFETY: created by `new` and destroyed once. Objects of the context keep it alive, so none is left. An error
        // is ignored: other code may have reset the device.
        let _ = unsafe { raw::aclrtDestroyContext(self.handle as *mut c_void) };
    }
}
