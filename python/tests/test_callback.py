"""Callbacks: threads, order, exceptions and lifetimes."""

import ctypes
import gc
import sys
import textwrap
import threading
import weakref
from typing import Any, Iterator

import acl
import pytest
from acl import rt

from support import (
    BLOCK,
    D2H,
    H2D,
    INVALID_HANDLE,
    INVALID_PARAM,
    NO_BLOCK,
    NO_CALLBACK_THREAD,
    REPORT_TIMEOUT,
    STREAM_SUBSCRIBE,
    SUCCESS,
    TEST_TIMEOUT,
    THREAD_SUBSCRIBE,
    Reporter,
    create_stream,
    device_bytes,
    malloc,
    pattern,
    pinned_bytes,
    read,
    run_python,
)

blocks = pytest.mark.parametrize("block", [NO_BLOCK, BLOCK], ids=["no-block", "block"])


@pytest.fixture
def own_stream(stream: int) -> Iterator[int]:
    """A stream whose callbacks the test's thread serves."""
    me = threading.get_ident()
    assert rt.subscribe_report(me, stream) == SUCCESS
    yield stream
    rt.unsubscribe_report(me, stream)


@blocks
def test_callback_runs_on_the_subscribed_thread(reporter: Reporter, block: int) -> None:
    ran = threading.Event()
    seen: list[Any] = []

    def callback(data: list[int]) -> None:
        seen.append((data, threading.get_ident()))
        ran.set()

    data = [1, 2, 3]
    assert rt.launch_callback(callback, data, block, reporter.stream) == SUCCESS
    assert rt.synchronize_stream(reporter.stream) == SUCCESS
    assert ran.wait(TEST_TIMEOUT)
    assert seen[0][0] is data
    assert seen[0][1] == reporter.id
    assert reporter.codes == []


@pytest.mark.parametrize("data", [None, [], ["list"], (1, 2), {"a": 1}, "text", 5, object()], ids=repr)
def test_any_object_is_passed_unchanged(own_stream: int, data: Any) -> None:
    seen: list[Any] = []
    assert rt.launch_callback(lambda *arguments: seen.append(arguments), data, BLOCK, own_stream) == SUCCESS
    assert rt.process_report(TEST_TIMEOUT * 1000) == SUCCESS
    assert len(seen) == 1 and len(seen[0]) == 1 and seen[0][0] is data


def test_threading_thread_can_serve_callbacks() -> None:
    stream = create_stream()
    subscribed, ran = threading.Event(), threading.Event()
    seen: list[int] = []

    def serve() -> None:
        subscribed.wait(TEST_TIMEOUT)
        assert rt.process_report(TEST_TIMEOUT * 1000) == SUCCESS
        seen.append(threading.get_ident())

    thread = threading.Thread(target=serve)
    thread.start()
    assert thread.ident is not None
    assert rt.subscribe_report(thread.ident, stream) == SUCCESS
    subscribed.set()
    assert rt.launch_callback(lambda _: ran.set(), None, BLOCK, stream) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    thread.join(TEST_TIMEOUT)
    assert ran.is_set() and seen == [thread.ident]
    assert rt.unsubscribe_report(thread.ident, stream) == SUCCESS  # after the thread has ended


def test_call_sequence_of_the_pyacl_samples_works() -> None:
    """start_thread, subscribe, launch, synchronize, unsubscribe, stop_thread."""
    stream, (ctx, _) = create_stream(), rt.get_context()
    stop, ready, results = threading.Event(), threading.Event(), []

    def serve(arguments: list[int]) -> None:
        assert rt.set_context(arguments[0]) == SUCCESS
        ready.wait(TEST_TIMEOUT)
        while not stop.is_set():
            rt.process_report(10)

    tid, ret = acl.util.start_thread(serve, [ctx])
    assert ret == SUCCESS
    assert rt.subscribe_report(tid, stream) == SUCCESS
    ready.set()
    for index in range(20):
        assert rt.launch_callback(results.append, [index], BLOCK, stream) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    assert results == [[index] for index in range(20)]
    assert rt.unsubscribe_report(tid, stream) == SUCCESS
    stop.set()
    assert acl.util.stop_thread(tid) == SUCCESS


def test_default_stream_can_be_subscribed() -> None:
    me = threading.get_ident()
    assert rt.subscribe_report(me, 0) == SUCCESS
    seen: list[int] = []
    assert rt.launch_callback(seen.append, 5, BLOCK, 0) == SUCCESS
    assert rt.process_report(1000) == SUCCESS
    assert seen == [5]
    assert rt.unsubscribe_report(me, 0) == SUCCESS


