//! Device memory, and which streams are using it.
//!
//! A buffer remembers the work that wrote it last and the work that has read it since, each as a ticket of a stream.
//! New work follows what it depends on: by being on the same stream, or by an event. Blocking calls and the end of
//! the buffer wait for it. Writing needs `&mut`, so `writer` needs no lock; readers may come from many threads.

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

/// Elements in the memory of a device.
///
/// The methods here block: they wait for the work that uses the buffer, and copy from or to ordinary (pageable)
/// memory. Asynchronous copies are methods of [`Stream`](crate::Stream), and take pinned memory.
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
    kind: PhantomData<T>,
}

/// An allocation, whatever is in it.
pub(crate) struct Memory {
    address: usize,
    context: Context,
    writer: Option<PendingUse>,
    readers: Mutex<Vec<PendingUse>>,
}

/// Work of a stream that uses memory.
struct PendingUse {
    lane: Arc<StreamInner>,
    ticket: u64,
}

impl Context {
    /// Device memory for `len` elements, all zero.
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
            // SAFETY: memory of this size, allocated just now.
            self.with_current(|| unsafe { raw::aclrtMemset(address, bytes, 0, bytes) })?;
        }
        Ok(buffer)
    }

    /// Device memory for `len` elements, with whatever was there before: for memory that is written first.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let mut buffer = context.alloc_uninit::<u32>(3)?;
    /// buffer.copy_from_slice(&[1, 2, 3])?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn alloc_uninit<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = bytes_of::<T>(len)?.max(1);
        // SAFETY: allocating has no conditions; the context is current.
        let address = self.with_current(|| unsafe { raw::aclrtMalloc(bytes, ACL_MEM_MALLOC_HUGE_FIRST) })?;
        let memory =
            Memory { address: address as usize, context: self.clone(), writer: None, readers: Mutex::default() };
        Ok(DeviceBuffer { memory, len, kind: PhantomData })
    }

    /// Device memory with a copy of a slice. Blocks.
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
    /// How many elements it has.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.alloc_zeros::<u64>(3)?.len(), 3);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert!(context.alloc_zeros::<u8>(0)?.is_empty());
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The context that it was made in.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.alloc_zeros::<u8>(1)?.context(), &context);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn context(&self) -> &Context {
        &self.memory.context
    }

    /// Its address on the device, for calls of the C interface beside this crate: kernels, for one. The buffer does
    /// not know such work; whoever calls keeps it in order, and the buffer alive.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert!(!context.alloc_zeros::<u8>(8)?.as_raw().is_null());
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn as_raw(&self) -> *mut c_void {
        self.memory.raw()
    }

    /// A part of it, for reading.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let buffer = context.alloc_from_slice(&[1, 2, 3])?;
    /// assert_eq!(buffer.slice(1..).to_vec()?, [2, 3]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> View<'_, T> {
        let range = range_of(range, self.len);
        View { memory: &self.memory, start: range.start, len: range.len(), kind: PhantomData }
    }

    /// A part of it, for writing.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let mut buffer = context.alloc_zeros::<u8>(3)?;
    /// context.new_stream()?.fill(buffer.slice_mut(..2), 9)?;
    /// assert_eq!(buffer.to_vec()?, [9, 9, 0]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> ViewMut<'_, T> {
        let range = range_of(range, self.len);
        ViewMut { memory: &mut self.memory, start: range.start, len: range.len(), kind: PhantomData }
    }

    /// Copies a slice into it. Blocks. The lengths must be the same.
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

    /// Copies it into a slice. Blocks. The lengths must be the same.
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

    /// Copies it into a vector. Blocks.
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

/// A part of a [`DeviceBuffer`], for reading.
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let buffer = context.alloc_from_slice(&[1, 2, 3])?;
/// let part = buffer.slice(1..);
/// assert_eq!((part.len(), part.is_empty()), (2, false));
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub struct View<'a, T: Element> {
    pub(crate) memory: &'a Memory,
    start: usize,
    len: usize,
    kind: PhantomData<T>,
}

