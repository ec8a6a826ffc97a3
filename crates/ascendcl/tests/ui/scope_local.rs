//! A scope cannot borrow memory that is dropped inside it.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut device = context.alloc_zeros::<u8>(8)?;
    context.new_stream()?.scope(|scope| {
        let host = context.alloc_pinned::<u8>(8)?;
        scope.upload(&host, &mut device)
    })
}
