//! Memory that a copy in a scope writes cannot be read before the scope ends.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let device = context.alloc_zeros::<u8>(8)?;
    let mut host = context.alloc_pinned::<u8>(8)?;
    context.new_stream()?.scope(|scope| {
        scope.download(&device, &mut host)?;
        assert_eq!(host[0], 0);
        Ok(())
    })
}
