//! Copies of rows: a part of each row of a matrix, between memory whose rows have different lengths.

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

/// Which elements a copy of rows takes: `height` rows of `width` elements, whose beginnings are a pitch apart. All
/// numbers are elements, not bytes. What lies between the rows of the target stays as it is.
///
/// Where the rows begin is said by the part of the buffer that is given.
///
/// ```
/// use ascendcl::Plane;
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// # let stream = context.new_stream()?;
///
/// // Two rows of three come into the middle of a matrix with rows of eight.
/// let mut matrix = context.alloc_zeros::<u8>(4 * 8)?;
/// let plane = Plane { width: 3, height: 2, source_pitch: 3, target_pitch: 8 };
/// stream.upload_2d(context.alloc_pinned_from_slice(&[1, 2, 3, 4, 5, 6])?, matrix.slice_mut(8 + 2..), plane)?.wait()?;
/// assert_eq!(matrix.slice(8..24).to_vec()?, [0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 4, 5, 6, 0, 0, 0]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plane {
    /// How many elements of each row are copied.
    pub width: usize,
    /// How many rows there are.
    pub height: usize,
    /// From the beginning of a row of the source to the next.
    pub source_pitch: usize,
    /// From the beginning of a row of the target to the next.
    pub target_pitch: usize,
}

impl Stream {
    /// Copies rows of pinned memory to the device. The pinned buffer is away until the copy is over, as in
    /// [`upload`](Stream::upload).
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
        let work = self.upload_rows(source.start(), source.len(), target.into(), plane);
        Transfer::of(self, work, source, Location::caller())
    }

    /// Copies rows of device memory to pinned memory. The pinned buffer is away until the copy is over.
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
        let work = self.download_rows(source.into(), target.start(), target.len(), plane);
        Transfer::of(self, work, target, Location::caller())
    }

    /// Copies rows within the memory of the device. Not every chip can: the error then says so.
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
        let place = Location::caller();
        let mut run = || {
            plane.check::<T>(NAME, source.len(), target.len())?;
            source.memory.prepare_read(NAME, &self.0)?;
            target.memory.prepare_write(NAME, &self.0)?;
            let work = self.hand_over_rows::<T>(target.address(), source.address(), plane, ACL_MEMCPY_DEVICE_TO_DEVICE);
            source.memory.record_read(&self.0, work.ticket);
            target.memory.record_write(&self.0, work.ticket);
            work.result
        };
        run().map_err(|error| error.at(place))
    }

    /// Queues a copy from pinned memory, which must stay until the ticket is done.
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
        let work = self.hand_over_rows::<T>(target.address(), source, plane, ACL_MEMCPY_HOST_TO_DEVICE);
        target.memory.record_write(&self.0, work.ticket);
        work
    }

    /// Queues a copy to pinned memory, which must stay until the ticket is done.
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
        let work = self.hand_over_rows::<T>(target, source.address(), plane, ACL_MEMCPY_DEVICE_TO_HOST);
        source.memory.record_read(&self.0, work.ticket);
        work
    }

    /// The plane was checked for both sides.
    fn hand_over_rows<T>(&self, target: *mut c_void, source: *mut c_void, plane: Plane, kind: i32) -> Submission {
        let lane = &*self.0;
        let [width, from, to] = [plane.width, plane.source_pitch, plane.target_pitch].map(|n| n * size_of::<T>());
        let height = plane.height;
        if width == 0 || height == 0 {
            return lane.ticket_after_pending();
        }
        // SAFETY: all rows are in ranges of buffers of this crate, as was checked: device memory waits for the ticket
        // before it ends, and pinned memory is given back to nobody before it is done.
        lane.submit(|| unsafe { raw::aclrtMemcpy2dAsync(target, to, source, from, width, height, kind, lane.raw()) })
    }
}

impl<'scope> Scope<'scope, '_> {
    /// As [`Stream::upload_2d`], and borrows the memory until the scope ends.
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

    /// As [`Stream::download_2d`], and borrows the memory until the scope ends.
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
    /// Whether all rows lie in both sides, which have these numbers of elements.
    fn check<T>(&self, function: &'static str, source: usize, target: usize) -> Result<()> {
        let Plane { width, height, source_pitch, target_pitch } = *self;
        for (side, pitch, len) in [("source", source_pitch, source), ("target", target_pitch, target)] {
            if width > pitch {
                let why = format!("the rows of the {side} are {pitch} elements apart, and {width} of each are copied");
                return Err(Error::refused(function, why));
            }
            let end = match height.checked_sub(1) {
                Some(rows) => rows.checked_mul(pitch).and_then(|start| start.checked_add(width)),
                None => Some(0),
            };
            let bytes = pitch.checked_mul(size_of::<T>().max(1));
            if bytes.is_none() || end.is_none_or(|end| end > len) {
                let why =
                    format!("{height} rows that are {pitch} elements apart do not fit into the {side} with {len}");
                return Err(Error::refused(function, why));
            }
        }
        Ok(())
    }
}
