//! Pinned host memory, which asynchronous copies read and write.
//!
//! While a copy uses a buffer, a [`Transfer`](crate::Transfer) owns it or a scope borrows it. Code that can access the
//! elements therefore never races with a copy.

use crate::context::Context;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::raw;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Deref, DerefMut, Range, RangeBounds};
use std::ptr::NonNull;
use std::slice;

/// A buffer of elements in pinned host memory. Dereferences to a slice.
///
/// A pinned buffer is `Send` and `Sync`.
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let mut host = context.alloc_pinned::<f32>(1024)?;
/// host[3] = 1.5;
/// assert_eq!(host.iter().sum::<f32>(), 1.5);
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub struct PinnedBuffer<T: Element> {
    start: NonNull<T>,
    len: usize,
    context: Context,
}

// SAFETY: the buffer owns its elements, which are `Send`.
unsafe impl<T: Element> Send for PinnedBuffer<T> {}
// SAFETY: shared references only read the elements, which are `Sync`.
unsafe impl<T: Element> Sync for PinnedBuffer<T> {}

impl Context {
    /// Allocates `len` elements of pinned memory, filled with zeros.
    ///
    /// # Errors
    ///
    /// Fails with [`OutOfMemory`](crate::ErrorKind::OutOfMemory) if the host has not enough memory that can be pinned.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(*context.alloc_pinned::<u8>(4)?, [0; 4]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn alloc_pinned<T: Element>(&self, len: usize) -> Result<PinnedBuffer<T>> {
        let bytes = bytes_of::<T>(len)?;
        // SAFETY: the call has no preconditions; `with_current` sets the context.
        let memory = self.with_current(|| unsafe { raw::aclrtMallocHost(bytes.max(1)) })?;
        let Some(start) = NonNull::new(memory.cast::<T>()).filter(|start| start.is_aligned()) else {
            return Err(Error::refused(
                "Context::alloc_pinned",
                format!("the runtime returned the address {memory:?}"),
            ));
        };
        // SAFETY: the allocation has at least `bytes` bytes.
        unsafe { start.cast::<u8>().write_bytes(0, bytes) };
        Ok(PinnedBuffer { start, len, context: self.clone() })
    }

    /// Allocates pinned memory and copies a slice into it.
    ///
    /// # Errors
    ///
    /// Fails with [`OutOfMemory`](crate::ErrorKind::OutOfMemory) if the host has not enough memory that can be pinned.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(*context.alloc_pinned_from_slice(&[1, 2, 3])?, [1, 2, 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn alloc_pinned_from_slice<T: Element>(&self, elements: &[T]) -> Result<PinnedBuffer<T>> {
        let mut buffer = self.alloc_pinned(elements.len())?;
        buffer.copy_from_slice(elements);
        Ok(buffer)
    }
}

impl<T: Element> PinnedBuffer<T> {
    /// Returns a slice that a copy in a [`Scope`](crate::Scope) can read.
    ///
    /// # Panics
    ///
    /// Panics if the range is not inside the buffer.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let host = context.alloc_pinned_from_slice(&[1u8, 2, 3, 4])?;
    /// let mut pair = context.alloc_zeros::<u8>(2)?;
    /// stream.scope(|scope| scope.upload(host.slice(2..), &mut pair))?;
    /// assert_eq!(pair.to_vec()?, [3, 4]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> PinnedView<'_, T> {
        let range = range_of(range, self.len);
        // SAFETY: `range_of` has checked that the range is inside the buffer.
        PinnedView { start: unsafe { self.start.add(range.start) }, len: range.len(), lifetime: PhantomData }
    }

    /// Returns a slice that a copy in a [`Scope`](crate::Scope) can write.
    ///
    /// # Panics
    ///
    /// Panics if the range is not inside the buffer.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let device = context.alloc_from_slice(&[7u8, 8])?;
    /// let mut host = context.alloc_pinned::<u8>(4)?;
    /// stream.scope(|scope| scope.download(&device, host.slice_mut(1..3)))?;
    /// assert_eq!(*host, [0, 7, 8, 0]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> PinnedViewMut<'_, T> {
        let PinnedView { start, len, .. } = self.slice(range);
        PinnedViewMut { start, len, lifetime: PhantomData }
    }

    /// Returns the address, for functions of [`raw`].
    ///
    /// The caller must keep the buffer alive, and must not access its elements in conflict with the work that uses the
    /// address, until that work has finished.
    ///
    /// ```
    /// use ascendcl::{raw, sys};
    ///
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let host = context.alloc_pinned_from_slice(&[1u8, 2, 3])?;
    /// let device = context.alloc_zeros::<u8>(3)?;
    /// // SAFETY: both buffers have 3 bytes and exist until the stream was waited for.
    /// unsafe {
    ///     let (to, from, kind) = (device.as_raw(), host.as_raw(), sys::ACL_MEMCPY_HOST_TO_DEVICE);
    ///     raw::aclrtMemcpyAsync(to, 3, from, 3, kind, stream.as_raw())?;
    /// }
    /// stream.synchronize()?;
    /// assert_eq!(device.to_vec()?, *host);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn as_raw(&self) -> *mut c_void {
        self.start.as_ptr().cast()
    }
}

/// A slice of a [`PinnedBuffer`] for copies that read it. Created by [`PinnedBuffer::slice`].
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let host = context.alloc_pinned::<u8>(8)?;
/// assert_eq!(host.slice(2..4).len(), 2);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct PinnedView<'a, T: Element> {
    start: NonNull<T>,
    len: usize,
    lifetime: PhantomData<&'a [T]>,
}

