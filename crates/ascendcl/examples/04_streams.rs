//! Two streams that share a buffer: automatic ordering, events and strict mode.

use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let (loader, worker) = (context.new_stream()?, context.new_stream()?);

    // The worker reads what the loader writes. The buffer tracks its uses and inserts the wait.
    let mut input = context.alloc_uninit::<u8>(1 << 20)?;
    let mut result = context.alloc_uninit::<u8>(1 << 20)?;
    let start = loader.record()?;
    let upload = loader.upload(context.alloc_pinned_from_slice(&vec![42; 1 << 20])?, &mut input)?;
    worker.copy(&input, &mut result)?;
    let end = worker.record()?;

    // The event shows that the upload has finished, without a wait for later work of its stream.
    let uploaded = loader.record()?;
    loader.fill(&mut input, 0)?;
    uploaded.synchronize()?;
    let mut host = upload.try_reclaim().expect("the event is complete");
    host.fill(43);

    assert!(result.to_vec()?.iter().all(|byte| *byte == 42));
    println!("upload and copy took {:?}", end.elapsed_since(&start)?);

    // In strict mode, no waits are inserted.
    context.set_strict(true);
    let error = worker.fill(&mut input, 1).unwrap_err();
    println!("{error}");
    worker.wait(&loader.record()?)?;
    loader.synchronize()?;
    worker.fill(&mut input, 1)
}
