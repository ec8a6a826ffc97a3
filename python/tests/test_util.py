"""Addresses of bytes objects and arrays, and threads."""

import ctypes
import errno
import gc
import threading
import warnings
import weakref
from typing import Any

import acl
import pytest
from acl import rt, util

from support import (
    CONTEXT_NULL,
    D2H,
    H2D,
    SUCCESS,
    TEST_TIMEOUT,
    malloc,
    malloc_host,
    pattern,
    pinned_bytes,
    run_python,
)

# bytes


def test_bytes_to_ptr_returns_the_address() -> None:
    data = bytes(bytearray(pattern(1000)))
    ptr = util.bytes_to_ptr(data)
    assert type(ptr) is int
    assert ctypes.string_at(ptr, 1000) == data
    assert util.bytes_to_ptr(data) == ptr
    ctypes.memset(ptr, 7, 1)
    assert data[0] == 7


@pytest.mark.parametrize(
    "value", [bytearray(8), memoryview(b"12345678"), "text", None, 5, [1]], ids=lambda v: type(v).__name__
)
def test_bytes_to_ptr_rejects_other_types(value: Any) -> None:
    with pytest.raises(ValueError):
        util.bytes_to_ptr(value)


def test_ptr_to_bytes_returns_a_copy() -> None:
    host = pinned_bytes(pattern(100))
    copy = util.ptr_to_bytes(host, 100)
    assert type(copy) is bytes and copy == pattern(100)
    ctypes.memset(host, 0, 100)
    assert copy == pattern(100)
    assert util.ptr_to_bytes(host + 10, 0) == b""


def test_bytes_round_trip() -> None:
    data = bytes(bytearray(pattern(100)))
    assert util.ptr_to_bytes(util.bytes_to_ptr(data), 100) == data


# numpy


@pytest.mark.bare
def test_import_works_without_numpy() -> None:
    program = """
import sys
sys.modules["numpy"] = None  # as if it were not installed
import acl
assert acl.rt.set_device(0) == 0
data, result = bytes(range(100)), bytes(100)
ptr, ret = acl.rt.malloc(100, 0)
assert ret == 0
assert acl.rt.memcpy(ptr, 100, acl.util.bytes_to_ptr(data), 100, 1) == 0
assert acl.rt.memcpy(acl.util.bytes_to_ptr(result), 100, ptr, 100, 2) == 0
assert data == result
A = {"dstLoc": {"type": 1}, "srcLoc": {"type": 0}}
assert acl.rt.memcpy_batch([ptr], [100], [acl.util.bytes_to_ptr(data)], [100], [A], [0])[1] == 0
for name, arguments in [("numpy_to_ptr", ([],)), ("numpy_contiguous_to_ptr", ([],)), ("ptr_to_numpy", (1, (1,), 1))]:
    try:
        getattr(acl.util, name)(*arguments)
    except ImportError:
        continue
    raise SystemExit("an ImportError was expected")
"""
    run_python(program, options=("-W", "ignore"))


@pytest.mark.bare
def test_import_does_not_import_numpy() -> None:
    assert run_python("import sys, acl; print('numpy' in sys.modules)").strip() == "False"


@pytest.fixture
def np() -> Any:
    return pytest.importorskip("numpy")


quiet = pytest.mark.filterwarnings("ignore")


@quiet
def test_numpy_to_ptr_returns_the_address(np: Any) -> None:
    array = np.arange(10, dtype=np.int32)
    ptr = util.numpy_to_ptr(array)
    assert type(ptr) is int and ptr == array.ctypes.data
    assert util.numpy_to_ptr(array[3:]) == ptr + 12


def test_numpy_to_ptr_warns(np: Any) -> None:
    with pytest.warns(Warning, match="deprecated") as caught:
        util.numpy_to_ptr(np.zeros(4))
    assert [warning.category for warning in caught] == [Warning]
    with pytest.warns(Warning) as caught:
        util.numpy_to_ptr(np.zeros((4, 4)).T[1:])
    assert len(caught) == 2 and "contiguous" in str(caught[1].message)


def test_warnings_refer_to_the_caller(np: Any) -> None:
    with pytest.warns(Warning) as caught:
        util.numpy_to_ptr(np.zeros(4))
    assert caught[0].filename == __file__


def test_warnings_can_be_errors(np: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Warning):
            util.numpy_to_ptr(np.zeros(4))
        with pytest.raises(Warning):
            util.numpy_contiguous_to_ptr(np.zeros(4))
        with pytest.raises(Warning):
            util.ptr_to_numpy(malloc_host(64), (4,), 11)


