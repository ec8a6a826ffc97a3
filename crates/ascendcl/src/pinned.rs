//! Pinned host memory: what asynchronous copies read and write.
//!
//! A buffer that a copy uses is inside a [`Transfer`](crate::Transfer), or borrowed by a scope, so whoever can
//! reach its elements is alone with them.

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

/// Elements in pinned host memory. Reads and writes like a slice.
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

// SAFETY: it owns its elements, which are plain values.
unsafe impl<T: Element> Send for PinnedBuffer<T> {}
// SAFETY: as above; shared references only read.
unsafe impl<T: Element> Sync for PinnedBuffer<T> {}

impl Context {
    /// Pinned memory for `len` elements, all zero.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(*context.alloc_pinned::<u8>(4)?, [0; 4]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn alloc_pinned<T: Element>(&self, len: usize) -> Result<PinnedBuffer<T>> {
        let bytes = bytes_of::<T>(len)?;
        // SAFETY: allocating has no conditions; the context is current.
        let memory = self.with_current(|| unsafe { raw::aclrtMallocHost(bytes.max(1)) })?;
        let Some(start) = NonNull::new(memory.cast::<T>()).filter(|start| start.is_aligned()) else {
            return Err(Error::refused("Context::pinned", format!("the runtime allocated {memory:?}")));
        };
        // SAFETY: `bytes` bytes were allocated there just now.
        unsafe { start.cast::<u8>().write_bytes(0, bytes) };
        Ok(PinnedBuffer { start, len, context: self.clone() })
    }

    /// Pinned memory with a copy of a slice.
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
    /// A part of it, to be read by a copy in a [`Scope`](crate::Scope).
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
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> PinnedView<'_, T> {
        let range = range_of(range, self.len);
        // SAFETY: the range is inside, as just checked.
        PinnedView { start: unsafe { self.start.add(range.start) }, len: range.len(), lifetime: PhantomData }
    }

    /// A part of it, to be written by a copy in a [`Scope`](crate::Scope).
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
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> PinnedViewMut<'_, T> {
        let PinnedView { start, len, .. } = self.slice(range);
        PinnedViewMut { start, len, lifetime: PhantomData }
    }

    pub(crate) fn start(&self) -> *mut c_void {
        self.start.as_ptr().cast()
    }
}

/// A borrowed part of a [`PinnedBuffer`], for copies that read it.
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

/// A part of a [`PinnedBuffer`], borrowed for copies that write it.
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

impl<'a, T: Element> PinnedViewMut<'a, T> {
    /// Two parts that do not overlap.
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
    #[track_caller]
    pub fn split_at(self, middle: usize) -> (PinnedViewMut<'a, T>, PinnedViewMut<'a, T>) {
        assert!(middle <= self.len, "cannot split {} elements at {middle}", self.len);
        // SAFETY: inside, as just checked; the two parts do not overlap.
        let right = unsafe { self.start.add(middle) };
        (
            PinnedViewMut { start: self.start, len: middle, lifetime: PhantomData },
            PinnedViewMut { start: right, len: self.len - middle, lifetime: PhantomData },
        )
    }
}

macro_rules! parts {
    ($($part:ident $method:literal),*) => {$(
        impl<T: Element> $part<'_, T> {
            /// How many elements it has.
            ///
            /// ```
            /// # let context = ascendcl::Device::new(0)?.new_context()?;
            /// # let mut host = context.alloc_pinned::<u8>(4)?;
            #[doc = concat!("assert_eq!(host.", $method, "(1..).len(), 3);")]
            /// # Ok::<(), ascendcl::Error>(())
            /// ```
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether it has none.
            ///
            /// ```
            /// # let context = ascendcl::Device::new(0)?.new_context()?;
            /// # let mut host = context.alloc_pinned::<u8>(4)?;
            #[doc = concat!("assert!(host.", $method, "(4..).is_empty());")]
            /// # Ok::<(), ascendcl::Error>(())
            /// ```
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            pub(crate) fn start(&self) -> *mut c_void {
                self.start.as_ptr().cast()
            }
        }

        impl<T: Element> fmt::Debug for $part<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({} {} at {:p})", stringify!($part), self.len, std::any::type_name::<T>(), self.start)
            }
        }
    )*};
}

parts!(PinnedView "slice", PinnedViewMut "slice_mut");

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
        // SAFETY: allocated and zeroed with this length; no copy writes it while it can be reached.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Element> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; no copy reads it either.
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
        // SAFETY: allocated by `pinned` and freed once; a copy that used it is over, for it is out of its transfer.
        let _ = self.context.run(|| unsafe { raw::aclrtFreeHost(self.start()) });
    }
}

/// The size of `len` elements.
pub(crate) fn bytes_of<T>(len: usize) -> Result<usize> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
    bytes
        .ok_or_else(|| Error::refused("allocation", format!("{len} elements of {} bytes are too many", size_of::<T>())))
}

/// The range that was asked for, which must be inside, as with slices.
#[track_caller]
pub(crate) fn range_of(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.checked_add(1).expect("a range starts inside"),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.checked_add(1).expect("a range ends inside"),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "{start}..{end} is not a range of {len} elements");
    start..end
}
