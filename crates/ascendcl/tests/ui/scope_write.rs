//! Memory that a copy in a scope reads cannot be written before the scope ends.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut device = context.alloc_zeros::<u8>(8)?;
    let mut host = context.alloc_pinned::<u8>(8)?;
    context.new_stream()?.scope(|scope| {
        scope.upload(&host, &mut device)?;
        host[0] = 1;
        Ok(())
    })
}
