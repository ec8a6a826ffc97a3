//! Batches: many small copies in one call, between one pinned buffer and device buffers, in one direction.

use crate::buffer::DeviceBuffer;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::pinned::PinnedBuffer;
use crate::raw;
use crate::stream::Stream;
use crate::transfer::Transfer;
use ascendcl_sys::{
    ACL_ERROR_RT_FEATURE_NOT_SUPPORT, ACL_MEM_LOCATION_TYPE_DEVICE, ACL_MEM_LOCATION_TYPE_HOST,
    ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, aclrtMemLocation, aclrtMemcpyBatchAttr,
};
use std::fmt;
use std::ops::Range;
use std::panic::Location;

/// Maximum number of entries per call. This is the documented limit of the synchronous call; no higher limit is
/// documented for the asynchronous one.
const MAX_ENTRIES_PER_CALL: usize = 4096;

/// Copies between one pinned buffer (the pool) and one or more device buffers, all in one direction.
///
/// The entries execute in no particular order, so no two of them may write the same elements. A batch with more entries
/// than the runtime accepts in one call is split into several calls. On chips without batch copies, each entry becomes
/// a single copy.
///
/// ```
/// use ascendcl::Batch;
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// # let stream = context.new_stream()?;
///
/// let pool = context.alloc_pinned_from_slice(&[1, 2, 3, 4])?;
/// let mut cache = context.alloc_zeros::<i32>(100)?;
/// let mut batch = Batch::new_upload(pool, [&mut cache]);
/// batch.push(0..2, 50..52)?;            // range of the pool, range of the cache
/// batch.push(2..4, 10..12)?;
/// let pool = stream.submit(batch)?.wait()?;
/// assert_eq!(cache.slice(50..52).to_vec()?, pool[0..2]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[must_use = "a batch copies nothing until it is passed to `Stream::submit`"]
pub struct Batch<'a, T: Element> {
    pool: PinnedBuffer<T>,
    devices: Devices<'a, T>,
    /// Host addresses of the entries.
    host: Vec<usize>,
    /// Device addresses of the entries.
    device: Vec<usize>,
    /// Sizes of the entries in bytes.
    sizes: Vec<usize>,
    /// For each entry, the number of bytes from the start of its target to the end of the target buffer.
    capacities: Vec<usize>,
}