def test_blocking_callback_blocks_the_stream(own_stream: int) -> None:
    device, host = device_bytes(pattern(64)), pinned_bytes(bytes(64))
    seen: list[bytes] = []
    assert rt.launch_callback(lambda _: seen.append(read(host, 64)), None, BLOCK, own_stream) == SUCCESS
    assert rt.memcpy_async(host, 64, device, 64, D2H, own_stream) == SUCCESS
    assert rt.launch_callback(lambda _: seen.append(read(host, 64)), None, BLOCK, own_stream) == SUCCESS
    assert rt.stream_query(own_stream) == (1, SUCCESS)
    assert rt.process_report(1000) == SUCCESS
    while len(seen) < 2:
        assert rt.process_report(1000) == SUCCESS
    assert seen == [bytes(64), pattern(64)]
    assert rt.synchronize_stream(own_stream) == SUCCESS


def test_non_blocking_callback_does_not_block_the_stream(own_stream: int) -> None:
    ran: list[int] = []
    assert rt.launch_callback(ran.append, 1, NO_BLOCK, own_stream) == SUCCESS
    assert rt.synchronize_stream(own_stream) == SUCCESS
    assert ran == []
    assert rt.process_report(1000) == SUCCESS
    assert ran == [1]


def test_callback_runs_after_earlier_work(reporter: Reporter) -> None:
    device, host = device_bytes(pattern(100_000)), pinned_bytes(bytes(100_000))
    seen: list[bytes] = []

    def inspect(_: None) -> None:
        seen.append(acl.util.ptr_to_bytes(host, 100_000))

    assert rt.memcpy_async(host, 100_000, device, 100_000, D2H, reporter.stream) == SUCCESS
    assert rt.launch_callback(inspect, None, BLOCK, reporter.stream) == SUCCESS
    assert rt.synchronize_stream(reporter.stream) == SUCCESS
    assert seen == [pattern(100_000)]


def test_callbacks_run_in_order(reporter: Reporter) -> None:
    seen: list[int] = []
    for index in range(500):
        assert rt.launch_callback(seen.append, index, BLOCK, reporter.stream) == SUCCESS
    assert rt.synchronize_stream(reporter.stream) == SUCCESS
    assert seen == list(range(500))


def test_one_thread_can_serve_two_streams() -> None:
    me, streams = threading.get_ident(), [create_stream(), create_stream()]
    seen: list[int] = []
    for stream in streams:
        assert rt.subscribe_report(me, stream) == SUCCESS
        assert rt.launch_callback(seen.append, stream, BLOCK, stream) == SUCCESS
    while len(seen) < 2:
        assert rt.process_report(1000) == SUCCESS
    assert sorted(seen) == sorted(streams)
    for stream in streams:
        assert rt.unsubscribe_report(me, stream) == SUCCESS


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_exception_is_reported_and_the_stream_continues(
    own_stream: int, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def callback(_: object) -> None:
        raise error

    ran: list[int] = []
    assert rt.launch_callback(callback, None, BLOCK, own_stream) == SUCCESS
    assert rt.launch_callback(ran.append, 1, BLOCK, own_stream) == SUCCESS
    while not ran:
        assert rt.process_report(1000) == SUCCESS
    assert rt.synchronize_stream(own_stream) == SUCCESS
    assert len(reported) == 1
    assert reported[0].exc_type is type(error) and reported[0].exc_value is error
    assert reported[0].object is callback
    reported.clear()  # it keeps this frame alive


def test_launch_without_a_subscription_is_refused(stream: int) -> None:
    for block in [NO_BLOCK, BLOCK]:
        assert rt.launch_callback(print, None, block, stream) == NO_CALLBACK_THREAD
    me = threading.get_ident()
    assert rt.subscribe_report(me, stream) == SUCCESS
    assert rt.unsubscribe_report(me, stream) == SUCCESS
    for block in [NO_BLOCK, BLOCK]:
        assert rt.launch_callback(print, None, block, stream) == NO_CALLBACK_THREAD
    assert rt.process_report(10) == THREAD_SUBSCRIBE


def test_second_subscription_is_refused(own_stream: int) -> None:
    assert rt.subscribe_report(threading.get_ident(), own_stream) == STREAM_SUBSCRIBE


def test_wrong_arguments_are_refused(own_stream: int) -> None:
    assert rt.launch_callback(print, None, 2, own_stream) == INVALID_PARAM
    assert rt.launch_callback(print, None, -1, own_stream) == INVALID_PARAM
    assert rt.launch_callback(print, None, BLOCK, 5) == INVALID_HANDLE
    assert rt.subscribe_report(1, 5) == INVALID_HANDLE
    assert rt.unsubscribe_report(1, 5) == INVALID_HANDLE
    with pytest.raises(TypeError, match="parse fai"):
        rt.launch_callback(print, None, BLOCK)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="parse fai"):
        rt.launch_callback(print, None, BLOCK, None)  # type: ignore[arg-type]