/// A slice of a [`PinnedBuffer`] for copies that write it. Created by [`PinnedBuffer::slice_mut`].
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let mut host = context.alloc_pinned::<u8>(8)?;
/// let (left, right) = host.slice_mut(..).split_at(6);
/// assert_eq!((left.len(), right.len()), (6, 2));
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub struct PinnedViewMut<'a, T: Element> {
    start: NonNull<T>,
    len: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

// SAFETY: a `PinnedView` is equivalent to `&[T]`, and elements are `Sync`.
unsafe impl<T: Element> Send for PinnedView<'_, T> {}
// SAFETY: a `PinnedView` is equivalent to `&[T]`, and elements are `Sync`.
unsafe impl<T: Element> Sync for PinnedView<'_, T> {}
// SAFETY: a `PinnedViewMut` is equivalent to `&mut [T]`, and elements are `Send`.
unsafe impl<T: Element> Send for PinnedViewMut<'_, T> {}
// SAFETY: a shared reference to a `PinnedViewMut` gives no access to the elements.
unsafe impl<T: Element> Sync for PinnedViewMut<'_, T> {}

impl<'a, T: Element> PinnedViewMut<'a, T> {
    /// Divides the slice into two at an index, so that two copies can write to one buffer.
    ///
    /// # Panics
    ///
    /// Panics if `middle` is greater than the length.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// let (ones, twos) = (context.alloc_from_slice(&[1u8; 2])?, context.alloc_from_slice(&[2u8; 2])?);
    /// let mut host = context.alloc_pinned::<u8>(4)?;
    /// let (left, right) = host.slice_mut(..).split_at(2);
    /// stream.scope(|scope| {
    ///     scope.download(&ones, left)?;
    ///     scope.download(&twos, right)
    /// })?;
    /// assert_eq!(*host, [1, 1, 2, 2]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn split_at(self, middle: usize) -> (PinnedViewMut<'a, T>, PinnedViewMut<'a, T>) {
        assert!(middle <= self.len, "cannot split {} elements at {middle}", self.len);
        // SAFETY: `middle` is inside the slice or at its end. The two results do not overlap.
        let right = unsafe { self.start.add(middle) };
        (
            PinnedViewMut { start: self.start, len: middle, lifetime: PhantomData },
            PinnedViewMut { start: right, len: self.len - middle, lifetime: PhantomData },
        )
    }
}

macro_rules! pinned_views {
    ($($view:ident $method:literal),*) => {$(
        impl<T: Element> $view<'_, T> {
            /// Returns the number of elements.
            ///
            /// ```
            /// # let context = ascendcl::Device::new(0)?.new_context()?;
            /// # let mut host = context.alloc_pinned::<u8>(4)?;
            #[doc = concat!("assert_eq!(host.", $method, "(1..).len(), 3);")]
            /// # Ok::<(), ascendcl::Error>(())
            /// ```
            #[must_use]
            pub fn len(&self) -> usize {
                self.len
            }

            /// Returns `true` if the slice has no elements.
            ///
            /// ```
            /// # let context = ascendcl::Device::new(0)?.new_context()?;
            /// # let mut host = context.alloc_pinned::<u8>(4)?;
            #[doc = concat!("assert!(host.", $method, "(4..).is_empty());")]
            /// # Ok::<(), ascendcl::Error>(())
            /// ```
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            pub(crate) fn start(&self) -> *mut c_void {
                self.start.as_ptr().cast()
            }
        }

        impl<T: Element> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({} {} at {:p})", stringify!($view), self.len, std::any::type_name::<T>(), self.start)
            }
        }
    )*};
}

pinned_views!(PinnedView "slice", PinnedViewMut "slice_mut");

impl<'a, T: Element> From<&'a PinnedBuffer<T>> for PinnedView<'a, T> {
    fn from(buffer: &'a PinnedBuffer<T>) -> PinnedView<'a, T> {
        buffer.slice(..)
    }
}

impl<'a, T: Element> From<&'a mut PinnedBuffer<T>> for PinnedViewMut<'a, T> {
    fn from(buffer: &'a mut PinnedBuffer<T>) -> PinnedViewMut<'a, T> {
        buffer.slice_mut(..)
    }
}

impl<T: Element> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: allocated and zeroed with this length. No copy writes the elements while they can be accessed: a
        // transfer would own the buffer, or a scope borrow it.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Element> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: allocated and zeroed with this length. No copy uses the elements while they can be accessed: a
        // transfer would own the buffer, or a scope borrow it.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: Element> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        // SAFETY: allocated by `alloc_pinned` and freed once. No copy uses the memory: a transfer or the stream would
        // own the buffer, or a scope borrow it.
        let _ = self.context.run(|| unsafe { raw::aclrtFreeHost(self.as_raw()) });
    }
}

/// Returns the size of `len` elements in bytes, or an error if it exceeds `isize::MAX`.
pub(crate) fn bytes_of<T>(len: usize) -> Result<usize> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
    bytes.ok_or_else(|| {
        Error::refused("allocation", format!("{len} elements of {} bytes exceed the address space", size_of::<T>()))
    })
}

/// Resolves a range of a buffer with `len` elements. Panics if it is not inside, as indexing a slice does.
#[track_caller]
pub(crate) fn range_of(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.checked_add(1).expect("the start of the range overflows"),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.checked_add(1).expect("the end of the range overflows"),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "range {start}..{end} is out of bounds for a buffer of {len} elements");
    start..end
}
