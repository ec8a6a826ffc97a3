//! References and `bool` are not elements.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    context.alloc_zeros::<&str>(8)?;
    context.alloc_zeros::<bool>(8)?;
    Ok(())
}