/// A part of a [`DeviceBuffer`], for writing.
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
    kind: PhantomData<T>,
}

macro_rules! views {
    ($($view:ident $slice:literal),*) => {$(
        impl<T: Element> $view<'_, T> {
            /// How many elements it has.
            ///
            /// ```
            /// # let context = ascendcl::Device::new(0)?.new_context()?;
            /// # let mut buffer = context.alloc_zeros::<u8>(4)?;
            #[doc = concat!("assert_eq!(buffer.", $slice, "(1..).len(), 3);")]
            /// # Ok::<(), ascendcl::Error>(())
            /// ```
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether it has none.
            ///
            /// ```
            /// # let context = ascendcl::Device::new(0)?.new_context()?;
            /// # let mut buffer = context.alloc_zeros::<u8>(4)?;
            #[doc = concat!("assert!(buffer.", $slice, "(4..).is_empty());")]
            /// # Ok::<(), ascendcl::Error>(())
            /// ```
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
                Err(Error::refused(function, format!("the part of the buffer has {} elements, the slice {len}", self.len)))
            }
        }

        impl<T: Element> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (kind, end) = (std::any::type_name::<T>(), self.start + self.len);
                write!(f, "{}({kind} {}..{end} at {:#x})", stringify!($view), self.start, self.memory.address)
            }
        }
    )*};
}

views!(View "slice", ViewMut "slice_mut");

impl<T: Element> View<'_, T> {
    /// As [`DeviceBuffer::copy_to_slice`].
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
        // SAFETY: the slice has as many elements, any bytes of which are values.
        unsafe { self.copy_to(target.as_mut_ptr()) }
    }

    /// Copies all elements to a place on the host. Blocks.
    ///
    /// # Safety
    ///
    /// The place must have room for them, and may be written.
    unsafe fn copy_to(&self, target: *mut T) -> Result<()> {
        self.memory.wait_for_own_writes()?;
        let (bytes, source, to_host) = (self.bytes(), self.address(), ACL_MEMCPY_DEVICE_TO_HOST);
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: both have `bytes` bytes, as the caller promises; the call returns when the copy is over.
        self.memory.context.with_current(|| unsafe { raw::aclrtMemcpy(target.cast(), bytes, source, bytes, to_host) })
    }

    /// As [`DeviceBuffer::to_vec`].
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.alloc_from_slice(&[1, 2, 3])?.slice(..1).to_vec()?, [1]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut elements = Vec::with_capacity(self.len);
        // SAFETY: the vector has room for as many.
        unsafe { self.copy_to(elements.as_mut_ptr()) }?;
        // SAFETY: they were written, and any bytes are elements.
        unsafe { elements.set_len(self.len) };
        Ok(elements)
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// As [`DeviceBuffer::copy_from_slice`].
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
        // SAFETY: both have `bytes` bytes; the call returns when the copy is over.
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

    /// Makes the next work of a stream of this device come after what wrote this.
    #[inline]
    pub(crate) fn prepare_read(&self, function: &'static str, lane: &Arc<StreamInner>) -> Result<()> {
        self.check_device(function, lane)?;
        self.wait_for_writes(function, lane)
    }

    /// Makes the next work of a stream of this device come after everything that uses this.
    #[inline]
    pub(crate) fn prepare_write(&mut self, function: &'static str, lane: &Arc<StreamInner>) -> Result<()> {
        self.check_device(function, lane)?;
        self.wait_for_uses(function, lane)
    }

    /// Makes the next work of a stream, of whatever device, come after what wrote this.
    #[inline]
    pub(crate) fn wait_for_writes(&self, function: &'static str, lane: &Arc<StreamInner>) -> Result<()> {
        self.writer.as_ref().map_or(Ok(()), |writer| writer.order_before(function, lane))
    }

    /// Makes the next work of a stream, of whatever device, come after everything that uses this.
    #[inline]
    pub(crate) fn wait_for_uses(&mut self, function: &'static str, lane: &Arc<StreamInner>) -> Result<()> {
        self.wait_for_writes(function, lane)?;
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        readers.iter().try_for_each(|reader| reader.order_before(function, lane))
    }

    /// Notes that work of a stream reads this.
    #[inline]
    pub(crate) fn record_read(&self, lane: &Arc<StreamInner>, ticket: u64) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        match readers.iter_mut().find(|reader| Arc::ptr_eq(&reader.lane, lane)) {
            // Another thread may have come with a later one.
            Some(reader) => reader.ticket = reader.ticket.max(ticket),
            None => readers.push(PendingUse { lane: Arc::clone(lane), ticket }),
        }
    }

    /// Notes that work of a stream writes this; it comes after everything else.
    #[inline]
    pub(crate) fn record_write(&mut self, lane: &Arc<StreamInner>, ticket: u64) {
        match &mut self.writer {
            Some(writer) if Arc::ptr_eq(&writer.lane, lane) => writer.ticket = ticket,
            writer => *writer = Some(PendingUse { lane: Arc::clone(lane), ticket }),
        }
        self.readers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Waits until nothing writes this any more.
    fn wait_for_own_writes(&self) -> Result<()> {
        self.writer.as_ref().map_or(Ok(()), |writer| writer.lane.wait_ticket(writer.ticket))
    }

    /// Waits until nothing uses this any more.
    fn wait_idle(&mut self) -> Result<()> {
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut result = Ok(());
        let is_over = self.writer.iter().chain(readers.iter()).all(|work| {
            result = std::mem::replace(&mut result, Ok(())).and(work.lane.wait_ticket(work.ticket));
            work.lane.is_done(work.ticket)
        });
        if is_over {
            self.writer = None;
            readers.clear();
        }
        result
    }

    pub(crate) fn check_device(&self, function: &'static str, lane: &StreamInner) -> Result<()> {
        let (mine, its) = (self.context.device(), lane.context.device());
        if mine == its {
            return Ok(());
        }
        let (mine, its) = (mine.index(), its.index());
        Err(Error::refused(function, format!("the buffer is on device {mine}, the stream on device {its}")))
    }
}

