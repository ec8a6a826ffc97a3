//! A batch has one direction: a source of one that uploads is not a device buffer.
use ascendcl::{Batch, Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let cache = context.alloc_zeros::<u8>(8)?;
    let batch = Batch::upload(context.alloc_pinned(8)?, [&cache]);
    context.new_stream()?.submit(batch)?.wait()?;
    Ok(())
}
