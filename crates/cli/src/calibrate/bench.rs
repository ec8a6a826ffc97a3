//! The bench: a stream and memory on a device, and the ways to time operations on them. Each compares two runs of
//! different length, so that what a run costs once cancels out.

use crate::bench::c_api::{copy_on_device, make_current, upload, upload_batch};
use anyhow::Result;
use ascendcl::sys::ACL_MEMCPY_DEVICE_TO_HOST;
use ascendcl::{Context, Device, DeviceBuffer, PinnedBuffer, Stream, raw};
use std::ffi::c_void;

/// Bytes of a copy whose transfer takes no time worth mentioning.
pub const SMALL: usize = 64;
/// Bytes of a copy that is bound by the link.
pub const LARGE: usize = 32 << 20;
/// Operations in the shorter run; the longer one has twice as many.
pub const CALLS: usize = 100;
/// Copies in the shorter run of a bandwidth.
pub const COPIES: usize = 4;
/// Entries of the smaller batch; the larger one has twice as many.
pub const ENTRIES: usize = 64;

/// A context, a stream and memory.
pub struct Bench {
    _context: Context,
    pub stream: Stream,
    pub host: usize,
    pub device: usize,
    pub neighbor: Option<Neighbor>,
    _memory: (PinnedBuffer<u8>, DeviceBuffer<u8>),
}

/// Memory of the nearest device.
pub struct Neighbor {
    pub memory: DeviceBuffer<u8>,
}

impl Neighbor {
    /// The neighbor of the device of a context, if it has one that it may access. Another context may be current then.
    pub fn of(context: &Context) -> Result<Option<Neighbor>> {
        let index = context.device().index() ^ 1;
        if index >= Device::count()? || !context.can_access_peer(Device::new(index)?)? {
            return Ok(None);
        }
        Ok(Some(Neighbor { memory: Device::new(index)?.new_context()?.alloc_zeros(LARGE)? }))
    }

    /// Lets the device of the current context access the memory.
    pub fn enable(&self) -> Result<()> {
        let index = self.memory.context().device().index() as i32;
        // SAFETY: the call takes integers and has no preconditions.
        Ok(unsafe { raw::aclrtDeviceEnablePeerAccess(index, 0) }?)
    }
}

impl Bench {
    pub fn new(device: Device) -> Result<Bench> {
        let context = device.new_context()?;
        let memory = (context.alloc_pinned::<u8>(LARGE)?, context.alloc_zeros::<u8>(2 * LARGE)?);
        let stream = context.new_stream()?;
        let neighbor = Neighbor::of(&context)?;
        make_current(&context)?;
        neighbor.as_ref().map(Neighbor::enable).transpose()?;
        let (host, device) = (memory.0.as_raw() as usize, memory.1.as_raw() as usize);
        Ok(Bench { _context: context, stream, host, device, neighbor, _memory: memory })
    }

    /// Microseconds between two events around `count` operations.
    pub fn time(&self, count: usize, operation: impl Fn(&Bench) -> Result<()>) -> Result<f64> {
        self.stream.synchronize()?;
        let start = self.stream.record()?;
        for _ in 0..count {
            operation(self)?;
        }
        let end = self.stream.record()?;
        end.synchronize()?;
        Ok(end.elapsed_since(&start)?.as_nanos() as f64 / 1e3)
    }

    /// Microseconds of one more operation.
    pub fn slope(&self, count: usize, operation: impl Fn(&Bench) -> Result<()>) -> Result<f64> {
        let [short, long] = [self.time(count, &operation)?, self.time(2 * count, &operation)?];
        Ok((long - short) / count as f64)
    }

    /// GB/s of large copies.
    pub fn rate(&self, operation: impl Fn(&Bench) -> Result<()>) -> Result<f64> {
        Ok(LARGE as f64 / 1e3 / self.slope(COPIES, operation)?)
    }

    pub fn submit_device(&self) -> Result<f64> {
        self.slope(CALLS, |bench| copy_on_device(bench.device + LARGE, bench.device, SMALL, &bench.stream))
    }

    pub fn submit_host(&self) -> Result<f64> {
        self.slope(CALLS, |bench| upload(bench.device, bench.host, SMALL, &bench.stream))
    }

    /// Copies a few bytes to the host, synchronously.
    pub fn download_now(&self) -> Result<()> {
        let (target, source) = (self.host as *mut c_void, self.device as *const c_void);
        // SAFETY: both ranges are inside memory that the bench owns, and the function checks its arguments.
        Ok(unsafe { raw::aclrtMemcpy(target, SMALL, source, SMALL, ACL_MEMCPY_DEVICE_TO_HOST) }?)
    }

    /// Microseconds of batches with `ENTRIES` and twice as many entries.
    pub fn batches(&self) -> Result<[f64; 2]> {
        let of = |entries: usize| {
            let at = |start: usize| (0..entries).map(|index| start + index * SMALL).collect::<Vec<usize>>();
            let (targets, sources, sizes) = (at(self.device), at(self.host), vec![SMALL; entries]);
            self.slope(CALLS / 4, |bench| upload_batch(&targets, &sources, &sizes, &bench.stream))
        };
        Ok([of(ENTRIES)?, of(2 * ENTRIES)?])
    }
}
