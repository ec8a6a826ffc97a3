//! Streams, and how they know which of their work is over, and how it went.
//!
//! Work gets a ticket after it was handed to the runtime. So whoever reads the number of tickets and then waits for
//! the stream knows that all of them are over. Two numbers only grow: `done`, up to which the work is over, so that
//! memory is given back; and `known`, up to which it is also known what failed. Queries and events move `done` only,
//! because the runtime tells failures to those who wait for the stream, once, and without saying what failed. So waits
//! take turns, and what they are told is kept for all tickets that it may concern.
//!
//! Any thread may use a stream. `turn` is the only lock that is held during a call, and that call is the wait.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::raw;
use crate::waiters;
use ascendcl_sys::ACL_STREAM_STATUS_COMPLETE;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A queue of work on a device, done in order. Cloning it gives another name for the same.
///
/// What can be queued: [`upload`](Stream::upload), [`download`](Stream::download), [`copy`](Stream::copy),
/// [`fill`](Stream::fill), [`submit`](Stream::submit) for batches, [`record`](Stream::record) and
/// [`wait`](Stream::wait) for events; [`scope`](Stream::scope) for borrowed memory.
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

/// What all names of a stream share.
pub(crate) struct StreamInner {
    /// An `aclrtStream`.
    handle: usize,
    pub(crate) context: Context,
    /// Tickets given out.
    submitted: AtomicU64,
    /// Tickets up to this one are over.
    done: AtomicU64,
    /// Of tickets up to this one it is known whether they may have failed.
    known: AtomicU64,
    /// How often the runtime has told a failure.
    failed: AtomicU64,
    failures: Mutex<Vec<Failure>>,
    /// Held while the runtime is asked for failures: who is told of one writes it down before the next asks.
    sync_lock: Mutex<()>,
    /// What must stay until a ticket is done.
    kept_alive: Mutex<Vec<(u64, Box<dyn Send>)>>,
    watch: Mutex<WakerList>,
}

/// Something after ticket `after` and not after `last` has failed: the runtime does not say what.
struct Failure {
    after: u64,
    last: u64,
    error: Error,
    /// Whether the program was told, by anything that returns errors.
    is_reported: bool,
}

/// Who is to be woken when it is known how a ticket went.
#[derive(Default)]
struct WakerList {
    tasks: BTreeMap<u64, Waker>,
    /// The last ticket that somebody wants to know of.
    wanted: u64,
    /// Whether a thread waits for the stream on their behalf.
    is_served: bool,
}

/// Work that was handed to the runtime, and what the runtime said. Ticket 0 is work that was not handed over.
pub(crate) struct Submission {
    pub(crate) ticket: u64,
    pub(crate) result: Result<()>,
}

impl Submission {
    /// Refused before the runtime was asked. Ticket 0 is always done, so nothing is kept for it.
    #[cold]
    pub(crate) fn refused(error: Error) -> Submission {
        Submission { ticket: 0, result: Err(error) }
    }
}

/// Failures that are told apart for transfers nobody has waited for yet.
const FAILURES: usize = 16;
/// Things held for a stream before it is looked whether they are still needed.
const HELD: usize = 64;
/// Waits for a stream that fails before it counts as lost. Each wait tells one failure of work at most, and other
/// threads may queue more of it meanwhile.
const ATTEMPTS: usize = 4;

