//! Device buffers and their slices, with blocking copies. Pending uses are tracked in `memory`, asynchronous copies are
//! in `copy`.

use crate::context::Context;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::pinned::{bytes_of, range_of};
use crate::raw;
use ascendcl_sys::{ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE};
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

/// A buffer of elements in device memory.
///
/// Its methods block: they wait for pending work on the buffer and copy from or to ordinary (pageable) memory.
/// Asynchronous copies are methods of [`Stream`](crate::Stream) and take pinned memory.
///
/// A buffer is `Send` and `Sync`. Dropping it waits for its pending uses. If a wait cannot confirm that the memory is
/// unused, because the device is lost, the memory is leaked.
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let mut buffer = context.alloc_from_slice(&[1, 2, 3])?;
/// buffer.slice_mut(1..).copy_from_slice(&[5, 6])?;
/// assert_eq!(buffer.to_vec()?, [1, 5, 6]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub struct DeviceBuffer<T: Element> {
    memory: Memory,
    len: usize,
    element: PhantomData<T>,
}

impl Context {
    /// Allocates `len` elements of device memory, filled with zeros.
    ///
    /// # Errors
    ///
    /// Fails with [`OutOfMemory`](crate::ErrorKind::OutOfMemory) if the device has not enough memory, and if the device
    /// is lost.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.alloc_zeros::<u16>(3)?.to_vec()?, [0; 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn alloc_zeros<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let buffer = self.alloc_uninit::<T>(len)?;
        let (address, bytes) = (buffer.memory.raw(), len * size_of::<T>());
        if bytes > 0 {
            // SAFETY: `buffer` has `bytes` bytes, and no work uses it yet.
            self.with_current(|| unsafe { raw::aclrtMemset(address, bytes, 0, bytes) })?;
        }
        Ok(buffer)
    }

    /// Allocates `len` elements of device memory with unspecified contents. Write before reading.
    ///
    /// # Errors
    ///
    /// Fails with [`OutOfMemory`](crate::ErrorKind::OutOfMemory) if the device has not enough memory, and if the device
    /// is lost.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let mut buffer = context.alloc_uninit::<u32>(3)?;
    /// buffer.copy_from_slice(&[1, 2, 3])?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn alloc_uninit<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let memory = Memory::alloc(self, bytes_of::<T>(len)?)?;
        Ok(DeviceBuffer { memory, len, element: PhantomData })
    }

    /// Allocates device memory and copies a slice into it. Blocks until the copy has finished.
    ///
    /// # Errors
    ///
    /// Fails with [`OutOfMemory`](crate::ErrorKind::OutOfMemory) if the device has not enough memory, if the device is
    /// lost, or if the copy fails.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.alloc_from_slice(&[1.0, 2.0])?.to_vec()?, [1.0, 2.0]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn alloc_from_slice<T: Element>(&self, elements: &[T]) -> Result<DeviceBuffer<T>> {
        let mut buffer = self.alloc_uninit(elements.len())?;
        buffer.copy_from_slice(elements)?;
        Ok(buffer)
    }
}

