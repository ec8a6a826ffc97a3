//! Large copies in company: two directions at once, a copy while the host works, and one on the device.

use super::case::CaseOutcome;
use super::fixture::Fixture;
use super::interleave::{MEMCPY, OURS, POCL, Runner, run_interleaved, time, timed};
use super::memory;
use super::session::Session;
use crate::acl::{self, Stream};
use anyhow::{Result, ensure};
use std::hint::black_box;
use std::time::Duration;

const LEN: usize = 64 << 20;

/// Up on one stream, down on another.
pub fn both_ways(stage: &Session) -> Result<CaseOutcome> {
    let (up, down) = (Fixture::new(LEN)?, Fixture::new(LEN)?);
    let (upload, download) = (Stream::new()?, Stream::new()?);
    let mut runners = vec![
        Runner::new(OURS, 1, |_| {
            timed(|| {
                acl::upload_async(up.target.at(0), up.source.at(0), LEN, &upload)?;
                acl::download_async(down.source.at(0), down.target.at(0), LEN, &download)?;
                upload.synchronize()?;
                download.synchronize()
            })
        }),
        Runner::new(MEMCPY, 1, |_| Ok(time(|| [&up, &down].into_iter().for_each(memcpy)))),
    ];
    let mut notes = Vec::new();
    match stage.pocl() {
        Ok(pocl) => {
            let (first, second, to, from) = (pocl.queue()?, pocl.queue()?, pocl.buffer(LEN)?, pocl.buffer(LEN)?);
            let (source, target) = (up.reference_source.at(0), down.reference_target.at(0));
            second.write(&from, 0, source, LEN)?;
            second.finish()?;
            let run = move |_| {
                timed(|| {
                    first.write(&to, 0, source, LEN)?;
                    first.flush()?;
                    second.read(&from, target, LEN)?;
                    second.flush()?;
                    first.finish()?;
                    second.finish()
                })
            };
            runners.push(Runner::new(POCL, 1, run).few());
        }
        Err(reason) => notes.push(format!("without PoCL: {reason}")),
    }
    let (series, _) = run_interleaved(stage, runners)?;
    let uploaded = up.verify([(0, 0)], LEN)?;
    // The download overwrote its pinned side with what was on the device.
    let downloaded = down.verify([(0, 0)], LEN)?;
    ensure!(memory::is_filled(down.source.at(0), LEN, 3), "the download did not bring the bytes of the device");
    Ok(CaseOutcome { series, unit_bytes: 2 * LEN, verified_bytes: uploaded + downloaded, notes })
}

/// From one place of the device to another.
pub fn on_the_device(stage: &Session) -> Result<CaseOutcome> {
    let ground = Fixture::new(LEN)?;
    let origin = acl::DeviceMemory::new(LEN)?;
    let stream = Stream::new()?;
    acl::copy(origin.at(0), ground.source.at(0), LEN)?;
    let mut runners = vec![
        Runner::new(OURS, 1, |_| {
            timed(|| {
                acl::copy_on_device_async(ground.target.at(0), origin.at(0), LEN, &stream)?;
                stream.synchronize()
            })
        }),
        Runner::new(MEMCPY, 1, |_| Ok(time(|| memcpy(&ground)))),
    ];
    let mut notes = Vec::new();
    match stage.pocl() {
        Ok(pocl) => {
            let (queue, from, to) = (pocl.queue()?, pocl.buffer(LEN)?, pocl.buffer(LEN)?);
            queue.write(&from, 0, ground.reference_source.at(0), LEN)?;
            queue.finish()?;
            let run = move |_| {
                timed(|| {
                    queue.copy(&to, &from, LEN)?;
                    queue.finish()
                })
            };
            runners.push(Runner::new(POCL, 1, run).few());
        }
        Err(reason) => notes.push(format!("without PoCL: {reason}")),
    }
    let (series, _) = run_interleaved(stage, runners)?;
    let verified_bytes = ground.verify([(0, 0)], LEN)?;
    Ok(CaseOutcome { series, unit_bytes: LEN, verified_bytes, notes })
}

/// The host computes for as long as a memcpy takes while the copy goes on.
pub fn host_works(stage: &Session) -> Result<CaseOutcome> {
    let ground = Fixture::new(LEN)?;
    let stream = Stream::new()?;
    memcpy(&ground);
    let copying = (0..3).map(|_| time(|| memcpy(&ground))).min().unwrap_or_default();
    let steps = steps_within(copying);
    let mut runners = vec![
        Runner::new(OURS, 1, |_| {
            timed(|| {
                acl::upload_async(ground.target.at(0), ground.source.at(0), LEN, &stream)?;
                compute(steps);
                stream.synchronize()
            })
        }),
        Runner::new(MEMCPY, 1, |_| {
            Ok(time(|| {
                memcpy(&ground);
                compute(steps);
            }))
        }),
    ];
    let mut notes = vec![format!("the host works for {:.1} ms", copying.as_secs_f64() * 1e3)];
    match stage.pocl() {
        Ok(pocl) => {
            let (queue, buffer) = (pocl.queue()?, pocl.buffer(LEN)?);
            let source = ground.reference_source.at(0);
            let run = move |_| {
                timed(|| {
                    queue.write(&buffer, 0, source, LEN)?;
                    queue.flush()?;
                    compute(steps);
                    queue.finish()
                })
            };
            runners.push(Runner::new(POCL, 1, run).few());
        }
        Err(reason) => notes.push(format!("without PoCL: {reason}")),
    }
    let (series, _) = run_interleaved(stage, runners)?;
    let verified_bytes = ground.verify([(0, 0)], LEN)?;
    Ok(CaseOutcome { series, unit_bytes: LEN, verified_bytes, notes })
}

fn memcpy(ground: &Fixture) {
    memory::copy_each(&[ground.reference_target.at(0)], &[ground.reference_source.at(0)], LEN);
}

/// Work that needs a core and no memory.
fn compute(steps: u64) {
    let mut state = black_box(1u64);
    for _ in 0..steps {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(state);
}

fn steps_within(duration: Duration) -> u64 {
    const PROBE: u64 = 4_000_000;
    let probe = (0..3).map(|_| time(|| compute(PROBE))).min().unwrap_or_default();
    (PROBE as f64 * duration.as_secs_f64() / probe.as_secs_f64()) as u64
}
