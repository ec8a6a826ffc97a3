//! Memory that a 2D copy in a scope writes must outlive the scope.
use ascendcl::{Device, Plane, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let device = context.alloc_zeros::<u8>(4)?;
    context.new_stream()?.scope(|scope| {
        let mut host = context.alloc_pinned::<u8>(4)?;
        scope.download_2d(&device, &mut host, Plane { width: 2, height: 2, source_pitch: 2, target_pitch: 2 })
    })
}
