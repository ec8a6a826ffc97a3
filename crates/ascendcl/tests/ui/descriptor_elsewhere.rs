//! A descriptor belongs to its stream: there is no way to launch it on another, of this or of another device.
use ascendcl::{Descriptor, Device, Result};

fn main() -> Result<()> {
    let (here, there) = (Device::new(0)?.context()?, Device::new(1)?.context()?);
    let mut descriptor = Descriptor::new(&here.stream()?, here.zeros::<u8>(8)?, here.zeros(8)?)?;
    descriptor.launch(&there.stream()?)
}
