//! Streams: tickets, completion and failures of submitted work.
//!
//! Work gets a ticket after it was submitted to the runtime. A thread that reads the number of tickets and then waits
//! for the stream has therefore waited for all of them. Two counters only grow: work up to ticket `done` has finished,
//! so its memory can be returned; for work up to ticket `known`, the result is known as well. Queries and events
//! advance `done` only, because the runtime reports a failure only to a wait for the stream, only once, and without the
//! task that failed. Waits are therefore serialized, and each failure is stored for all tickets that it may concern.
//!
//! Any thread may use a stream. `sync_lock` is the only lock that is held during a call of the runtime, and that call
//! is the wait. Submitting, queries and events of other threads do not take it.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::raw;
use crate::waiters::{self, Awaited};
use ascendcl_sys::ACL_STREAM_STATUS_COMPLETE;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// An in-order queue of work on a device. Cloning is cheap; clones refer to the same stream.
///
/// Work that can be queued: [`upload`](Stream::upload), [`download`](Stream::download), [`copy`](Stream::copy) and
/// [`fill`](Stream::fill), [`submit`](Stream::submit) for batches, [`record`](Stream::record) and
/// [`wait`](Stream::wait) for events, and [`scope`](Stream::scope) for copies that borrow their memory.
///
/// A stream is `Send` and `Sync`: any thread can queue work and wait. Dropping the last clone waits for the queued
/// work.
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let stream = context.new_stream()?;
/// let mut buffer = context.alloc_zeros::<u32>(16)?;
/// let transfer = stream.upload(context.alloc_pinned_from_slice(&[7u32; 16])?, &mut buffer)?;
/// transfer.wait()?;
/// assert_eq!(buffer.to_vec()?, [7; 16]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone)]
pub struct Stream(pub(crate) Arc<StreamInner>);

/// State shared by all clones of a stream.
pub(crate) struct StreamInner {
    /// An `aclrtStream`.
    handle: usize,
    pub(crate) context: Context,
    /// The last ticket that was issued.
    submitted: AtomicU64,
    /// Work up to this ticket has finished.
    done: AtomicU64,
    /// For work up to this ticket, the result is known.
    known: AtomicU64,
    /// Number of failures that the runtime has reported.
    failed: AtomicU64,
    failures: Mutex<Vec<Failure>>,
    /// Serializes calls that return failures, because the runtime reports each failure only once.
    sync_lock: Mutex<()>,
    /// Values that must not be dropped before a ticket is done.
    kept_alive: Mutex<Vec<(u64, Box<dyn Send>)>>,
    wakers: Mutex<WakerList>,
}

/// A failure of one of the tickets after `after` up to `last`. The runtime does not report which one.
struct Failure {
    after: u64,
    last: u64,
    error: Error,
    /// True if a call has returned the failure to the program.
    is_reported: bool,
}

/// Tasks to wake when the result of a ticket is known.
#[derive(Default)]
struct WakerList {
    tasks: BTreeMap<u64, Waker>,
    /// The last ticket whose result was requested.
    last_requested: u64,
    /// True while a waiter thread serves the stream.
    is_served: bool,
}

/// Ticket and result of work that was submitted to the runtime. Ticket 0 stands for work that was not submitted.
pub(crate) struct Submission {
    pub(crate) ticket: u64,
    pub(crate) result: Result<()>,
}

impl Submission {
    /// Creates the result of work that was rejected before it was submitted. Ticket 0 is always done, so that nothing
    /// is kept alive for it.
    #[cold]
    pub(crate) fn refused(error: Error) -> Submission {
        Submission { ticket: 0, result: Err(error) }
    }
}

/// Maximum number of failures that are stored separately for transfers that have not been waited for.
const MAX_FAILURES: usize = 16;
/// Number of values kept alive after which the stream is polled to release those that are no longer needed.
const KEPT_ALIVE_POLL_INTERVAL: usize = 64;
/// Number of failed waits after which a stream counts as lost. Each wait returns at most one failure of a task, and
/// other threads may concurrently queue more tasks that fail.
const MAX_WAIT_ATTEMPTS: usize = 4;

impl Context {
    /// Creates a stream.
    ///
    /// # Errors
    ///
    /// Fails if the device is lost or has no resources for another stream.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let stream = context.new_stream()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn new_stream(&self) -> Result<Stream> {
        Stream::new(self)
    }
}