@quiet
@pytest.mark.parametrize("value", [[1, 2], b"bytes", None, 5, (1,)], ids=repr)
def test_array_arguments_reject_other_types(np: Any, value: Any) -> None:
    with pytest.raises(ValueError):
        util.numpy_to_ptr(value)
    with pytest.raises(ValueError):
        util.numpy_contiguous_to_ptr(value)


@quiet
def test_numpy_contiguous_to_ptr_copies_only_if_needed(np: Any) -> None:
    array = np.arange(12).reshape(3, 4)
    ptr, same = util.numpy_contiguous_to_ptr(array)
    assert same is array and ptr == array.ctypes.data
    ptr, copy = util.numpy_contiguous_to_ptr(array.T)
    assert copy is not array and copy.flags.c_contiguous and (copy == array.T).all()
    assert ptr == copy.ctypes.data


def test_numpy_contiguous_to_ptr_warns(np: Any) -> None:
    with pytest.warns(Warning, match="deprecated"):
        util.numpy_contiguous_to_ptr(np.zeros(4))


TYPES = [
    (0, "bool"),
    (1, "int8"),
    (2, "uint8"),
    (3, "int16"),
    (4, "uint16"),
    (5, "int32"),
    (6, "uint32"),
    (7, "int64"),
    (8, "uint64"),
    (9, "int64"),
    (10, "uint64"),
    (11, "float32"),
    (12, "float64"),
    (23, "float16"),
]


@quiet
@pytest.mark.parametrize(("npy_type", "name"), TYPES, ids=[name for _, name in TYPES])
def test_ptr_to_numpy_returns_a_view(np: Any, npy_type: int, name: str) -> None:
    host = pinned_bytes(bytes(1024))
    array = util.ptr_to_numpy(host, (2, 3, 4), npy_type)
    assert array.shape == (2, 3, 4) and array.dtype == np.dtype(name)
    assert array.ctypes.data == host and array.flags.writeable and array.flags.c_contiguous
    array[1, 2, 3] = 1
    again = util.ptr_to_numpy(host, (24,), npy_type)
    assert again[23] == 1 and not again[:23].any()


@quiet
def test_ptr_to_numpy_accepts_empty_shapes(np: Any) -> None:
    host = malloc_host(64)
    assert util.ptr_to_numpy(host, (), 5).shape == ()
    assert util.ptr_to_numpy(host, (0,), 5).shape == (0,)
    assert util.ptr_to_numpy(host, (2, 0, 3), 5).shape == (2, 0, 3)


@quiet
def test_ptr_to_numpy_rejects_wrong_arguments(np: Any) -> None:
    host = malloc_host(64)
    for shape in [[4], None, 4]:
        with pytest.raises(ValueError):
            util.ptr_to_numpy(host, shape, 5)
    for shape in [(4.0,), ("4",), (None,), (np.int64(4),)]:
        with pytest.raises(TypeError):
            util.ptr_to_numpy(host, shape, 5)
    for shape in [(-1,), (2**62, 2**62)]:
        with pytest.raises(ValueError):
            util.ptr_to_numpy(host, shape, 5)
    for npy_type in [99, -1]:
        with pytest.raises(ValueError):
            util.ptr_to_numpy(host, (4,), npy_type)


def test_ptr_to_numpy_warns(np: Any) -> None:
    with pytest.warns(Warning, match="deprecated"):
        util.ptr_to_numpy(malloc_host(64), (4,), 5)


@quiet
def test_arrays_round_trip(np: Any) -> None:
    source, device = np.arange(1000, dtype=np.float32), malloc(4000)
    assert rt.memcpy(device, 4000, util.numpy_to_ptr(source), 4000, H2D) == SUCCESS
    result = np.zeros_like(source)
    assert rt.memcpy(util.numpy_to_ptr(result), 4000, device, 4000, D2H) == SUCCESS
    assert (result == source).all()
    data = bytes(4000)
    assert rt.memcpy(util.bytes_to_ptr(data), 4000, device, 4000, D2H) == SUCCESS
    assert (np.frombuffer(data, dtype=np.float32) == source).all()


# Threads


def test_thread_receives_its_list_as_one_argument() -> None:
    seen: list[Any] = []
    arguments = [1, "two"]

    def run(*given: Any) -> None:
        seen.append((given, threading.get_ident()))

    thread, ret = util.start_thread(run, arguments)
    assert ret == 0 and thread != 0
    assert util.stop_thread(thread) == 0
    assert len(seen[0][0]) == 1 and seen[0][0][0] is arguments
    assert seen[0][1] == thread != threading.get_ident()