impl<T: Element> DeviceBuffer<T> {
    /// Returns the number of elements.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.alloc_zeros::<u64>(3)?.len(), 3);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if the buffer has no elements.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert!(context.alloc_zeros::<u8>(0)?.is_empty());
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the context in which the buffer was allocated.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.alloc_zeros::<u8>(1)?.context(), &context);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn context(&self) -> &Context {
        self.memory.context()
    }

    /// Returns the device address, for functions of [`raw`], such as kernel launches.
    ///
    /// The buffer does not track work that C calls queue. The caller must order such work and keep the buffer alive
    /// until it has finished.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert!(!context.alloc_zeros::<u8>(8)?.as_raw().is_null());
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn as_raw(&self) -> *mut c_void {
        self.memory.raw()
    }

    /// Returns a slice of the buffer for reading.
    ///
    /// # Panics
    ///
    /// Panics if the range is not inside the buffer.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let buffer = context.alloc_from_slice(&[1, 2, 3])?;
    /// assert_eq!(buffer.slice(1..).to_vec()?, [2, 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> View<'_, T> {
        let range = range_of(range, self.len);
        View { memory: &self.memory, start: range.start, len: range.len(), element: PhantomData }
    }

    /// Returns a slice of the buffer for writing.
    ///
    /// # Panics
    ///
    /// Panics if the range is not inside the buffer.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let mut buffer = context.alloc_zeros::<u8>(3)?;
    /// context.new_stream()?.fill(buffer.slice_mut(..2), 9)?;
    /// assert_eq!(buffer.to_vec()?, [9, 9, 0]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> ViewMut<'_, T> {
        let range = range_of(range, self.len);
        ViewMut { memory: &mut self.memory, start: range.start, len: range.len(), element: PhantomData }
    }

    /// Copies a slice into the buffer. Waits for pending uses of the buffer and for the copy.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if pending work on the buffer failed, or if the copy fails.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let mut buffer = context.alloc_zeros::<u8>(2)?;
    /// buffer.copy_from_slice(&[1, 2])?;
    /// assert!(buffer.copy_from_slice(&[1, 2, 3]).is_err());
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn copy_from_slice(&mut self, source: &[T]) -> Result<()> {
        self.slice_mut(..).copy_from_slice(source)
    }

    /// Copies the buffer into a slice. Waits for pending writes of the buffer and for the copy.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if a pending write of the buffer failed, or if the copy fails.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let mut elements = [0; 3];
    /// context.alloc_from_slice(&[1, 2, 3])?.copy_to_slice(&mut elements)?;
    /// assert_eq!(elements, [1, 2, 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn copy_to_slice(&self, target: &mut [T]) -> Result<()> {
        self.slice(..).copy_to_slice(target)
    }

    /// Copies the buffer into a vector. Waits for pending writes of the buffer and for the copy.
    ///
    /// # Errors
    ///
    /// Fails if a pending write of the buffer failed, or if the copy fails.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.alloc_zeros::<i8>(2)?.to_vec()?, [0, 0]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.slice(..).to_vec()
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

/// A slice of a [`DeviceBuffer`] for reading. Created by [`DeviceBuffer::slice`].
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let buffer = context.alloc_from_slice(&[1, 2, 3])?;
/// let view = buffer.slice(1..);
/// assert_eq!((view.len(), view.is_empty()), (2, false));
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct View<'a, T: Element> {
    pub(crate) memory: &'a Memory,
    start: usize,
    len: usize,
    element: PhantomData<T>,
}

/// A slice of a [`DeviceBuffer`] for writing. Created by [`DeviceBuffer::slice_mut`].
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let mut buffer = context.alloc_zeros::<u8>(3)?;
/// buffer.slice_mut(1..).copy_from_slice(&[7, 8])?;
/// assert_eq!(buffer.to_vec()?, [0, 7, 8]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub struct ViewMut<'a, T: Element> {
    pub(crate) memory: &'a mut Memory,
    start: usize,
    len: usize,
    element: PhantomData<T>,
}

macro_rules! views {
    ($($view:ident $slice:literal),*) => {$(
        impl<T: Element> $view<'_, T> {
            /// Returns the number of elements.
            ///
            /// ```
            /// # let context = ascendcl::Device::new(0)?.new_context()?;
            /// # let mut buffer = context.alloc_zeros::<u8>(4)?;
            #[doc = concat!("assert_eq!(buffer.", $slice, "(1..).len(), 3);")]
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
            /// # let mut buffer = context.alloc_zeros::<u8>(4)?;
            #[doc = concat!("assert!(buffer.", $slice, "(4..).is_empty());")]
            /// # Ok::<(), ascendcl::Error>(())
            /// ```
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            #[inline]
            pub(crate) fn bytes(&self) -> usize {
                self.len * size_of::<T>()
            }

            #[inline]
            pub(crate) fn address(&self) -> *mut c_void {
                self.memory.raw().wrapping_byte_add(self.start * size_of::<T>())
            }

            fn check_len(&self, function: &'static str, len: usize) -> Result<()> {
                if len == self.len {
                    return Ok(());
                }
                let message = format!("the device slice has {} elements, the host slice has {len}", self.len);
                Err(Error::refused(function, message))
            }
        }

        impl<T: Element> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (element, end) = (std::any::type_name::<T>(), self.start + self.len);
                write!(f, "{}({element} {}..{end} at {:p})", stringify!($view), self.start, self.memory.raw())
            }
        }
    )*};
}

