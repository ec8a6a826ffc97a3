//! A thread that may outlive the scope cannot submit in it.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let host = context.pinned::<u8>(4)?;
    let mut device = context.zeros::<u8>(4)?;
    context.stream()?.scope(|scope| {
        std::thread::spawn(move || scope.upload(&host, &mut device));
        Ok(())
    })
}
