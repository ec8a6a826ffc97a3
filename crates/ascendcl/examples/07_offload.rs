//! KV-cache offload: blocks of a paged cache leave the device in scattered order, and come back elsewhere.

use ascendcl::{Batch, Context, Device, DeviceBuffer, PinnedBuffer, Result, Stream};

/// Elements of a block.
const BLOCK: usize = 4096;
const BLOCKS: usize = 256;

/// A paged cache on the device, and a pool of pinned memory for the blocks that do not fit.
struct Cache {
    stream: Stream,
    device: DeviceBuffer<u16>,
    /// Away while blocks are moved: nobody can touch it then.
    pool: Option<PinnedBuffer<u16>>,
}

impl Cache {
    fn new(context: &Context) -> Result<Cache> {
        let contents: Vec<u16> = (0..BLOCKS * BLOCK).map(|index| (index / BLOCK) as u16).collect();
        let device = context.alloc_from_slice(&contents)?;
        Ok(Cache { stream: context.new_stream()?, device, pool: Some(context.alloc_pinned(BLOCKS / 2 * BLOCK)?) })
    }

    /// Moves blocks out of the device: block `blocks[i]` to place `i` of the pool.
    fn offload(&mut self, blocks: &[usize]) -> Result<()> {
        let mut batch = Batch::download(self.take_pool()?, [&self.device]);
        for (place, block) in blocks.iter().enumerate() {
            batch.push(range(place), range(*block))?;
        }
        self.pool = Some(self.stream.submit(batch)?.wait()?);
        Ok(())
    }

    /// Brings them back: place `i` of the pool to block `blocks[i]`.
    fn reload(&mut self, blocks: &[usize]) -> Result<()> {
        let mut batch = Batch::upload(self.take_pool()?, [&mut self.device]);
        for (place, block) in blocks.iter().enumerate() {
            batch.push(range(place), range(*block))?;
        }
        self.pool = Some(self.stream.submit(batch)?.wait()?);
        Ok(())
    }

    /// A transfer that failed keeps its memory; then there is a new pool.
    fn take_pool(&mut self) -> Result<PinnedBuffer<u16>> {
        match self.pool.take() {
            Some(pool) => Ok(pool),
            None => self.stream.context().alloc_pinned(BLOCKS / 2 * BLOCK),
        }
    }
}

fn range(block: usize) -> std::ops::Range<usize> {
    block * BLOCK..(block + 1) * BLOCK
}

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut cache = Cache::new(&context)?;

    // Every second block goes, from the end; they come back in each other's places.
    let out: Vec<usize> = (0..BLOCKS / 2).map(|place| BLOCKS - 1 - 2 * place).collect();
    let back: Vec<usize> = out.iter().rev().copied().collect();
    cache.offload(&out)?;
    cache.stream.fill(&mut cache.device, 0xff)?;
    cache.reload(&back)?;

    let contents = cache.device.to_vec()?;
    for (place, block) in back.iter().enumerate() {
        assert!(contents[range(*block)].iter().all(|element| usize::from(*element) == out[place]), "block {block}");
    }
    println!("{} blocks of {} KiB went out and came back", out.len(), (BLOCK * 2) >> 10);
    Ok(())
}
