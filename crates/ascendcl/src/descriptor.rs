//! Descriptor copies: the parameters are in device memory, for loops that repeat one copy.
//!
//! The device reads the descriptor when the copy executes. A descriptor therefore owns both buffers and belongs to one
//! stream, so that it cannot be launched on another device or after a buffer was freed.

use crate::buffer::{DeviceBuffer, ViewMut};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::raw;
use crate::stream::Stream;
use ascendcl_sys::ACL_MEMCPY_INNER_DEVICE_TO_DEVICE;
use std::fmt;
use std::panic::Location;
use std::ptr;

/// A prepared copy from one device buffer to another.
///
/// ```
/// use ascendcl::Descriptor;
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// # let stream = context.new_stream()?;
///
/// let (source, target) = (context.alloc_from_slice(&[1, 2, 3])?, context.alloc_zeros(3)?);
/// let mut descriptor = Descriptor::new(&stream, source, target)?;
/// descriptor.launch()?;
/// assert_eq!(descriptor.target().to_vec()?, [1, 2, 3]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub struct Descriptor<T: Element> {
    stream: Stream,
    source: DeviceBuffer<T>,
    target: DeviceBuffer<T>,
    /// The parameters in device memory.
    parameters: DeviceBuffer<u8>,
}

const NAME: &str = "Descriptor::new";
/// The length field of a descriptor has 32 bits.
const MAX_BYTES: usize = u32::MAX as usize;

impl<T: Element> Descriptor<T> {
    /// Prepares a copy from `source` to `target` on a stream.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if the buffers are empty or larger than 4 GiB - 1, if a buffer is on another device
    /// than the stream, or if the runtime rejects the descriptor. Both buffers are then dropped.
    ///
    /// ```
    /// # use ascendcl::Descriptor;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let refused = Descriptor::new(&stream, context.alloc_zeros::<u8>(3)?, context.alloc_zeros(4)?);
    /// assert!(refused.is_err());
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn new(stream: &Stream, source: DeviceBuffer<T>, target: DeviceBuffer<T>) -> Result<Descriptor<T>> {
        let bytes = source.len() * size_of::<T>();
        if source.len() != target.len() || bytes == 0 || bytes > MAX_BYTES {
            let (from, to) = (source.len(), target.len());
            let message =
                format!("{from} elements to {to}: the lengths must be equal and between 1 and {MAX_BYTES} bytes");
            return Err(Error::refused(NAME, message));
        }
        source.memory().check_device(NAME, &stream.0)?;
        target.memory().check_device(NAME, &stream.0)?;
        let (context, kind) = (&stream.0.context, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE);
        // SAFETY: the call takes an integer and has no preconditions.
        let size = context.run(|| unsafe { raw::aclrtGetMemcpyDescSize(kind) })?;
        let parameters = context.alloc_zeros::<u8>(size)?;
        let (address, from, to) = (parameters.memory().raw(), source.memory().raw(), target.memory().raw());
        // SAFETY: `parameters` has the size that the runtime requires, and the descriptor owns all three buffers.
        context.run(|| unsafe { raw::aclrtSetMemcpyDesc(address, kind, from, to, bytes, ptr::null_mut()) })?;
        Ok(Descriptor { stream: stream.clone(), source, target, parameters })
    }

    /// Queues the copy on its stream. Can be called any number of times.
    ///
    /// # Errors
    ///
    /// Fails in strict mode if a buffer is in use on another stream, or if the runtime rejects the copy.
    ///
    /// ```
    /// # use ascendcl::Descriptor;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut descriptor = Descriptor::new(&stream, context.alloc_zeros::<u8>(3)?, context.alloc_zeros(3)?)?;
    /// for _ in 0..3 {
    ///     descriptor.launch()?;
    /// }
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn launch(&mut self) -> Result<()> {
        let stream = &self.stream.0;
        let location = Location::caller();
        let mut submit = || {
            self.source.memory().prepare_read("Descriptor::launch", stream)?;
            self.target.memory_mut().prepare_write("Descriptor::launch", stream)?;
            let (address, kind) = (self.parameters.memory().raw(), ACL_MEMCPY_INNER_DEVICE_TO_DEVICE);
            // SAFETY: the descriptor owns all three buffers, and they wait for the ticket before they are freed.
            let copy = || unsafe { raw::aclrtMemcpyAsyncWithDesc(address, kind, stream.raw()) };
            let submission = stream.submit(copy);
            self.source.memory().record_read(stream, submission.ticket);
            self.parameters.memory().record_read(stream, submission.ticket);
            self.target.memory_mut().record_write(stream, submission.ticket);
            submission.result
        };
        submit().map_err(|error| error.at(location))
    }

    /// Returns the source buffer.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let descriptor = ascendcl::Descriptor::new(&stream, context.alloc_zeros::<u8>(3)?, context.alloc_zeros(3)?)?;
    /// assert_eq!(descriptor.source().len(), 3);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn source(&self) -> &DeviceBuffer<T> {
        &self.source
    }

    /// Returns the source buffer for writing its next contents. A view, because the buffer itself cannot be replaced.
    ///
    /// ```
    /// # use ascendcl::Descriptor;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut descriptor = Descriptor::new(&stream, context.alloc_zeros::<u8>(3)?, context.alloc_zeros(3)?)?;
    /// for round in 1..=3 {
    ///     stream.fill(descriptor.source_mut(), round)?;
    ///     descriptor.launch()?;
    /// }
    /// assert_eq!(descriptor.target().to_vec()?, [3; 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn source_mut(&mut self) -> ViewMut<'_, T> {
        self.source.slice_mut(..)
    }

    /// Returns the target buffer.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let descriptor = ascendcl::Descriptor::new(&stream, context.alloc_zeros::<u8>(3)?, context.alloc_zeros(3)?)?;
    /// assert_eq!(descriptor.target().to_vec()?, [0; 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn target(&self) -> &DeviceBuffer<T> {
        &self.target
    }

    /// Returns the source and the target buffer.
    ///
    /// ```
    /// # use ascendcl::Descriptor;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let mut descriptor = Descriptor::new(&stream, context.alloc_zeros::<u8>(3)?, context.alloc_zeros(3)?)?;
    /// descriptor.launch()?;
    /// let (source, target) = descriptor.into_buffers();
    /// assert_eq!(source.to_vec()?, target.to_vec()?);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn into_buffers(self) -> (DeviceBuffer<T>, DeviceBuffer<T>) {
        (self.source, self.target)
    }
}

impl<T: Element> fmt::Debug for Descriptor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Descriptor({:?} to {:?} on {:?})", self.source, self.target, self.stream)
    }
}