impl Stream {
    pub(crate) fn new(context: &Context) -> Result<Stream> {
        // SAFETY: creating has no conditions; the context is current.
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
            watch: Mutex::default(),
        })))
    }

    /// The context that it was made in.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.new_stream()?.context(), &context);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The handle, for calls of the C interface beside this crate. It is valid while the stream is.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// // SAFETY: the stream lives.
    /// let status = unsafe { ascendcl::raw::aclrtStreamQuery(stream.as_raw()) }?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn as_raw(&self) -> ascendcl_sys::aclrtStream {
        self.0.raw()
    }

    /// Waits for everything that was queued. Work that failed is told by the transfers and blocking calls that it may
    /// concern, and here if nothing else has told it.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// stream.synchronize()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn synchronize(&self) -> Result<()> {
        let turn = self.0.sync_lock.lock().unwrap_or_else(PoisonError::into_inner);
        // Also when nothing has a ticket: C calls may have queued work.
        let waited = self.0.wait_known_locked(turn);
        self.0.take_failure(|failure| !failure.is_reported).map_or(waited, Err)
    }

    /// Whether everything that was queued is done; does not wait.
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

    /// Hands work to the runtime, with the context current.
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

    /// A ticket for nothing: what comes after the work before it.
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

    /// Whether a ticket is known to have succeeded, because everything in this stream has.
    #[inline(always)]
    pub(crate) fn is_clean(&self, ticket: u64) -> bool {
        self.is_known(ticket) && self.failed.load(Ordering::Acquire) == 0
    }

    /// Waits until it is known how the work up to a ticket went. An error means that nothing is known; what failed
    /// is among the failures.
    fn wait_known(&self, ticket: u64) -> Result<()> {
        if self.is_known(ticket) {
            return Ok(());
        }
        let turn = self.sync_lock.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_known(ticket) {
            return Ok(());
        }
        self.wait_known_locked(turn)
    }

    /// The same for everything that was submitted.
    fn wait_known_locked(&self, turn: MutexGuard<'_, ()>) -> Result<()> {
        let last = self.submitted();
        let mut attempts = 0;
        // A failure of work is told once, and then the stream goes on. If it does not, nothing is known to be over.
        // SAFETY: the stream lives as long as `self`.
        while let Err(error) = self.context.run(|| unsafe { raw::aclrtSynchronizeStream(self.raw()) }) {
            self.record_failure(error.clone());
            attempts += 1;
            if attempts == ATTEMPTS {
                return Err(error);
            }
        }
        // In this order: what is known is done.
        self.done.fetch_max(last, Ordering::AcqRel);
        self.known.fetch_max(last, Ordering::AcqRel);
        drop(turn);
        self.mark_done(last);
        Ok(())
    }

    pub(crate) fn is_idle(&self) -> Result<bool> {
        let last = self.submitted();
        // SAFETY: the stream lives as long as `self`.
        let status = self.context.run(|| unsafe { raw::aclrtStreamQuery(self.raw()) })?;
        let is_idle = status == ACL_STREAM_STATUS_COMPLETE;
        if is_idle {
            self.mark_done(last);
        }
        Ok(is_idle)
    }

    /// Waits until a ticket is done. The result is an error if it may have failed.
    /// Whether it is done is to be asked afterwards: an error can also mean that nothing is known.
    #[inline]
    pub(crate) fn wait_ticket(&self, ticket: u64) -> Result<()> {
        self.wait_ticket_from(ticket - 1, ticket)
    }

    /// The same for all tickets after `before` up to `ticket`.
    #[inline]
    pub(crate) fn wait_ticket_from(&self, before: u64, ticket: u64) -> Result<()> {
        let waited = if self.is_known(ticket) { Ok(()) } else { self.wait_known(ticket) };
        if self.failed.load(Ordering::Acquire) == 0 {
            return waited;
        }
        self.take_failure(|failure| failure.after < ticket && before < failure.last).map_or(waited, Err)
    }

    /// Waits until a ticket is done, however it went: for who has nobody to tell.
    pub(crate) fn wait_ignoring_errors(&self, ticket: u64) {
        if !self.is_done(ticket) {
            let _ = self.wait_known(ticket);
        }
    }

    /// Notes that all tickets up to this one are over.
    pub(crate) fn mark_done(&self, ticket: u64) {
        self.done.fetch_max(ticket, Ordering::AcqRel);
        let done = self.done.load(Ordering::Acquire);
        let mut held = self.kept_alive.lock().unwrap_or_else(PoisonError::into_inner);
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
    pub(crate) fn keep_alive(self: &Arc<StreamInner>, ticket: u64, thing: Box<dyn Send>) {
        let count = {
            let mut held = self.kept_alive.lock().unwrap_or_else(PoisonError::into_inner);
            held.push((ticket, thing));
            held.len()
        };
        // What is over can go. A stream that is never idle is waited for by a thread, so that what it holds ends.
        if count.is_multiple_of(HELD) && !self.is_idle().unwrap_or(false) {
            self.ensure_waiter(self.watching(), ticket);
        }
    }

    /// Whether it is known how a ticket went, or cannot be; if not, the task will be woken then. `is_listed` says
    /// that the task has been here before.
    pub(crate) fn register_waker(self: &Arc<StreamInner>, ticket: u64, waker: &Waker, is_listed: bool) -> bool {
        // Wakers are made and dropped without the lock: what they hold may be another transfer of this stream.
        let waker = waker.clone();
        let mut watch = self.watching();
        if self.is_known(ticket) {
            return true;
        }
        if is_listed && !watch.tasks.contains_key(&ticket) {
            // It was woken, and still nothing is known: the stream is lost.
            return true;
        }
        let old = watch.tasks.insert(ticket, waker);
        self.ensure_waiter(watch, ticket);
        drop(old);
        false
    }

    /// Takes a task from the list that is not interested any more.
    pub(crate) fn unregister_waker(&self, ticket: u64) {
        let deserted = self.watching().tasks.remove(&ticket);
        // As above: without the lock.
        drop(deserted);
    }

    fn watching(&self) -> MutexGuard<'_, WakerList> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a thread wait for the stream, if none does.
    fn ensure_waiter(self: &Arc<StreamInner>, mut watch: MutexGuard<'_, WakerList>, ticket: u64) {
        watch.wanted = watch.wanted.max(ticket);
        if !mem::replace(&mut watch.is_served, true) {
            drop(watch);
            waiters::serve(self);
        }
    }

    /// Waits for what somebody wants to know, and returns whom to wake, and whether that is all.
    pub(crate) fn next_woken(&self) -> (Vec<Waker>, bool) {
        let wanted = self.watching().wanted;
        let is_lost = self.wait_known(wanted).is_err();
        let mut watch = self.watching();
        // Of a lost stream nothing more will be known, so that nobody waits for it.
        let last = if is_lost { watch.wanted } else { self.known.load(Ordering::Acquire) };
        let waiting = watch.tasks.split_off(&(last + 1));
        let woken = mem::replace(&mut watch.tasks, waiting).into_values().collect();
        watch.is_served = watch.wanted > last;
        (woken, !watch.is_served)
    }

    /// Notes a failure that the runtime has told.
    fn record_failure(&self, error: Error) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        // First the count, then the tickets: who is just handing work over sees the one or is among the others.
        self.failed.fetch_add(1, Ordering::SeqCst);
        let (after, last) = (self.known.load(Ordering::Acquire), self.submitted());
        if let Some(newest) = failures.last_mut().filter(|newest| newest.after == after && newest.error == error) {
            newest.last = newest.last.max(last);
            newest.is_reported = false;
            return;
        }
        failures.push(Failure { after, last, error, is_reported: false });
        if failures.len() > FAILURES {
            // The two oldest become one, which concerns the tickets of both: better told too often than missed.
            let second = failures.remove(1);
            failures[0].last = failures[0].last.max(second.last);
            failures[0].is_reported &= second.is_reported;
        }
    }

    /// A failure was told while this ticket was handed over: it may have been its own.
    #[cold]
    fn extend_failure(&self, ticket: u64) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(newest) = failures.last_mut() {
            newest.last = newest.last.max(ticket);
        }
    }

    /// The first failure that concerns the caller, who tells it.
    #[cold]
    fn take_failure(&self, concerns: impl Fn(&Failure) -> bool) -> Option<Error> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let told = failures.iter().find(|failure| concerns(failure)).map(|failure| failure.error.clone());
        failures.iter_mut().filter(|failure| concerns(failure)).for_each(|failure| failure.is_reported = true);
        told
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:#x} on device {})", self.0.handle, self.0.context.device().index())
    }
}

/// Two names of one stream are equal.
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
            // It may still be at work: then what it holds stays, and the stream too.
            mem::forget(mem::take(self.kept_alive.get_mut().unwrap_or_else(PoisonError::into_inner)));
            return;
        }
        // SAFETY: created by `new`, destroyed once, and nothing is queued.
        let _ = self.context.run(|| unsafe { raw::aclrtDestroyStream(self.raw()) });
    }
}
