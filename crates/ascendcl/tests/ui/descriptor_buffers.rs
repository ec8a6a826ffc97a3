//! A descriptor cannot be launched after its buffers were taken out.
use ascendcl::{Descriptor, Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let (source, target) = (context.alloc_zeros::<u8>(8)?, context.alloc_zeros(8)?);
    let mut descriptor = Descriptor::new(&context.new_stream()?, source, target)?;
    let buffers = descriptor.into_buffers();
    descriptor.launch()?;
    drop(buffers);
    Ok(())
}
