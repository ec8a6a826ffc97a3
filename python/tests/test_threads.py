"""Calls from several Python threads at once."""

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
    NO_FAIL_INDEX,
    SUCCESS,
    TEST_TIMEOUT,
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


def run_concurrently(work: Callable[[int], None]) -> None:
    """Runs `work` on several threads that start together. Raises the first exception of any of them."""
    barrier, errors = threading.Barrier(THREADS), []

    def run(index: int) -> None:
        try:
            barrier.wait(TEST_TIMEOUT)
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TEST_TIMEOUT)
    if errors:
        raise errors[0]


@pytest.mark.bare
def test_each_thread_can_set_a_device() -> None:
    def work(index: int) -> None:
        for turn in range(20):
            assert rt.set_device(index % 2) == SUCCESS
            assert rt.get_device() == (index % 2, SUCCESS)
            stream, size = create_stream(), 1000 + index
            data = pattern(size, index)
            device, host = malloc(size), malloc_host(size)
            assert rt.memcpy_async(device, size, acl.util.bytes_to_ptr(data), size, H2D, stream) == SUCCESS
            assert rt.memcpy_async(host, size, device, size, D2H, stream) == SUCCESS
            assert rt.synchronize_stream(stream) == SUCCESS
            assert acl.util.ptr_to_bytes(host, size) == data, turn
            assert rt.destroy_stream(stream) == SUCCESS
            assert rt.free(device) == SUCCESS
            assert rt.free_host(host) == SUCCESS
            assert rt.reset_device(index % 2) == SUCCESS

    assert rt.set_device(0) == rt.set_device(1) == SUCCESS  # keeps the devices alive between the turns
    run_concurrently(work)


def test_threads_can_share_a_context() -> None:
    ctx, _ = rt.get_context()
    total = device_bytes(bytes(THREADS * 1000))

    def work(index: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        for _ in range(50):
            data = pattern(1000, index)
            part = total + index * 1000
            assert rt.memcpy(part, 1000, acl.util.bytes_to_ptr(data), 1000, H2D) == SUCCESS
            assert read(part, 1000) == data

    run_concurrently(work)
    assert read(total, THREADS * 1000) == b"".join(pattern(1000, index) for index in range(THREADS))


def test_threads_can_share_a_stream() -> None:
    ctx, _ = rt.get_context()
    stream = create_stream()
    sources = [pinned_bytes(pattern(1000, index)) for index in range(THREADS)]
    targets = [malloc(1000) for _ in range(THREADS)]

    def work(index: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        for _ in range(100):
            assert rt.memcpy_async(targets[index], 1000, sources[index], 1000, H2D, stream) == SUCCESS
        assert rt.synchronize_stream(stream) == SUCCESS

    run_concurrently(work)
    for index in range(THREADS):
        assert read(targets[index], 1000) == pattern(1000, index)


def test_events_order_the_streams_of_several_threads() -> None:
    """Each thread's stream waits for that of the previous thread and copies its bytes."""
    ctx, _ = rt.get_context()
    cells = [device_bytes(pattern(1000)), *(malloc(1000) for _ in range(THREADS))]
    streams = [create_stream() for _ in range(THREADS)]
    events = [create_event() for _ in range(THREADS)]
    recorded = [threading.Event() for _ in range(THREADS)]

    def work(index: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        if index > 0:
            assert recorded[index - 1].wait(TEST_TIMEOUT)
            assert rt.stream_wait_event(streams[index], events[index - 1]) == SUCCESS
        assert rt.memcpy_async(cells[index + 1], 1000, cells[index], 1000, D2D, streams[index]) == SUCCESS
        assert rt.record_event(events[index], streams[index]) == SUCCESS
        recorded[index].set()

    run_concurrently(work)
    assert rt.synchronize_event(events[-1]) == SUCCESS
    assert read(cells[-1], 1000) == pattern(1000)


def test_concurrent_batches_are_independent() -> None:
    ctx, _ = rt.get_context()
    attr = {"dstLoc": {"id": 0, "type": DEVICE}, "srcLoc": {"id": 0, "type": HOST}}
    sources = [pinned_bytes(pattern(6400, index)) for index in range(THREADS)]
    targets = [malloc(6400) for _ in range(THREADS)]

    def work(index: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        dsts = [targets[index] + i * 64 for i in range(100)]
        srcs = [sources[index] + i * 64 for i in range(100)]
        for _ in range(10):
            assert rt.memcpy_batch(dsts, [64] * 100, srcs, [64] * 100, [attr], [0]) == (NO_FAIL_INDEX, SUCCESS)

    run_concurrently(work)
    for index in range(THREADS):
        assert read(targets[index], 6400) == pattern(6400, index)


def test_callbacks_of_several_streams_all_run() -> None:
    ctx, _ = rt.get_context()
    counts = [0] * THREADS

    def work(index: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        stream = create_stream()
        reporter = Reporter(stream)

        def count(slot: int) -> None:
            counts[slot] += 1

        for _ in range(50):
            assert rt.launch_callback(count, index, BLOCK, stream) == SUCCESS
        assert rt.synchronize_stream(stream) == SUCCESS
        reporter.close()

    run_concurrently(work)
    assert counts == [50] * THREADS


def test_errors_are_recorded_per_thread() -> None:
    ctx, _ = rt.get_context()

    def work(index: int) -> None:
        assert rt.set_context(ctx) == SUCCESS
        for _ in range(50):
            code = rt.synchronize_stream(5) if index % 2 else rt.memcpy(1, 1, 2, 2, H2D)
            assert rt.get_last_error(0) == code != SUCCESS
            message = acl.get_recent_err_msg()
            assert message is not None and ("aclrtMemcpy" in message) == (index % 2 == 0)

    run_concurrently(work)