def test_thread_started_with_none_receives_no_argument() -> None:
    seen: list[Any] = []
    thread, ret = util.start_thread(lambda *given: seen.append(given), None)
    assert ret == 0
    assert util.stop_thread(thread) == 0
    assert seen == [()]


def test_new_thread_has_no_context() -> None:
    (ctx, _), seen = rt.get_context(), []

    def run(arguments: list[int]) -> None:
        seen.append(rt.get_context())
        seen.append(rt.set_context(arguments[0]))
        seen.append(rt.get_context())

    thread, _ = util.start_thread(run, [ctx])
    assert util.stop_thread(thread) == 0
    assert seen == [(0, CONTEXT_NULL), SUCCESS, (ctx, SUCCESS)]


def test_stop_thread_releases_the_gil() -> None:
    gate, done = threading.Event(), []

    def run() -> None:
        gate.wait(TEST_TIMEOUT)
        done.append(1)

    thread, _ = util.start_thread(run, None)
    opener = threading.Thread(target=gate.set)
    opener.start()
    assert util.stop_thread(thread) == 0
    assert done == [1]
    opener.join(TEST_TIMEOUT)


def test_several_threads_run_concurrently() -> None:
    barrier = threading.Barrier(8)
    threads = [util.start_thread(lambda: barrier.wait(TEST_TIMEOUT), None) for _ in range(8)]
    assert len({thread for thread, _ in threads}) == 8
    assert [util.stop_thread(thread) for thread, _ in threads] == [0] * 8


def test_exception_is_printed_and_raised_by_stop_thread(capfd: pytest.CaptureFixture[str]) -> None:
    def run() -> None:
        raise KeyError("something is missing")

    thread, ret = util.start_thread(run, None)
    assert ret == 0
    with pytest.raises(RuntimeError, match="exception=KeyError,msg=thread call failed;"):
        util.stop_thread(thread)
    text = capfd.readouterr().err
    assert "Traceback" in text and "something is missing" in text
    assert util.stop_thread(thread) == errno.ESRCH  # the thread has ended nevertheless


def test_wrong_argument_count_raises_in_the_thread() -> None:
    thread, ret = util.start_thread(lambda: None, [1])
    assert ret == 0
    with pytest.raises(RuntimeError, match="exception=TypeError"):
        util.stop_thread(thread)


@pytest.mark.bare
@pytest.mark.parametrize("modules", ["sys, acl", "sys, threading, acl"])
def test_exit_in_a_thread_ends_only_the_thread(modules: str) -> None:
    program = f"""
import {modules}
thread, _ = acl.util.start_thread(lambda: sys.exit(3), None)
try:
    acl.util.stop_thread(thread)
except RuntimeError:
    pass
print("alive")
"""
    assert run_python(program, timeout=3).strip() == "alive"


@pytest.mark.parametrize("thread", [0, 1, 2**64 - 1])
def test_stop_thread_refuses_invalid_ids(thread: int) -> None:
    assert util.stop_thread(thread) == errno.ESRCH


def test_thread_can_be_stopped_once() -> None:
    thread, _ = util.start_thread(lambda: None, None)
    assert util.stop_thread(thread) == 0
    assert util.stop_thread(thread) == errno.ESRCH


def test_stopped_thread_releases_its_arguments() -> None:
    class Thing:
        pass

    thing = Thing()
    alive = weakref.ref(thing)
    thread, _ = util.start_thread(lambda _: None, [thing])
    assert util.stop_thread(thread) == 0
    del thing
    gc.collect()
    assert alive() is None


@pytest.mark.bare
def test_thread_that_runs_during_shutdown_prints_nothing() -> None:
    program = """
import os, sys, acl
os.dup2(1, 2)
sys.setswitchinterval(1000)  # the thread does not run before the shutdown
acl.util.start_thread(int, None)
"""
    assert run_python(program, timeout=20).strip() == ""


@pytest.mark.bare
def test_process_exits_with_a_running_thread() -> None:
    program = """
import threading, acl
started, gate = threading.Event(), threading.Event()
def run():
    started.set()
    gate.wait()
acl.util.start_thread(run, None)
started.wait()
print("end", flush=True)
"""
    assert run_python(program, timeout=20).strip() == "end"
