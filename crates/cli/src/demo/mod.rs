//! `softacl demo`: a KV-cache offload through the C interface, from allocation to verified bytes.
//!
//! A serving engine keeps the attention cache of its requests in blocks on the device and moves
//! blocks to pinned host memory and back. The demo does that with batches on two streams, orders a
//! third stream with events, adds a pageable copy, and checks every byte at the end.

mod reference;
mod report;

use crate::acl::{self, DeviceMemory, Event, PinnedMemory, Stream};
use crate::output;
use anyhow::{Result, ensure};
use clap::Args;
use reference::Reference;
use report::{DemoReport, DemoStep};
use std::time::Instant;

/// Run a KV-cache offload: batched block copies both ways on several streams, verified.
#[derive(Args)]
pub struct Arguments {
    /// Blocks in the cache
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(2..=65_536))]
    blocks: u32,
    /// Bytes of one block
    #[arg(long, default_value_t = 32 << 10, value_parser = clap::value_parser!(u32).range(64..=16 << 20))]
    block_size: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Each step is measured so often, with its reference in between; the median counts.
const REPEATS: usize = 5;
const PAGEABLE: usize = 16 << 20;

pub fn main(arguments: &Arguments) -> Result<()> {
    let soc = acl::soc_name();
    let has_batches = softacl_profiles::profile(Some(&soc), None).is_ok_and(|profile| profile.chip.copy.batch);
    ensure!(
        has_batches,
        "the demo moves its blocks in batches, which {soc} does not have; choose another chip with SOFTACL_SOC"
    );
    acl::set_device(0)?;
    let report = Demo::new(arguments.blocks as usize, arguments.block_size as usize)?.run()?;
    if arguments.json {
        return output::print(serde_json::to_string_pretty(&report)? + "\n");
    }
    output::print(report)
}

struct Demo {
    blocks: usize,
    block: usize,
    /// The order in which blocks are moved: scattered, as a cache manager would have it.
    order: Vec<usize>,
    cache: DeviceMemory,
    /// What the cache should hold.
    contents: PinnedMemory,
    /// Where blocks are offloaded to.
    pool: PinnedMemory,
    offload: Stream,
    reload: Stream,
    compute: Stream,
}

impl Demo {
    fn new(blocks: usize, block: usize) -> Result<Demo> {
        let bytes = blocks * block;
        Ok(Demo {
            blocks,
            block,
            order: scattered(blocks),
            cache: DeviceMemory::new(bytes)?,
            contents: PinnedMemory::new(bytes, |index| (index * 7 + index / 251) as u8)?,
            pool: PinnedMemory::new(bytes, |_| 0)?,
            offload: Stream::new()?,
            reload: Stream::new()?,
            compute: Stream::new()?,
        })
    }

    fn run(&self) -> Result<DemoReport> {
        let mut steps = vec![self.upload()?, self.offload_batch()?, self.reload_batch()?];
        let (both, overlap) = self.both_ways()?;
        steps.push(both);
        steps.push(self.pageable()?);
        self.ordered_by_event()?;
        let verified_bytes = self.verify()?;
        Ok(DemoReport { blocks: self.blocks, block_size: self.block, steps, overlap, verified_bytes })
    }

    /// The whole cache in one copy.
    fn upload(&self) -> Result<DemoStep> {
        let bytes = self.blocks * self.block;
        self.measure("upload: one pinned copy", bytes, 1, || {
            acl::copy_async(self.cache.at(0), self.contents.at(0), bytes, &self.offload)?;
            self.offload.synchronize()
        })
    }

    /// Half of the blocks to the host, as one batch.
    fn offload_batch(&self) -> Result<DemoStep> {
        let half = &self.order[..self.blocks / 2];
        self.measure("offload: batch, device to host", half.len() * self.block, half.len(), || {
            self.batch(half, Direction::ToHost, &self.offload)?;
            self.offload.synchronize()
        })
    }

    /// The same blocks back.
    fn reload_batch(&self) -> Result<DemoStep> {
        let half = &self.order[..self.blocks / 2];
        self.measure("reload: batch, host to device", half.len() * self.block, half.len(), || {
            self.batch(half, Direction::ToDevice, &self.reload)?;
            self.reload.synchronize()
        })
    }