impl PendingUse {
    /// Makes the next work of a stream come after this.
    #[inline]
    fn order_before(&self, function: &'static str, lane: &Arc<StreamInner>) -> Result<()> {
        if Arc::ptr_eq(&self.lane, lane) || self.lane.is_done(self.ticket) {
            return Ok(());
        }
        self.order(function, lane)
    }

    #[cold]
    fn order(&self, function: &'static str, lane: &Arc<StreamInner>) -> Result<()> {
        if lane.context.is_strict() {
            let why = "the buffer is in use on another stream, and the context is strict: wait for that work first";
            return Err(Error::refused(function, why.to_owned()));
        }
        let ordered = event::order(&self.lane, lane);
        if ordered.is_err() && self.lane.context.device() != lane.context.device() {
            // No document says that a stream can wait for an event of another device. The host can.
            self.lane.wait_ignoring_errors(self.ticket);
            return if self.lane.is_done(self.ticket) { Ok(()) } else { ordered };
        }
        ordered
    }
}

impl<T: Element> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = std::any::type_name::<T>();
        write!(f, "DeviceBuffer({} {kind} at {:#x} of {:?})", self.len, self.memory.address, self.memory.context)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        let is_unused = self.writer.iter().chain(readers.iter()).all(|work| {
            work.lane.wait_ignoring_errors(work.ticket);
            work.lane.is_done(work.ticket)
        });
        if is_unused {
            // SAFETY: allocated by `buffer`, freed once, and no work uses it any more. Otherwise it is leaked.
            let _ = self.context.with_current(|| unsafe { raw::aclrtFree(self.raw()) });
        }
    }
}
