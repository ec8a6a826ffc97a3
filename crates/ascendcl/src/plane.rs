//! 2D copies: part of each row of a matrix, between memory with different row lengths.

use crate::buffer::{View, ViewMut};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::pinned::{PinnedBuffer, PinnedView, PinnedViewMut};
use crate::raw;
use crate::scope::Scope;
use crate::stream::{Stream, Submission};
use crate::transfer::Transfer;
use ascendcl_sys::{ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE};
use std::ffi::c_void;
use std::panic::Location;

/// The shape of a 2D copy: `height` rows of `width` elements, at a distance of one pitch.
///
/// All fields count elements, not bytes. The first row starts at the beginning of the slice that is passed to the copy.
/// Elements of the target between the rows are not changed.
///
/// ```
/// use ascendcl::Plane;
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// # let stream = context.new_stream()?;
///
/// // Copies two rows of three elements into the middle of a matrix with rows of eight.
/// let mut matrix = context.alloc_zeros::<u8>(4 * 8)?;
/// let plane = Plane { width: 3, height: 2, source_pitch: 3, target_pitch: 8 };
/// stream.upload_2d(context.alloc_pinned_from_slice(&[1, 2, 3, 4, 5, 6])?, matrix.slice_mut(8 + 2..), plane)?.wait()?;
/// assert_eq!(matrix.slice(8..24).to_vec()?, [0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 4, 5, 6, 0, 0, 0]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plane {
    /// Number of elements that are copied from each row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Distance between the starts of two rows of the source.
    pub source_pitch: usize,
    /// Distance between the starts of two rows of the target.
    pub target_pitch: usize,
}

