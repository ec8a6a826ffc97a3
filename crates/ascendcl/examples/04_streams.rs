//! Two streams and one buffer: the order is kept without a word, or asked for with events.

use ascendcl::{Device, Result};

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let (loader, worker) = (context.new_stream()?, context.new_stream()?);

    // The worker reads what the loader writes: the buffer knows, and inserts the wait.
    let mut input = context.alloc_uninit::<u8>(1 << 20)?;
    let mut result = context.alloc_uninit::<u8>(1 << 20)?;
    let start = loader.record()?;
    let upload = loader.upload(context.alloc_pinned_from_slice(&vec![42; 1 << 20])?, &mut input)?;
    worker.copy(&input, &mut result)?;
    let end = worker.record()?;

    // An event says that the upload is over, without waiting for what comes later on its stream.
    let uploaded = loader.record()?;
    loader.fill(&mut input, 0)?;
    uploaded.synchronize()?;
    let mut host = upload.try_reclaim().expect("the event says so");
    host.fill(43);

    assert!(result.to_vec()?.iter().all(|byte| *byte == 42));
    println!("upload and copy took {:?}", end.elapsed_since(&start)?);

    // Strict: no waits that the program did not ask for.
    context.set_strict(true);
    let refused = worker.fill(&mut input, 1).unwrap_err();
    println!("{refused}");
    worker.wait(&loader.record()?)?;
    loader.synchronize()?;
    worker.fill(&mut input, 1)
}
