//! The virtual clock: times follow from the figures of the chip and from the calls, and from nothing else.

#![cfg(not(shuttle))]

use softacl_engine::{
    Caller, Config, CopyRequest, EventKind, EventStatus, KernelCode, KernelRanges, KernelRequest, KernelTime, Machine,
    OperationTable, Schedule, StreamOptions, Timing, kinds,
};
use softacl_profiles::{FigureName, profile};
use softacl_timing::report::report;
use softacl_timing::{Bound, Costs, Log, Step, Work, replay};
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const SOC: &str = "Ascend910C";
const SIZE: usize = 8 << 20;

fn costs() -> Costs {
    Costs::of(profile(Some(SOC), None).unwrap().chip, Bound::Expected)
}

/// Settings of the clock: host time is multiplied by this factor, and kernels have these times.
fn timing(host_scale: f64, kernels: &[(&str, KernelTime)]) -> Timing {
    let kernels = kernels.iter().map(|(name, time)| ((*name).to_owned(), *time)).collect();
    Timing { costs: costs(), is_visible: true, host_scale, kernels }
}

fn machine(timing: Timing) -> Arc<Machine> {
    let profile = profile(Some(SOC), None).unwrap();
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
    with_clock(timing(0.0, &[]), run)
}

fn with_clock<R>(timing: Timing, run: impl FnOnce(&Machine, &Caller<'_>, [usize; 3]) -> R) -> R {
    let machine = machine(timing);
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
    assert_eq!(replay::replay(&log, costs()).total, total);
}

#[test]
fn calls_about_memory_take_their_figures_and_are_logged() {
    with_program(|machine, caller, _| {
        let page = 4096;
        let memory = vec![0_u8; 17 * page];
        let before = machine.virtual_ns().unwrap();
        let device = caller.allocate(SIZE).unwrap();
        caller.register_host(memory.as_ptr().addr().next_multiple_of(page), 16 * page, true, false).unwrap();
        let took = (machine.virtual_ns().unwrap() - before) as f64 / 1e3;
        let register = figure(FigureName::RegisterCall) + 15.0 * figure(FigureName::RegisterPage);
        near(took, figure(FigureName::Malloc) + register);
        caller.free(device).unwrap();
        let (total, log) = (machine.virtual_ns().unwrap(), machine.timing_log().unwrap());
        let outcome = replay::replay(&log, costs());
        assert_eq!(outcome.total, total);
        // There are no published figures for these.
        for name in [FigureName::Free, FigureName::MallocHost] {
            assert_eq!(outcome.unknown.get(&name), Some(&1), "{:?}", outcome.unknown);
        }
    });
}

/// Computes for a while that depends on the computer.
unsafe extern "C" fn compute(_: *mut c_void) -> i32 {
    black_box((0..200_000_u64).fold(1, |product, factor| black_box(product * (factor | 1) % 1_000_003)));
    0
}

fn launch(caller: &Caller<'_>, name: &str, code: KernelCode, stream: usize) {
    let request = KernelRequest { name: name.into(), code, ranges: KernelRanges::new() };
    caller.launch_kernel(request, stream).unwrap();
}

/// The times of the submitted kernels and host functions in a log.
fn given_times(log: &Log) -> Vec<Option<u64>> {
    let time = |step: &Step| match step {
        Step::Submit { work: Work::Kernel { ns, .. }, .. } => Some(*ns),
        Step::Submit { work: Work::HostFunction { ns }, .. } => Some(Some(*ns)),
        _ => None,
    };
    log.steps.iter().filter_map(time).collect()
}

#[test]
fn measured_times_of_kernels_and_host_functions_are_those_of_the_log() {
    let timing = timing(3.0, &[("*", KernelTime::Measured(5.0)), ("known", KernelTime::Nanoseconds(40_000))]);
    with_clock(timing, |machine, caller, [stream, host, device]| {
        for _ in 0..5 {
            // SAFETY: the function does not use its argument.
            launch(caller, "measured", unsafe { KernelCode::new(compute, null_mut(), None) }, stream);
            // SAFETY: as above.
            launch(caller, "known", unsafe { KernelCode::new(compute, null_mut(), None) }, stream);
            // SAFETY: as above.
            let function = || assert_eq!(unsafe { compute(null_mut()) }, 0);
            caller.launch_host_function(stream, Arc::new(function)).unwrap();
            copy(caller, [stream, host, device], 4096);
        }
        caller.synchronize_stream(stream, -1).unwrap();
        let (total, log) = (machine.virtual_ns().unwrap(), machine.timing_log().unwrap());
        let times = given_times(&log);
        assert_eq!(times.len(), 15);
        assert!(times.chunks(3).all(|times| times[1] == Some(40_000)), "{times:?}");
        assert!(times.iter().all(|time| time.is_some_and(|ns| ns > 0)), "{times:?}");
        assert!(total > times.iter().flatten().sum::<u64>());
        assert_eq!(replay::replay(&log, costs()).total, total);
        let chip = profile(Some(SOC), None).unwrap().chip;
        assert!(report(&log, chip, SOC, &[]).kernels_without_time.is_empty());
    });
}

/// An operation of several streams: ends when as many as there are have begun it.
struct Meeting {
    begun: AtomicU32,
    expected: u32,
}

unsafe extern "C" fn begin(meeting: *mut c_void) -> *mut c_void {
    // SAFETY: the argument of every operation of this file is a `Meeting` that outlives the machine's tasks.
    unsafe { &*meeting.cast::<Meeting>() }.begun.fetch_add(1, Ordering::AcqRel);
    meeting
}

unsafe extern "C" fn is_ready(meeting: *mut c_void) -> i32 {
    // SAFETY: as in `begin`.
    let meeting = unsafe { &*meeting.cast::<Meeting>() };
    i32::from(meeting.begun.load(Ordering::Acquire) >= meeting.expected)
}

unsafe extern "C" fn step(meeting: *mut c_void) -> i32 {
    // SAFETY: the same argument.
    if unsafe { is_ready(meeting) } == 1 { 0 } else { -1 }
}

unsafe extern "C" fn describe(_: *mut c_void, _: *mut c_char, _: usize) -> usize {
    0
}

unsafe extern "C" fn end(_: *mut c_void) {}

const MEETING: OperationTable = OperationTable { begin, step, is_ready, describe, end, waits_inside: None };

/// Runs an operation of two devices. The second comes to it after a copy. Returns the ends of both in microseconds since
/// the end of the copy, and the log.
fn meet(timing: Timing) -> ([f64; 2], Log) {
    with_clock(timing, |machine, caller, [first, host, _]| {
        let meeting = Meeting { begun: AtomicU32::new(0), expected: 2 };
        let operation = |stream| {
            let argument = std::ptr::from_ref(&meeting).cast_mut().cast();
            // SAFETY: the streams are synchronized before the meeting is dropped.
            launch(caller, "AllReduce", unsafe { KernelCode::in_steps(MEETING, argument, None) }, stream);
            let end = caller.create_event(EventKind::Plain).unwrap().raw();
            caller.record_event(end, stream).unwrap();
            end
        };
        let other_end = operation(first);
        caller.create_context(1).unwrap();
        let stream = caller.create_stream(StreamOptions::default()).unwrap();
        let (second, device) = (stream.raw(), caller.allocate(SIZE).unwrap());
        copy(caller, [second, host, device], SIZE);
        let copied = caller.create_event(EventKind::Plain).unwrap().raw();
        caller.record_event(copied, second).unwrap();
        let end = operation(second);
        for stream in [first, second] {
            caller.synchronize_stream(stream, -1).unwrap();
        }
        let (total, log) = (machine.virtual_ns().unwrap(), machine.timing_log().unwrap());
        assert_eq!(replay::replay(&log, costs()).total, total);
        ([end, other_end].map(|end| 1e3 * f64::from(caller.elapsed_ms(copied, end).unwrap())), log)
    })
}

#[test]
fn operations_take_the_time_of_their_name_from_the_last_arrival_on() {
    let (ends, log) = meet(timing(0.0, &[("AllReduce", KernelTime::Nanoseconds(80_000))]));
    let expected = 80.0 + figure(FigureName::KernelStart) + figure(FigureName::EventTask);
    for end in ends {
        assert!((end - expected).abs() < 0.1, "{ends:?} instead of {expected}");
    }
    assert_eq!(given_times(&log), [Some(80_000); 2]);
    let chip = profile(Some(SOC), None).unwrap().chip;
    assert!(report(&log, chip, SOC, &[]).kernels_without_time.is_empty());
}

#[test]
fn operations_without_a_time_are_named() {
    let (_, log) = meet(timing(0.0, &[]));
    let chip = profile(Some(SOC), None).unwrap().chip;
    assert_eq!(report(&log, chip, SOC, &[]).kernels_without_time, ["AllReduce"]);
}
