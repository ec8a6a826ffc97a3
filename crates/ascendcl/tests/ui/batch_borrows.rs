//! A buffer that a batch will write cannot be used before the batch is submitted.
use ascendcl::{Batch, Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let mut cache = context.zeros::<u8>(8)?;
    let batch = Batch::upload(context.pinned(8)?, [&mut cache]);
    drop(cache);
    context.stream()?.submit(batch)?.wait()?;
    Ok(())
}
