//! What has padding or forbidden bit patterns is no element.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    context.pinned::<bool>(4)?;
    context.zeros::<(u8, u32)>(4)?;
    Ok(())
}
