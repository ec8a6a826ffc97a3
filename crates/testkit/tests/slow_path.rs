//! The fast path opens again when the reason that closed it is over: a failed context, a lost device, an abort.

#![cfg(not(shuttle))]

use softacl_engine::faults::{Injection, Vocabulary, parse};
use softacl_engine::{Caller, Config, CopyRequest, Machine, StreamOptions, kinds};
use std::cell::Cell;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// Tasks of the device are being aborted.
const ABORTING: i32 = 107_022;
/// Tasks of the stream are being aborted.
const STREAM_ABORTED: i32 = 107_023;

fn machine(rules: Option<&str>) -> Arc<Machine> {
    let vocabulary = Vocabulary { function: |_| Ok(()), near: |_| None, code: |_| None };
    let injection = rules.map(|text| Arc::new(Injection::new(parse(text, vocabulary).expect("valid rules"), 2)));
    Machine::new(Config { memory: 1 << 30, injection, ..Config::default() }).expect("a machine")
}

#[test]
fn stopped_context_closes_the_fast_path_until_it_is_destroyed() {
    let machine = machine(None);
    let current = Cell::new(None);
    // SAFETY: every address that is passed on is memory of the machine or of this program.
    let caller = unsafe { Caller::new(&machine, &current) };
    let context = caller.create_context(0).expect("a context").raw();
    let stream = caller.create_stream(StreamOptions::default()).expect("a stream").raw();
    caller.set_stop_on_failure(stream, true).expect("the mode");
    assert_eq!(machine.slow_path_reasons(), [""; 0]);
    // A descriptor of zeroes names no device memory: the device refuses the copy.
    let descriptor = caller.allocate(4096).expect("device memory");
    let zeroes = caller.allocate_host(4096).expect("host memory");
    let fill = CopyRequest { target: descriptor, capacity: 4096, source: zeroes, count: 4096, kind: kinds::DEFAULT };
    caller.copy(fill).expect("a copy");
    caller.copy_described(descriptor, kinds::INNER_DEVICE_TO_DEVICE, stream).expect("the copy is queued");
    caller.synchronize_stream(stream, -1).expect_err("the copy fails");
    assert_eq!(machine.slow_path_reasons(), ["a stopped context"]);
    caller.destroy_context(context).expect("the context ends");
    assert_eq!(machine.slow_path_reasons(), [""; 0]);
}

#[test]
fn lost_device_closes_the_fast_path_until_it_is_reset() {
    let machine = machine(Some("copy@1=lost"));
    let current = Cell::new(None);
    // SAFETY: every address that is passed on is memory of the machine or of this program.
    let caller = unsafe { Caller::new(&machine, &current) };
    caller.set_device(0).expect("the device");
    let stream = caller.create_stream(StreamOptions::default()).expect("a stream").raw();
    let host = caller.allocate_host(64).expect("host memory");
    let device = caller.allocate(64).expect("device memory");
    let copy = CopyRequest { target: device, capacity: 64, source: host, count: 64, kind: kinds::DEFAULT };
    // The copy loses the device; whether this call or the wait returns that is not the question here.
    let _ = caller.copy_async(copy, stream);
    let reasons = machine.slow_path_reasons();
    assert!(reasons.contains(&"a lost device") && reasons.contains(&"a stopped context"), "{reasons:?}");
    caller.reset_device_by_force(0).expect("the device is reset");
    assert_eq!(machine.slow_path_reasons(), ["fault rules"]);
}

#[test]
fn second_abort_does_not_end_the_first() {
    let machine = machine(None);
    let current = Cell::new(None);
    // SAFETY: every address that is passed on is memory of the machine or of this program.
    let caller = unsafe { Caller::new(&machine, &current) };
    caller.create_context(0).expect("a context");
    let stream = caller.create_stream(StreamOptions::default()).expect("a stream").raw();
    let (started, has_started) = channel();
    let (release, released) = channel::<()>();
    let (started, released) = (Mutex::new(started), Mutex::new(released));
    let function = move || {
        started.lock().expect("one thread").send(()).expect("the test waits");
        released.lock().expect("one thread").recv().expect("the test releases");
    };
    caller.launch_host_function(stream, Arc::new(function)).expect("a host function");
    has_started.recv().expect("it runs");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let current = Cell::new(None);
            // SAFETY: every address that is passed on is memory of the machine or of this program.
            unsafe { Caller::new(&machine, &current) }.abort_device_tasks(0, -1)
        });
        while machine.slow_path_reasons().is_empty() {
            std::thread::yield_now();
        }
        // The host function still runs, so a second abort times out; the first one goes on.
        caller.abort_device_tasks(0, 1).expect_err("the stream is not done");
        assert_eq!(machine.slow_path_reasons(), ["an abort in progress"]);
        let host = caller.allocate_host(64).expect("host memory");
        let device = caller.allocate(64).expect("device memory");
        let copy = CopyRequest { target: device, capacity: 64, source: host, count: 64, kind: kinds::DEFAULT };
        assert_eq!(caller.copy_async(copy, stream).expect_err("an abort is in progress").code(), ABORTING);
        release.send(()).expect("the function waits");
        first.join().expect("no panic").expect("the first abort ends well");
    });
    assert_eq!(machine.slow_path_reasons(), [""; 0]);
}

#[test]
fn aborted_stream_refuses_work_and_waits_until_the_abort_ends() {
    let machine = machine(None);
    let current = Cell::new(None);
    // SAFETY: every address that is passed on is memory of the machine or of this program.
    let caller = unsafe { Caller::new(&machine, &current) };
    caller.create_context(0).expect("a context");
    let new_stream = || caller.create_stream(StreamOptions::default()).expect("a stream").raw();
    let (stream, other) = (new_stream(), new_stream());
    let host = caller.allocate_host(64).expect("host memory");
    let device = caller.allocate(64).expect("device memory");
    let copy = CopyRequest { target: device, capacity: 64, source: host, count: 64, kind: kinds::DEFAULT };
    let (started, has_started) = channel();
    let (release, released) = channel::<()>();
    let (started, released) = (Mutex::new(started), Mutex::new(released));
    let function = move || {
        started.lock().expect("one thread").send(()).expect("the test waits");
        released.lock().expect("one thread").recv().expect("the test releases");
    };
    caller.launch_host_function(stream, Arc::new(function)).expect("a host function");
    has_started.recv().expect("it runs");
    std::thread::scope(|scope| {
        let abort = scope.spawn(|| {
            let current = Cell::new(None);
            // SAFETY: every address that is passed on is memory of the machine or of this program.
            unsafe { Caller::new(&machine, &current) }.abort_stream(stream)
        });
        while machine.slow_path_reasons().is_empty() {
            std::thread::yield_now();
        }
        // The reason comes first; the stream refuses work a moment later.
        while caller.synchronize_stream(stream, 1).expect_err("the function still runs").code() != STREAM_ABORTED {}
        assert_eq!(machine.slow_path_reasons(), ["an abort of a stream in progress"]);
        assert_eq!(caller.copy_async(copy, stream).expect_err("an abort is in progress").code(), STREAM_ABORTED);
        caller.copy_async(copy, other).expect("another stream");
        caller.synchronize_stream(other, -1).expect("another stream");
        release.send(()).expect("the function waits");
        abort.join().expect("no panic").expect("the abort ends well");
    });
    assert_eq!(machine.slow_path_reasons(), [""; 0]);
    caller.copy_async(copy, stream).expect("a copy after the abort");
    caller.synchronize_stream(stream, -1).expect("a wait after the abort");
}
