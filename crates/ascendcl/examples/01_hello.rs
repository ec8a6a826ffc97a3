//! A buffer goes to the device and comes back.

use ascendcl::{Device, Result};

fn main() -> Result<()> {
    println!("AscendCL comes from {}; the chip is {}", ascendcl::raw::loaded()?, Device::soc_name()?);
    let context = Device::new(0)?.context()?;
    let stream = context.stream()?;

    let host = context.pinned_from(b"hello, device")?;
    let mut device = context.buffer::<u8>(host.len())?;
    let host = stream.upload(host, &mut device)?.wait()?;

    let back = stream.download(&device, context.pinned(host.len())?)?.wait()?;
    println!("{}", String::from_utf8_lossy(&back));
    assert_eq!(*back, *host);
    Ok(())
}
