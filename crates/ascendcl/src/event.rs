//! Events: places in a stream that the host or another stream can wait for.
//!
//! An event is recorded once, when it is made, so a wait always has something to wait for. Streams that still have to
//! pass it hold it, so it can be dropped at any time.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::raw;
use crate::stream::{Stream, StreamInner};
use ascendcl_sys::{ACL_EVENT_RECORDED_STATUS_COMPLETE, ACL_EVENT_SYNC, ACL_EVENT_TIME_LINE};
use std::ffi::c_void;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// A place in a stream.
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let (one, other) = (context.new_stream()?, context.new_stream()?);
/// let mut buffer = context.alloc_zeros::<u8>(64)?;
/// one.fill(&mut buffer, 1)?;
/// let filled = one.record()?;
/// other.wait(&filled)?;                 // what `other` does from here on comes after the fill
/// filled.synchronize()?;                // and so does what the host does
/// assert!(filled.is_complete()?);
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub struct Event {
    mark: Arc<EventInner>,
    stream: Stream,
    /// Tickets up to this one are over when the event is.
    covers: u64,
}

struct EventInner {
    /// An `aclrtEvent`.
    handle: usize,
    context: Context,
}

impl Stream {
    /// Marks this place in the stream.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// stream.record()?.synchronize()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn record(&self) -> Result<Event> {
        let place = Location::caller();
        let (mark, covers) = record(&self.0).map_err(|error| error.at(place))?;
        Ok(Event { mark, stream: self.clone(), covers })
    }

    /// Makes what is queued here from now on wait for an event, of whatever stream.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let (one, other) = (context.new_stream()?, context.new_stream()?);
    /// other.wait(&one.record()?)?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn wait(&self, event: &Event) -> Result<()> {
        let place = Location::caller();
        wait(&self.0, &event.mark).map_err(|error| error.at(place))
    }
}

impl Event {
    /// Waits until the stream has come to this place. Does not tell of work that failed: see
    /// [`Stream::synchronize`].
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// stream.record()?.synchronize()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the event lives as long as `self`.
        self.mark.context.run(|| unsafe { raw::aclrtSynchronizeEvent(self.mark.raw()) })?;
        self.stream.0.mark_done(self.covers);
        Ok(())
    }

    /// Whether the stream has come to this place; does not wait.
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
        // SAFETY: the event lives as long as `self`.
        let status = self.mark.context.run(|| unsafe { raw::aclrtQueryEventStatus(self.mark.raw()) })?;
        let is_complete = status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
        if is_complete {
            self.stream.0.mark_done(self.covers);
        }
        Ok(is_complete)
    }

    /// The time from an earlier event to this one. Both must be complete.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let start = stream.record()?;
    /// let end = stream.record()?;
    /// stream.synchronize()?;
    /// println!("it took {:?}", end.elapsed_since(&start)?);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn elapsed_since(&self, start: &Event) -> Result<Duration> {
        let (start, end) = (start.mark.raw(), self.mark.raw());
        // SAFETY: both events live as long as their references.
        let ms = self.mark.context.run(|| unsafe { raw::aclrtEventElapsedTime(start, end) })?;
        let why = |_| Error::refused("Event::elapsed_since", format!("{ms} ms: the other event is the later one"));
        Duration::try_from_secs_f32(ms / 1000.0).map_err(why)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:#x} of {:?})", self.mark.handle, self.stream)
    }
}

/// Makes what comes next in `later` wait for what is in `earlier` now.
pub(crate) fn order(earlier: &Arc<StreamInner>, later: &Arc<StreamInner>) -> Result<()> {
    let (mark, _) = record(earlier)?;
    wait(later, &mark)
}

fn record(lane: &Arc<StreamInner>) -> Result<(Arc<EventInner>, u64)> {
    // SAFETY: creating has no conditions; the context is current.
    let create = || unsafe { raw::aclrtCreateEventExWithFlag((ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE) as u32) };
    let handle = lane.context.with_current(create)?;
    let mark = Arc::new(EventInner { handle: handle as usize, context: lane.context.clone() });
    let covers = lane.submitted();
    // SAFETY: both live here.
    let work = lane.submit(|| unsafe { raw::aclrtRecordEvent(mark.raw(), lane.raw()) });
    work.result?;
    lane.keep_alive(work.ticket, Box::new(Arc::clone(&mark)));
    Ok((mark, covers))
}

fn wait(lane: &Arc<StreamInner>, mark: &Arc<EventInner>) -> Result<()> {
    // SAFETY: both live here.
    let work = lane.submit(|| unsafe { raw::aclrtStreamWaitEvent(lane.raw(), mark.raw()) });
    work.result?;
    lane.keep_alive(work.ticket, Box::new(Arc::clone(mark)));
    Ok(())
}

impl EventInner {
    fn raw(&self) -> *mut c_void {
        self.handle as *mut c_void
    }
}

impl Drop for EventInner {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once; no stream has to pass it any more, for it would hold it.
        let _ = self.context.run(|| unsafe { raw::aclrtDestroyEvent(self.raw()) });
    }
}
