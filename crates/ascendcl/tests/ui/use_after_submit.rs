//! The pinned buffer is away while it is copied.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let mut device = context.zeros::<u8>(8)?;
    let mut host = context.pinned::<u8>(8)?;
    let transfer = context.stream()?.upload(host, &mut device)?;
    host[0] = 1;
    transfer.wait()?;
    Ok(())
}
