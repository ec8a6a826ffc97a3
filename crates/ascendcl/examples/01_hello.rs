//! Copies a buffer to the device and back.

use ascendcl::{Device, Result};

fn main() -> Result<()> {
    println!("AscendCL comes from {}; the chip is {}", ascendcl::raw::loaded()?, Device::soc_name()?);
    let context = Device::new(0)?.new_context()?;
    let stream = context.new_stream()?;

    let host = context.alloc_pinned_from_slice(b"hello, device")?;
    let mut device = context.alloc_uninit::<u8>(host.len())?;
    let host = stream.upload(host, &mut device)?.wait()?;

    let back = stream.download(&device, context.alloc_pinned(host.len())?)?.wait()?;
    println!("{}", String::from_utf8_lossy(&back));
    assert_eq!(*back, *host);
    Ok(())
}