/// The device buffers, borrowed until the batch is submitted. From then on, the buffers track the work.
enum Devices<'a, T: Element> {
    Targets(Vec<&'a mut DeviceBuffer<T>>),
    Sources(Vec<&'a DeviceBuffer<T>>),
}

impl<'a, T: Element> Batch<'a, T> {
    /// Creates an empty batch that copies from the pool to device buffers.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let (mut keys, mut values) = (context.alloc_zeros::<u8>(8)?, context.alloc_zeros::<u8>(8)?);
    /// let mut batch = Batch::new_upload(context.alloc_pinned_from_slice(&[1, 2])?, [&mut keys, &mut values]);
    /// batch.push_in(0, 0..1, 3..4)?;        // into `keys`
    /// batch.push_in(1, 1..2, 3..4)?;        // into `values`
    /// context.new_stream()?.submit(batch)?.wait()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn new_upload(
        pool: PinnedBuffer<T>,
        targets: impl IntoIterator<Item = &'a mut DeviceBuffer<T>>,
    ) -> Batch<'a, T> {
        Batch::new(pool, Devices::Targets(targets.into_iter().collect()))
    }

    /// Creates an empty batch that copies from device buffers to the pool.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let cache = context.alloc_from_slice(&[1, 2, 3, 4])?;
    /// let mut batch = Batch::new_download(context.alloc_pinned(2)?, [&cache]);
    /// batch.push(0..2, 2..4)?;
    /// assert_eq!(*context.new_stream()?.submit(batch)?.wait()?, [3, 4]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn new_download(pool: PinnedBuffer<T>, sources: impl IntoIterator<Item = &'a DeviceBuffer<T>>) -> Batch<'a, T> {
        Batch::new(pool, Devices::Sources(sources.into_iter().collect()))
    }

    fn new(pool: PinnedBuffer<T>, devices: Devices<'a, T>) -> Batch<'a, T> {
        Batch { pool, devices, host: Vec::new(), device: Vec::new(), sizes: Vec::new(), capacities: Vec::new() }
    }

    /// Adds an entry between a range of the pool and a range of the first device buffer.
    ///
    /// # Errors
    ///
    /// Fails if a range is outside its buffer or if the ranges differ in length. [`Error::entry`] returns the index of
    /// the rejected entry. The batch is unchanged.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let cache = context.alloc_zeros::<u8>(8)?;
    /// let mut batch = Batch::new_download(context.alloc_pinned(4)?, [&cache]);
    /// assert!(batch.push(0..4, 6..10).is_err());        // outside the cache
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn push(&mut self, host: Range<usize>, device: Range<usize>) -> Result<()> {
        self.push_in(0, host, device)
    }

    /// Adds an entry between a range of the pool and a range of the device buffer with this index.
    ///
    /// # Errors
    ///
    /// Fails if the device buffer does not exist, if a range is outside its buffer, or if the ranges differ in length.
    /// [`Error::entry`] returns the index of the rejected entry. The batch is unchanged.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let (one, other) = (context.alloc_zeros::<u8>(8)?, context.alloc_zeros::<u8>(8)?);
    /// let mut batch = Batch::new_download(context.alloc_pinned(4)?, [&one, &other]);
    /// batch.push_in(1, 0..4, 4..8)?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn push_in(&mut self, index: usize, host: Range<usize>, device: Range<usize>) -> Result<()> {
        let reject = |message: String| Err(Error::refused("Batch::push", message).with_entry(Some(self.len())));
        let Some((address, len)) = self.devices.extent(index) else {
            return reject(format!("device buffer {index} does not exist"));
        };
        if host.start > host.end || host.end > self.pool.len() {
            return reject(format!("the range {host:?} is outside the {} elements of the pool", self.pool.len()));
        }
        if device.start > device.end || device.end > len {
            return reject(format!("the range {device:?} is outside the {len} elements of device buffer {index}"));
        }
        if host.len() != device.len() {
            return reject(format!("the ranges {host:?} and {device:?} differ in length"));
        }
        // Empty entries are removed on submission, because the runtime rejects them. Until then they count, so that
        // `Error::entry` matches the order of `push`.
        self.host.push(self.pool.as_raw() as usize + host.start * size_of::<T>());
        self.device.push(address + device.start * size_of::<T>());
        self.sizes.push(host.len() * size_of::<T>());
        let capacity = match self.devices {
            Devices::Targets(_) => len - device.start,
            Devices::Sources(_) => self.pool.len() - host.start,
        };
        self.capacities.push(capacity * size_of::<T>());
        Ok(())
    }

    /// Returns the number of entries.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let cache = context.alloc_zeros::<u8>(8)?;
    /// assert_eq!(Batch::new_download(context.alloc_pinned(4)?, [&cache]).len(), 0);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Returns `true` if the batch has no entries.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let cache = context.alloc_zeros::<u8>(8)?;
    /// assert!(Batch::new_download(context.alloc_pinned(4)?, [&cache]).is_empty());
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }
}

impl<T: Element> fmt::Debug for Batch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.devices {
            Devices::Targets(_) => "upload",
            Devices::Sources(_) => "download",
        };
        write!(f, "Batch({direction}, {} entries)", self.len())
    }
}

