//! A buffer that a batch will write cannot be used before the batch is submitted.
use ascendcl::{Batch, Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut cache = context.alloc_zeros::<u8>(8)?;
    let batch = Batch::upload(context.alloc_pinned(8)?, [&mut cache]);
    drop(cache);
    context.new_stream()?.submit(batch)?.wait()?;
    Ok(())
}
