//! The pinned buffer of a 2D transfer cannot be accessed.
use ascendcl::{Device, Plane, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let stream = context.new_stream()?;
    let mut device = context.alloc_zeros::<u8>(4)?;
    let mut host = context.alloc_pinned::<u8>(4)?;
    let plane = Plane { width: 2, height: 2, source_pitch: 2, target_pitch: 2 };
    let transfer = stream.upload_2d(host, &mut device, plane)?;
    host[0] = 1;
    transfer.wait()?;
    Ok(())
}
