//! A batch has one direction: a source of one that uploads is not a device buffer.
use ascendcl::{Batch, Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let cache = context.zeros::<u8>(8)?;
    let batch = Batch::upload(context.pinned(8)?, [&cache]);
    context.stream()?.submit(batch)?.wait()?;
    Ok(())
}