    /// One half goes out while the other comes in, on two streams with events around them.
    fn both_ways(&self) -> Result<(DemoStep, report::Overlap)> {
        let (first, second) = self.order.split_at(self.blocks / 2);
        self.batch(second, Direction::ToHost, &self.offload)?;
        self.offload.synchronize()?;
        let origin = Event::new()?;
        let marks = [Event::new()?, Event::new()?, Event::new()?, Event::new()?];
        let step = self.measure("both ways at once, two streams", self.blocks * self.block, self.blocks, || {
            origin.record(&self.compute)?;
            marks[0].record(&self.offload)?;
            self.batch(first, Direction::ToHost, &self.offload)?;
            marks[1].record(&self.offload)?;
            marks[2].record(&self.reload)?;
            self.batch(second, Direction::ToDevice, &self.reload)?;
            marks[3].record(&self.reload)?;
            self.compute.synchronize()?;
            self.offload.synchronize()?;
            self.reload.synchronize()
        })?;
        let at = |mark: &Event| origin.elapsed_ms(mark);
        let overlap = report::Overlap {
            offload_ms: [at(&marks[0])?, at(&marks[1])?],
            reload_ms: [at(&marks[2])?, at(&marks[3])?],
        };
        Ok((step, overlap))
    }

    /// Ordinary memory: the call returns when the bytes are there.
    fn pageable(&self) -> Result<DemoStep> {
        let bytes = PAGEABLE.min(self.blocks * self.block);
        let mut plain = vec![0u8; bytes];
        let step = self.measure("pageable copy, device to host", bytes, 1, || {
            acl::copy_async(plain.as_mut_ptr() as usize, self.cache.at(0), bytes, &self.compute)
        })?;
        ensure!(plain == self.contents.bytes(0, bytes), "the pageable copy returned before its bytes were in place");
        Ok(step)
    }

    /// The compute stream forks a block as soon as the reload stream has brought it.
    fn ordered_by_event(&self) -> Result<()> {
        let (source, target) = (self.order[0], self.order[1]);
        self.batch(&[source], Direction::ToHost, &self.reload)?;
        self.batch(&[source], Direction::ToDevice, &self.reload)?;
        let arrived = Event::new()?;
        arrived.record(&self.reload)?;
        self.compute.wait(&arrived)?;
        acl::copy_async(
            self.cache.at(target * self.block),
            self.cache.at(source * self.block),
            self.block,
            &self.compute,
        )?;
        self.compute.synchronize()?;
        let mut forked = vec![0u8; self.block];
        acl::copy(forked.as_mut_ptr() as usize, self.cache.at(target * self.block), self.block)?;
        let expected = self.contents.bytes(source * self.block, self.block);
        ensure!(forked == expected, "the compute stream did not wait for the event: it copied an old block");
        // Put the block back, so that the whole cache can be verified.
        acl::copy(self.cache.at(target * self.block), self.contents.at(target * self.block), self.block)?;
        Ok(())
    }

    fn verify(&self) -> Result<usize> {
        let bytes = self.blocks * self.block;
        let mut found = vec![0u8; bytes];
        acl::copy(found.as_mut_ptr() as usize, self.cache.at(0), bytes)?;
        let expected = self.contents.bytes(0, bytes);
        if let Some(index) = (0..bytes).find(|index| found[*index] != expected[*index]) {
            anyhow::bail!("byte {index} of the cache is {:#x}, and should be {:#x}", found[index], expected[index]);
        }
        ensure!(self.pool.bytes(0, bytes) == expected, "the offloaded blocks differ from the cache");
        Ok(2 * bytes)
    }

    fn batch(&self, blocks: &[usize], direction: Direction, stream: &Stream) -> Result<()> {
        let on_device: Vec<usize> = blocks.iter().map(|index| self.cache.at(index * self.block)).collect();
        let on_host: Vec<usize> = blocks.iter().map(|index| self.pool.at(index * self.block)).collect();
        match direction {
            Direction::ToHost => acl::batch_async(&on_host, &on_device, self.block, false, stream),
            Direction::ToDevice => acl::batch_async(&on_device, &on_host, self.block, true, stream),
        }
    }

    /// Times a step and, in turns with it, a plain memcpy loop over as many bytes in as many pieces.
    fn measure(
        &self,
        name: &'static str,
        bytes: usize,
        pieces: usize,
        mut step: impl FnMut() -> Result<()>,
    ) -> Result<DemoStep> {
        let reference = Reference::new(bytes, pieces)?;
        step()?;
        reference.run();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            let start = Instant::now();
            step()?;
            ours.push(start.elapsed());
            let start = Instant::now();
            reference.run();
            theirs.push(start.elapsed());
        }
        let median = |times: &mut Vec<std::time::Duration>| {
            times.sort();
            times[times.len() / 2].as_secs_f64()
        };
        Ok(DemoStep { name, bytes, seconds: median(&mut ours), memcpy_seconds: median(&mut theirs) })
    }
}

#[derive(Clone, Copy)]
enum Direction {
    ToHost,
    ToDevice,
}

/// All numbers below `count`, in an order without neighbours: a fixed permutation.
pub fn scattered(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for index in (1..count).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(index, (state >> 33) as usize % (index + 1));
    }
    order
}
