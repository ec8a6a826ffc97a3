//! Allocations: the pair of calls in steady state, and the first touch of fresh device memory.

use super::call::pair;
use super::case::CaseOutcome;
use super::interleave::{OURS, Runner, run_interleaved, time, timed};
use super::memory::{self, HostMemory};
use super::session::Session;
use crate::acl::{self, DeviceMemory};
use anyhow::Result;

pub const HUGE_PAGES: &str = "huge pages";
const SIZE: usize = 2 << 20;
const TIMES: usize = 1000;
const FRESH: usize = 32 << 20;
/// Memory is fresh once only, so this case has a device for itself.
const DEVICE: i32 = 1;

pub fn allocate_and_free(stage: &Session) -> Result<CaseOutcome> {
    let ours = Runner::new(OURS, TIMES, |_| timed(|| acl::allocate_and_free(SIZE, TIMES)));
    let (series, _) = run_interleaved(stage, vec![ours, pair()])?;
    Ok(CaseOutcome { series, unit_bytes: 0, verified_bytes: 0, notes: Vec::new() })
}

pub fn first_touch(stage: &Session) -> Result<CaseOutcome> {
    acl::set_device(DEVICE)?;
    let outcome = touch_fresh_memory(stage);
    acl::set_device(0)?;
    outcome
}

fn touch_fresh_memory(stage: &Session) -> Result<CaseOutcome> {
    // Nothing is given back before the end: it would not be fresh the next time.
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let runners = vec![
        Runner::new(OURS, FRESH >> 20, |_| {
            let fresh = DeviceMemory::new(FRESH)?;
            let view = fresh.host_view(FRESH)?;
            ours.push(fresh);
            Ok(time(|| memory::touch(view, FRESH)))
        }),
        Runner::new(HUGE_PAGES, FRESH >> 20, |_| {
            let fresh = HostMemory::new(FRESH)?;
            let start = fresh.at(0);
            theirs.push(fresh);
            Ok(time(|| memory::touch(start, FRESH)))
        }),
    ];
    let (series, _) = run_interleaved(stage, runners)?;
    Ok(CaseOutcome { series, unit_bytes: 1 << 20, verified_bytes: 0, notes: vec!["per MiB".to_owned()] })
}
