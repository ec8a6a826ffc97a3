//! Memory that a scope borrows cannot be written in it.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let mut device = context.zeros::<u8>(8)?;
    let mut host = context.pinned::<u8>(8)?;
    context.stream()?.scope(|scope| {
        scope.upload(&host, &mut device)?;
        host[0] = 1;
        Ok(())
    })
}
