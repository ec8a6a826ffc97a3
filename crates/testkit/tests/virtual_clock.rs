//! The virtual clock: times follow from the figures of the chip and from the calls, and from nothing else.

#![cfg(not(shuttle))]

use softacl_engine::{
    Caller, Config, CopyRequest, EventKind, EventStatus, Machine, Schedule, StreamOptions, Timing, kinds,
};
use softacl_profiles::{FigureName, profile};
use softacl_timing::{Bound, Costs, replay};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

const SOC: &str = "Ascend910C";
const SIZE: usize = 8 << 20;

fn machine() -> Arc<Machine> {
    let profile = profile(Some(SOC), None).unwrap();
    let costs = Costs::of(profile.chip, Bound::Expected);
    let timing = Timing { costs, is_visible: true, host_scale: 0.0, kernels: HashMap::new() };
    let config =
        Config { profile, memory: 1 << 30, schedule: Schedule::Timed, timing: Some(timing), ..Config::default() };
    Machine::new(config).unwrap()
}

/// A figure, in microseconds or GB/s.
fn figure(name: FigureName) -> f64 {
    profile(Some(SOC), None).unwrap().chip.timing.get(name).unwrap().value
}

/// Runs a program with a stream, pinned memory and device memory.
fn with_program<R>(run: impl FnOnce(&Machine, &Caller<'_>, [usize; 3]) -> R) -> R {
    let machine = machine();
    let current = Cell::new(None);
    // SAFETY: every address that is passed on is memory of the machine.
    let caller = unsafe { Caller::new(&machine, &current) };
    caller.create_context(0).unwrap();
    let stream = caller.create_stream(StreamOptions::default()).unwrap().raw();
    let places = [stream, caller.allocate_host(SIZE).unwrap(), caller.allocate(SIZE).unwrap()];
    run(&machine, &caller, places)
}

fn copy(caller: &Caller<'_>, [stream, source, target]: [usize; 3], count: usize) {
    let request = CopyRequest { target, capacity: count, source, count, kind: kinds::DEFAULT };
    caller.copy_async(request, stream).unwrap();
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.002, "{found} instead of {expected}");
}

#[test]
fn events_measure_what_the_link_takes() {
    with_program(|_, caller, [stream, host, device]| {
        let [start, end] = [0; 2].map(|_| caller.create_event(EventKind::Plain).unwrap().raw());
        caller.record_event(start, stream).unwrap();
        copy(caller, [stream, host, device], SIZE);
        copy(caller, [stream, device, host], SIZE);
        caller.record_event(end, stream).unwrap();
        caller.synchronize_stream(stream, -1).unwrap();
        let up = SIZE as f64 / figure(FigureName::HostToDevice) / 1e6;
        let down = SIZE as f64 / figure(FigureName::DeviceToHost) / 1e6;
        // From the end of the first record until the stream comes to the second.
        let submits = figure(FigureName::SubmitHostCopy) / 1e3;
        near(f64::from(caller.elapsed_ms(start, end).unwrap()), up + down + submits);
    });
}

#[test]
fn small_copies_take_what_their_submits_take() {
    with_program(|machine, caller, places| {
        let before = machine.virtual_ns().unwrap();
        (0..1000).for_each(|_| copy(caller, places, 64));
        let submits = machine.virtual_ns().unwrap() - before;
        near(submits as f64, 1000.0 * 1e3 * figure(FigureName::SubmitHostCopy));
        caller.synchronize_stream(places[0], -1).unwrap();
    });
}

#[test]
fn queries_and_timeouts_see_the_virtual_time() {
    with_program(|machine, caller, [stream, host, device]| {
        let event = caller.create_event(EventKind::Plain).unwrap().raw();
        // About 15 ms.
        (0..100).for_each(|_| copy(caller, [stream, host, device], SIZE));
        caller.record_event(event, stream).unwrap();
        assert_eq!(caller.event_status(event).unwrap().0, EventStatus::Pending);
        let before = machine.virtual_ns().unwrap();
        assert_eq!(caller.synchronize_event(event, 5).unwrap_err().code(), 507047);
        assert_eq!(machine.virtual_ns().unwrap() - before, 5_000_000);
        let mut queries = 0_u64;
        while caller.event_status(event).unwrap().0 == EventStatus::Pending {
            queries += 1;
        }
        let expected = (100.0 * SIZE as f64 / figure(FigureName::HostToDevice) - 5e6) / 1e3 / figure(FigureName::Query);
        assert!((queries as f64 / expected - 1.0).abs() < 0.1, "{queries} queries instead of {expected}");
    });
}

#[test]
fn streams_overlap_in_different_directions_and_share_one() {
    let total = |is_down: bool| {
        with_program(|machine, caller, [stream, host, device]| {
            let other = caller.create_stream(StreamOptions::default()).unwrap().raw();
            let (more_host, more) = (caller.allocate_host(SIZE).unwrap(), caller.allocate(SIZE).unwrap());
            copy(caller, [stream, host, device], SIZE);
            copy(caller, if is_down { [other, more, more_host] } else { [other, more_host, more] }, SIZE);
            caller.synchronize_stream(stream, -1).unwrap();
            caller.synchronize_stream(other, -1).unwrap();
            machine.virtual_ns().unwrap() as f64
        })
    };
    assert!(total(false) > 1.6 * total(true));
}

#[test]
fn runs_repeat_exactly_and_replays_agree() {
    let run = || {
        with_program(|machine, caller, [stream, host, device]| {
            let other = caller.create_stream(StreamOptions::default()).unwrap().raw();
            let event = caller.create_event(EventKind::Plain).unwrap().raw();
            for round in 1..50 {
                copy(caller, [stream, host, device], round * 1000);
                caller.record_event(event, stream).unwrap();
                caller.stream_wait_event(other, event).unwrap();
                copy(caller, [other, device, host], round * 3000);
                if round % 7 == 0 {
                    caller.synchronize_stream(other, -1).unwrap();
                }
            }
            caller.synchronize_stream(other, -1).unwrap();
            (machine.virtual_ns().unwrap(), machine.timing_log().unwrap())
        })
    };
    let (total, log) = run();
    assert_eq!(run(), (total, log.clone()));
    let costs = Costs::of(profile(Some(SOC), None).unwrap().chip, Bound::Expected);
    assert_eq!(replay::replay(&log, costs).total, total);
}
