//! Large copies: two directions at once, a copy that overlaps with host work, and a copy within the device.

use super::c_api;
use super::fixture::{Addressed, Fixture};
use super::interleave::{MEMCPY, OURS, POCL, Runner, run_interleaved, time, timed};
use super::memory;
use super::outcome::CaseOutcome;
use super::session::Session;
use anyhow::{Result, ensure};
use std::hint::black_box;
use std::time::Duration;

const LEN: usize = 64 << 20;

/// Uploads on one stream while another stream downloads.
pub fn both_ways(session: &Session) -> Result<CaseOutcome> {
    let (up, down) = (Fixture::new(session.context(), LEN)?, Fixture::new(session.context(), LEN)?);
    let (upload, download) = (session.context().new_stream()?, session.context().new_stream()?);
    let mut runners = vec![
        Runner::new(OURS, 1, |_| {
            timed(|| {
                c_api::upload(up.target.at(0), up.source.at(0), LEN, &upload)?;
                c_api::download(down.source.at(0), down.target.at(0), LEN, &download)?;
                c_api::synchronize(&upload)?;
                c_api::synchronize(&download)
            })
        }),
        Runner::new(MEMCPY, 1, |_| Ok(time(|| [&up, &down].into_iter().for_each(memcpy)))),
    ];
    let mut notes = Vec::new();
    match session.pocl() {
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
        Err(reason) => notes.push(format!("PoCL not measured: {reason}")),
    }
    let (series, _) = run_interleaved(session, runners)?;
    let uploaded = up.verify([(0, 0)], LEN)?;
    // The download has overwritten its pinned memory with the bytes of the device.
    let downloaded = down.verify([(0, 0)], LEN)?;
    ensure!(memory::is_filled(down.source.at(0), LEN, 3), "the download did not copy the bytes of the device");
    Ok(CaseOutcome { series, unit_bytes: 2 * LEN, verified_bytes: uploaded + downloaded, notes })
}

/// Copies within the device.
pub fn on_device(session: &Session) -> Result<CaseOutcome> {
    let fixture = Fixture::new(session.context(), LEN)?;
    let origin = Addressed::device(session.context(), LEN)?;
    let stream = session.context().new_stream()?;
    c_api::upload(origin.at(0), fixture.source.at(0), LEN, &stream)?;
    c_api::synchronize(&stream)?;
    let mut runners = vec![
        Runner::new(OURS, 1, |_| {
            timed(|| {
                c_api::copy_on_device(fixture.target.at(0), origin.at(0), LEN, &stream)?;
                c_api::synchronize(&stream)
            })
        }),
        Runner::new(MEMCPY, 1, |_| Ok(time(|| memcpy(&fixture)))),
    ];
    let mut notes = Vec::new();
    match session.pocl() {
        Ok(pocl) => {
            let (queue, from, to) = (pocl.queue()?, pocl.buffer(LEN)?, pocl.buffer(LEN)?);
            queue.write(&from, 0, fixture.reference_source.at(0), LEN)?;
            queue.finish()?;
            let run = move |_| {
                timed(|| {
                    queue.copy(&to, &from, LEN)?;
                    queue.finish()
                })
            };
            runners.push(Runner::new(POCL, 1, run).few());
        }
        Err(reason) => notes.push(format!("PoCL not measured: {reason}")),
    }
    let (series, _) = run_interleaved(session, runners)?;
    let verified_bytes = fixture.verify([(0, 0)], LEN)?;
    Ok(CaseOutcome { series, unit_bytes: LEN, verified_bytes, notes })
}

/// Copies while the host computes for as long as a memcpy takes.
pub fn with_host_work(session: &Session) -> Result<CaseOutcome> {
    let fixture = Fixture::new(session.context(), LEN)?;
    let stream = session.context().new_stream()?;
    memcpy(&fixture);
    let copying = (0..3).map(|_| time(|| memcpy(&fixture))).min().unwrap_or_default();
    let steps = steps_within(copying);
    let mut runners = vec![
        Runner::new(OURS, 1, |_| {
            timed(|| {
                c_api::upload(fixture.target.at(0), fixture.source.at(0), LEN, &stream)?;
                compute(steps);
                c_api::synchronize(&stream)
            })
        }),
        Runner::new(MEMCPY, 1, |_| {
            Ok(time(|| {
                memcpy(&fixture);
                compute(steps);
            }))
        }),
    ];
    let mut notes = vec![format!("host work of {:.1} ms", copying.as_secs_f64() * 1e3)];
    match session.pocl() {
        Ok(pocl) => {
            let (queue, buffer) = (pocl.queue()?, pocl.buffer(LEN)?);
            let source = fixture.reference_source.at(0);
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
        Err(reason) => notes.push(format!("PoCL not measured: {reason}")),
    }
    let (series, _) = run_interleaved(session, runners)?;
    let verified_bytes = fixture.verify([(0, 0)], LEN)?;
    Ok(CaseOutcome { series, unit_bytes: LEN, verified_bytes, notes })
}

fn memcpy(fixture: &Fixture) {
    memory::copy_each(&[fixture.reference_target.at(0)], &[fixture.reference_source.at(0)], LEN);
}

/// Keeps a core busy without accessing memory.
fn compute(steps: u64) {
    let mut state = black_box(1u64);
    for _ in 0..steps {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(state);
}

/// Returns how many steps of `compute` take this long.
fn steps_within(duration: Duration) -> u64 {
    const PROBE: u64 = 4_000_000;
    let probe = (0..3).map(|_| time(|| compute(PROBE))).min().unwrap_or_default();
    (PROBE as f64 * duration.as_secs_f64() / probe.as_secs_f64()) as u64
}
