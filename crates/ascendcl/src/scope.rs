//! Scopes: copies that borrow their host memory. All of them have finished when the scope ends, even by a panic.
//!
//! The body receives only a reference to the scope, so the wait at the end cannot be skipped by forgetting a value.

use crate::buffer::{View, ViewMut};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::pinned::{PinnedView, PinnedViewMut};
use crate::stream::{Stream, StreamInner, Submission};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// A scope in which copies borrow pinned memory. Created by [`Stream::scope`].
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let (host, mut device) = (context.alloc_pinned::<u8>(4)?, context.alloc_zeros(4)?);
/// context.new_stream()?.scope(|scope| scope.upload(&host, &mut device))?;
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    stream: Stream,
    // Both lifetimes are invariant, as in `std::thread::scope`.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl Stream {
    /// Calls a function whose copies borrow pinned memory instead of owning it.
    ///
    /// Waits for the stream when the function returns, fails or panics. No copy uses the borrowed memory afterwards.
    ///
    /// # Errors
    ///
    /// Returns the error of the function, or an error if work that was submitted in the scope failed.
    ///
    /// # Aborts
    ///
    /// Aborts the process if the device is lost and the runtime cannot confirm that the copies have finished, because
    /// the borrowed memory can be neither returned nor leaked safely.
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
        let location = Location::caller();
        let wait_on_panic = WaitOnDrop { stream: &self.0 };
        let before = self.0.submitted();
        let scope = Scope { stream: self.clone(), scope: PhantomData, env: PhantomData };
        let result = body(&scope);
        std::mem::forget(wait_on_panic);
        let finished = finish(&self.0, before);
        let result = result?;
        finished.map_err(|error| error.at(location))?;
        Ok(result)
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Copies pinned memory to the device. Borrows the pinned memory until the scope ends.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if the buffer is on another device than the stream, in strict mode if the buffer is
    /// in use on another stream, or if the runtime rejects the copy.
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

    /// Copies device memory to pinned memory. Borrows the pinned memory until the scope ends.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if the buffer is on another device than the stream, in strict mode if the buffer is
    /// being written on another stream, or if the runtime rejects the copy.
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

    /// Returns the stream, for work that borrows no host memory.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut device = context.alloc_zeros::<u8>(4)?;
    /// stream.scope(|scope| scope.stream().fill(&mut device, 1))?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    #[track_caller]
    pub(crate) fn into_result(submission: Submission) -> Result<()> {
        let location = Location::caller();
        submission.result.map_err(|error| error.at(location))
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({:?})", self.stream)
    }
}

/// Waits for the copies of a scope whose body panics.
struct WaitOnDrop<'a> {
    stream: &'a StreamInner,
}

impl Drop for WaitOnDrop<'_> {
    fn drop(&mut self) {
        // The panic continues; a failure of the work is not reported in addition.
        let _ = finish(self.stream, self.stream.submitted());
    }
}

/// Waits until all work of the stream has finished, or aborts the process. Returns a failure of work after ticket
/// `before`.
fn finish(stream: &StreamInner, before: u64) -> Result<()> {
    let last = stream.submitted();
    let result = stream.wait_ticket_from(before, last);
    if !stream.is_done(last) {
        let unfinished = || Error::refused("Stream::scope", "the stream has not finished".to_owned());
        let error = result.err().unwrap_or_else(unfinished);
        eprintln!("ascendcl: aborting: cannot wait for copies that borrow host memory: {error}");
        std::process::abort();
    }
    result
}
