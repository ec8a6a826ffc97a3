//! A descriptor keeps its buffers: one that was taken back cannot be launched.
use ascendcl::{Descriptor, Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let mut descriptor = Descriptor::new(&context.stream()?, context.zeros::<u8>(8)?, context.zeros(8)?)?;
    let buffers = descriptor.into_buffers();
    descriptor.launch()?;
    drop(buffers);
    Ok(())
}
