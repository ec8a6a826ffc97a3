//! A copy that is under way, with the host memory that it uses inside.
//!
//! The memory comes out when the copy is over, and in no other way: `wait` and the future wait for it, dropping
//! the transfer leaves it with the stream, forgetting the transfer leaks it.

use crate::error::{Error, Result};
use crate::stream::{Stream, Submission};
use std::fmt;
use std::mem;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

/// A copy that is under way. [`wait`](Transfer::wait) gives its host memory back, and so does `.await`, on any
/// executor: one thread waits for a stream on behalf of all transfers that are awaited there, and tells each of them
/// how it went.
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
#[must_use = "the host memory comes back from `wait` or `.await`"]
pub struct Transfer<B: Send + 'static> {
    /// Taken when the copy is over.
    memory: Option<B>,
    stream: Stream,
    ticket: u64,
    place: &'static Location<'static>,
    /// Whether a task is to be woken when it is over.
    is_watched: bool,
}

impl<B: Send + 'static> Transfer<B> {
    /// The transfer of work that was just submitted. If it was refused, the memory goes when the stream is done
    /// with what was queued all the same.
    #[inline(always)]
    pub(crate) fn of(
        stream: &Stream,
        work: Submission,
        memory: B,
        place: &'static Location<'static>,
    ) -> Result<Transfer<B>> {
        match work.result {
            Ok(()) => {
                let (stream, ticket) = (stream.clone(), work.ticket);
                Ok(Transfer { memory: Some(memory), stream, ticket, place, is_watched: false })
            }
            Err(error) => Err(refuse(stream, work.ticket, memory, error.at(place))),
        }
    }

    /// Waits until the copy is over and gives the host memory back.
    ///
    /// Waits for everything that is in the stream, unless a wait since has told already how the copy went: the runtime
    /// tells failures to those who wait, and only to them. [`reclaim`](Transfer::reclaim) does not ask. An error means
    /// that something failed that may have been this copy.
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
        // The short way: it is known already, and nothing has ever failed.
        if self.stream.0.is_clean(self.ticket)
            && let Some(memory) = self.memory.take()
        {
            return Ok(memory);
        }
        self.finish()
    }

    /// Whether the copy is over; does not wait.
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

    /// Gives the host memory back if the copy is known to be over, and does not ask how it went: for memory that is
    /// written next. [`wait`](Transfer::wait) has to wait for the stream to learn that; this never waits, and asks
    /// nothing. What shows that a copy is over: [`is_done`](Transfer::is_done), an [`Event`](crate::Event) that was
    /// recorded after it, or any wait for the stream. If nothing has, the transfer comes back.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut device = context.alloc_zeros::<u8>(2)?;
    /// let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2])?, &mut device)?;
    /// let uploaded = stream.record()?;
    /// stream.fill(&mut device, 0)?;             // `wait` would wait for this too
    /// uploaded.synchronize()?;
    /// let mut host = transfer.try_reclaim().expect("the event says that it is over");
    /// host[0] = 3;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn try_reclaim(mut self) -> std::result::Result<B, Transfer<B>> {
        if !self.stream.0.is_done(self.ticket) {
            return Err(self);
        }
        self.memory.take().ok_or(self)
    }

    /// Where the copy was submitted.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut device = context.alloc_zeros::<u8>(2)?;
    /// let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2])?, &mut device)?;
    /// println!("submitted at {}", transfer.submitted());
    /// # transfer.wait()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn submitted(&self) -> &'static Location<'static> {
        self.place
    }

    /// Waits, and takes the memory out.
    #[inline(never)]
    fn finish(&mut self) -> Result<B> {
        let memory = self.memory.take().expect("a transfer is waited for once");
        let result = self.stream.0.wait_ticket(self.ticket);
        if !self.stream.0.is_done(self.ticket) {
            // Nothing is known about the copy, so its memory must stay.
            mem::forget(memory);
        } else if result.is_ok() {
            return Ok(memory);
        }
        let unknown = || Error::refused("Transfer::wait", "the copy is not over".to_owned());
        Err(result.err().unwrap_or_else(unknown).at(self.place))
    }
}

/// Leaves the memory of refused work with the stream, and gives the error back.
#[cold]
#[inline(never)]
fn refuse<B: Send + 'static>(stream: &Stream, ticket: u64, memory: B, error: Error) -> Error {
    if !stream.0.is_done(ticket) {
        stream.0.keep_alive(ticket, Box::new(memory));
    }
    error
}

/// Transfers are moved freely: what the copy uses is behind a pointer.
impl<B: Send + 'static> Unpin for Transfer<B> {}

impl<B: Send + 'static> Future for Transfer<B> {
    type Output = Result<B>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Result<B>> {
        let this = &mut *self;
        if !this.stream.0.register_waker(this.ticket, task.waker(), this.is_watched) {
            this.is_watched = true;
            return Poll::Pending;
        }
        this.is_watched = false;
        Poll::Ready(this.finish())
    }
}

impl<B: Send + 'static> fmt::Debug for Transfer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transfer(submitted at {})", self.place)
    }
}

impl<B: Send + 'static> Drop for Transfer<B> {
    fn drop(&mut self) {
        if self.is_watched {
            self.stream.0.unregister_waker(self.ticket);
        }
        if let Some(memory) = self.memory.take()
            && !self.stream.0.is_done(self.ticket)
        {
            self.stream.0.keep_alive(self.ticket, Box::new(memory));
        }
    }
}
