//! The scope itself cannot be taken out.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let mut escaped = None;
    context.stream()?.scope(|scope| {
        escaped = Some(scope);
        Ok(())
    })?;
    drop(escaped);
    Ok(())
}
