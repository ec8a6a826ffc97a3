"""Constants, helpers and the callback thread that the tests share."""

import contextlib
import ctypes
import functools
import os
import subprocess
import sys
import threading
from typing import Any, Callable, Iterator, Optional

import acl
from acl import rt

SUCCESS = 0
INVALID_PARAM = 100000
REPEAT_INITIALIZE = 100002
INVALID_FILE = 100003
REPEAT_FINALIZE = 100037
PARAM_INVALID = 107000
INVALID_DEVICEID = 107001
CONTEXT_NULL = 107002
STREAM_CONTEXT = 107003
TIMESTAMP_INVALID = 107006
ADDR_UNALIGNED = 107008
STREAM_SUBSCRIBE = 107011
THREAD_SUBSCRIBE = 107012
NO_CALLBACK_THREAD = 107015
INVALID_MEMORY_TYPE = 107016
INVALID_HANDLE = 107017
TASK_TIMEOUT = 107020
SYSPARAMOPT_NOT_SET = 107021
FEATURE_UNSUPPORTED = 200006
NOT_SUPPORTED = 207000
OUT_OF_MEMORY = 207001
INTERNAL_ERROR = 507000
CONTEXT_RELEASE = 507007
REPORT_TIMEOUT = 507012
STREAM_TIMEOUT = 507046
EVENT_TIMEOUT = 507047
ALREADY_REGISTERED = 507910
NOT_REGISTERED = 507911

H2H, H2D, D2H, D2D, DEFAULT, HOST_TO_BUF, INNER_D2D, INTER_D2D = range(8)
HUGE_FIRST = 0
NO_BLOCK, BLOCK = 0, 1
HOST, DEVICE, UNREGISTERED = 0, 1, 2
NO_FAIL_INDEX = 2**64 - 1  # fail index of a batch when no entry is to blame

TEST_TIMEOUT = 30  # seconds to wait for another thread or process


@functools.lru_cache(maxsize=None)
def pattern(size: int, seed: int = 0) -> bytes:
    """Returns bytes that depend on their position and on the seed. They are shared: do not write to them."""
    period = 1 << 16
    once = bytes((i * 31 + (i >> 8) * 7 + seed * 101 + 1) & 0xFF for i in range(min(size, period)))
    return (once * (size // period + 1))[:size]


def malloc(size: int) -> int:
    """Allocates device memory."""
    ptr, ret = rt.malloc(size, HUGE_FIRST)
    assert ret == 0 and ptr != 0
    return ptr


def malloc_host(size: int) -> int:
    """Allocates pinned memory."""
    ptr, ret = rt.malloc_host(size)
    assert ret == 0 and ptr != 0
    return ptr


def create_stream() -> int:
    stream, ret = rt.create_stream()
    assert ret == 0 and stream != 0
    return stream


def create_event() -> int:
    event, ret = rt.create_event()
    assert ret == 0 and event != 0
    return event


def write(ptr: int, data: bytes) -> None:
    """Writes bytes to device or pinned memory."""
    assert rt.memcpy(ptr, len(data), acl.util.bytes_to_ptr(data), len(data), DEFAULT) == 0


def read(ptr: int, size: int) -> bytes:
    """Reads device or pinned memory."""
    data = bytes(size)
    assert rt.memcpy(acl.util.bytes_to_ptr(data), size, ptr, size, DEFAULT) == 0
    return data


def device_bytes(data: bytes) -> int:
    """Allocates device memory with the given contents."""
    ptr = malloc(len(data))
    write(ptr, data)
    return ptr


def pinned_bytes(data: bytes) -> int:
    """Allocates pinned memory with the given contents."""
    ptr = malloc_host(len(data))
    ctypes.memmove(ptr, data, len(data))
    return ptr


def on_new_thread(function: Callable[[], Any]) -> Any:
    """Runs a function on a new thread, which has no context, and returns its result."""
    result: list[Any] = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join(TEST_TIMEOUT)
    assert result, "the thread ended without a result"
    return result[0]


class Reporter:
    """A thread that runs the callbacks of a stream."""

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.stopping = False
        self.codes: list[int] = []
        self._subscribed = threading.Event()
        self.id, ret = acl.util.start_thread(self._serve, None)
        assert ret == 0
        assert rt.subscribe_report(self.id, stream) == 0
        self._subscribed.set()

    def _serve(self) -> None:
        self._subscribed.wait(TEST_TIMEOUT)
        while not self.stopping:
            ret = rt.process_report(10)
            if ret not in (0, REPORT_TIMEOUT):
                self.codes.append(ret)

    def close(self) -> None:
        self.stopping = True
        assert acl.util.stop_thread(self.id) == 0
        assert rt.unsubscribe_report(self.id, self.stream) == 0


class Gate:
    """Blocks a stream, with a callback that waits, until the gate is opened."""

    def __init__(self, stream: int) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()
        assert rt.launch_callback(self._wait, None, BLOCK, stream) == 0

    def _wait(self, _: None) -> None:
        self.reached.set()
        self._open.wait(TEST_TIMEOUT)

    def open(self) -> None:
        self._open.set()


@contextlib.contextmanager
def blocked_stream() -> Iterator[tuple[int, Gate]]:
    """Yields a stream and the gate that blocks it."""
    stream = create_stream()
    reporter = Reporter(stream)
    gate = Gate(stream)
    try:
        yield stream, gate
        gate.open()
        assert rt.synchronize_stream(stream) == 0
    finally:
        gate.open()
        reporter.close()
        rt.destroy_stream_force(stream)


def library_path() -> str:
    """Returns the path of the libascendcl.so that the module uses."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            if line.rstrip().endswith("/libascendcl.so"):
                return line.split(maxsplit=5)[5].rstrip()
    raise AssertionError("libascendcl.so is not loaded")


def environment(**more: Optional[str]) -> dict[str, str]:
    """Returns an environment in which a Python child finds the module that this process uses."""
    where = os.path.dirname(os.path.abspath(str(acl.__file__)))
    merged: dict[str, Optional[str]] = dict(os.environ)
    merged["PYTHONPATH"] = os.pathsep.join(filter(None, [where, os.environ.get("PYTHONPATH")]))
    merged.update(more)
    return {key: value for key, value in merged.items() if value is not None}


def run_python(
    code: str, *arguments: str, timeout: float = TEST_TIMEOUT, options: tuple[str, ...] = (), **more: Optional[str]
) -> str:
    """Runs a Python program in a child process, which must succeed, and returns its output."""
    child = subprocess.run(
        [sys.executable, *options, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=timeout,
        env=environment(**more),
    )
    assert child.returncode == 0, f"exit code {child.returncode}\n{child.stdout}\n{child.stderr}"
    return child.stdout
