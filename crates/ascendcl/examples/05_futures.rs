//! Transfers as futures: one thread awaits several of them concurrently.

use ascendcl::{Device, DeviceBuffer, Result, Stream};
use std::pin::pin;
use std::task::Poll;

/// Downloads a buffer and counts the bytes that are 1.
async fn count(stream: &Stream, device: &DeviceBuffer<u8>) -> Result<usize> {
    let host = stream.context().alloc_pinned(device.len())?;
    let host = stream.download(device, host)?.await?;
    Ok(host.iter().filter(|byte| **byte == 1).count())
}

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let streams = [context.new_stream()?, context.new_stream()?];
    let mut buffers = [context.alloc_zeros::<u8>(1000)?, context.alloc_zeros::<u8>(1000)?];
    streams[0].fill(buffers[0].slice_mut(..300), 1)?;
    streams[1].fill(buffers[1].slice_mut(..500), 1)?;

    let mut first = pin!(count(&streams[0], &buffers[0]));
    let mut second = pin!(count(&streams[1], &buffers[1]));
    let (mut one, mut two) = (None, None);
    // Polls both futures. Any executor can do this, for example with `join!`.
    let both = std::future::poll_fn(|task| {
        if one.is_none()
            && let Poll::Ready(result) = first.as_mut().poll(task)
        {
            one = Some(result);
        }
        if two.is_none()
            && let Poll::Ready(result) = second.as_mut().poll(task)
        {
            two = Some(result);
        }
        if one.is_some() && two.is_some() { Poll::Ready(()) } else { Poll::Pending }
    });
    pollster::block_on(both);
    let counts = (one.expect("both futures are ready")?, two.expect("both futures are ready")?);
    println!("{counts:?}");
    assert_eq!(counts, (300, 500));
    Ok(())
}