impl Stream {
    fn new(context: &Context) -> Result<Stream> {
        // SAFETY: the call has no preconditions; `with_current` sets the context.
        let handle = context.with_current(|| unsafe { raw::aclrtCreateStream() })?;
        Ok(Stream(Arc::new(StreamInner {
            handle: handle as usize,
            context: context.clone(),
            submitted: AtomicU64::new(0),
            done: AtomicU64::new(0),
            known: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            failures: Mutex::default(),
            sync_lock: Mutex::default(),
            kept_alive: Mutex::default(),
            wakers: Mutex::default(),
        })))
    }

    /// Returns the context of the stream.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.new_stream()?.context(), &context);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// Returns the C handle, for functions of [`raw`]. It is valid while the stream exists.
    ///
    /// Work that C calls queue gets no ticket: buffers do not track it. [`synchronize`](Stream::synchronize) waits for
    /// it.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// // SAFETY: the stream exists.
    /// let status = unsafe { ascendcl::raw::aclrtStreamQuery(stream.as_raw()) }?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn as_raw(&self) -> ascendcl_sys::aclrtStream {
        self.0.raw()
    }

    /// Blocks until all queued work has finished.
    ///
    /// # Errors
    ///
    /// Fails if work of the stream has failed and no other call has returned that failure, or if the runtime cannot
    /// wait, for example because the device is lost. Transfers and blocking calls return the failures that may concern
    /// them.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// stream.synchronize()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn synchronize(&self) -> Result<()> {
        let sync_guard = self.0.sync_lock.lock().unwrap_or_else(PoisonError::into_inner);
        // Waits even if no ticket was issued: C calls may have queued work.
        let waited = self.0.wait_known_locked(sync_guard);
        self.0.take_failure(|failure| !failure.is_reported).map_or(waited, Err)
    }

    /// Returns `true` if all queued work has finished. Does not block.
    ///
    /// # Errors
    ///
    /// Fails if the runtime rejects the query, for example because the device is lost. Failures of work are not
    /// returned here.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert!(context.new_stream()?.is_idle()?);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn is_idle(&self) -> Result<bool> {
        self.0.is_idle()
    }
}

impl StreamInner {
    #[inline]
    pub(crate) fn raw(&self) -> *mut c_void {
        self.handle as *mut c_void
    }

    /// Submits work to the runtime, with the context current, and issues a ticket for it.
    #[inline(always)]
    pub(crate) fn submit(&self, call: impl FnMut() -> Result<()>) -> Submission {
        let failed = self.failed.load(Ordering::Acquire);
        let result = self.context.run(call);
        let ticket = self.submitted.fetch_add(1, Ordering::SeqCst) + 1;
        if self.failed.load(Ordering::SeqCst) != failed {
            self.extend_failure(ticket);
        }
        Submission { ticket, result }
    }

    /// Issues a ticket that is done when everything submitted so far is done.
    #[inline]
    pub(crate) fn ticket_after_pending(&self) -> Submission {
        Submission { ticket: self.submitted.fetch_add(1, Ordering::SeqCst) + 1, result: Ok(()) }
    }

