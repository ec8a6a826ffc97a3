//! `softacl demo`: a KV-cache offload, from allocation to verified bytes.
//!
//! A serving engine keeps the attention cache of its requests in blocks on the device and moves blocks to pinned host
//! memory and back. The demo does that with batches on two streams, orders a third stream after them, adds a pageable
//! copy, and verifies every byte at the end. It is written with the safe crate `ascendcl`.

mod reference;
mod report;

use crate::permutation::scattered;
use crate::{output, runtime};
use anyhow::{Result, bail, ensure};
use ascendcl::{Batch, Context, Device, DeviceBuffer, Event, PinnedBuffer, Stream};
use clap::Args;
use reference::Reference;
use report::{DemoReport, DemoStep, Overlap};
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Run a KV-cache offload demo: batched block copies in both directions on several streams, verified.
#[derive(Args)]
pub struct Arguments {
    /// Number of blocks in the cache
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(2..=65_536))]
    blocks: u32,
    /// Block size in bytes
    #[arg(long, default_value_t = 32 << 10, value_parser = clap::value_parser!(u32).range(64..=16 << 20))]
    block_size: u32,
    /// Write JSON to FILE in addition to the table (`-` for JSON on stdout instead)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Number of measurements per step. The reference runs after each of them; the report shows the medians.
const REPEATS: usize = 5;
/// Size of the pageable copy, if the cache is that large.
const PAGEABLE_BYTES: usize = 16 << 20;

pub fn main(arguments: &Arguments) -> Result<()> {
    let soc = Device::soc_name()?;
    let has_batches = softacl_profiles::profile(Some(&soc), None).is_ok_and(|profile| profile.chip.copy.batch);
    ensure!(
        has_batches,
        "the demo moves its blocks in batches, which {soc} does not support; choose another chip with SOFTACL_SOC"
    );
    let report = Demo::new(arguments.block_size as usize)?.run(soc, arguments.blocks as usize)?;
    if let Some(path) = &arguments.json {
        output::write_json(path, &report)?;
    }
    match arguments.json.as_deref().is_some_and(output::is_stdout) {
        true => Ok(()),
        false => output::print(report),
    }
}

struct Demo {
    context: Context,
    /// Bytes of one block.
    block: usize,
    offload: Stream,
    reload: Stream,
    compute: Stream,
}

/// One half of the cache. Each half is a separate buffer, so that one can be read while the other is written.
struct Half {
    cache: DeviceBuffer<u8>,
    /// Expected contents of the cache.
    contents: PinnedBuffer<u8>,
    /// Destination of offloaded blocks.
    pool: PinnedBuffer<u8>,
    /// Indices of the blocks in scattered order, as a cache manager would move them.
    order: Vec<usize>,
}

impl Demo {
    fn new(block: usize) -> Result<Demo> {
        let context = runtime::device()?;
        let [offload, reload, compute] = [context.new_stream()?, context.new_stream()?, context.new_stream()?];
        Ok(Demo { context, block, offload, reload, compute })
    }

    fn run(&self, soc: String, blocks: usize) -> Result<DemoReport> {
        let middle = blocks / 2;
        let (first, second) = (self.half(0..middle)?, self.half(middle..blocks)?);
        let (upload, first, second) = self.upload(first, second)?;
        let (offload, first) = self.offload_batch(first)?;
        let (reload, first) = self.reload_batch(first)?;
        let (both_ways, overlap, first, second) = self.both_ways(first, second)?;
        let pageable = self.pageable(&first)?;
        let (first, second) = self.fork_block(first, second)?;
        let verified_bytes = self.verify(&first)? + self.verify(&second)?;
        let steps = vec![upload, offload, reload, both_ways, pageable];
        Ok(DemoReport { soc, blocks, block_size: self.block, steps, overlap, verified_bytes })
    }

