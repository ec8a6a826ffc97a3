//! Events: positions in a stream that the host or another stream can wait for.
//!
//! An event is recorded once, when it is created, so a wait always has a position to wait for. Streams that have not
//! reached an event yet keep it alive, so it can be dropped at any time.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::raw;
use crate::stream::{Stream, StreamInner};
use ascendcl_sys::{
    ACL_ERROR_RT_FEATURE_NOT_SUPPORT, ACL_EVENT_IPC, ACL_EVENT_RECORDED_STATUS_COMPLETE, ACL_EVENT_SYNC,
    ACL_EVENT_TIME_LINE,
};
use std::ffi::c_void;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// A position in a stream, created by [`Stream::record`].
///
/// An event completes when all work that was queued before it has finished. It is `Send` and `Sync`.
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let (one, other) = (context.new_stream()?, context.new_stream()?);
/// let mut buffer = context.alloc_zeros::<u8>(64)?;
/// one.fill(&mut buffer, 1)?;
/// let filled = one.record()?;
/// other.wait(&filled)?;                 // later work of `other` runs after the fill
/// filled.synchronize()?;                // the host waits, too
/// assert!(filled.is_complete()?);
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub struct Event {
    inner: Arc<EventInner>,
    stream: Stream,
    /// Tickets up to this one are done when the event is complete.
    covers: u64,
}

/// The C event, shared by the `Event` and the streams that have not reached it.
struct EventInner {
    /// An `aclrtEvent`.
    handle: usize,
    context: Context,
}

impl Stream {
    /// Records an event at the current end of the stream.
    ///
    /// # Errors
    ///
    /// Fails if the device is lost or has no resources for another event.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// stream.record()?.synchronize()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn record(&self) -> Result<Event> {
        let location = Location::caller();
        let (inner, covers) = record(&self.0).map_err(|error| error.at(location))?;
        Ok(Event { inner, stream: self.clone(), covers })
    }

    /// Makes later work of this stream wait for an event of any stream. Does not block the host.
    ///
    /// The event may be of another device. The stream then waits for everything that is queued on the stream of the
    /// event, and on products without events between devices the host waits instead.
    ///
    /// # Errors
    ///
    /// Fails if the runtime rejects the wait, for example because the device is lost.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let (one, other) = (context.new_stream()?, context.new_stream()?);
    /// other.wait(&one.record()?)?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn wait(&self, event: &Event) -> Result<()> {
        let location = Location::caller();
        let waiting = if self.0.context.device() == event.stream.0.context.device() {
            wait(&self.0, &event.inner)
        } else {
            order_devices(&event.stream.0, &self.0)
        };
        waiting.map_err(|error| error.at(location))
    }
}

impl Event {
    /// Blocks until the event is complete.
    ///
    /// # Errors
    ///
    /// Fails if the runtime cannot wait, for example because the device is lost. Failures of work before the event are
    /// not returned here but by transfers and by [`Stream::synchronize`].
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// stream.record()?.synchronize()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the event exists as long as `self`.
        self.inner.context.run(|| unsafe { raw::aclrtSynchronizeEvent(self.inner.raw()) })?;
        self.stream.0.mark_done(self.covers);
        Ok(())
    }

    /// Returns `true` if the event is complete. Does not block.
    ///
    /// # Errors
    ///
    /// Fails if the runtime rejects the query, for example because the device is lost.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let event = stream.record()?;
    /// stream.synchronize()?;
    /// assert!(event.is_complete()?);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn is_complete(&self) -> Result<bool> {
        // SAFETY: the event exists as long as `self`.
        let status = self.inner.context.run(|| unsafe { raw::aclrtQueryEventStatus(self.inner.raw()) })?;
        let is_complete = status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
        if is_complete {
            self.stream.0.mark_done(self.covers);
        }
        Ok(is_complete)
    }

    /// Returns the time from an earlier event to this one.
    ///
    /// # Errors
    ///
    /// Fails if one of the events is not complete, or if `start` is the later one.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let start = stream.record()?;
    /// let end = stream.record()?;
    /// stream.synchronize()?;
    /// println!("elapsed: {:?}", end.elapsed_since(&start)?);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn elapsed_since(&self, start: &Event) -> Result<Duration> {
        let (start, end) = (start.inner.raw(), self.inner.raw());
        // SAFETY: both events exist as long as their references.
        let ms = self.inner.context.run(|| unsafe { raw::aclrtEventElapsedTime(start, end) })?;
        let negative = |_| Error::refused("Event::elapsed_since", format!("{ms} ms: `start` is the later event"));
        Duration::try_from_secs_f32(ms / 1000.0).map_err(negative)
    }

    /// Returns the C handle, for functions of [`raw`]. It is valid while the event exists.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let event = stream.record()?;
    /// // SAFETY: the event exists.
    /// unsafe { ascendcl::raw::aclrtSynchronizeEvent(event.as_raw()) }?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn as_raw(&self) -> ascendcl_sys::aclrtEvent {
        self.inner.raw()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:#x} of {:?})", self.inner.handle, self.stream)
    }
}

