//! A descriptor keeps its buffers: one that was taken back cannot be launched.
use ascendcl::{Descriptor, Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut descriptor = Descriptor::new(&context.new_stream()?, context.alloc_zeros::<u8>(8)?, context.alloc_zeros(8)?)?;
    let buffers = descriptor.into_buffers();
    descriptor.launch()?;
    drop(buffers);
    Ok(())
}