    /// Allocates the half of the cache that holds these blocks.
    fn half(&self, blocks: Range<usize>) -> Result<Half> {
        let bytes = blocks.len() * self.block;
        let mut contents = self.context.alloc_pinned(bytes)?;
        for (index, byte) in (blocks.start * self.block..).zip(contents.iter_mut()) {
            *byte = (index * 7 + index / 251) as u8;
        }
        Ok(Half {
            cache: self.context.alloc_uninit(bytes)?,
            contents,
            pool: self.context.alloc_pinned(bytes)?,
            order: scattered(blocks.len()),
        })
    }

    /// Uploads both halves, each with one copy.
    fn upload(&self, mut first: Half, mut second: Half) -> Result<(DemoStep, Half, Half)> {
        let bytes = first.cache.len() + second.cache.len();
        let contents = (first.contents, second.contents);
        let (step, contents) = self.measure("upload: two pinned copies", bytes, 2, contents, |contents| {
            let one = self.offload.upload(contents.0, &mut first.cache)?;
            let other = self.offload.upload(contents.1, &mut second.cache)?;
            Ok((one.wait()?, other.wait()?))
        })?;
        (first.contents, second.contents) = contents;
        Ok((step, first, second))
    }

    /// Copies one half to the host, as one batch.
    fn offload_batch(&self, half: Half) -> Result<(DemoStep, Half)> {
        let Half { cache, contents, pool, order } = half;
        let (bytes, blocks) = (cache.len(), order.len());
        let (step, pool) = self.measure("offload: batch, device to host", bytes, blocks, pool, |pool| {
            Ok(self.offload.submit(self.batch(Batch::new_download(pool, [&cache]), &order)?)?.wait()?)
        })?;
        Ok((step, Half { cache, contents, pool, order }))
    }

    /// Copies one half back to the device, as one batch.
    fn reload_batch(&self, half: Half) -> Result<(DemoStep, Half)> {
        let Half { mut cache, contents, pool, order } = half;
        let (bytes, blocks) = (cache.len(), order.len());
        let (step, pool) = self.measure("reload: batch, host to device", bytes, blocks, pool, |pool| {
            Ok(self.reload.submit(self.batch(Batch::new_upload(pool, [&mut cache]), &order)?)?.wait()?)
        })?;
        Ok((step, Half { cache, contents, pool, order }))
    }

    /// Offloads one half while the other one is reloaded, on two streams, with events around both batches.
    fn both_ways(&self, mut first: Half, mut second: Half) -> Result<(DemoStep, Overlap, Half, Half)> {
        let batch = self.batch(Batch::new_download(second.pool, [&second.cache]), &second.order)?;
        let pools = (first.pool, self.offload.submit(batch)?.wait()?);
        let (bytes, blocks) = (first.cache.len() + second.cache.len(), first.order.len() + second.order.len());
        let mut overlap = Overlap::default();
        let (step, pools) = self.measure("both ways at once, two streams", bytes, blocks, pools, |pools| {
            let origin = self.compute.record()?;
            origin.synchronize()?;
            let offload_start = self.offload.record()?;
            let batch = self.batch(Batch::new_download(pools.0, [&first.cache]), &first.order)?;
            let offloaded = self.offload.submit(batch)?;
            let offload_end = self.offload.record()?;
            let reload_start = self.reload.record()?;
            let batch = self.batch(Batch::new_upload(pools.1, [&mut second.cache]), &second.order)?;
            let reloaded = self.reload.submit(batch)?;
            let reload_end = self.reload.record()?;
            let pools = (offloaded.wait()?, reloaded.wait()?);
            let elapsed_ms = |event: &Event| event.elapsed_since(&origin).map(|elapsed| elapsed.as_secs_f32() * 1e3);
            overlap = Overlap {
                offload_ms: [elapsed_ms(&offload_start)?, elapsed_ms(&offload_end)?],
                reload_ms: [elapsed_ms(&reload_start)?, elapsed_ms(&reload_end)?],
            };
            Ok(pools)
        })?;
        (first.pool, second.pool) = pools;
        Ok((step, overlap, first, second))
    }

