//! Ordinary memory cannot be copied asynchronously by a 2D copy.
use ascendcl::{Device, Plane, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let mut device = context.alloc_zeros::<u8>(4)?;
    let plane = Plane { width: 2, height: 2, source_pitch: 2, target_pitch: 2 };
    context.new_stream()?.upload_2d(vec![0u8; 4], &mut device, plane)?.wait()?;
    Ok(())
}
