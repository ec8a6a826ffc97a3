//! KV-cache offload: downloads scattered blocks of a paged cache and uploads them to other positions.

use ascendcl::{Batch, Context, Device, DeviceBuffer, PinnedBuffer, Result, Stream};

/// Number of elements of a block.
const BLOCK: usize = 4096;
/// Number of blocks of the cache.
const BLOCKS: usize = 256;

/// A paged cache on the device, and a pinned pool for offloaded blocks.
struct Cache {
    stream: Stream,
    device: DeviceBuffer<u16>,
    /// `None` while a transfer owns the pool.
    pool: Option<PinnedBuffer<u16>>,
}

impl Cache {
    fn new(context: &Context) -> Result<Cache> {
        let contents: Vec<u16> = (0..BLOCKS * BLOCK).map(|index| (index / BLOCK) as u16).collect();
        let device = context.alloc_from_slice(&contents)?;
        Ok(Cache { stream: context.new_stream()?, device, pool: Some(context.alloc_pinned(BLOCKS / 2 * BLOCK)?) })
    }

    /// Copies blocks to the pool: block `blocks[i]` to slot `i`.
    fn offload(&mut self, blocks: &[usize]) -> Result<()> {
        let mut batch = Batch::new_download(self.take_pool()?, [&self.device]);
        for (slot, block) in blocks.iter().enumerate() {
            batch.push(range(slot), range(*block))?;
        }
        self.pool = Some(self.stream.submit(batch)?.wait()?);
        Ok(())
    }

    /// Copies blocks back to the device: slot `i` of the pool to block `blocks[i]`.
    fn reload(&mut self, blocks: &[usize]) -> Result<()> {
        let mut batch = Batch::new_upload(self.take_pool()?, [&mut self.device]);
        for (slot, block) in blocks.iter().enumerate() {
            batch.push(range(slot), range(*block))?;
        }
        self.pool = Some(self.stream.submit(batch)?.wait()?);
        Ok(())
    }

    /// Takes the pool. Allocates a new one if a failed transfer did not return it.
    fn take_pool(&mut self) -> Result<PinnedBuffer<u16>> {
        match self.pool.take() {
            Some(pool) => Ok(pool),
            None => self.stream.context().alloc_pinned(BLOCKS / 2 * BLOCK),
        }
    }
}

/// Returns the elements of a block.
fn range(block: usize) -> std::ops::Range<usize> {
    block * BLOCK..(block + 1) * BLOCK
}

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut cache = Cache::new(&context)?;

    // Offloads every second block, from the end, and uploads them in reverse order.
    let out: Vec<usize> = (0..BLOCKS / 2).map(|slot| BLOCKS - 1 - 2 * slot).collect();
    let back: Vec<usize> = out.iter().rev().copied().collect();
    cache.offload(&out)?;
    cache.stream.fill(&mut cache.device, 0xff)?;
    cache.reload(&back)?;

    let contents = cache.device.to_vec()?;
    for (slot, block) in back.iter().enumerate() {
        assert!(contents[range(*block)].iter().all(|element| usize::from(*element) == out[slot]), "block {block}");
    }
    println!("offloaded and reloaded {} blocks of {} KiB", out.len(), (BLOCK * 2) >> 10);
    Ok(())
}
