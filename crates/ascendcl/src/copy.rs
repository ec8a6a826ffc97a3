//! Asynchronous copies and fills of one range.
//!
//! The order of steps is the same everywhere: check the arguments, order the work after earlier uses, submit it to the
//! runtime, take a ticket, record the ticket in the buffers. A call that the runtime rejects may have queued part of
//! the work. It gets a ticket as well, and host memory is released only when the ticket is done.

use crate::buffer::{View, ViewMut};
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::pinned::PinnedBuffer;
use crate::raw;
use crate::stream::{Stream, Submission};
use crate::transfer::Transfer;
use ascendcl_sys::{ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE};
use std::ffi::c_void;
use std::panic::Location;

impl Stream {
    /// Copies pinned memory to the device. The transfer owns the pinned buffer until the copy has finished;
    /// [`Transfer::wait`] returns it.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if the device buffer is on another device than the stream, in strict mode if it is
    /// in use on another stream, or if the runtime rejects the copy. The pinned buffer is freed when no work uses it.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let mut device = context.alloc_zeros::<u8>(4)?;
    /// let host = context.alloc_pinned_from_slice(&[1, 2, 3, 4])?;
    /// let transfer = stream.upload(host, &mut device)?;
    /// let mut host = transfer.wait()?;      // the buffer can be written again
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
        let submission = self.upload_from(source.as_raw(), source.len(), target.into());
        Transfer::new(self, submission, source, Location::caller())
    }

    /// Copies device memory to pinned memory. The transfer owns the pinned buffer until the copy has finished;
    /// [`Transfer::wait`] returns it.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if the device buffer is on another device than the stream, in strict mode if it is
    /// being written on another stream, or if the runtime rejects the copy. The pinned buffer is freed when no work
    /// uses it.
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
        let submission = self.download_to(source.into(), target.as_raw(), target.len());
        Transfer::new(self, submission, target, Location::caller())
    }

    /// Copies between two buffers of the device. Later work on either buffer is ordered after the copy, so no explicit
    /// wait is needed.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if a buffer is on another device than the stream, in strict mode if a buffer is in
    /// use on another stream, or if the runtime rejects the copy.
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
        let location = Location::caller();
        let mut submit = || {
            check_len("Stream::copy", source.len(), target.len())?;
            source.memory.prepare_read("Stream::copy", &self.0)?;
            target.memory.prepare_write("Stream::copy", &self.0)?;
            let (from, to, bytes) = (source.address(), target.address(), source.bytes());
            let submission = self.submit_raw(to, from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE);
            source.memory.record_read(&self.0, submission.ticket);
            target.memory.record_write(&self.0, submission.ticket);
            submission.result
        };
        submit().map_err(|error| error.at(location))
    }

    /// Copies from one device to another. The stream belongs to either device. Later work on either buffer is ordered
    /// after the copy, on any device. The first copy between two devices enables access between them.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if the stream belongs to neither device, if the devices cannot access each other
    /// (see [`Context::can_access_peer`](crate::Context::can_access_peer)), in strict mode if a buffer is in use on
    /// another stream, or if the runtime rejects the copy.
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
        let location = Location::caller();
        let mut submit = || {
            check_len(NAME, source.len(), target.len())?;
            let (from, to) = (source.memory.context(), target.memory.context());
            let devices = [from.device(), to.device()];
            if !devices.contains(&self.0.context.device()) {
                let [from, to, own] = [devices[0], devices[1], self.0.context.device()].map(Device::index);
                let message = format!("the copy is from device {from} to device {to}, the stream is on device {own}");
                return Err(Error::refused(NAME, message));
            }
            from.allow_peer(to.device())?;
            to.allow_peer(from.device())?;
            source.memory.wait_for_writes(NAME, &self.0)?;
            target.memory.wait_for_uses(NAME, &self.0)?;
            let (from, to, bytes) = (source.address(), target.address(), source.bytes());
            let submission = self.submit_raw(to, from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE);
            source.memory.record_read(&self.0, submission.ticket);
            target.memory.record_write(&self.0, submission.ticket);
            submission.result
        };
        submit().map_err(|error| error.at(location))
    }

    /// Sets every byte of a buffer to `byte`.
    ///
    /// # Errors
    ///
    /// Fails if the buffer is on another device than the stream, in strict mode if it is in use on another stream, or
    /// if the runtime rejects the call.
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
        let location = Location::caller();
        let mut submit = || {
            target.memory.prepare_write("Stream::fill", &self.0)?;
            let (address, bytes, stream) = (target.address(), target.bytes(), &self.0);
            if bytes == 0 {
                return Ok(());
            }
            // SAFETY: a range of a buffer, which waits for this ticket before it is freed.
            let fill = || unsafe { raw::aclrtMemsetAsync(address, bytes, byte.into(), bytes, stream.raw()) };
            let submission = stream.submit(fill);
            target.memory.record_write(stream, submission.ticket);
            submission.result
        };
        submit().map_err(|error| error.at(location))
    }

    /// Queues a copy from pinned memory, which must not be freed or written before the ticket is done.
    #[inline(always)]
    pub(crate) fn upload_from<T: Element>(
        &self,
        source: *mut c_void,
        len: usize,
        target: ViewMut<'_, T>,
    ) -> Submission {
        let (address, bytes) = (target.address(), target.bytes());
        match check_len("Stream::upload", len, target.len()) {
            Ok(()) => self.upload_bytes(source, target.memory, address, bytes),
            Err(error) => Submission::refused(error),
        }
    }

    /// Queues a copy to pinned memory, which must not be freed or accessed before the ticket is done.
    #[inline(always)]
    pub(crate) fn download_to<T: Element>(&self, source: View<'_, T>, target: *mut c_void, len: usize) -> Submission {
        let (address, bytes) = (source.address(), source.bytes());
        match check_len("Stream::download", source.len(), len) {
            Ok(()) => self.download_bytes(source.memory, address, target, bytes),
            Err(error) => Submission::refused(error),
        }
    }

    fn upload_bytes(&self, source: *mut c_void, memory: &mut Memory, target: *mut c_void, bytes: usize) -> Submission {
        if let Err(error) = memory.prepare_write("Stream::upload", &self.0) {
            return Submission::refused(error);
        }
        let submission = self.submit_raw(target, source, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
        memory.record_write(&self.0, submission.ticket);
        submission
    }

    fn download_bytes(&self, memory: &Memory, source: *mut c_void, target: *mut c_void, bytes: usize) -> Submission {
        if let Err(error) = memory.prepare_read("Stream::download", &self.0) {
            return Submission::refused(error);
        }
        let submission = self.submit_raw(target, source, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
        memory.record_read(&self.0, submission.ticket);
        submission
    }

    /// Submits the C call and takes a ticket.
    #[inline(always)]
    fn submit_raw(&self, target: *mut c_void, source: *mut c_void, bytes: usize, kind: i32) -> Submission {
        let stream = &*self.0;
        if bytes == 0 {
            // An empty copy gets a ticket, too: the buffers record it as ordered after their earlier uses.
            return stream.ticket_after_pending();
        }
        // SAFETY: ranges of buffers of this crate. Device memory waits for the ticket before it is freed, and pinned
        // memory is not returned before the ticket is done.
        stream.submit(|| unsafe { raw::aclrtMemcpyAsync(target, bytes, source, bytes, kind, stream.raw()) })
    }
}

#[inline(always)]
fn check_len(function: &'static str, source: usize, target: usize) -> Result<()> {
    if source == target { Ok(()) } else { Err(len_mismatch(function, source, target)) }
}

#[cold]
fn len_mismatch(function: &'static str, source: usize, target: usize) -> Error {
    Error::refused(function, format!("the source has {source} elements, the target has {target}"))
}
