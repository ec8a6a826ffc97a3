//! Streams, and how they know which of their work is over.
//!
//! Work gets a ticket after it was handed to the runtime. So whoever reads the number of tickets and then waits for
//! the stream knows that all of them are over. `done` only grows; memory is given back when its ticket is done, and
//! for no other reason.
//!
//! Any thread may use a stream. `held` and `failures` have their locks, which are never held during a call.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::raw;
use ascendcl_sys::ACL_STREAM_STATUS_COMPLETE;
use std::ffi::c_void;
use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A queue of work on a device, done in order. Cloning it gives another name for the same.
///
/// What can be queued: [`upload`](Stream::upload), [`download`](Stream::download), [`copy`](Stream::copy),
/// [`fill`](Stream::fill), [`submit`](Stream::submit) for batches, [`record`](Stream::record) and
/// [`wait`](Stream::wait) for events; [`scope`](Stream::scope) for borrowed memory.
///
/// ```
/// # let context = ascendcl::Device::new(0)?.context()?;
/// let stream = context.stream()?;
/// let mut buffer = context.zeros::<u32>(16)?;
/// let transfer = stream.upload(context.pinned_from(&[7u32; 16])?, &mut buffer)?;
/// transfer.wait()?;
/// assert_eq!(buffer.to_vec()?, [7; 16]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone)]
pub struct Stream(pub(crate) Arc<Lane>);

/// What all names of a stream share.
pub(crate) struct Lane {
    /// An `aclrtStream`.
    handle: usize,
    pub(crate) context: Context,
    /// Tickets given out.
    submitted: AtomicU64,
    /// Tickets up to this one are over.
    done: AtomicU64,
    /// Failures up to this ticket are known.
    synchronized: AtomicU64,
    has_failed: AtomicBool,
    failures: Mutex<Vec<Failure>>,
    /// What must stay until a ticket is done.
    held: Mutex<Vec<(u64, Box<dyn Send>)>>,
}

/// Something after ticket `after` and not after `last` has failed: the runtime does not say what.
struct Failure {
    after: u64,
    last: u64,
    error: Error,
}

/// Failures that are remembered for transfers nobody has waited for yet.
const FAILURES: usize = 16;
/// Things held for a stream before it is looked whether they are still needed.
const HELD: usize = 64;

impl Stream {
    pub(crate) fn new(context: &Context) -> Result<Stream> {
        // SAFETY: creating has no conditions; the context is current.
        let handle = context.exclusively(|| unsafe { raw::aclrtCreateStream() })?;
        Ok(Stream(Arc::new(Lane {
            handle: handle as usize,
            context: context.clone(),
            submitted: AtomicU64::new(0),
            done: AtomicU64::new(0),
            synchronized: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            failures: Mutex::default(),
            held: Mutex::default(),
        })))
    }

    /// The context that it was made in.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.context()?;
    /// assert_eq!(context.stream()?.context(), &context);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The handle, for calls of the C interface beside this crate. It is valid while the stream is.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.context()?;
    /// # let stream = context.stream()?;
    /// // SAFETY: the stream lives.
    /// let status = unsafe { ascendcl::raw::aclrtStreamQuery(stream.as_raw()) }?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn as_raw(&self) -> ascendcl_sys::aclrtStream {
        self.0.raw()
    }

    /// Waits for everything that was queued. The error of work that failed is told here, once, and by the
    /// transfers that it may concern.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.context()?;
    /// # let stream = context.stream()?;
    /// stream.synchronize()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }

    /// Whether everything that was queued is done; does not wait.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.context()?;
    /// assert!(context.stream()?.is_idle()?);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn is_idle(&self) -> Result<bool> {
        self.0.is_idle()
    }
}

impl Lane {
    #[inline]
    pub(crate) fn raw(&self) -> *mut c_void {
        self.handle as *mut c_void
    }

    /// A ticket for work that was handed to the runtime before this call.
    #[inline]
    pub(crate) fn issue(&self) -> u64 {
        self.submitted.fetch_add(1, Ordering::AcqRel) + 1
    }

    #[inline]
    pub(crate) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn is_done(&self, ticket: u64) -> bool {
        self.done.load(Ordering::Acquire) >= ticket
    }

    pub(crate) fn synchronize(&self) -> Result<()> {
        let last = self.submitted();
        let after = self.synchronized.load(Ordering::Acquire);
        // SAFETY: the stream lives as long as `self`.
        let wait = || self.context.run(|| unsafe { raw::aclrtSynchronizeStream(self.raw()) });
        let result = wait();
        if let Err(error) = &result {
            self.remember(Failure { after, last, error: error.clone() });
            // A failure of work is told once, and then the stream goes on. If it does not, nothing is known
            // to be over.
            wait().map_err(|_| error.clone())?;
        }
        self.synchronized.fetch_max(last, Ordering::AcqRel);
        self.pass(last);
        result
    }

    pub(crate) fn is_idle(&self) -> Result<bool> {
        let last = self.submitted();
        // SAFETY: the stream lives as long as `self`.
        let status = self.context.run(|| unsafe { raw::aclrtStreamQuery(self.raw()) })?;
        let is_idle = status == ACL_STREAM_STATUS_COMPLETE;
        if is_idle {
            self.pass(last);
        }
        Ok(is_idle)
    }

    /// Waits until a ticket is done. The result is an error if it may have failed.
    /// Whether it is done is to be asked afterwards: an error can also mean that nothing is known.
    pub(crate) fn reach(&self, ticket: u64) -> Result<()> {
        let waited = if self.is_done(ticket) { Ok(()) } else { self.synchronize() };
        if self.has_failed.load(Ordering::Acquire) {
            let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(failure) = failures.iter().find(|failure| failure.after < ticket && ticket <= failure.last) {
                return Err(failure.error.clone());
            }
        }
        if self.is_done(ticket) { Ok(()) } else { waited }
    }

    /// Notes that all tickets up to this one are over.
    pub(crate) fn pass(&self, ticket: u64) {
        self.done.fetch_max(ticket, Ordering::AcqRel);
        let done = self.done.load(Ordering::Acquire);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_empty() {
            return;
        }
        let (over, kept): (Vec<_>, Vec<_>) = mem::take(&mut *held).into_iter().partition(|(ticket, _)| *ticket <= done);
        *held = kept;
        // What is given back calls the runtime: not under the lock.
        drop(held);
        drop(over);
    }

    /// Keeps something until a ticket is done.
    pub(crate) fn hold(&self, ticket: u64, thing: Box<dyn Send>) {
        let count = {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            held.push((ticket, thing));
            held.len()
        };
        if count.is_multiple_of(HELD) {
            // What is over can go. If it cannot be asked, it stays.
            let _ = self.is_idle();
        }
    }

    fn remember(&self, failure: Failure) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() == FAILURES {
            failures.remove(0);
        }
        failures.push(failure);
        self.has_failed.store(true, Ordering::Release);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:#x} on device {})", self.0.handle, self.0.context.device().number())
    }
}

/// Two names of one stream are equal.
impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stream {}

impl Drop for Lane {
    fn drop(&mut self) {
        // Nobody is left to be told of a failure.
        let _ = self.synchronize();
        if !self.is_done(self.submitted()) {
            // It may still be at work: then what it holds stays, and the stream too.
            mem::forget(mem::take(self.held.get_mut().unwrap_or_else(PoisonError::into_inner)));
            return;
        }
        // SAFETY: created by `new`, destroyed once, and nothing is queued.
        let _ = self.context.run(|| unsafe { raw::aclrtDestroyStream(self.raw()) });
    }
}
