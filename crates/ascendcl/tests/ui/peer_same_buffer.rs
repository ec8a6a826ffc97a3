//! A buffer is not copied onto itself, on whatever device.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let mut device = context.zeros::<u8>(4)?;
    context.stream()?.copy_peer(device.slice(..2), device.slice_mut(2..))
}