impl Stream {
    /// Copies rows of pinned memory to the device. The transfer owns the pinned buffer until the copy has finished, as
    /// with [`upload`](Stream::upload).
    ///
    /// # Errors
    ///
    /// Fails if a row is wider than its pitch or ends outside its buffer, if the device buffer is on another device
    /// than the stream, in strict mode if it is in use on another stream, or if the runtime rejects the copy.
    ///
    /// ```
    /// # use ascendcl::Plane;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let mut rows = context.alloc_zeros::<u8>(2 * 4)?;
    /// let plane = Plane { width: 2, height: 2, source_pitch: 3, target_pitch: 4 };
    /// let host = stream.upload_2d(context.alloc_pinned_from_slice(&[1, 2, 9, 3, 4, 9])?, &mut rows, plane)?.wait()?;
    /// assert_eq!(rows.to_vec()?, [1, 2, 0, 0, 3, 4, 0, 0]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn upload_2d<'a, T: Element>(
        &self,
        source: PinnedBuffer<T>,
        target: impl Into<ViewMut<'a, T>>,
        plane: Plane,
    ) -> Result<Transfer<PinnedBuffer<T>>> {
        let submission = self.upload_rows(source.as_raw(), source.len(), target.into(), plane);
        Transfer::new(self, submission, source, Location::caller())
    }

    /// Copies rows of device memory to pinned memory. The transfer owns the pinned buffer until the copy has finished,
    /// as with [`download`](Stream::download).
    ///
    /// # Errors
    ///
    /// Fails if a row is wider than its pitch or ends outside its buffer, if the device buffer is on another device
    /// than the stream, in strict mode if it is in use on another stream, or if the runtime rejects the copy.
    ///
    /// ```
    /// # use ascendcl::Plane;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let matrix = context.alloc_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9])?;
    /// let plane = Plane { width: 1, height: 3, source_pitch: 3, target_pitch: 1 };
    /// let column = stream.download_2d(matrix.slice(1..), context.alloc_pinned::<i32>(3)?, plane)?.wait()?;
    /// assert_eq!(*column, [2, 5, 8]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn download_2d<'a, T: Element>(
        &self,
        source: impl Into<View<'a, T>>,
        target: PinnedBuffer<T>,
        plane: Plane,
    ) -> Result<Transfer<PinnedBuffer<T>>> {
        let submission = self.download_rows(source.into(), target.as_raw(), target.len(), plane);
        Transfer::new(self, submission, target, Location::caller())
    }

    /// Copies rows between two buffers of the device.
    ///
    /// # Errors
    ///
    /// Fails with [`NotSupported`](crate::ErrorKind::NotSupported) on chips without 2D copies within the device. Also
    /// fails if a row is wider than its pitch or ends outside its buffer, if a buffer is on another device than the
    /// stream, in strict mode if it is in use on another stream, or if the runtime rejects the copy.
    ///
    /// ```
    /// # use ascendcl::Plane;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let matrix = context.alloc_from_slice(&[1, 2, 3, 4])?;
    /// let mut wider = context.alloc_zeros::<i32>(6)?;
    /// stream.copy_2d(&matrix, &mut wider, Plane { width: 2, height: 2, source_pitch: 2, target_pitch: 3 })?;
    /// assert_eq!(wider.to_vec()?, [1, 2, 0, 3, 4, 0]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn copy_2d<'a, 'b, T: Element>(
        &self,
        source: impl Into<View<'a, T>>,
        target: impl Into<ViewMut<'b, T>>,
        plane: Plane,
    ) -> Result<()> {
        const NAME: &str = "Stream::copy_2d";
        let (source, target) = (source.into(), target.into());
        let location = Location::caller();
        let mut submit = || {
            plane.check::<T>(NAME, source.len(), target.len())?;
            source.memory.prepare_read(NAME, &self.0)?;
            target.memory.prepare_write(NAME, &self.0)?;
            let submission =
                self.submit_rows::<T>(target.address(), source.address(), plane, ACL_MEMCPY_DEVICE_TO_DEVICE);
            source.memory.record_read(&self.0, submission.ticket);
            target.memory.record_write(&self.0, submission.ticket);
            submission.result
        };
        submit().map_err(|error| error.at(location))
    }

    /// Queues a copy from pinned memory, which must not be freed or written before the ticket is done.
    fn upload_rows<T: Element>(
        &self,
        source: *mut c_void,
        len: usize,
        target: ViewMut<'_, T>,
        plane: Plane,
    ) -> Submission {
        const NAME: &str = "Stream::upload_2d";
        let checked = plane.check::<T>(NAME, len, target.len());
        if let Err(error) = checked.and_then(|()| target.memory.prepare_write(NAME, &self.0)) {
            return Submission::refused(error);
        }
        let submission = self.submit_rows::<T>(target.address(), source, plane, ACL_MEMCPY_HOST_TO_DEVICE);
        target.memory.record_write(&self.0, submission.ticket);
        submission
    }

    /// Queues a copy to pinned memory, which must not be freed or accessed before the ticket is done.
    fn download_rows<T: Element>(
        &self,
        source: View<'_, T>,
        target: *mut c_void,
        len: usize,
        plane: Plane,
    ) -> Submission {
        const NAME: &str = "Stream::download_2d";
        let checked = plane.check::<T>(NAME, source.len(), len);
        if let Err(error) = checked.and_then(|()| source.memory.prepare_read(NAME, &self.0)) {
            return Submission::refused(error);
        }
        let submission = self.submit_rows::<T>(target, source.address(), plane, ACL_MEMCPY_DEVICE_TO_HOST);
        source.memory.record_read(&self.0, submission.ticket);
        submission
    }

    /// Submits the C call and takes a ticket. The caller has checked the plane against both sides.
    fn submit_rows<T>(&self, target: *mut c_void, source: *mut c_void, plane: Plane, kind: i32) -> Submission {
        let stream = &*self.0;
        let [width, from, to] = [plane.width, plane.source_pitch, plane.target_pitch].map(|n| n * size_of::<T>());
        let height = plane.height;
        if width == 0 || height == 0 {
            return stream.ticket_after_pending();
        }
        // SAFETY: the caller has checked that all rows are in ranges of buffers of this crate. Device memory waits for
        // the ticket before it is freed, and pinned memory is not returned before the ticket is done.
        stream
            .submit(|| unsafe { raw::aclrtMemcpy2dAsync(target, to, source, from, width, height, kind, stream.raw()) })
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Copies rows of pinned memory to the device. Borrows the pinned memory until the scope ends.
    ///
    /// # Errors
    ///
    /// Fails if a row is wider than its pitch or ends outside its buffer, if the device buffer is on another device
    /// than the stream, in strict mode if it is in use on another stream, or if the runtime rejects the copy.
    ///
    /// ```
    /// # use ascendcl::Plane;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let host = context.alloc_pinned_from_slice(&[1u8, 2, 3, 4])?;
    /// let mut left = context.alloc_zeros::<u8>(2)?;
    /// let plane = Plane { width: 1, height: 2, source_pitch: 2, target_pitch: 1 };
    /// stream.scope(|scope| scope.upload_2d(&host, &mut left, plane))?;
    /// assert_eq!(left.to_vec()?, [1, 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn upload_2d<'a, T: Element>(
        &'scope self,
        source: impl Into<PinnedView<'scope, T>>,
        target: impl Into<ViewMut<'a, T>>,
        plane: Plane,
    ) -> Result<()> {
        let source = source.into();
        Scope::into_result(self.stream().upload_rows(source.start(), source.len(), target.into(), plane))
    }

    /// Copies rows of device memory to pinned memory. Borrows the pinned memory until the scope ends.
    ///
    /// # Errors
    ///
    /// Fails if a row is wider than its pitch or ends outside its buffer, if the device buffer is on another device
    /// than the stream, in strict mode if it is in use on another stream, or if the runtime rejects the copy.
    ///
    /// ```
    /// # use ascendcl::Plane;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let device = context.alloc_from_slice(&[7u8, 8])?;
    /// let mut host = context.alloc_pinned::<u8>(4)?;
    /// let plane = Plane { width: 1, height: 2, source_pitch: 1, target_pitch: 2 };
    /// stream.scope(|scope| scope.download_2d(&device, host.slice_mut(1..), plane))?;
    /// assert_eq!(*host, [0, 7, 0, 8]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn download_2d<'a, T: Element>(
        &'scope self,
        source: impl Into<View<'a, T>>,
        target: impl Into<PinnedViewMut<'scope, T>>,
        plane: Plane,
    ) -> Result<()> {
        let target = target.into();
        Scope::into_result(self.stream().download_rows(source.into(), target.start(), target.len(), plane))
    }
}

impl Plane {
    /// Checks that all rows are inside both sides, which have `source` and `target` elements.
    fn check<T>(&self, function: &'static str, source: usize, target: usize) -> Result<()> {
        let Plane { width, height, source_pitch, target_pitch } = *self;
        for (side, pitch, len) in [("source", source_pitch, source), ("target", target_pitch, target)] {
            if width > pitch {
                let message = format!("the width of {width} elements exceeds the pitch of {pitch} of the {side}");
                return Err(Error::refused(function, message));
            }
            let end = match height.checked_sub(1) {
                Some(rows) => rows.checked_mul(pitch).and_then(|start| start.checked_add(width)),
                None => Some(0),
            };
            let bytes = pitch.checked_mul(size_of::<T>().max(1));
            if bytes.is_none() || end.is_none_or(|end| end > len) {
                let message = format!(
                    "{height} rows of {width} elements at a pitch of {pitch} do not fit into the {len} elements of the \
                     {side}"
                );
                return Err(Error::refused(function, message));
            }
        }
        Ok(())
    }
}
