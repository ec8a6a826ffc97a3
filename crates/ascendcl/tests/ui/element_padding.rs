//! Types with padding or invalid bit patterns are not elements.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    context.alloc_pinned::<bool>(4)?;
    context.alloc_zeros::<(u8, u32)>(4)?;
    Ok(())
}
