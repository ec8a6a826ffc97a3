//! Rows that a scope writes must outlive it.
use ascendcl::{Device, Plane, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let device = context.zeros::<u8>(4)?;
    context.stream()?.scope(|scope| {
        let mut host = context.pinned::<u8>(4)?;
        scope.download_2d(&device, &mut host, Plane { width: 2, height: 2, source_pitch: 2, target_pitch: 2 })
    })
}
