//! Repeats one copy by descriptor, with its parameters in device memory.

use ascendcl::{Descriptor, Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let stream = context.new_stream()?;

    let (source, target) = (context.alloc_zeros::<u32>(1024)?, context.alloc_zeros::<u32>(1024)?);
    let mut descriptor = Descriptor::new(&stream, source, target)?;
    for round in 1..=3 {
        stream.fill(descriptor.source_mut(), round)?;
        descriptor.launch()?;
    }
    let (_, target) = descriptor.into_buffers();
    assert!(target.to_vec()?.iter().all(|word| *word == 0x0303_0303));
    println!("launched three times; the target has the last contents");
    Ok(())
}
