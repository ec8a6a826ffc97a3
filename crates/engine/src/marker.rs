//! Tasks that only take their place in a stream: operations on caches, cores and profilers that softacl does not have.
//!
//! Also here: the overflow flags of the cores. Kernels compute on the CPU, which sets none, so they are always
//! clear, and a query writes zeros.

use crate::allocation::out_of_memory;
use crate::caller::{Caller, Submission};
use crate::machine::Machine;
use crate::observer::AccessKind;
use crate::task::Control;
use crate::task::kind::TaskKind;
use crate::task::moves::Move;
use softacl_errors::{Error, MemoryPool, Result, fail};
use softacl_memory::touch::{Mode, Touch};
use softacl_memory::{MemoryKind, bytes};
use softacl_sync::facade::lock;

/// Bytes of an overflow status in device memory.
pub const OVERFLOW_STATUS_SIZE: usize = 64;
/// Bytes of a descriptor of a cache operation: address and length, and room that a card uses.
pub const CACHE_DESCRIPTOR_SIZE: usize = 64;

impl Caller<'_> {
    /// Queues a cache operation.
    pub fn queue_cache_op(&self, stream: usize) -> Result<()> {
        self.queue_nothing(TaskKind::CacheOperation, stream)
    }

    /// Refuses a range that is not in device memory.
    pub fn check_cached_range(&self, address: usize, size: usize) -> Result<()> {
        self.cached_range(address, size).map(|_| ())
    }

    /// Writes the descriptor of a cache operation to device memory, immediately.
    pub fn set_cache_descriptor(&self, descriptor: usize, source: usize, size: usize) -> Result<()> {
        let backing = self.cached_range(descriptor, CACHE_DESCRIPTOR_SIZE)?;
        self.cached_range(source, size)?;
        self.context()?;
        let mut image = [0; CACHE_DESCRIPTOR_SIZE];
        image[..8].copy_from_slice(&source.to_le_bytes());
        image[8..16].copy_from_slice(&size.to_le_bytes());
        let len = image.len();
        let inaccessible = |bytes::AccessFault| Error::Inaccessible { side: "descriptor", address: descriptor, len };
        let touches = || vec![Touch { address: descriptor, len, mode: Mode::Write }];
        // SAFETY: the range is of a request of a `Caller`, resolved and bounded above.
        let run = || Ok(unsafe { bytes::write(backing, &image) }.map_err(inaccessible)?);
        self.machine.with_access(AccessKind::DescriptorWrite, touches, run)
    }

    /// The backing address of a range of device memory.
    fn cached_range(&self, address: usize, size: usize) -> Result<usize> {
        if size == 0 {
            return fail(Error::Argument("size is 0".to_owned()));
        }
        let resolved = self.machine.memory.finder().find("cached", address)?;
        if !resolved.place.is_device() {
            return fail(Error::NotDeviceMemory { address, kind: resolved.describe() });
        }
        resolved.covers("cached", size)?;
        Ok(resolved.reach)
    }

    /// Queues a mark for profilers.
    pub fn queue_profiler_mark(&self, stream: usize) -> Result<()> {
        self.queue_nothing(TaskKind::Mark, stream)
    }

    /// Queues the reset of the overflow flags.
    pub fn reset_overflow(&self, stream: usize) -> Result<()> {
        self.queue_nothing(TaskKind::OverflowReset, stream)
    }

    /// Queues a query of the overflow flags: the stream writes the status to device memory.
    pub fn query_overflow(&self, address: usize, size: usize, stream: usize) -> Result<()> {
        if size < OVERFLOW_STATUS_SIZE {
            return fail(Error::Parameter(format!(
                "the overflow status takes {OVERFLOW_STATUS_SIZE} bytes of device memory, not {size}"
            )));
        }
        let Submission { key, stream, context } = self.submission(self.explicit_stream(stream)?)?;
        let resolved = self.machine.memory.finder().find("overflow status", address)?;
        let MemoryKind::Device(device) = resolved.place else {
            return fail(Error::NotDeviceMemory { address, kind: resolved.describe() });
        };
        resolved.covers("overflow status", size)?;
        self.machine.check_peers(stream.device(), device)?;
        let task = Move::Fill { target: resolved.reach, byte: 0, len: OVERFLOW_STATUS_SIZE };
        self.machine.submit(key, stream, context, task).map(|_| ())
    }

    /// The device address of the overflow flags of the current context. They live as long as the context.
    pub fn overflow_address(&self) -> Result<usize> {
        let (_, context) = self.context()?;
        let device = context.device();
        let mut address = lock(&context.overflow_flags);
        if *address == 0 {
            let asked = OVERFLOW_STATUS_SIZE;
            let memory = &self.machine.memory;
            let heap = memory.device(device);
            let none = || out_of_memory(MemoryPool::Device(device), asked, heap.usage());
            let start = heap.allocate(asked).ok_or_else(none)?;
            // SAFETY: the memory was just allocated, and nothing else knows it.
            let cleared = unsafe { bytes::fill(memory.backing_address(start), 0, asked) };
            cleared.map_err(|_| Error::Inaccessible { side: "overflow status", address: start, len: asked })?;
            *address = start;
        }
        Ok(*address)
    }

    pub(crate) fn queue_nothing(&self, kind: TaskKind, stream: usize) -> Result<()> {
        let Submission { key, stream, context } = self.submission(self.explicit_stream(stream)?)?;
        self.machine.submit(key, stream, context, Control::Nothing(kind)).map(|_| ())
    }
}

impl Machine {
    /// Frees the overflow flags of a context that ends.
    pub(crate) fn free_overflow_flags(&self, device: u32, address: usize) {
        if address != 0 {
            let backing = self.memory.backing_address(address);
            self.memory.device(device).free(address, |len| self.quarantine_until(backing, len));
        }
    }
}
