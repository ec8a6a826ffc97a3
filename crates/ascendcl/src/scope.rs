//! Copies that borrow their host memory: all of them are over when the scope ends, whichever way it ends.
//!
//! The body gets a reference only, so the end cannot be skipped by forgetting something.

use crate::buffer::{View, ViewMut};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::pinned::{PinnedView, PinnedViewMut};
use crate::stream::{Stream, StreamInner, Submission};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// Where copies may borrow pinned memory. See [`Stream::scope`].
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let (host, mut device) = (context.alloc_pinned::<u8>(4)?, context.alloc_zeros(4)?);
/// context.new_stream()?.scope(|scope| scope.upload(&host, &mut device))?;
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    stream: Stream,
    // Both invariant, as in `std::thread::scope`.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl Stream {
    /// Runs a body whose copies may borrow pinned memory instead of owning it. Waits for the stream when the body
    /// returns, fails or panics, so the memory is nobody's but the caller's afterwards.
    ///
    /// If the runtime cannot even say that the copies are over, because the device is lost, the process is aborted:
    /// the memory cannot be given back, and it cannot be kept.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let host = context.alloc_pinned_from_slice(&[1, 2, 3, 4])?;
    /// let mut back = context.alloc_pinned::<i32>(2)?;
    /// let mut device = context.alloc_zeros::<i32>(4)?;
    /// stream.scope(|scope| {
    ///     scope.upload(&host, &mut device)?;
    ///     scope.download(device.slice(2..), &mut back)
    /// })?;
    /// assert_eq!((&*host, &*back), (&[1, 2, 3, 4][..], &[3, 4][..]));
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn scope<'env, R>(&self, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>) -> Result<R> {
        let place = Location::caller();
        let end = WaitOnDrop { lane: &self.0 };
        let before = self.0.submitted();
        let scope = Scope { stream: self.clone(), scope: PhantomData, env: PhantomData };
        let result = body(&scope);
        std::mem::forget(end);
        let finished = finish(&self.0, before);
        let result = result?;
        finished.map_err(|error| error.at(place))?;
        Ok(result)
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Copies pinned memory to the device, and borrows it until the scope ends.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let host = context.alloc_pinned::<u8>(4)?;
    /// # let mut device = context.alloc_zeros::<u8>(2)?;
    /// stream.scope(|scope| scope.upload(host.slice(1..3), &mut device))?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn upload<'a, T: Element>(
        &'scope self,
        source: impl Into<PinnedView<'scope, T>>,
        target: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let source = source.into();
        Scope::into_result(self.stream.upload_from(source.start(), source.len(), target.into()))
    }

    /// Copies device memory to pinned memory, and borrows that until the scope ends.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let device = context.alloc_zeros::<u8>(4)?;
    /// # let mut host = context.alloc_pinned::<u8>(4)?;
    /// stream.scope(|scope| scope.download(&device, &mut host))?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn download<'a, T: Element>(
        &'scope self,
        source: impl Into<View<'a, T>>,
        target: impl Into<PinnedViewMut<'scope, T>>,
    ) -> Result<()> {
        let target = target.into();
        Scope::into_result(self.stream.download_to(source.into(), target.start(), target.len()))
    }

    /// The stream, for work that borrows nothing.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut device = context.alloc_zeros::<u8>(4)?;
    /// stream.scope(|scope| scope.stream().fill(&mut device, 1))?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    #[track_caller]
    pub(crate) fn into_result(work: Submission) -> Result<()> {
        let place = Location::caller();
        work.result.map_err(|error| error.at(place))
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({:?})", self.stream)
    }
}

/// Ends a scope whose body panics.
struct WaitOnDrop<'a> {
    lane: &'a StreamInner,
}

impl Drop for WaitOnDrop<'_> {
    fn drop(&mut self) {
        // The panic goes on; a failure of the device is not told over it.
        let _ = finish(self.lane, self.lane.submitted());
    }
}

/// Waits until everything is over, or ends the process. Tells what failed after a ticket.
fn finish(lane: &StreamInner, before: u64) -> Result<()> {
    let last = lane.submitted();
    let result = lane.wait_ticket_from(before, last);
    if !lane.is_done(last) {
        let why = result.err().unwrap_or_else(|| Error::refused("Stream::scope", "the stream is not over".to_owned()));
        eprintln!("ascendcl: copies that borrow memory cannot be waited for, so the process ends: {why}");
        std::process::abort();
    }
    result
}