def test_process_report_checks_its_timeout(own_stream: int) -> None:
    assert rt.process_report(5) == REPORT_TIMEOUT
    assert rt.process_report(0) == INVALID_PARAM
    assert rt.process_report(-2) == INVALID_PARAM
    assert rt.launch_callback(lambda _: None, None, BLOCK, own_stream) == SUCCESS
    assert rt.process_report(-1) == SUCCESS


class Thing:
    pass


def test_references_are_released_after_the_callback(own_stream: int) -> None:
    thing = Thing()
    alive = weakref.ref(thing)
    assert rt.launch_callback(lambda _: None, thing, BLOCK, own_stream) == SUCCESS
    del thing
    gc.collect()
    assert alive() is not None  # referenced by the stream
    assert rt.process_report(1000) == SUCCESS
    gc.collect()
    assert alive() is None


def test_references_are_released_if_the_launch_fails(stream: int) -> None:
    thing = Thing()
    alive = weakref.ref(thing)
    assert rt.launch_callback(lambda _: None, thing, BLOCK, stream) == NO_CALLBACK_THREAD
    del thing
    gc.collect()
    assert alive() is None


@pytest.mark.xfail(strict=True, reason="function and object of a callback that never runs are not released")
def test_references_are_released_if_the_stream_is_destroyed(stream: int) -> None:
    me, thing = threading.get_ident(), Thing()
    alive = weakref.ref(thing)
    assert rt.subscribe_report(me, stream) == SUCCESS
    assert rt.launch_callback(lambda _: None, thing, BLOCK, stream) == SUCCESS
    del thing
    assert rt.destroy_stream_force(stream) == SUCCESS
    gc.collect()
    assert alive() is None


@pytest.mark.bare
@pytest.mark.parametrize(
    "call", ["memcpy_async", "synchronize_stream", "synchronize_device", "destroy_stream", "reset_device", "event"]
)
def test_waiting_calls_release_the_gil(call: str) -> None:
    """A call may wait for a Python callback. It would deadlock if it held the GIL."""
    program = """
import sys, threading, acl
from acl import rt
assert rt.set_device(0) == 0
stream = rt.create_stream()[0]
stop, ready, gate, ran = threading.Event(), threading.Event(), threading.Event(), []
def serve():
    ready.wait()
    while not stop.is_set():
        rt.process_report(20)
tid, _ = acl.util.start_thread(serve, None)
assert rt.subscribe_report(tid, stream) == 0
ready.set()
def callback(source):
    gate.wait()
    source[:] = b"after!"
    ran.append(1)
import ctypes
source = bytearray(b"before")
address = ctypes.addressof(ctypes.c_char.from_buffer(source))
event, device = rt.create_event()[0], rt.malloc(6, 0)[0]
assert rt.launch_callback(callback, source, 1, stream) == 0
assert rt.record_event(event, stream) == 0
assert rt.stream_query(stream) == (1, 0)
call = sys.argv[1]
sys.setswitchinterval(1000)  # no thread switch until the call below releases the GIL
gate.set()
if call == "memcpy_async":
    assert rt.memcpy_async(device, 6, address, 6, 1, stream) == 0
    result = bytes(6)
    assert rt.memcpy(acl.util.bytes_to_ptr(result), 6, device, 6, 2) == 0
    assert result == b"after!", result
elif call == "synchronize_stream":
    assert rt.synchronize_stream(stream) == 0
elif call == "synchronize_device":
    assert rt.synchronize_device() == 0
elif call == "destroy_stream":
    assert rt.destroy_stream(stream) == 0
elif call == "reset_device":
    assert rt.reset_device(0) == 0
else:
    assert rt.synchronize_event(event) == 0
assert ran == [1]
stop.set()
assert acl.util.stop_thread(tid) == 0
print("done")
"""
    assert run_python(program, call, timeout=20).strip() == "done"


