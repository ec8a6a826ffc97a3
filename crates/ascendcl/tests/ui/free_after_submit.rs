//! The pinned buffer of a transfer cannot be dropped.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let device = context.alloc_zeros::<u8>(8)?;
    let host = context.alloc_pinned::<u8>(8)?;
    let transfer = context.new_stream()?.download(&device, host)?;
    drop(host);
    transfer.wait()?;
    Ok(())
}
