//! Nor can it be freed.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let device = context.zeros::<u8>(8)?;
    let host = context.pinned::<u8>(8)?;
    let transfer = context.stream()?.download(&device, host)?;
    drop(host);
    transfer.wait()?;
    Ok(())
}
