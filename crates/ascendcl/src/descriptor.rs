//! Copies whose parameters are in device memory, for loops that launch the same copy again and again.
//!
//! The device reads the descriptor when the copy runs. So a descriptor owns both buffers and belongs to one stream:
//! there is no way to say another device, or to launch it when something is gone.

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
    /// What the device reads.
    record: DeviceBuffer<u8>,
}

const NAME: &str = "Descriptor::new";
/// The length has 32 bits; behaviour sheet 1.6.
const MAX_BYTES: usize = u32::MAX as usize;

impl<T: Element> Descriptor<T> {
    /// Prepares the copy, for this stream.
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
            let why = format!("{from} elements to {to}: there must be the same number, and 1 to {MAX_BYTES} bytes");
            return Err(Error::refused(NAME, why));
        }
        source.memory().check_device(NAME, &stream.0)?;
        target.memory().check_device(NAME, &stream.0)?;
        let (context, kind) = (&stream.0.context, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE);
        // SAFETY: asking has no conditions.
        let size = context.run(|| unsafe { raw::aclrtGetMemcpyDescSize(kind) })?;
        let record = context.alloc_zeros::<u8>(size)?;
        let (place, from, to) = (record.memory().raw(), source.memory().raw(), target.memory().raw());
        // SAFETY: the record has the size that was asked for, and all three are owned by what is made here.
        context.run(|| unsafe { raw::aclrtSetMemcpyDesc(place, kind, from, to, bytes, ptr::null_mut()) })?;
        Ok(Descriptor { stream: stream.clone(), source, target, record })
    }

    /// Queues the copy on its stream; as often as wanted.
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
        let lane = &self.stream.0;
        let place = Location::caller();
        let mut run = || {
            self.source.memory().prepare_read("Descriptor::launch", lane)?;
            self.target.memory_mut().prepare_write("Descriptor::launch", lane)?;
            let record = self.record.memory().raw();
            // SAFETY: all three buffers are owned, and wait for the ticket before they end.
            let copy =
                || unsafe { raw::aclrtMemcpyAsyncWithDesc(record, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, lane.raw()) };
            let work = lane.submit(copy);
            self.source.memory().record_read(lane, work.ticket);
            self.record.memory().record_read(lane, work.ticket);
            self.target.memory_mut().record_write(lane, work.ticket);
            work.result
        };
        run().map_err(|error| error.at(place))
    }

    /// The buffer that is read.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let descriptor = ascendcl::Descriptor::new(&stream, context.alloc_zeros::<u8>(3)?, context.alloc_zeros(3)?)?;
    /// assert_eq!(descriptor.source().len(), 3);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn source(&self) -> &DeviceBuffer<T> {
        &self.source
    }

    /// The buffer that is read, to write the next contents into it. A view: the buffer itself has to stay.
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
    pub fn source_mut(&mut self) -> ViewMut<'_, T> {
        self.source.slice_mut(..)
    }

    /// The buffer that is written.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let descriptor = ascendcl::Descriptor::new(&stream, context.alloc_zeros::<u8>(3)?, context.alloc_zeros(3)?)?;
    /// assert_eq!(descriptor.target().to_vec()?, [0; 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn target(&self) -> &DeviceBuffer<T> {
        &self.target
    }

    /// Gives the buffers back: source and target.
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
    pub fn into_buffers(self) -> (DeviceBuffer<T>, DeviceBuffer<T>) {
        (self.source, self.target)
    }
}

impl<T: Element> fmt::Debug for Descriptor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Descriptor({:?} to {:?} on {:?})", self.source, self.target, self.stream)
    }
}
