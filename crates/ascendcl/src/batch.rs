//! Many small copies in one call: between one pinned buffer and device buffers, in one direction.

use crate::buffer::{DeviceBuffer, Memory};
use crate::element::Element;
use crate::error::{Error, Result};
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

/// Entries of one call at most: the limit of the blocking form, which the queued form is not documented to exceed.
const MAX_ENTRIES_PER_CALL: usize = 4096;

/// Copies between one pinned buffer and one or more device buffers, all in one direction.
///
/// The order of the entries is not defined, so no two of them may write the same place. More entries than the chip
/// takes in one call become several calls; a chip without batches gets single copies.
///
/// ```
/// use ascendcl::Batch;
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// # let stream = context.new_stream()?;
///
/// let pool = context.alloc_pinned_from_slice(&[1, 2, 3, 4])?;
/// let mut cache = context.alloc_zeros::<i32>(100)?;
/// let mut batch = Batch::upload(pool, [&mut cache]);
/// batch.push(0..2, 50..52)?;            // elements of the pool, elements of the cache
/// batch.push(2..4, 10..12)?;
/// let pool = stream.submit(batch)?.wait()?;
/// assert_eq!(cache.slice(50..52).to_vec()?, pool[0..2]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[must_use = "nothing is copied before it is submitted"]
pub struct Batch<'a, T: Element> {
    pool: PinnedBuffer<T>,
    devices: Devices<'a, T>,
    host: Vec<usize>,
    device: Vec<usize>,
    sizes: Vec<usize>,
    /// From the start of the target to the end of its buffer.
    rooms: Vec<usize>,
}

