//! A pipeline: while one chunk is processed, the next one is uploaded and the previous one is downloaded.
//!
//! Three streams share two sets of buffers without explicit events, because the buffers track their uses.

use ascendcl::{Context, Device, DeviceBuffer, PinnedBuffer, Result, Stream, Transfer};
use std::collections::VecDeque;

const CHUNK: usize = 64 << 10;
const CHUNKS: usize = 16;

struct Slot {
    input: DeviceBuffer<u8>,
    output: DeviceBuffer<u8>,
}

struct Pipeline {
    uploads: Stream,
    work: Stream,
    downloads: Stream,
    slots: [Slot; 2],
}

impl Pipeline {
    fn new(context: &Context) -> Result<Pipeline> {
        let slot = || Ok(Slot { input: context.alloc_uninit(CHUNK)?, output: context.alloc_uninit(CHUNK)? });
        Ok(Pipeline {
            uploads: context.new_stream()?,
            work: context.new_stream()?,
            downloads: context.new_stream()?,
            slots: [slot()?, slot()?],
        })
    }

    /// Queues the upload, the processing and the download of a chunk.
    fn start(
        &mut self,
        chunk: usize,
        source: PinnedBuffer<u8>,
        target: PinnedBuffer<u8>,
    ) -> Result<[Transfer<PinnedBuffer<u8>>; 2]> {
        let Slot { input, output } = &mut self.slots[chunk % 2];
        let upload = self.uploads.upload(source, &mut *input)?;
        self.work.copy(&*input, &mut *output)?;
        self.work.fill(output.slice_mut(..1), 0xee)?;
        let download = self.downloads.download(&*output, target)?;
        Ok([upload, download])
    }
}

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut pipeline = Pipeline::new(&context)?;
    let mut in_flight = VecDeque::new();
    let mut finished = 0;
    for chunk in 0..CHUNKS {
        let source = context.alloc_pinned_from_slice(&vec![chunk as u8; CHUNK])?;
        in_flight.push_back((chunk, pipeline.start(chunk, source, context.alloc_pinned(CHUNK)?)?));
        if in_flight.len() == 2 {
            finished += finish(in_flight.pop_front())?;
        }
    }
    while !in_flight.is_empty() {
        finished += finish(in_flight.pop_front())?;
    }
    assert_eq!(finished, CHUNKS);
    println!("processed {finished} chunks of {} KiB", CHUNK >> 10);
    Ok(())
}

/// Waits for a chunk and checks its contents. Returns the number of finished chunks.
fn finish(oldest: Option<(usize, [Transfer<PinnedBuffer<u8>>; 2])>) -> Result<usize> {
    let Some((chunk, [upload, download])) = oldest else { return Ok(0) };
    upload.wait()?;
    let result = download.wait()?;
    assert_eq!(result[0], 0xee);
    assert!(result[1..].iter().all(|byte| usize::from(*byte) == chunk));
    Ok(1)
}
