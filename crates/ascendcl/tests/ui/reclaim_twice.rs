//! A transfer cannot return its memory twice.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let stream = context.new_stream()?;
    let mut device = context.alloc_zeros::<u8>(4)?;
    let transfer = stream.upload(context.alloc_pinned::<u8>(4)?, &mut device)?;
    stream.synchronize()?;
    let one = transfer.try_reclaim();
    let other = transfer.wait()?;
    drop((one, other));
    Ok(())
}
