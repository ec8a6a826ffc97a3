//! The host buffer of a copy of rows is away too.
use ascendcl::{Device, Plane, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let stream = context.stream()?;
    let mut device = context.zeros::<u8>(4)?;
    let mut host = context.pinned::<u8>(4)?;
    let plane = Plane { width: 2, height: 2, source_pitch: 2, target_pitch: 2 };
    let transfer = stream.upload_2d(host, &mut device, plane)?;
    host[0] = 1;
    transfer.wait()?;
    Ok(())
}