    /// Copies to ordinary memory: the call returns when the bytes have arrived.
    fn pageable(&self, half: &Half) -> Result<DemoStep> {
        let bytes = PAGEABLE_BYTES.min(half.cache.len());
        let (step, pageable) =
            self.measure("pageable copy, device to host", bytes, 1, vec![0; bytes], |mut target| {
                half.cache.slice(..bytes).copy_to_slice(&mut target)?;
                Ok(target)
            })?;
        ensure!(pageable == half.contents[..bytes], "the pageable copy returned before its bytes were in place");
        Ok(step)
    }

    /// Forks a block on the compute stream as soon as the reload stream has brought it. The use of a buffer on
    /// another stream inserts the event and the wait for it.
    fn fork_block(&self, mut first: Half, mut second: Half) -> Result<(Half, Half)> {
        let (source, target) = (self.range(first.order[0]), self.range(second.order[0]));
        self.reload.fill(first.cache.slice_mut(source.clone()), 0)?;
        let batch = self.batch(Batch::new_upload(first.pool, [&mut first.cache]), &first.order[..1])?;
        let reloaded = self.reload.submit(batch)?;
        self.compute.copy(first.cache.slice(source.clone()), second.cache.slice_mut(target.clone()))?;
        self.compute.synchronize()?;
        first.pool = reloaded.wait()?;
        let forked = second.cache.slice(target.clone()).to_vec()?;
        ensure!(
            forked == first.contents[source],
            "the compute stream did not wait for the reload stream: it copied an old block"
        );
        // Restore the block, so that the whole cache can be verified.
        second.cache.slice_mut(target.clone()).copy_from_slice(&second.contents[target])?;
        Ok((first, second))
    }

    /// Compares cache and pool with the expected contents. Returns the number of bytes verified.
    fn verify(&self, half: &Half) -> Result<usize> {
        let (found, expected) = (half.cache.to_vec()?, &half.contents[..]);
        if let Some(index) = (0..expected.len()).find(|index| found[*index] != expected[*index]) {
            bail!("byte {index} of the cache is {:#x}, expected {:#x}", found[index], expected[index]);
        }
        ensure!(half.pool[..] == *expected, "the offloaded blocks differ from the cache");
        Ok(found.len() + half.pool.len())
    }

    /// Bytes of a block, in the cache and in the pool.
    fn range(&self, block: usize) -> Range<usize> {
        block * self.block..(block + 1) * self.block
    }

    /// Adds blocks to a batch.
    fn batch<'a>(&self, mut batch: Batch<'a, u8>, blocks: &[usize]) -> Result<Batch<'a, u8>> {
        for block in blocks {
            batch.push(self.range(*block), self.range(*block))?;
        }
        Ok(batch)
    }

    /// Times a step, alternating with a memcpy loop over the same number of bytes in the same number of pieces. The
    /// memory that the step uses is passed to it and returned by it, because a transfer owns its memory.
    fn measure<M>(
        &self,
        name: &'static str,
        bytes: usize,
        pieces: usize,
        memory: M,
        mut step: impl FnMut(M) -> Result<M>,
    ) -> Result<(DemoStep, M)> {
        let mut reference = Reference::new(&self.context, bytes, pieces)?;
        let mut memory = step(memory)?;
        reference.run();
        let (mut step_times, mut memcpy_times) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            let start = Instant::now();
            memory = step(memory)?;
            step_times.push(start.elapsed());
            let start = Instant::now();
            reference.run();
            memcpy_times.push(start.elapsed());
        }
        let median = |mut times: Vec<Duration>| {
            times.sort();
            times[times.len() / 2].as_secs_f64()
        };
        let (seconds, memcpy_seconds) = (median(step_times), median(memcpy_times));
        Ok((DemoStep { name, bytes, seconds, memcpy_seconds }, memory))
    }
}
