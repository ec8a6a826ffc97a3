//! Transfers: asynchronous copies that own their host memory.
//!
//! A transfer returns its memory only after the copy has finished. `wait` and the future wait for the copy. Dropping
//! the transfer leaves the memory with the stream; forgetting the transfer leaks it.

use crate::error::{Error, Result};
use crate::stream::{Stream, Submission};
use std::fmt;
use std::mem;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

/// An asynchronous copy that owns its host memory until it has finished.
///
/// [`wait`](Transfer::wait) and `.await` return the memory. The future works on any executor: one thread waits for a
/// stream on behalf of all of its awaited transfers and wakes each task when its result is known.
///
/// Dropping a transfer does not wait. The memory stays with the stream and is freed when the copy has finished.
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// # let stream = context.new_stream()?;
/// # let device = context.alloc_from_slice(&[1u8, 2])?;
/// let transfer = stream.download(&device, context.alloc_pinned::<u8>(2)?)?;
/// let host = pollster::block_on(transfer)?;
/// assert_eq!(*host, [1, 2]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[must_use = "`wait` or `.await` returns the host memory and the result of the copy"]
pub struct Transfer<B: Send + 'static> {
    /// `None` after the memory was returned.
    memory: Option<B>,
    stream: Stream,
    ticket: u64,
    submitted_at: &'static Location<'static>,
    /// True while a waker is registered with the stream.
    has_waker: bool,
}

impl<B: Send + 'static> Transfer<B> {
    /// Creates the transfer of a submission. If the runtime rejected it, part of the work may be queued nevertheless;
    /// the memory is then freed when the stream has finished that work.
    #[inline(always)]
    pub(crate) fn new(
        stream: &Stream,
        submission: Submission,
        memory: B,
        submitted_at: &'static Location<'static>,
    ) -> Result<Transfer<B>> {
        match submission.result {
            Ok(()) => {
                let (stream, ticket) = (stream.clone(), submission.ticket);
                Ok(Transfer { memory: Some(memory), stream, ticket, submitted_at, has_waker: false })
            }
            Err(error) => Err(reject(stream, submission.ticket, memory, error.at(submitted_at))),
        }
    }

    /// Waits until the copy has finished and returns the host memory.
    ///
    /// Waits for the whole stream, because the runtime reports failures only from a stream wait. Returns immediately if
    /// a later wait already established the result. [`try_reclaim`](Transfer::try_reclaim) returns the memory without
    /// the result.
    ///
    /// # Errors
    ///
    /// Fails if work of the stream failed that may have been this copy, or if the runtime cannot wait, for example
    /// because the device is lost. The memory is freed if the copy is known to have finished, and leaked otherwise.
    ///
    /// # Panics
    ///
    /// Panics if the transfer was polled to completion as a future before.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut device = context.alloc_zeros::<u8>(2)?;
    /// let host = stream.upload(context.alloc_pinned_from_slice(&[1, 2])?, &mut device)?.wait()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[inline(always)]
    pub fn wait(mut self) -> Result<B> {
        // Fast path: the result is known, and no work of the stream has failed.
        if self.stream.0.is_clean(self.ticket)
            && let Some(memory) = self.memory.take()
        {
            return Ok(memory);
        }
        self.finish()
    }

    /// Returns `true` if the copy has finished, successfully or not. Does not block.
    ///
    /// # Errors
    ///
    /// Fails if the runtime rejects the query, for example because the device is lost.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut device = context.alloc_zeros::<u8>(2)?;
    /// let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2])?, &mut device)?;
    /// stream.synchronize()?;
    /// assert!(transfer.is_done()?);
    /// # transfer.wait()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn is_done(&self) -> Result<bool> {
        Ok(self.stream.0.is_done(self.ticket) || self.stream.0.is_idle()?)
    }

    /// Returns the host memory if the copy is known to have finished, without its result. For memory that will be
    /// overwritten.
    ///
    /// Never blocks and makes no call of the runtime. A copy is known to have finished after
    /// [`is_done`](Transfer::is_done) returned `true`, after a completed [`Event`](crate::Event) that was recorded
    /// after the copy, and after any wait for the stream.
    ///
    /// # Errors
    ///
    /// Returns the transfer if the copy is not known to have finished.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut device = context.alloc_zeros::<u8>(2)?;
    /// let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2])?, &mut device)?;
    /// let uploaded = stream.record()?;
    /// stream.fill(&mut device, 0)?;             // `wait` would wait for this, too
    /// uploaded.synchronize()?;
    /// let mut host = transfer.try_reclaim().expect("the event is complete");
    /// host[0] = 3;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn try_reclaim(mut self) -> std::result::Result<B, Transfer<B>> {
        if !self.stream.0.is_done(self.ticket) {
            return Err(self);
        }
        self.memory.take().ok_or(self)
    }

    /// Returns the source location that submitted the copy.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut device = context.alloc_zeros::<u8>(2)?;
    /// let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2])?, &mut device)?;
    /// println!("submitted at {}", transfer.submitted_at());
    /// # transfer.wait()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn submitted_at(&self) -> &'static Location<'static> {
        self.submitted_at
    }

    /// Waits for the copy and takes the memory.
    #[inline(never)]
    fn finish(&mut self) -> Result<B> {
        let memory = self.memory.take().expect("a transfer must not be polled after completion");
        let result = self.stream.0.wait_ticket(self.ticket);
        if !self.stream.0.is_done(self.ticket) {
            // The copy may still be running, so its memory is leaked.
            mem::forget(memory);
        } else if result.is_ok() {
            return Ok(memory);
        }
        let unknown = || Error::refused("Transfer::wait", "the copy has not finished".to_owned());
        Err(result.err().unwrap_or_else(unknown).at(self.submitted_at))
    }
}

/// Leaves the memory of rejected work with the stream and returns the error.
#[cold]
#[inline(never)]
fn reject<B: Send + 'static>(stream: &Stream, ticket: u64, memory: B, error: Error) -> Error {
    if !stream.0.is_done(ticket) {
        stream.0.keep_alive(ticket, Box::new(memory));
    }
    error
}

/// A transfer can be moved while it is polled: the memory that the copy uses is behind a pointer.
impl<B: Send + 'static> Unpin for Transfer<B> {}

impl<B: Send + 'static> Future for Transfer<B> {
    type Output = Result<B>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Result<B>> {
        let this = &mut *self;
        if !this.stream.0.register_waker(this.ticket, task.waker(), this.has_waker) {
            this.has_waker = true;
            return Poll::Pending;
        }
        this.has_waker = false;
        Poll::Ready(this.finish())
    }
}

impl<B: Send + 'static> fmt::Debug for Transfer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transfer(submitted at {})", self.submitted_at)
    }
}

impl<B: Send + 'static> Drop for Transfer<B> {
    fn drop(&mut self) {
        if self.has_waker {
            self.stream.0.unregister_waker(self.ticket);
        }
        if let Some(memory) = self.memory.take()
            && !self.stream.0.is_done(self.ticket)
        {
            self.stream.0.keep_alive(self.ticket, Box::new(memory));
        }
    }
}
