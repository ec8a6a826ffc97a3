//! Allocation cases: malloc and free in steady state, and the first touch of fresh device memory.

use super::c_api;
use super::call::pair;
use super::interleave::{OURS, Runner, run_interleaved, time, timed};
use super::memory::{self, HostMemory};
use super::outcome::CaseOutcome;
use super::session::Session;
use anyhow::Result;
use ascendcl::{Context, Device};

pub const HUGE_PAGES: &str = "huge pages";
const SIZE: usize = 2 << 20;
const TIMES: usize = 1000;
const FRESH: usize = 32 << 20;
/// Memory is fresh only once, so this case has a dedicated device.
const DEVICE: u32 = 1;

pub fn allocate_and_free(session: &Session) -> Result<CaseOutcome> {
    let ours = Runner::new(OURS, TIMES, |_| timed(|| c_api::allocate_and_free(SIZE, TIMES)));
    let (series, _) = run_interleaved(session, vec![ours, pair()])?;
    Ok(CaseOutcome { series, unit_bytes: 0, verified_bytes: 0, notes: Vec::new() })
}

pub fn first_touch(session: &Session) -> Result<CaseOutcome> {
    let outcome = touch_fresh_memory(session, &Device::new(DEVICE)?.new_context()?);
    c_api::make_current(session.context())?;
    outcome
}

fn touch_fresh_memory(session: &Session, context: &Context) -> Result<CaseOutcome> {
    // No memory is freed before the end: reused memory would not be fresh.
    let (mut device_buffers, mut host_memory) = (Vec::new(), Vec::new());
    let runners = vec![
        Runner::new(OURS, FRESH >> 20, |_| {
            let fresh = context.alloc_uninit(FRESH)?;
            let view = c_api::host_view(&fresh)?;
            device_buffers.push(fresh);
            Ok(time(|| memory::touch(view, FRESH)))
        }),
        Runner::new(HUGE_PAGES, FRESH >> 20, |_| {
            let fresh = HostMemory::new(FRESH)?;
            let start = fresh.at(0);
            host_memory.push(fresh);
            Ok(time(|| memory::touch(start, FRESH)))
        }),
    ];
    let (series, _) = run_interleaved(session, runners)?;
    Ok(CaseOutcome { series, unit_bytes: 1 << 20, verified_bytes: 0, notes: vec!["per MiB".to_owned()] })
}