/// Makes later work of `later` wait for everything that is queued on `earlier`.
pub(crate) fn order(earlier: &Arc<StreamInner>, later: &Arc<StreamInner>) -> Result<()> {
    if earlier.context.device() != later.context.device() {
        return order_devices(earlier, later);
    }
    let (event, _) = record(earlier)?;
    wait(later, &event)
}

/// Orders streams of two devices. An ordinary event works on its own device only, one for other processes on all.
fn order_devices(earlier: &Arc<StreamInner>, later: &Arc<StreamInner>) -> Result<()> {
    match record_with(earlier, ACL_EVENT_IPC as u32) {
        Ok((event, _)) => wait(later, &event),
        Err(error) if error.code() == ACL_ERROR_RT_FEATURE_NOT_SUPPORT => {
            let (event, _) = record(earlier)?;
            // SAFETY: the event exists until the end of this block.
            event.context.run(|| unsafe { raw::aclrtSynchronizeEvent(event.raw()) })
        }
        Err(error) => Err(error),
    }
}

/// Creates and records an event. Returns it with the last ticket that it covers.
fn record(stream: &Arc<StreamInner>) -> Result<(Arc<EventInner>, u64)> {
    record_with(stream, (ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE) as u32)
}

fn record_with(stream: &Arc<StreamInner>, flags: u32) -> Result<(Arc<EventInner>, u64)> {
    // SAFETY: the call has no preconditions; `with_current` sets the context.
    let create = || unsafe { raw::aclrtCreateEventExWithFlag(flags) };
    let handle = stream.context.with_current(create)?;
    let event = Arc::new(EventInner { handle: handle as usize, context: stream.context.clone() });
    let covers = stream.submitted();
    // SAFETY: the caller holds the event and the stream.
    let submission = stream.submit(|| unsafe { raw::aclrtRecordEvent(event.raw(), stream.raw()) });
    submission.result?;
    stream.keep_alive(submission.ticket, Box::new(Arc::clone(&event)));
    Ok((event, covers))
}

fn wait(stream: &Arc<StreamInner>, event: &Arc<EventInner>) -> Result<()> {
    // SAFETY: the caller holds the event and the stream.
    let submission = stream.submit(|| unsafe { raw::aclrtStreamWaitEvent(stream.raw(), event.raw()) });
    submission.result?;
    stream.keep_alive(submission.ticket, Box::new(Arc::clone(event)));
    Ok(())
}

impl EventInner {
    fn raw(&self) -> *mut c_void {
        self.handle as *mut c_void
    }
}

impl Drop for EventInner {
    fn drop(&mut self) {
        // SAFETY: created by `record` and destroyed once. Streams that have not reached the event keep it alive, so all
        // of them have.
        let _ = self.context.run(|| unsafe { raw::aclrtDestroyEvent(self.raw()) });
    }
}