    #[inline]
    pub(crate) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::SeqCst)
    }

    #[inline]
    pub(crate) fn is_done(&self, ticket: u64) -> bool {
        self.done.load(Ordering::Acquire) >= ticket
    }

    #[inline]
    fn is_known(&self, ticket: u64) -> bool {
        self.known.load(Ordering::Acquire) >= ticket
    }

    /// Returns `true` if a ticket is known to have succeeded because no work of the stream has failed.
    #[inline(always)]
    pub(crate) fn is_clean(&self, ticket: u64) -> bool {
        self.is_known(ticket) && self.failed.load(Ordering::Acquire) == 0
    }

    /// Waits until the results of all tickets up to `ticket` are known. Returns an error if they cannot be determined.
    /// Failures of work are stored in `failures`.
    fn wait_known(&self, ticket: u64) -> Result<()> {
        if self.is_known(ticket) {
            return Ok(());
        }
        let sync_guard = self.sync_lock.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_known(ticket) {
            return Ok(());
        }
        self.wait_known_locked(sync_guard)
    }

    /// Waits until the results of all submitted work are known. Releases the lock before values that were kept alive
    /// are dropped.
    fn wait_known_locked(&self, sync_guard: MutexGuard<'_, ()>) -> Result<()> {
        let last = self.submitted();
        let mut attempts = 0;
        // The runtime reports a failure of a task once; the next wait succeeds. If all attempts fail, the state of the
        // work is unknown.
        // SAFETY: the stream exists as long as `self`.
        while let Err(error) = self.context.run(|| unsafe { raw::aclrtSynchronizeStream(self.raw()) }) {
            self.record_failure(error.clone());
            attempts += 1;
            if attempts == MAX_WAIT_ATTEMPTS {
                return Err(error);
            }
        }
        // In this order, so that `known` never exceeds `done`.
        self.done.fetch_max(last, Ordering::AcqRel);
        self.known.fetch_max(last, Ordering::AcqRel);
        drop(sync_guard);
        self.mark_done(last);
        Ok(())
    }

    pub(crate) fn is_idle(&self) -> Result<bool> {
        let last = self.submitted();
        // SAFETY: the stream exists as long as `self`.
        let status = self.context.run(|| unsafe { raw::aclrtStreamQuery(self.raw()) })?;
        let is_idle = status == ACL_STREAM_STATUS_COMPLETE;
        if is_idle {
            self.mark_done(last);
        }
        Ok(is_idle)
    }

    /// Waits until a ticket is done. Returns an error if its work may have failed, or if its state cannot be
    /// determined; `is_done` distinguishes the two.
    #[inline]
    pub(crate) fn wait_ticket(&self, ticket: u64) -> Result<()> {
        self.wait_ticket_from(ticket - 1, ticket)
    }

    /// Waits until a ticket is done. Returns an error if work after ticket `before` up to `ticket` may have failed, or
    /// if its state cannot be determined.
    #[inline]
    pub(crate) fn wait_ticket_from(&self, before: u64, ticket: u64) -> Result<()> {
        let waited = if self.is_known(ticket) { Ok(()) } else { self.wait_known(ticket) };
        if self.failed.load(Ordering::Acquire) == 0 {
            return waited;
        }
        self.take_failure(|failure| failure.after < ticket && before < failure.last).map_or(waited, Err)
    }

    /// Waits until a ticket is done and ignores its result. For use in `Drop`.
    pub(crate) fn wait_ignoring_errors(&self, ticket: u64) {
        if !self.is_done(ticket) {
            let _ = self.wait_known(ticket);
        }
    }

    /// Marks all tickets up to `ticket` as done and drops the values that were kept alive for them.
    pub(crate) fn mark_done(&self, ticket: u64) {
        self.done.fetch_max(ticket, Ordering::AcqRel);
        let done = self.done.load(Ordering::Acquire);
        let mut kept_alive = self.kept_alive.lock().unwrap_or_else(PoisonError::into_inner);
        if kept_alive.is_empty() {
            return;
        }
        let (released, kept): (Vec<_>, Vec<_>) =
            mem::take(&mut *kept_alive).into_iter().partition(|(ticket, _)| *ticket <= done);
        *kept_alive = kept;
        // Dropping the values calls the runtime, so the lock is released first.
        drop(kept_alive);
        drop(released);
    }

    /// Keeps a value alive until a ticket is done.
    pub(crate) fn keep_alive(self: &Arc<StreamInner>, ticket: u64, value: Box<dyn Send>) {
        let count = {
            let mut kept_alive = self.kept_alive.lock().unwrap_or_else(PoisonError::into_inner);
            kept_alive.push((ticket, value));
            kept_alive.len()
        };
        // `is_idle` releases values that are no longer needed. If the stream is never idle, a waiter thread waits for
        // it, so that the values are released eventually.
        if count.is_multiple_of(KEPT_ALIVE_POLL_INTERVAL) && !self.is_idle().unwrap_or(false) {
            self.ensure_waiter(self.lock_wakers(), ticket);
        }
    }

    /// Returns `true` if the result of a ticket is known or cannot be determined. Otherwise registers the waker and
    /// returns `false`. `is_registered` is true if an earlier call has registered a waker for the ticket.
    pub(crate) fn register_waker(self: &Arc<StreamInner>, ticket: u64, waker: &Waker, is_registered: bool) -> bool {
        // Wakers are cloned and dropped without the lock: they may own another transfer of this stream.
        let waker = waker.clone();
        let mut wakers = self.lock_wakers();
        if self.is_known(ticket) {
            return true;
        }
        if is_registered && !wakers.tasks.contains_key(&ticket) {
            // The task was woken although the result is unknown: the stream is lost.
            return true;
        }
        let replaced = wakers.tasks.insert(ticket, waker);
        self.ensure_waiter(wakers, ticket);
        drop(replaced);
        false
    }

    /// Removes the waker of a ticket whose future is dropped.
    pub(crate) fn unregister_waker(&self, ticket: u64) {
        let removed = self.lock_wakers().tasks.remove(&ticket);
        // Dropped without the lock: the waker may own another transfer of this stream.
        drop(removed);
    }

    fn lock_wakers(&self) -> MutexGuard<'_, WakerList> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Assigns a waiter thread to the stream, unless it has one.
    fn ensure_waiter(self: &Arc<StreamInner>, mut wakers: MutexGuard<'_, WakerList>, ticket: u64) {
        wakers.last_requested = wakers.last_requested.max(ticket);
        if !mem::replace(&mut wakers.is_served, true) {
            drop(wakers);
            waiters::serve(self);
        }
    }

    /// Stores a failure that the runtime has reported.
    fn record_failure(&self, error: Error) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        // The count is incremented before the tickets are read. Work that is being submitted concurrently either sees
        // the new count and extends the failure, or has its ticket included in `last`.
        self.failed.fetch_add(1, Ordering::SeqCst);
        let (after, last) = (self.known.load(Ordering::Acquire), self.submitted());
        if let Some(newest) = failures.last_mut().filter(|newest| newest.after == after && newest.error == error) {
            newest.last = newest.last.max(last);
            newest.is_reported = false;
            return;
        }
        failures.push(Failure { after, last, error, is_reported: false });
        if failures.len() > MAX_FAILURES {
            // Merges the two oldest failures. The merged one concerns the tickets of both: a failure may be returned by
            // too many transfers, but is never missed.
            let second = failures.remove(1);
            failures[0].last = failures[0].last.max(second.last);
            failures[0].is_reported &= second.is_reported;
        }
    }

    /// Extends the newest failure to a ticket that was being submitted when the failure was reported.
    #[cold]
    fn extend_failure(&self, ticket: u64) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(newest) = failures.last_mut() {
            newest.last = newest.last.max(ticket);
        }
    }

    /// Returns the first failure that concerns the caller, and marks all of them as reported.
    #[cold]
    fn take_failure(&self, concerns: impl Fn(&Failure) -> bool) -> Option<Error> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let first = failures.iter().find(|failure| concerns(failure)).map(|failure| failure.error.clone());
        failures.iter_mut().filter(|failure| concerns(failure)).for_each(|failure| failure.is_reported = true);
        first
    }
}

