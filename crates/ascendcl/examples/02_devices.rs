//! Which devices there are; contexts are values, and any thread may use them; devices give each other their memory.

use ascendcl::{Device, Result};
use std::thread;

fn main() -> Result<()> {
    for device in Device::all()? {
        let context = device.context()?;
        let memory = context.memory()?;
        println!("device {}: {} MiB of {} free", device.number(), memory.free >> 20, memory.total >> 20);

        // No set-up on the other thread: the stream knows its context.
        let stream = context.stream()?;
        let filled = thread::spawn(move || {
            let mut buffer = context.buffer::<u8>(1 << 10)?;
            stream.fill(&mut buffer, device.number() as u8)?;
            buffer.to_vec()
        });
        let bytes = filled.join().expect("the thread does not panic")?;
        assert!(bytes.iter().all(|byte| u32::from(*byte) == device.number()));
    }

    // From one device to another: the copy comes after the fill, and the download after the copy.
    let (here, there) = (Device::new(0)?.context()?, Device::new(1)?.context()?);
    let (stream, other) = (here.stream()?, there.stream()?);
    let (mut source, mut target) = (here.buffer::<u8>(1 << 10)?, there.buffer::<u8>(1 << 10)?);
    stream.fill(&mut source, 7)?;
    stream.copy_peer(&source, &mut target)?;
    let host = other.download(&target, there.pinned(1 << 10)?)?.wait()?;
    assert!(host.iter().all(|byte| *byte == 7));
    println!("{} bytes went from {:?} to {:?}", host.len(), here.device(), there.device());
    Ok(())
}
