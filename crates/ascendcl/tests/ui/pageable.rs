//! Ordinary memory cannot be copied asynchronously.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut device = context.alloc_zeros::<u8>(8)?;
    context.new_stream()?.upload(vec![0u8; 8], &mut device)?;
    Ok(())
}