views!(View "slice", ViewMut "slice_mut");

impl<T: Element> View<'_, T> {
    /// Copies the elements into a host slice. Waits for pending writes of the buffer and for the copy.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if a pending write of the buffer failed, or if the copy fails.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let mut two = [0; 2];
    /// context.alloc_from_slice(&[1, 2, 3])?.slice(1..).copy_to_slice(&mut two)?;
    /// assert_eq!(two, [2, 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn copy_to_slice(&self, target: &mut [T]) -> Result<()> {
        self.check_len("copy_to_slice", target.len())?;
        // SAFETY: the slice has `self.len` elements, and every bit pattern is a valid element.
        unsafe { self.copy_to(target.as_mut_ptr()) }
    }

    /// Copies all elements to a host address. Blocks until the copy has finished.
    ///
    /// # Safety
    ///
    /// `target` must be valid for writes of `self.len` elements.
    unsafe fn copy_to(&self, target: *mut T) -> Result<()> {
        self.memory.wait_until_written()?;
        let (bytes, source, to_host) = (self.bytes(), self.address(), ACL_MEMCPY_DEVICE_TO_HOST);
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: both sides have `bytes` bytes (for `target`, the caller guarantees it), and the call returns after
        // the copy has finished.
        self.memory.context().with_current(|| unsafe { raw::aclrtMemcpy(target.cast(), bytes, source, bytes, to_host) })
    }

    /// Copies the elements into a vector. Waits for pending writes of the buffer and for the copy.
    ///
    /// # Errors
    ///
    /// Fails if a pending write of the buffer failed, or if the copy fails.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.alloc_from_slice(&[1, 2, 3])?.slice(..1).to_vec()?, [1]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut elements = Vec::with_capacity(self.len);
        // SAFETY: the vector has capacity for `self.len` elements.
        unsafe { self.copy_to(elements.as_mut_ptr()) }?;
        // SAFETY: `copy_to` has written `self.len` elements, and every bit pattern is a valid element.
        unsafe { elements.set_len(self.len) };
        Ok(elements)
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// Copies a host slice into the device slice. Waits for pending uses of the buffer and for the copy.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if pending work on the buffer failed, or if the copy fails.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// context.alloc_zeros::<u8>(3)?.slice_mut(..2).copy_from_slice(&[1, 2])?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn copy_from_slice(&mut self, source: &[T]) -> Result<()> {
        self.check_len("copy_from_slice", source.len())?;
        self.memory.wait_idle()?;
        let bytes = self.bytes();
        if bytes == 0 {
            return Ok(());
        }
        let to_device = ACL_MEMCPY_HOST_TO_DEVICE;
        let (target, source) = (self.address(), source.as_ptr().cast());
        // SAFETY: both sides have `bytes` bytes, and the call returns after the copy has finished.
        self.memory.context().with_current(|| unsafe { raw::aclrtMemcpy(target, bytes, source, bytes, to_device) })
    }
}

impl<'a, T: Element> From<&'a DeviceBuffer<T>> for View<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> View<'a, T> {
        buffer.slice(..)
    }
}

impl<'a, T: Element> From<&'a mut DeviceBuffer<T>> for ViewMut<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> ViewMut<'a, T> {
        buffer.slice_mut(..)
    }
}

impl<T: Element> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let element = std::any::type_name::<T>();
        write!(f, "DeviceBuffer({} {element} at {:p} of {:?})", self.len, self.memory.raw(), self.memory.context())
    }
}
