//! Only plain values can be in a buffer.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    context.zeros::<&str>(8)?;
    context.zeros::<bool>(8)?;
    Ok(())
}
