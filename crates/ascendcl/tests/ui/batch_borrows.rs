//! The target buffers of a batch cannot be used until the batch is submitted.
use ascendcl::{Batch, Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut cache = context.alloc_zeros::<u8>(8)?;
    let batch = Batch::new_upload(context.alloc_pinned(8)?, [&mut cache]);
    drop(cache);
    context.new_stream()?.submit(batch)?.wait()?;
    Ok(())
}
