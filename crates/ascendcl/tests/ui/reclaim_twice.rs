//! What a transfer gave back is not in it any more.
use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.context()?;
    let stream = context.stream()?;
    let mut device = context.zeros::<u8>(4)?;
    let transfer = stream.upload(context.pinned::<u8>(4)?, &mut device)?;
    stream.synchronize()?;
    let one = transfer.reclaim();
    let other = transfer.wait()?;
    drop((one, other));
    Ok(())
}
