//! Asynchronous work of a stream on one range: copies and fills.
//!
//! The order of steps is the same everywhere: check, order after earlier work, hand to the runtime, take a ticket,
//! note it in the buffers. A call that the runtime refuses may have queued a part: then too there is a ticket, and
//! host memory is given back only when it is done.

use crate::buffer::{Memory, View, ViewMut};
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::pinned::PinnedBuffer;
use crate::raw;
use crate::stream::{Stream, Submission};
use crate::transfer::Transfer;
use ascendcl_sys::{ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE};
use std::ffi::c_void;
use std::panic::Location;

impl Stream {
    /// Copies pinned memory to the device. The pinned buffer is away until the copy is over:
    /// [`Transfer::wait`] gives it back.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let mut device = context.alloc_zeros::<u8>(4)?;
    /// let host = context.alloc_pinned_from_slice(&[1, 2, 3, 4])?;
    /// let transfer = stream.upload(host, &mut device)?;
    /// let mut host = transfer.wait()?;      // and now it can be written again
    /// host[0] = 9;
    /// assert_eq!(device.to_vec()?, [1, 2, 3, 4]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    #[inline(always)]
    pub fn upload<'a, T: Element>(
        &self,
        source: PinnedBuffer<T>,
        target: impl Into<ViewMut<'a, T>>,
    ) -> Result<Transfer<PinnedBuffer<T>>> {
        let work = self.upload_from(source.start(), source.len(), target.into());
        Transfer::of(self, work, source, Location::caller())
    }

    /// Copies device memory to pinned memory. The pinned buffer is away until the copy is over.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let device = context.alloc_from_slice(&[1, 2, 3])?;
    /// let host = stream.download(device.slice(..2), context.alloc_pinned::<i32>(2)?)?.wait()?;
    /// assert_eq!(*host, [1, 2]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    #[inline(always)]
    pub fn download<'a, T: Element>(
        &self,
        source: impl Into<View<'a, T>>,
        target: PinnedBuffer<T>,
    ) -> Result<Transfer<PinnedBuffer<T>>> {
        let work = self.download_to(source.into(), target.start(), target.len());
        Transfer::of(self, work, target, Location::caller())
    }

    /// Copies within the memory of the device. Nothing has to be waited for: later work on either buffer comes after.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let source = context.alloc_from_slice(&[1, 2, 3])?;
    /// let mut target = context.alloc_uninit::<i32>(3)?;
    /// stream.copy(&source, &mut target)?;
    /// assert_eq!(target.to_vec()?, [1, 2, 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn copy<'a, 'b, T: Element>(
        &self,
        source: impl Into<View<'a, T>>,
        target: impl Into<ViewMut<'b, T>>,
    ) -> Result<()> {
        let (source, target) = (source.into(), target.into());
        let place = Location::caller();
        let mut run = || {
            same_len("Stream::copy", source.len(), target.len())?;
            source.memory.prepare_read("Stream::copy", &self.0)?;
            target.memory.prepare_write("Stream::copy", &self.0)?;
            let (from, to, bytes) = (source.address(), target.address(), source.bytes());
            let work = self.submit_raw(to, from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE);
            source.memory.record_read(&self.0, work.ticket);
            target.memory.record_write(&self.0, work.ticket);
            work.result
        };
        run().map_err(|error| error.at(place))
    }

    /// Copies from one device to another. The stream is of either; later work on either buffer comes after, on
    /// whatever device. The two devices are given access to each other at the first copy.
    ///
    /// ```
    /// # use ascendcl::Device;
    /// let (here, there) = (Device::new(0)?.new_context()?, Device::new(1)?.new_context()?);
    /// let source = here.alloc_from_slice(&[1, 2, 3])?;
    /// let mut target = there.alloc_uninit::<i32>(3)?;
    /// here.new_stream()?.copy_peer(&source, &mut target)?;
    /// assert_eq!(target.to_vec()?, [1, 2, 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn copy_peer<'a, 'b, T: Element>(
        &self,
        source: impl Into<View<'a, T>>,
        target: impl Into<ViewMut<'b, T>>,
    ) -> Result<()> {
        const NAME: &str = "Stream::copy_peer";
        let (source, target) = (source.into(), target.into());
        let place = Location::caller();
        let mut run = || {
            same_len(NAME, source.len(), target.len())?;
            let (from, to) = (source.memory.context(), target.memory.context());
            let devices = [from.device(), to.device()];
            if !devices.contains(&self.0.context.device()) {
                let [from, to, own] = [devices[0], devices[1], self.0.context.device()].map(Device::index);
                let why = format!("the copy is from device {from} to device {to}, the stream on device {own}");
                return Err(Error::refused(NAME, why));
            }
            from.allow_peer(to.device())?;
            to.allow_peer(from.device())?;
            source.memory.wait_for_writes(NAME, &self.0)?;
            target.memory.wait_for_uses(NAME, &self.0)?;
            let (from, to, bytes) = (source.address(), target.address(), source.bytes());
            let work = self.submit_raw(to, from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE);
            source.memory.record_read(&self.0, work.ticket);
            target.memory.record_write(&self.0, work.ticket);
            work.result
        };
        run().map_err(|error| error.at(place))
    }

    /// Sets every byte of a buffer.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let mut buffer = context.alloc_uninit::<u16>(2)?;
    /// stream.fill(&mut buffer, 1)?;
    /// assert_eq!(buffer.to_vec()?, [0x0101, 0x0101]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn fill<'a, T: Element>(&self, target: impl Into<ViewMut<'a, T>>, byte: u8) -> Result<()> {
        let target = target.into();
        let place = Location::caller();
        let mut run = || {
            target.memory.prepare_write("Stream::fill", &self.0)?;
            let (address, bytes, lane) = (target.address(), target.bytes(), &self.0);
            if bytes == 0 {
                return Ok(());
            }
            // SAFETY: a range of a buffer, which waits for this ticket before it ends.
            let fill = || unsafe { raw::aclrtMemsetAsync(address, bytes, byte.into(), bytes, lane.raw()) };
            let work = lane.submit(fill);
            target.memory.record_write(lane, work.ticket);
            work.result
        };
        run().map_err(|error| error.at(place))
    }

    /// Queues a copy from pinned memory, which must stay until the ticket is done.
    #[inline(always)]
    pub(crate) fn upload_from<T: Element>(
        &self,
        source: *mut c_void,
        len: usize,
        target: ViewMut<'_, T>,
    ) -> Submission {
        let (address, bytes) = (target.address(), target.bytes());
        match same_len("Stream::upload", len, target.len()) {
            Ok(()) => self.upload_bytes(source, target.memory, address, bytes),
            Err(error) => Submission::refused(error),
        }
    }

    /// Queues a copy to pinned memory, which must stay until the ticket is done.
    #[inline(always)]
    pub(crate) fn download_to<T: Element>(&self, source: View<'_, T>, target: *mut c_void, len: usize) -> Submission {
        let (address, bytes) = (source.address(), source.bytes());
        match same_len("Stream::download", source.len(), len) {
            Ok(()) => self.download_bytes(source.memory, address, target, bytes),
            Err(error) => Submission::refused(error),
        }
    }

    fn upload_bytes(&self, source: *mut c_void, memory: &mut Memory, target: *mut c_void, bytes: usize) -> Submission {
        if let Err(error) = memory.prepare_write("Stream::upload", &self.0) {
            return Submission::refused(error);
        }
        let work = self.submit_raw(target, source, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
        memory.record_write(&self.0, work.ticket);
        work
    }

    fn download_bytes(&self, memory: &Memory, source: *mut c_void, target: *mut c_void, bytes: usize) -> Submission {
        if let Err(error) = memory.prepare_read("Stream::download", &self.0) {
            return Submission::refused(error);
        }
        let work = self.submit_raw(target, source, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
        memory.record_read(&self.0, work.ticket);
        work
    }

    #[inline(always)]
    fn submit_raw(&self, target: *mut c_void, source: *mut c_void, bytes: usize, kind: i32) -> Submission {
        let lane = &*self.0;
        if bytes == 0 {
            // A ticket all the same: the buffers note it as what comes after their earlier work.
            return lane.ticket_after_pending();
        }
        // SAFETY: ranges of buffers of this crate: device memory waits for the ticket before it ends, and pinned
        // memory is given back to nobody before it is done.
        lane.submit(|| unsafe { raw::aclrtMemcpyAsync(target, bytes, source, bytes, kind, lane.raw()) })
    }
}

#[inline(always)]
fn same_len(function: &'static str, source: usize, target: usize) -> Result<()> {
    if source == target { Ok(()) } else { Err(other_len(function, source, target)) }
}

#[cold]
fn other_len(function: &'static str, source: usize, target: usize) -> Error {
    Error::refused(function, format!("the source has {source} elements, the target {target}"))
}
