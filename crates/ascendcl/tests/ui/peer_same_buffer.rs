//! A buffer cannot be source and target of one copy.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut device = context.alloc_zeros::<u8>(4)?;
    context.new_stream()?.copy_peer(device.slice(..2), device.slice_mut(2..))
}
