//! Ordinary memory cannot be copied asynchronously.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let mut device = context.zeros::<u8>(8)?;
    context.stream()?.upload(vec![0u8; 8], &mut device)?;
    Ok(())
}
