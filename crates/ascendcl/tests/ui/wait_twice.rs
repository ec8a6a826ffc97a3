//! The buffer comes back once.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let device = context.zeros::<u8>(8)?;
    let transfer = context.stream()?.download(&device, context.pinned(8)?)?;
    let one = transfer.wait()?;
    let other = transfer.wait()?;
    drop((one, other));
    Ok(())
}
