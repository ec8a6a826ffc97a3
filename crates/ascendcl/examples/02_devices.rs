//! Lists the devices, uses contexts on other threads, and copies between devices.

use ascendcl::{Device, Result};
use std::thread;

fn main() -> Result<()> {
    for device in Device::all()? {
        let context = device.new_context()?;
        let memory = context.memory_info()?;
        println!("device {}: {} of {} MiB free", device.index(), memory.free >> 20, memory.total >> 20);

        // The other thread needs no setup: the stream has its context.
        let stream = context.new_stream()?;
        let filled = thread::spawn(move || {
            let mut buffer = context.alloc_uninit::<u8>(1 << 10)?;
            stream.fill(&mut buffer, device.index() as u8)?;
            buffer.to_vec()
        });
        let bytes = filled.join().expect("the thread does not panic")?;
        assert!(bytes.iter().all(|byte| u32::from(*byte) == device.index()));
    }

    // The copy is ordered after the fill, and the download after the copy, although the streams differ.
    let (here, there) = (Device::new(0)?.new_context()?, Device::new(1)?.new_context()?);
    let (stream, other) = (here.new_stream()?, there.new_stream()?);
    let (mut source, mut target) = (here.alloc_uninit::<u8>(1 << 10)?, there.alloc_uninit::<u8>(1 << 10)?);
    stream.fill(&mut source, 7)?;
    stream.copy_peer(&source, &mut target)?;
    let host = other.download(&target, there.alloc_pinned(1 << 10)?)?.wait()?;
    assert!(host.iter().all(|byte| *byte == 7));
    println!("copied {} bytes from {:?} to {:?}", host.len(), here.device(), there.device());
    Ok(())
}
