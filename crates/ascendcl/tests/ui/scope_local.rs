//! A scope cannot borrow what ends inside it.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let mut device = context.zeros::<u8>(8)?;
    context.stream()?.scope(|scope| {
        let host = context.pinned::<u8>(8)?;
        scope.upload(&host, &mut device)
    })
}
