//! Cases of empty kernels: what a launch costs when the code does nothing.

use super::c_api;
use super::fixture::Fixture;
use super::interleave::{Runner, run_interleaved, timed};
use super::outcome::CaseOutcome;
use super::session::Session;
use anyhow::Result;
use ascendcl::Stream;

pub const KERNEL: &str = "kernel";
pub const COPY: &str = "copy";
pub const HOST_FUNCTION: &str = "host function";
const LAUNCHES: usize = 1000;
/// Launches of host functions, which are much slower.
const FEW_LAUNCHES: usize = 100;
const LEN: usize = 64;

/// Measures only the submit, of kernels that declare 64 bytes and of 64 B copies: the stream is blocked.
pub fn submit(session: &Session) -> Result<CaseOutcome> {
    let (fixture, stream) = (Fixture::new(session.context(), LEN)?, session.context().new_stream()?);
    let (targets, sources) = (vec![fixture.target.at(0); LAUNCHES], vec![fixture.source.at(0); LAUNCHES]);
    let runners = vec![
        Runner::new(KERNEL, LAUNCHES, |_| blocked(&stream, || c_api::launch_each(targets[0], LEN, LAUNCHES, &stream))),
        Runner::new(COPY, LAUNCHES, |_| blocked(&stream, || c_api::upload_each(&targets, &sources, LEN, &stream))),
    ];
    let (series, _) = run_interleaved(session, runners)?;
    let verified_bytes = fixture.verify([(0, 0)], LEN)?;
    Ok(CaseOutcome { series, unit_bytes: LEN, verified_bytes, notes: Vec::new() })
}

/// Synchronizes the stream after each launch.
pub fn synchronize(session: &Session) -> Result<CaseOutcome> {
    let (fixture, stream) = (Fixture::new(session.context(), LEN)?, session.context().new_stream()?);
    let target = fixture.target.at(0);
    let runners = vec![
        Runner::new(KERNEL, LAUNCHES, |_| {
            timed(|| {
                (0..LAUNCHES).try_for_each(|_| {
                    c_api::launch_each(target, LEN, 1, &stream)?;
                    c_api::synchronize(&stream)
                })
            })
        }),
        Runner::new(HOST_FUNCTION, FEW_LAUNCHES, |_| {
            timed(|| {
                (0..FEW_LAUNCHES).try_for_each(|_| {
                    drop(c_api::block(&stream)?);
                    c_api::synchronize(&stream)
                })
            })
        }),
    ];
    let (series, _) = run_interleaved(session, runners)?;
    Ok(CaseOutcome { series, unit_bytes: 0, verified_bytes: 0, notes: Vec::new() })
}

/// Times `submits` while the stream is blocked, then drains the stream.
fn blocked(stream: &Stream, submits: impl FnOnce() -> Result<()>) -> Result<std::time::Duration> {
    let gate = c_api::block(stream)?;
    let duration = timed(submits);
    drop(gate);
    c_api::synchronize(stream)?;
    duration
}