def test_callbacks_may_call_the_module(reporter: Reporter) -> None:
    (ctx, _), results, device = rt.get_context(), [], malloc(64)

    def callback(_: object) -> None:
        results.append(rt.set_context(ctx))
        other = rt.create_stream()[0]
        results.append(rt.memcpy_async(device, 64, acl.util.bytes_to_ptr(pattern(64)), 64, H2D, other))
        results.append(rt.destroy_stream(other))

    assert rt.launch_callback(callback, None, BLOCK, reporter.stream) == SUCCESS
    assert rt.synchronize_stream(reporter.stream) == SUCCESS
    assert results == [SUCCESS] * 3
    assert read(device, 64) == pattern(64)


@pytest.mark.bare
def test_process_exits_while_a_thread_serves_callbacks() -> None:
    program = """
import threading, acl
from acl import rt
rt.set_device(0)
stream = rt.create_stream()[0]
ready = threading.Event()
def serve():
    ready.wait()
    rt.process_report(-1)
thread = threading.Thread(target=serve, daemon=True)
thread.start()
assert rt.subscribe_report(thread.ident, stream) == 0
ready.set()
print("end")
"""
    assert run_python(program, timeout=20).strip() == "end"


@pytest.mark.bare
def test_callback_during_interpreter_shutdown_is_harmless() -> None:
    program = """
import os, sys, threading, acl
from acl import rt
os.dup2(1, 2)
rt.set_device(0)
stream = rt.create_stream()[0]
ready, inside = threading.Event(), threading.Event()
def serve():
    ready.wait()
    inside.set()
    rt.process_report(-1)  # only here can the main thread continue
thread = threading.Thread(target=serve, daemon=True)
thread.start()
assert rt.subscribe_report(thread.ident, stream) == 0
sys.setswitchinterval(1000)
ready.set()
inside.wait()
class Late:  # destroyed late in the shutdown of the interpreter
    def __del__(self, launch=rt.launch_callback, wait=rt.synchronize_stream_with_timeout, stream=stream, nothing=id):
        launch(nothing, None, 1, stream)
        wait(stream, 100)
sys.modules["late"] = Late()
print("end", flush=True)
"""
    assert run_python(program, timeout=20).strip() == "end"


def test_exception_callback_can_be_set_and_cleared() -> None:
    for result in [
        rt.set_exception_info_callback(lambda info: None),
        rt.set_exception_info_callback(None),
        rt.set_exception_info_callback(),
    ]:
        assert result == SUCCESS
    for name in ["task_id", "stream_id", "thread_id", "device_id", "error_code"]:
        assert type(getattr(rt, f"get_{name}_from_exception_info")(0)) is int


def test_exception_callback_receives_failed_tasks() -> None:
    program = """
        import acl
        failures = []
        def record(info):
            code = acl.rt.get_error_code_from_exception_info(info)
            failures.append((code, acl.rt.get_device_id_from_exception_info(info)))
        assert acl.rt.set_device(0) == 0
        assert acl.rt.set_exception_info_callback(record) == 0
        stream, _ = acl.rt.create_stream()
        device, _ = acl.rt.malloc(64, 0)
        pinned, _ = acl.rt.malloc_host(64)
        codes = []
        for _ in range(3):
            assert acl.rt.memcpy_async(device, 64, pinned, 64, 1, stream) == 0
            codes.append(acl.rt.synchronize_stream(stream))
        assert acl.rt.set_exception_info_callback() == 0
        print(codes, failures)
    """
    output = run_python(textwrap.dedent(program), SOFTACL_FAULTS="copy@2=507013")
    assert output.strip() == "[0, 507013, 0] [(507013, 0)]"


def test_captured_callback_runs_in_every_run(own_stream: int) -> None:
    """pyACL has no captures; a C++ extension in the same process has. The function and its argument outlive the runs."""
    library = ctypes.CDLL("libascendcl.so")
    stream, graph = ctypes.c_void_p(own_stream), ctypes.c_void_p()
    seen: list[list[int]] = []
    assert library.aclmdlRICaptureBegin(stream, 0) == SUCCESS
    assert rt.launch_callback(lambda data: seen.append(data), [1, 2], NO_BLOCK, own_stream) == SUCCESS
    assert library.aclmdlRICaptureEnd(stream, ctypes.byref(graph)) == SUCCESS
    gc.collect()
    for run in range(1, 4):
        assert library.aclmdlRIExecuteAsync(graph, stream) == SUCCESS
        assert rt.process_report(TEST_TIMEOUT * 1000) == SUCCESS
        assert seen == [[1, 2]] * run
    assert rt.synchronize_stream(own_stream) == SUCCESS
    assert library.aclmdlRIDestroy(graph) == SUCCESS
