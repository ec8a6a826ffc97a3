//! A thread that may outlive the scope cannot use it.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    context.new_stream()?.scope(|scope| {
        std::thread::spawn(move || scope.stream().synchronize());
        Ok(())
    })
}
