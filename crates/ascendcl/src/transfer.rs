//! A copy that is under way, with the host memory that it uses inside.
//!
//! The memory comes out when the copy is over, and in no other way: `wait` and the future wait for it, dropping
//! the transfer leaves it with the stream, forgetting the transfer leaks it.

use crate::copy::Submission;
use crate::error::{Error, Result};
use crate::raw;
use crate::stream::Stream;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::mem;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

/// A copy that is under way. [`wait`](Transfer::wait) gives its host memory back, and so does `.await`, on any
/// executor and without a thread for it: the stream itself wakes the task.
///
/// ```
/// # let context = ascendcl::Device::new(0)?.context()?;
/// # let stream = context.stream()?;
/// # let device = context.upload_slice(&[1u8, 2])?;
/// let transfer = stream.download(&device, context.pinned::<u8>(2)?)?;
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
    signal: Option<Arc<Signal>>,
}

impl<B: Send + 'static> Transfer<B> {
    /// The transfer of work that was just submitted. If it was refused, the memory goes when the stream is done
    /// with what was queued all the same.
    #[inline]
    pub(crate) fn of(
        stream: &Stream,
        work: Submission,
        memory: B,
        place: &'static Location<'static>,
    ) -> Result<Transfer<B>> {
        let transfer =
            Transfer { memory: Some(memory), stream: stream.clone(), ticket: work.ticket, place, signal: None };
        match work.result {
            Ok(()) => Ok(transfer),
            // Dropping the transfer takes care of the memory.
            Err(error) => Err(error.at(place)),
        }
    }

    /// Waits until the copy is over and gives the host memory back.
    ///
    /// Waits for the stream, unless something has shown already that the copy is over: an [`Event`](crate::Event)
    /// that was recorded after it, or another wait. An error means that something failed that may have been this copy.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.context()?;
    /// # let stream = context.stream()?;
    /// # let mut device = context.zeros::<u8>(2)?;
    /// let host = stream.upload(context.pinned_from(&[1, 2])?, &mut device)?.wait()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn wait(mut self) -> Result<B> {
        self.finish()
    }

    /// Whether the copy is over; does not wait.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.context()?;
    /// # let stream = context.stream()?;
    /// # let mut device = context.zeros::<u8>(2)?;
    /// let transfer = stream.upload(context.pinned_from(&[1, 2])?, &mut device)?;
    /// stream.synchronize()?;
    /// assert!(transfer.is_done()?);
    /// # transfer.wait()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn is_done(&self) -> Result<bool> {
        Ok(self.stream.0.is_done(self.ticket) || self.stream.0.is_idle()?)
    }

    /// Where the copy was submitted.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.context()?;
    /// # let stream = context.stream()?;
    /// # let mut device = context.zeros::<u8>(2)?;
    /// let transfer = stream.upload(context.pinned_from(&[1, 2])?, &mut device)?;
    /// println!("submitted at {}", transfer.submitted());
    /// # transfer.wait()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn submitted(&self) -> &'static Location<'static> {
        self.place
    }

    /// Waits, and takes the memory out.
    fn finish(&mut self) -> Result<B> {
        let memory = self.memory.take().expect("a transfer is waited for once");
        let result = self.stream.0.reach(self.ticket);
        if !self.stream.0.is_done(self.ticket) {
            // Nothing is known about the copy, so its memory must stay.
            mem::forget(memory);
        } else if result.is_ok() {
            return Ok(memory);
        }
        let unknown = || Error::refused("Transfer::wait", "the copy is not over".to_owned());
        Err(result.err().unwrap_or_else(unknown).at(self.place))
    }

    /// Has the stream wake a task when it comes here.
    fn call_back(&mut self, waker: &Waker) -> Result<()> {
        let lane = &self.stream.0;
        let signal = Arc::new(Signal { covers: lane.submitted(), state: Mutex::new(State::Waiting(waker.clone())) });
        let argument = Arc::into_raw(Arc::clone(&signal)).cast_mut().cast::<c_void>();
        // SAFETY: the function takes the count that was given away just now, once.
        let launched = lane.context.run(|| unsafe { raw::aclrtLaunchHostFunc(lane.raw(), Some(arrived), argument) });
        if let Err(error) = launched {
            // SAFETY: the runtime refused, so nobody else takes it.
            drop(unsafe { Arc::from_raw(argument.cast::<Signal>().cast_const()) });
            return Err(error);
        }
        self.signal = Some(signal);
        Ok(())
    }
}

/// Transfers are moved freely: what the copy uses is behind a pointer.
impl<B: Send + 'static> Unpin for Transfer<B> {}

impl<B: Send + 'static> Future for Transfer<B> {
    type Output = Result<B>;

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Result<B>> {
        let this = &mut *self;
        if this.stream.0.is_done(this.ticket) {
            return Poll::Ready(this.finish());
        }
        let Some(signal) = &this.signal else {
            return match this.call_back(task.waker()) {
                Ok(()) => Poll::Pending,
                // Dropping the transfer takes care of the memory.
                Err(error) => Poll::Ready(Err(error.at(this.place))),
            };
        };
        if !signal.has_arrived(task.waker()) {
            return Poll::Pending;
        }
        let lane = &this.stream.0;
        lane.pass(signal.covers);
        // Failures are told by a wait only. It is no wait if nothing was queued since; inside the function that
        // the stream is calling it would be one for ever.
        if lane.submitted() == signal.covers && !IS_CALLED_BACK.get() {
            // `finish` tells the failure.
            let _ = lane.synchronize();
        }
        Poll::Ready(this.finish())
    }
}

/// What the stream and the task share.
struct Signal {
    /// Tickets up to this one are over when the stream comes here.
    covers: u64,
    state: Mutex<State>,
}

enum State {
    Waiting(Waker),
    Arrived,
}

impl Signal {
    /// Whether the stream was here; if not, it will wake this task.
    fn has_arrived(&self, waker: &Waker) -> bool {
        match &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Arrived => true,
            State::Waiting(old) => {
                old.clone_from(waker);
                false
            }
        }
    }
}

thread_local! {
    static IS_CALLED_BACK: Cell<bool> = const { Cell::new(false) };
}

/// Called by the runtime when the stream comes to the signal.
unsafe extern "C" fn arrived(argument: *mut c_void) {
    // SAFETY: `call_back` gave this count away for this call.
    let signal = unsafe { Arc::from_raw(argument.cast::<Signal>().cast_const()) };
    let before = mem::replace(&mut *signal.state.lock().unwrap_or_else(PoisonError::into_inner), State::Arrived);
    if let State::Waiting(waker) = before {
        IS_CALLED_BACK.set(true);
        waker.wake();
        IS_CALLED_BACK.set(false);
    }
}

impl<B: Send + 'static> fmt::Debug for Transfer<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transfer(submitted at {})", self.place)
    }
}

impl<B: Send + 'static> Drop for Transfer<B> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take()
            && !self.stream.0.is_done(self.ticket)
        {
            self.stream.0.hold(self.ticket, Box::new(memory));
        }
    }
}
