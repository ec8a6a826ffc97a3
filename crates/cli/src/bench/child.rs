//! The parts of the benchmark that run in a child process: hot paths a known number of times, for callgrind, and idle
//! streams, which nothing else in the process may disturb.

use super::fixture::Fixture;
use super::instructions::Path;
use super::{c_api, checked, memory, observed, probe};
use crate::runtime;
use anyhow::{Result, bail};
use ascendcl::{Context, Stream};
use std::str::FromStr;
use std::time::Duration;

const LEN: usize = 64;
/// Entries of a batch. Large enough to make the cost of the call itself negligible.
pub const ENTRIES: usize = 1000;
const IDLE_STREAMS: usize = 100;

pub fn main(name: &str, calls: usize) -> Result<()> {
    let context = runtime::device()?;
    if name == probe::IDLE {
        return idle(&context, Duration::from_millis(calls as u64));
    }
    if name == checked::PROBE {
        return checked::probe(&context, calls);
    }
    if name == checked::POOL_PROBE {
        return checked::pool_probe(&context, calls);
    }
    if name == observed::THREADS_PROBE {
        return observed::threads_probe(&context, calls, 1);
    }
    if name == observed::RING_PROBE {
        return observed::threads_probe(&context, calls, observed::RING);
    }
    if name == observed::FIRST_PROBE {
        return observed::first_probe(&context, calls);
    }
    run(&context, Path::from_str(name)?, calls)
}

fn run(context: &Context, path: Path, calls: usize) -> Result<()> {
    let fixture = Fixture::new(context, ENTRIES * LEN)?;
    let stream = context.new_stream()?;
    let targets: Vec<usize> = (0..ENTRIES).map(|piece| fixture.target.at(piece * LEN)).collect();
    let sources: Vec<usize> = (0..ENTRIES).map(|piece| fixture.source.at(piece * LEN)).collect();
    let sizes = vec![LEN; ENTRIES];
    let submit = |count: usize| -> Result<()> {
        for _ in 0..count / ENTRIES {
            c_api::upload_each(&targets, &sources, LEN, &stream)?;
        }
        Ok(())
    };
    match path {
        Path::Submit => {
            // Queues grow to their final size first. The process exits without executing the counted tasks.
            let gate = c_api::block(&stream)?;
            submit(super::instructions::MAX_CALLS)?;
            drop(gate);
            // A thread that waits also executes. The one that is counted must not.
            std::thread::scope(|scope| scope.spawn(|| stream.synchronize()).join()).expect("it does not panic")?;
            let gate = c_api::block(&stream)?;
            submit(calls)?;
            std::mem::forget(gate);
        }
        Path::SubmitIdle => submit(calls)?,
        Path::SubmitAndSynchronize => {
            for _ in 0..calls / ENTRIES {
                c_api::upload_and_synchronize_each(&targets, &sources, LEN, &stream)?;
            }
        }
        Path::BatchEntry => {
            for _ in 0..calls / ENTRIES {
                c_api::upload_batch(&targets, &sources, &sizes, &stream)?;
                c_api::synchronize(&stream)?;
            }
        }
        Path::AllocateAndFree => c_api::allocate_and_free(2 << 20, calls)?,
    }
    // SAFETY: exits without running destructors, which would drain the queue. No resource needs them.
    unsafe { libc::_exit(0) }
}

/// Prints the processor time that streams consume after they have become idle.
fn idle(context: &Context, period: Duration) -> Result<()> {
    const BYTES: usize = 8 << 20;
    let fixture = Fixture::new(context, BYTES)?;
    let streams = (0..IDLE_STREAMS).map(|_| context.new_stream()).collect::<ascendcl::Result<Vec<Stream>>>()?;
    for stream in &streams {
        c_api::upload(fixture.target.at(0), fixture.source.at(0), BYTES, stream)?;
    }
    streams.iter().try_for_each(c_api::synchronize)?;
    let before = memory::cpu_time_ns();
    std::thread::sleep(period);
    let spent = memory::cpu_time_ns() - before;
    if fixture.verify([(0, 0)], BYTES)? != BYTES {
        bail!("not all bytes were verified");
    }
    println!("{spent}");
    Ok(())
}
