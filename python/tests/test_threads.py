"""Several Python threads at once."""

import threading
from typing import Callable

import acl
import pytest
from acl import rt

from support import (
    BLOCK,
    D2D,
    D2H,
    DEVICE,
    H2D,
    HOST,
    NOWHERE,
    PATIENCE,
    SUCCESS,
    Reporter,
    create_event,
    create_stream,
    device_bytes,
    malloc,
    malloc_host,
    pattern,
    pinned_bytes,
    read,
)

THREADS = 6


def together(work: Callable[[int], None]) -> None:
    """Runs the work on several threads that start at the same moment; an exception of one is raised here."""
    barrier, errors = threading.Barrier(THREADS), []

    def run(number: int) -> None:
        try:
            barrier.wait(PATIENCE)
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    if errors:
        raise errors[0]


@pytest.mark.bare
def test_every_thread_with_its_own_device() -> None:
    def work(number: int) -> None:
        for turn in range(20):
            assert rt.set_device(number % 2) == SUCCESS
            assert rt.get_device() == (number % 2, SUCCESS)
            stream, size = create_stream(), 1000 + number
            data = pattern(size, number)
            device, host = malloc(size), malloc_host(size)
            assert rt.memcpy_async(device, size, acl.util.bytes_to_ptr(data), size, H2D, stream) == SUCCESS
            assert rt.memcpy_async(host, size, device, size, D2H, stream) == SUCCESS
            assert rt.synchronize_stream(stream) == SUCCESS
            assert acl.util.ptr_to_bytes(host, size) == data, turn
            assert rt.destroy_stream(stream) == SUCCESS
            assert rt.free(device) == SUCCESS
            assert rt.free_host(host) == SUCCESS
            assert rt.reset_device(number % 2) == SUCCESS

    assert rt.set_device(0) == rt.set_device(1) == SUCCESS  # so that the devices outlive the turns
    together(work)


def test_threads_share_a_context() -> None:
    ctx, _ = rt.get_context()
    total = device_bytes(bytes(THREADS * 1000))

    def work(number: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        for _ in range(50):
            data = pattern(1000, number)
            part = total + number * 1000
            assert rt.memcpy(part, 1000, acl.util.bytes_to_ptr(data), 1000, H2D) == SUCCESS
            assert read(part, 1000) == data

    together(work)
    assert read(total, THREADS * 1000) == b"".join(pattern(1000, number) for number in range(THREADS))


def test_threads_share_a_stream() -> None:
    ctx, _ = rt.get_context()
    stream = create_stream()
    sources = [pinned_bytes(pattern(1000, number)) for number in range(THREADS)]
    targets = [malloc(1000) for _ in range(THREADS)]

    def work(number: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        for _ in range(100):
            assert rt.memcpy_async(targets[number], 1000, sources[number], 1000, H2D, stream) == SUCCESS
        assert rt.synchronize_stream(stream) == SUCCESS

    together(work)
    for number in range(THREADS):
        assert read(targets[number], 1000) == pattern(1000, number)


def test_a_relay_through_events() -> None:
    """Each thread's stream waits for the one before and passes the bytes on."""
    ctx, _ = rt.get_context()
    cells = [device_bytes(pattern(1000)), *(malloc(1000) for _ in range(THREADS))]
    streams = [create_stream() for _ in range(THREADS)]
    events = [create_event() for _ in range(THREADS)]
    recorded = [threading.Event() for _ in range(THREADS)]

    def work(number: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        if number > 0:
            assert recorded[number - 1].wait(PATIENCE)
            assert rt.stream_wait_event(streams[number], events[number - 1]) == SUCCESS
        assert rt.memcpy_async(cells[number + 1], 1000, cells[number], 1000, D2D, streams[number]) == SUCCESS
        assert rt.record_event(events[number], streams[number]) == SUCCESS
        recorded[number].set()

    together(work)
    assert rt.synchronize_event(events[-1]) == SUCCESS
    assert read(cells[-1], 1000) == pattern(1000)


def test_batches_at_once() -> None:
    ctx, _ = rt.get_context()
    attr = {"dstLoc": {"id": 0, "type": DEVICE}, "srcLoc": {"id": 0, "type": HOST}}
    sources = [pinned_bytes(pattern(6400, number)) for number in range(THREADS)]
    targets = [malloc(6400) for _ in range(THREADS)]

    def work(number: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        dsts = [targets[number] + i * 64 for i in range(100)]
        srcs = [sources[number] + i * 64 for i in range(100)]
        for _ in range(10):
            assert rt.memcpy_batch(dsts, [64] * 100, srcs, [64] * 100, [attr], [0]) == (NOWHERE, SUCCESS)

    together(work)
    for number in range(THREADS):
        assert read(targets[number], 6400) == pattern(6400, number)


def test_callbacks_of_several_streams() -> None:
    ctx, _ = rt.get_context()
    counts = [0] * THREADS

    def work(number: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        stream = create_stream()
        reporter = Reporter(stream)

        def count(index: int) -> None:
            counts[index] += 1

        for _ in range(50):
            assert rt.launch_callback(count, number, BLOCK, stream) == SUCCESS
        assert rt.synchronize_stream(stream) == SUCCESS
        reporter.close()

    together(work)
    assert counts == [50] * THREADS


def test_failures_stay_with_their_thread() -> None:
    ctx, _ = rt.get_context()

    def work(number: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        for _ in range(50):
            code = rt.synchronize_stream(5) if number % 2 else rt.memcpy(1, 1, 2, 2, H2D)
            assert rt.get_last_error(0) == code != SUCCESS
            message = acl.get_recent_err_msg()
            assert message is not None and ("aclrtMemcpy" in message) == (number % 2 == 0)

    together(work)