impl Awaited for StreamInner {
    fn wait_for_requests(&self) -> (Vec<Waker>, bool) {
        let last_requested = self.lock_wakers().last_requested;
        let is_lost = self.wait_known(last_requested).is_err();
        let mut wakers = self.lock_wakers();
        // The results of a lost stream never become known. All tasks are woken, so that none waits forever.
        let last = if is_lost { wakers.last_requested } else { self.known.load(Ordering::Acquire) };
        let waiting = wakers.tasks.split_off(&(last + 1));
        let woken = mem::replace(&mut wakers.tasks, waiting).into_values().collect();
        wakers.is_served = wakers.last_requested > last;
        (woken, !wakers.is_served)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:#x} on device {})", self.0.handle, self.0.context.device().index())
    }
}

/// Clones of one stream are equal.
impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stream {}

impl Drop for StreamInner {
    fn drop(&mut self) {
        self.wait_ignoring_errors(self.submitted());
        if !self.is_done(self.submitted()) {
            // The stream may still be executing: leaks the stream and the values that it keeps alive.
            mem::forget(mem::take(self.kept_alive.get_mut().unwrap_or_else(PoisonError::into_inner)));
            return;
        }
        // SAFETY: created by `new` and destroyed once; all submitted work is done.
        let _ = self.context.run(|| unsafe { raw::aclrtDestroyStream(self.raw()) });
    }
}
