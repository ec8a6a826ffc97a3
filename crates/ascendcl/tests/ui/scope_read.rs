//! What a scope copies to the host cannot be read before the scope ends.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let device = context.zeros::<u8>(8)?;
    let mut host = context.pinned::<u8>(8)?;
    context.stream()?.scope(|scope| {
        scope.download(&device, &mut host)?;
        assert_eq!(host[0], 0);
        Ok(())
    })
}