/// The device's side, borrowed until the batch is submitted. From then on the buffers know the work.
enum Devices<'a, T: Element> {
    Targets(Vec<&'a mut DeviceBuffer<T>>),
    Sources(Vec<&'a DeviceBuffer<T>>),
}

impl<'a, T: Element> Batch<'a, T> {
    /// A batch that copies from the pool to device buffers.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let (mut keys, mut values) = (context.alloc_zeros::<u8>(8)?, context.alloc_zeros::<u8>(8)?);
    /// let mut batch = Batch::upload(context.alloc_pinned_from_slice(&[1, 2])?, [&mut keys, &mut values]);
    /// batch.push_in(0, 0..1, 3..4)?;        // into `keys`
    /// batch.push_in(1, 1..2, 3..4)?;        // into `values`
    /// context.new_stream()?.submit(batch)?.wait()?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn upload(pool: PinnedBuffer<T>, targets: impl IntoIterator<Item = &'a mut DeviceBuffer<T>>) -> Batch<'a, T> {
        Batch::new(pool, Devices::Targets(targets.into_iter().collect()))
    }

    /// A batch that copies from device buffers to the pool.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let cache = context.alloc_from_slice(&[1, 2, 3, 4])?;
    /// let mut batch = Batch::download(context.alloc_pinned(2)?, [&cache]);
    /// batch.push(0..2, 2..4)?;
    /// assert_eq!(*context.new_stream()?.submit(batch)?.wait()?, [3, 4]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn download(pool: PinnedBuffer<T>, sources: impl IntoIterator<Item = &'a DeviceBuffer<T>>) -> Batch<'a, T> {
        Batch::new(pool, Devices::Sources(sources.into_iter().collect()))
    }

    fn new(pool: PinnedBuffer<T>, devices: Devices<'a, T>) -> Batch<'a, T> {
        Batch { pool, devices, host: Vec::new(), device: Vec::new(), sizes: Vec::new(), rooms: Vec::new() }
    }

    /// Adds an entry: elements of the pool, and elements of the first device buffer.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let cache = context.alloc_zeros::<u8>(8)?;
    /// let mut batch = Batch::download(context.alloc_pinned(4)?, [&cache]);
    /// assert!(batch.push(0..4, 6..10).is_err());        // beyond the cache
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn push(&mut self, host: Range<usize>, device: Range<usize>) -> Result<()> {
        self.push_in(0, host, device)
    }

    /// Adds an entry: elements of the pool, and elements of the device buffer with this index.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let (one, other) = (context.alloc_zeros::<u8>(8)?, context.alloc_zeros::<u8>(8)?);
    /// let mut batch = Batch::download(context.alloc_pinned(4)?, [&one, &other]);
    /// batch.push_in(1, 0..4, 4..8)?;
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn push_in(&mut self, index: usize, host: Range<usize>, device: Range<usize>) -> Result<()> {
        let refuse = |why: String| Err(Error::refused("Batch::push", why).of_entry(Some(self.len())));
        let Some((address, len)) = self.devices.extent(index) else {
            return refuse(format!("there is no device buffer {index}"));
        };
        if host.start > host.end || host.end > self.pool.len() {
            return refuse(format!("{host:?} is not in the {} elements of the pool", self.pool.len()));
        }
        if device.start > device.end || device.end > len {
            return refuse(format!("{device:?} is not in the {len} elements of device buffer {index}"));
        }
        if host.len() != device.len() {
            return refuse(format!("{host:?} and {device:?} do not have the same length"));
        }
        // The runtime refuses entries without bytes. They keep their number, so that errors name what was pushed.
        self.host.push(self.pool.start() as usize + host.start * size_of::<T>());
        self.device.push(address + device.start * size_of::<T>());
        self.sizes.push(host.len() * size_of::<T>());
        let room = match self.devices {
            Devices::Targets(_) => len - device.start,
            Devices::Sources(_) => self.pool.len() - host.start,
        };
        self.rooms.push(room * size_of::<T>());
        Ok(())
    }

    /// How many entries it has.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let cache = context.alloc_zeros::<u8>(8)?;
    /// assert_eq!(Batch::download(context.alloc_pinned(4)?, [&cache]).len(), 0);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether it has none.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let cache = context.alloc_zeros::<u8>(8)?;
    /// assert!(Batch::download(context.alloc_pinned(4)?, [&cache]).is_empty());
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
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
    /// Queues all copies of a batch. The pool is away until they are over. The entry that the runtime refused is
    /// [`Error::entry`].
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let stream = context.new_stream()?;
    /// # let cache = context.alloc_from_slice(&[5u8; 8])?;
    /// let mut batch = Batch::download(context.alloc_pinned(8)?, [&cache]);
    /// for block in 0..4 {
    ///     batch.push(block * 2..block * 2 + 2, 6 - block * 2..8 - block * 2)?;
    /// }
    /// let pool = stream.submit(batch)?.wait()?;
    /// # assert_eq!(*pool, [5; 8]);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[track_caller]
    pub fn submit<T: Element>(&self, batch: Batch<'_, T>) -> Result<Transfer<PinnedBuffer<T>>> {
        let place = Location::caller();
        let Batch { pool, mut devices, host, device, sizes, rooms } = batch;
        devices.prepare(self).map_err(|error| error.at(place))?;
        let is_upload = matches!(devices, Devices::Targets(_));
        let (targets, sources) = if is_upload { (device, host) } else { (host, device) };
        let mut entries = Entries { targets, sources, sizes, rooms };
        let numbers = entries.compact();
        // One ticket for all calls: it stands for the last of them, and a failure of any is a failure of it.
        let work = self.0.submit(|| self.hand_over_all(&mut entries, &numbers, is_upload));
        devices.record_use(self, work.ticket);
        Transfer::of(self, work, pool, place)
    }

    fn hand_over_all(&self, entries: &mut Entries, numbers: &[usize], is_upload: bool) -> Result<()> {
        let Entries { targets, sources, sizes, rooms } = entries;
        let device = aclrtMemLocation { id: self.0.context.device().index(), r#type: ACL_MEM_LOCATION_TYPE_DEVICE };
        let host = aclrtMemLocation { id: 0, r#type: ACL_MEM_LOCATION_TYPE_HOST };
        let (target, source) = if is_upload { (device, host) } else { (host, device) };
        let mut attribute = aclrtMemcpyBatchAttr { dstLoc: target, srcLoc: source, rsv: [0; 16] };
        let lane = &*self.0;
        for start in (0..sizes.len()).step_by(MAX_ENTRIES_PER_CALL) {
            let count = MAX_ENTRIES_PER_CALL.min(sizes.len() - start);
            // The runtime does not write it for every error.
            let (mut index, mut failed) = (0, usize::MAX);
            // SAFETY: the arrays have `count` elements; the ranges are of buffers that were checked by `push`: device
            // buffers wait for the ticket before they end, and the pool is given back to nobody before it is done.
            let mut copy = || unsafe {
                raw::aclrtMemcpyBatchAsync(
                    targets[start..].as_mut_ptr().cast(),
                    rooms[start..].as_mut_ptr(),
                    sources[start..].as_mut_ptr().cast(),
                    sizes[start..].as_mut_ptr(),
                    count,
                    &mut attribute,
                    &mut index,
                    1,
                    &mut failed,
                    lane.raw(),
                )
            };
            match copy() {
                Ok(()) => {}
                Err(error) if error.code() == ACL_ERROR_RT_FEATURE_NOT_SUPPORT && start == 0 => {
                    return self.hand_over_each(entries, numbers, is_upload);
                }
                Err(error) => {
                    let entry = start.checked_add(failed).and_then(|entry| numbers.get(entry));
                    return Err(error.of_entry(entry.copied()));
                }
            }
        }
        Ok(())
    }

    /// For a chip without batches.
    fn hand_over_each(&self, entries: &Entries, numbers: &[usize], is_upload: bool) -> Result<()> {
        let kind = if is_upload { ACL_MEMCPY_HOST_TO_DEVICE } else { ACL_MEMCPY_DEVICE_TO_HOST };
        let lane = &*self.0;
        for (entry, &size) in entries.sizes.iter().enumerate() {
            let (target, source) = (entries.targets[entry] as *mut _, entries.sources[entry] as *const _);
            // SAFETY: as for the batch.
            let copy = || unsafe { raw::aclrtMemcpyAsync(target, size, source, size, kind, lane.raw()) };
            copy().map_err(|error| error.of_entry(Some(numbers[entry])))?;
        }
        Ok(())
    }
}

/// What the C call takes, as arrays.
struct Entries {
    targets: Vec<usize>,
    sources: Vec<usize>,
    sizes: Vec<usize>,
    rooms: Vec<usize>,
}

impl Entries {
    /// Leaves out entries without bytes; returns the numbers that the others had.
    fn compact(&mut self) -> Vec<usize> {
        let numbers: Vec<usize> = (0..self.sizes.len()).filter(|entry| self.sizes[*entry] > 0).collect();
        for values in [&mut self.targets, &mut self.sources, &mut self.sizes, &mut self.rooms] {
            *values = numbers.iter().map(|entry| values[*entry]).collect();
        }
        numbers
    }
}

impl<T: Element> Devices<'_, T> {
    /// Address and length of a buffer.
    fn extent(&self, index: usize) -> Option<(usize, usize)> {
        let of = |buffer: &DeviceBuffer<T>| (buffer.memory().raw() as usize, buffer.len());
        match self {
            Devices::Targets(targets) => targets.get(index).map(|buffer| of(buffer)),
            Devices::Sources(sources) => sources.get(index).map(|buffer| of(buffer)),
        }
    }

    fn prepare(&mut self, stream: &Stream) -> Result<()> {
        const NAME: &str = "Stream::submit";
        match self {
            Devices::Targets(all) => {
                all.iter_mut().try_for_each(|b| Memory::prepare_write(b.memory_mut(), NAME, &stream.0))
            }
            Devices::Sources(all) => all.iter().try_for_each(|b| b.memory().prepare_read(NAME, &stream.0)),
        }
    }

    fn record_use(&mut self, stream: &Stream, ticket: u64) {
        match self {
            Devices::Targets(all) => all.iter_mut().for_each(|b| b.memory_mut().record_write(&stream.0, ticket)),
            Devices::Sources(all) => all.iter().for_each(|b| b.memory().record_read(&stream.0, ticket)),
        }
    }
}
