//! Device buffers, their slices, and the tracking of pending uses.
//!
//! A buffer records the work that wrote it last and the work that has read it since, each as a ticket of a stream. New
//! work is ordered after the work that it depends on: by being on the same stream, or by an event. Blocking calls and
//! `Drop` wait for it. Writing requires `&mut`, so `writer` needs no lock; reads may be recorded by several threads.

use crate::context::Context;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::event;
use crate::pinned::{bytes_of, range_of};
use crate::raw;
use crate::stream::StreamInner;
use ascendcl_sys::{ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE};
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, PoisonError};

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

/// A device allocation and its pending uses, independent of the element type.
pub(crate) struct Memory {
    address: usize,
    context: Context,
    writer: Option<PendingUse>,
    readers: Mutex<Vec<PendingUse>>,
}

/// Work of a stream that uses the buffer.
struct PendingUse {
    stream: Arc<StreamInner>,
    ticket: u64,
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
        let bytes = bytes_of::<T>(len)?.max(1);
        // SAFETY: the call has no preconditions; `with_current` sets the context.
        let address = self.with_current(|| unsafe { raw::aclrtMalloc(bytes, ACL_MEM_MALLOC_HUGE_FIRST) })?;
        let memory =
            Memory { address: address as usize, context: self.clone(), writer: None, readers: Mutex::default() };
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
        &self.memory.context
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
                (self.memory.address + self.start * size_of::<T>()) as *mut c_void
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
                write!(f, "{}({element} {}..{end} at {:#x})", stringify!($view), self.start, self.memory.address)
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
        self.memory.context.with_current(|| unsafe { raw::aclrtMemcpy(target.cast(), bytes, source, bytes, to_host) })
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
        self.memory.context.with_current(|| unsafe { raw::aclrtMemcpy(target, bytes, source, bytes, to_device) })
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

impl Memory {
    pub(crate) fn raw(&self) -> *mut c_void {
        self.address as *mut c_void
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Checks that the stream is on the device of the buffer and orders its next work after pending writes.
    #[inline]
    pub(crate) fn prepare_read(&self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        self.check_device(function, stream)?;
        self.wait_for_writes(function, stream)
    }

    /// Checks that the stream is on the device of the buffer and orders its next work after all pending uses.
    #[inline]
    pub(crate) fn prepare_write(&mut self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        self.check_device(function, stream)?;
        self.wait_for_uses(function, stream)
    }

    /// Orders the next work of a stream, of any device, after pending writes of the buffer.
    #[inline]
    pub(crate) fn wait_for_writes(&self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        self.writer.as_ref().map_or(Ok(()), |writer| writer.order_before(function, stream))
    }

    /// Orders the next work of a stream, of any device, after all pending uses of the buffer.
    #[inline]
    pub(crate) fn wait_for_uses(&mut self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        self.wait_for_writes(function, stream)?;
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        readers.iter().try_for_each(|reader| reader.order_before(function, stream))
    }

    /// Records that work of a stream reads the buffer.
    #[inline]
    pub(crate) fn record_read(&self, stream: &Arc<StreamInner>, ticket: u64) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        match readers.iter_mut().find(|reader| Arc::ptr_eq(&reader.stream, stream)) {
            // Another thread may have recorded a later ticket.
            Some(reader) => reader.ticket = reader.ticket.max(ticket),
            None => readers.push(PendingUse { stream: Arc::clone(stream), ticket }),
        }
    }

    /// Records that work of a stream writes the buffer. The work is ordered after all earlier uses and replaces them.
    #[inline]
    pub(crate) fn record_write(&mut self, stream: &Arc<StreamInner>, ticket: u64) {
        match &mut self.writer {
            Some(writer) if Arc::ptr_eq(&writer.stream, stream) => writer.ticket = ticket,
            writer => *writer = Some(PendingUse { stream: Arc::clone(stream), ticket }),
        }
        self.readers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Blocks until no pending work writes the buffer.
    fn wait_until_written(&self) -> Result<()> {
        self.writer.as_ref().map_or(Ok(()), |writer| writer.stream.wait_ticket(writer.ticket))
    }

    /// Blocks until no pending work uses the buffer.
    fn wait_idle(&mut self) -> Result<()> {
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut result = Ok(());
        let is_idle = self.writer.iter().chain(readers.iter()).all(|pending| {
            result = std::mem::replace(&mut result, Ok(())).and(pending.stream.wait_ticket(pending.ticket));
            pending.stream.is_done(pending.ticket)
        });
        if is_idle {
            self.writer = None;
            readers.clear();
        }
        result
    }

    pub(crate) fn check_device(&self, function: &'static str, stream: &StreamInner) -> Result<()> {
        let (own, other) = (self.context.device(), stream.context.device());
        if own == other {
            return Ok(());
        }
        let (own, other) = (own.index(), other.index());
        Err(Error::refused(function, format!("the buffer is on device {own}, the stream is on device {other}")))
    }
}

impl PendingUse {
    /// Orders the next work of a stream after this use. Does nothing if it is on the same stream or done.
    #[inline]
    fn order_before(&self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        if Arc::ptr_eq(&self.stream, stream) || self.stream.is_done(self.ticket) {
            return Ok(());
        }
        self.order(function, stream)
    }

    /// Inserts an event wait, or returns an error in strict mode.
    #[cold]
    fn order(&self, function: &'static str, stream: &Arc<StreamInner>) -> Result<()> {
        if stream.context.is_strict() {
            let message = "the buffer is in use on another stream, and strict mode is on: wait for that work first";
            return Err(Error::refused(function, message.to_owned()));
        }
        let ordered = event::order(&self.stream, stream);
        if ordered.is_err() && self.stream.context.device() != stream.context.device() {
            // Waiting for an event of another device is not documented to work. The host can wait instead.
            self.stream.wait_ignoring_errors(self.ticket);
            return if self.stream.is_done(self.ticket) { Ok(()) } else { ordered };
        }
        ordered
    }
}

impl<T: Element> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let element = std::any::type_name::<T>();
        write!(f, "DeviceBuffer({} {element} at {:#x} of {:?})", self.len, self.memory.address, self.memory.context)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        let is_unused = self.writer.iter().chain(readers.iter()).all(|pending| {
            pending.stream.wait_ignoring_errors(pending.ticket);
            pending.stream.is_done(pending.ticket)
        });
        if is_unused {
            // SAFETY: allocated by `alloc_uninit`, freed once, and no work uses it. Otherwise it is leaked.
            let _ = self.context.with_current(|| unsafe { raw::aclrtFree(self.raw()) });
        }
    }
}
