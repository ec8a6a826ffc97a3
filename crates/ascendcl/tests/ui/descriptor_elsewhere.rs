//! A descriptor belongs to its stream and cannot be launched on another one.
use ascendcl::{Descriptor, Device, Result};

fn main() -> Result<()> {
    let (here, there) = (Device::new(0)?.new_context()?, Device::new(1)?.new_context()?);
    let mut descriptor = Descriptor::new(&here.new_stream()?, here.alloc_zeros::<u8>(8)?, here.alloc_zeros(8)?)?;
    descriptor.launch(&there.new_stream()?)
}
