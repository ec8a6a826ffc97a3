//! An upload batch requires mutable device buffers.
use ascendcl::{Batch, Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let cache = context.alloc_zeros::<u8>(8)?;
    let batch = Batch::new_upload(context.alloc_pinned(8)?, [&cache]);
    context.new_stream()?.submit(batch)?.wait()?;
    Ok(())
}
