//! A transfer cannot be waited for twice.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let device = context.alloc_zeros::<u8>(8)?;
    let transfer = context.new_stream()?.download(&device, context.alloc_pinned(8)?)?;
    let one = transfer.wait()?;
    let other = transfer.wait()?;
    drop((one, other));
    Ok(())
}
