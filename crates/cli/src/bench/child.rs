//! What the benchmark runs in a child of itself: hot paths a known number of times, for callgrind,
//! and idleness, which nothing else in the process may disturb. Prints one number.

use super::fixture::Fixture;
use super::instructions::Path;
use super::{checked, memory};
use crate::acl::{self, Stream};
use anyhow::{Result, bail};
use std::str::FromStr;
use std::time::Duration;

pub const IDLE: &str = "idle";
const LEN: usize = 64;
/// Entries of a batch. Large enough that the cost of the call itself hardly counts.
pub const ENTRIES: usize = 1000;
const IDLE_STREAMS: usize = 100;

pub fn main(name: &str, calls: usize) -> Result<()> {
    acl::set_device(0)?;
    if name == IDLE {
        return idle(Duration::from_millis(calls as u64));
    }
    if name == checked::PROBE {
        return checked::probe(calls);
    }
    if name == checked::POOL_PROBE {
        return checked::pool_probe(calls);
    }
    run(Path::from_str(name)?, calls)
}

fn run(path: Path, calls: usize) -> Result<()> {
    let ground = Fixture::new(ENTRIES * LEN)?;
    let stream = Stream::new()?;
    let targets: Vec<usize> = (0..ENTRIES).map(|piece| ground.target.at(piece * LEN)).collect();
    let sources: Vec<usize> = (0..ENTRIES).map(|piece| ground.source.at(piece * LEN)).collect();
    let sizes = vec![LEN; ENTRIES];
    let submit = |count: usize| -> Result<()> {
        for _ in 0..count / ENTRIES {
            acl::upload_each(&targets, &sources, LEN, &stream)?;
        }
        Ok(())
    };
    match path {
        Path::Submit => {
            // Queues grow to their size first; then the process ends without running what is queued.
            let gate = stream.block()?;
            submit(super::instructions::MOST_CALLS)?;
            drop(gate);
            stream.synchronize()?;
            let gate = stream.block()?;
            submit(calls)?;
            std::mem::forget(gate);
        }
        Path::SubmitIdle => submit(calls)?,
        Path::SubmitAndSynchronize => {
            for _ in 0..calls / ENTRIES {
                acl::upload_and_synchronize_each(&targets, &sources, LEN, &stream)?;
            }
        }
        Path::BatchEntry => {
            for _ in 0..calls / ENTRIES {
                acl::batch_of_sizes_async(&targets, &sources, &sizes, true, &stream)?;
                stream.synchronize()?;
            }
        }
        Path::AllocateAndFree => acl::allocate_and_free(2 << 20, calls)?,
    }
    // SAFETY: ends the process; what is open needs no closing. Nothing may be drained here.
    unsafe { libc::_exit(0) }
}

/// Streams that have worked, and then nothing.
fn idle(period: Duration) -> Result<()> {
    const BYTES: usize = 8 << 20;
    let ground = Fixture::new(BYTES)?;
    let streams = (0..IDLE_STREAMS).map(|_| Stream::new()).collect::<Result<Vec<_>>>()?;
    for stream in &streams {
        acl::upload_async(ground.target.at(0), ground.source.at(0), BYTES, stream)?;
    }
    streams.iter().try_for_each(Stream::synchronize)?;
    let before = memory::cpu_time_ns();
    std::thread::sleep(period);
    let spent = memory::cpu_time_ns() - before;
    if ground.verify([(0, 0)], BYTES)? != BYTES {
        bail!("not all bytes were verified");
    }
    println!("{spent}");
    Ok(())
}
