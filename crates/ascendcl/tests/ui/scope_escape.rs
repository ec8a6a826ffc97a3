//! A reference to the scope cannot leave the scope.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut escaped = None;
    context.new_stream()?.scope(|scope| {
        escaped = Some(scope);
        Ok(())
    })?;
    drop(escaped);
    Ok(())
}
