//! The pinned buffer of a transfer cannot be accessed.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut device = context.alloc_zeros::<u8>(8)?;
    let mut host = context.alloc_pinned::<u8>(8)?;
    let transfer = context.new_stream()?.upload(host, &mut device)?;
    host[0] = 1;
    transfer.wait()?;
    Ok(())
}