impl Stream {
    /// Queues all copies of a batch. The transfer owns the pool until they have finished.
    ///
    /// # Errors
    ///
    /// Fails if a device buffer is on another device than the stream, in strict mode if it is in use on another stream,
    /// or if the runtime rejects the batch. [`Error::entry`] returns the index of the rejected entry, if the runtime
    /// reports it. The pool is freed when no work uses it.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let cache = context.alloc_from_slice(&[5u8; 8])?;
    /// let mut batch = Batch::new_download(context.alloc_pinned(8)?, [&cache]);
    /// for block in 0..4 {
    ///     batch.push(block * 2..block * 2 + 2, 6 - block * 2..8 - block * 2)?;
    /// }
    /// let pool = stream.submit(batch)?.wait()?;
    /// # assert_eq!(*pool, [5; 8]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn submit<T: Element>(&self, batch: Batch<'_, T>) -> Result<Transfer<PinnedBuffer<T>>> {
        let location = Location::caller();
        let Batch { pool, mut devices, host, device, sizes, capacities } = batch;
        devices.prepare(self).map_err(|error| error.at(location))?;
        let is_upload = matches!(devices, Devices::Targets(_));
        let (targets, sources) = if is_upload { (device, host) } else { (host, device) };
        let mut entries = Entries { targets, sources, sizes, capacities };
        let indices = entries.remove_empty();
        // All calls share one ticket. It is done when the last of them is, and fails if any of them fails.
        let submission = self.0.submit(|| self.submit_batch(&mut entries, &indices, is_upload));
        devices.record_use(self, submission.ticket);
        Transfer::new(self, submission, pool, location)
    }

    /// Calls the C function, as often as the number of entries requires. `indices` maps entries to the order of `push`.
    fn submit_batch(&self, entries: &mut Entries, indices: &[usize], is_upload: bool) -> Result<()> {
        let Entries { targets, sources, sizes, capacities } = entries;
        let device = aclrtMemLocation { id: self.0.context.device().index(), r#type: ACL_MEM_LOCATION_TYPE_DEVICE };
        let host = aclrtMemLocation { id: 0, r#type: ACL_MEM_LOCATION_TYPE_HOST };
        let (target, source) = if is_upload { (device, host) } else { (host, device) };
        let mut attribute = aclrtMemcpyBatchAttr { dstLoc: target, srcLoc: source, rsv: [0; 16] };
        let stream = &*self.0;
        for start in (0..sizes.len()).step_by(MAX_ENTRIES_PER_CALL) {
            let count = MAX_ENTRIES_PER_CALL.min(sizes.len() - start);
            // The runtime does not write `failed` for every error.
            let (mut index, mut failed) = (0, usize::MAX);
            // SAFETY: the arrays have `count` elements from `start`, and `push` has checked the ranges. Device buffers
            // wait for the ticket before they are freed, and the pool is not returned before the ticket is done.
            let mut copy = || unsafe {
                raw::aclrtMemcpyBatchAsync(
                    targets[start..].as_mut_ptr().cast(),
                    capacities[start..].as_mut_ptr(),
                    sources[start..].as_mut_ptr().cast(),
                    sizes[start..].as_mut_ptr(),
                    count,
                    &mut attribute,
                    &mut index,
                    1,
                    &mut failed,
                    stream.raw(),
                )
            };
            match copy() {
                Ok(()) => {}
                Err(error) if error.code() == ACL_ERROR_RT_FEATURE_NOT_SUPPORT && start == 0 => {
                    return self.submit_each(entries, indices, is_upload);
                }
                Err(error) => {
                    let entry = start.checked_add(failed).and_then(|entry| indices.get(entry));
                    return Err(error.with_entry(entry.copied()));
                }
            }
        }
        Ok(())
    }

    /// Submits the entries as single copies, for chips without batch copies.
    fn submit_each(&self, entries: &Entries, indices: &[usize], is_upload: bool) -> Result<()> {
        let kind = if is_upload { ACL_MEMCPY_HOST_TO_DEVICE } else { ACL_MEMCPY_DEVICE_TO_HOST };
        let stream = &*self.0;
        for (entry, &size) in entries.sizes.iter().enumerate() {
            let (target, source) = (entries.targets[entry] as *mut _, entries.sources[entry] as *const _);
            // SAFETY: `push` has checked the ranges. Device buffers wait for the ticket before they are freed, and the
            // pool is not returned before the ticket is done.
            let copy = || unsafe { raw::aclrtMemcpyAsync(target, size, source, size, kind, stream.raw()) };
            copy().map_err(|error| error.with_entry(Some(indices[entry])))?;
        }
        Ok(())
    }
}

/// The parallel arrays that the C function takes.
struct Entries {
    targets: Vec<usize>,
    sources: Vec<usize>,
    sizes: Vec<usize>,
    capacities: Vec<usize>,
}

impl Entries {
    /// Removes empty entries. Returns the original indices of the remaining ones.
    fn remove_empty(&mut self) -> Vec<usize> {
        let indices: Vec<usize> = (0..self.sizes.len()).filter(|entry| self.sizes[*entry] > 0).collect();
        for values in [&mut self.targets, &mut self.sources, &mut self.sizes, &mut self.capacities] {
            *values = indices.iter().map(|entry| values[*entry]).collect();
        }
        indices
    }
}

impl<T: Element> Devices<'_, T> {
    /// Returns the address and the length of a buffer. `None` if it does not exist.
    fn extent(&self, index: usize) -> Option<(usize, usize)> {
        let of = |buffer: &DeviceBuffer<T>| (buffer.memory().raw() as usize, buffer.len());
        match self {
            Devices::Targets(targets) => targets.get(index).map(|buffer| of(buffer)),
            Devices::Sources(sources) => sources.get(index).map(|buffer| of(buffer)),
        }
    }

    /// Orders the next work of a stream after the pending uses of all buffers.
    fn prepare(&mut self, stream: &Stream) -> Result<()> {
        const NAME: &str = "Stream::submit";
        match self {
            Devices::Targets(all) => {
                all.iter_mut().try_for_each(|b| Memory::prepare_write(b.memory_mut(), NAME, &stream.0))
            }
            Devices::Sources(all) => all.iter().try_for_each(|b| b.memory().prepare_read(NAME, &stream.0)),
        }
    }

    /// Records a ticket in all buffers.
    fn record_use(&mut self, stream: &Stream, ticket: u64) {
        match self {
            Devices::Targets(all) => all.iter_mut().for_each(|b| b.memory_mut().record_write(&stream.0, ticket)),
            Devices::Sources(all) => all.iter().for_each(|b| b.memory().record_read(&stream.0, ticket)),
        }
    }
}
