"""Streams."""

import pytest
from acl import rt

from support import (
    CONTEXT_NULL,
    D2H,
    INVALID_HANDLE,
    INVALID_PARAM,
    NOT_SUPPORTED,
    PARAM_INVALID,
    STREAM_TIMEOUT,
    SUCCESS,
    create_stream,
    device_bytes,
    held_stream,
    on_new_thread,
    pattern,
    pinned_bytes,
    read,
)

COMPLETE, NOT_READY = 0, 1


def test_create_use_and_destroy() -> None:
    stream = create_stream()
    assert rt.stream_query(stream) == (COMPLETE, SUCCESS)
    assert rt.synchronize_stream(stream) == SUCCESS
    assert rt.destroy_stream(stream) == SUCCESS


@pytest.mark.parametrize(("priority", "flag"), [(0, 0), (7, 1), (3, 2), (0, 3), (99, 0), (-5, 0), (0, 1 << 20)])
def test_create_stream_with_config(priority: int, flag: int) -> None:
    stream, ret = rt.create_stream_with_config(priority, flag)
    assert ret == SUCCESS and stream != 0
    assert rt.synchronize_stream(stream) == SUCCESS
    assert rt.destroy_stream(stream) == SUCCESS


def test_streams_differ_and_have_numbers() -> None:
    streams = [create_stream() for _ in range(10)]
    assert len(set(streams)) == 10
    ids = [rt.stream_get_id(stream) for stream in streams]
    assert all(ret == SUCCESS for _, ret in ids)
    assert len(set(ids)) == 10


def test_a_new_thread_cannot_create_one() -> None:
    assert on_new_thread(rt.create_stream) == (0, CONTEXT_NULL)
    assert on_new_thread(lambda: rt.create_stream_with_config(0, 0)) == (0, CONTEXT_NULL)


def test_zero_is_the_default_stream() -> None:
    assert rt.synchronize_stream(0) == SUCCESS
    assert rt.synchronize_stream_with_timeout(0, 1000) == SUCCESS
    assert rt.stream_query(0) == (COMPLETE, SUCCESS)
    assert rt.stream_get_id(0)[1] == SUCCESS
    assert rt.destroy_stream(0) == INVALID_PARAM
    assert rt.destroy_stream_force(0) == INVALID_PARAM


@pytest.mark.parametrize(
    "name",
    ["destroy_stream", "destroy_stream_force", "synchronize_stream", "stream_query", "stream_abort", "stream_get_id"],
)
def test_handles_that_are_none(name: str) -> None:
    function = getattr(rt, name)
    gone = create_stream()
    assert rt.destroy_stream(gone) == SUCCESS
    event, _ = rt.create_event()
    for handle in [1, 2**64 - 1, gone, event]:
        result = function(handle)
        assert (result[-1] if isinstance(result, tuple) else result) == INVALID_HANDLE, handle


def test_timeouts() -> None:
    stream = create_stream()
    assert rt.synchronize_stream_with_timeout(stream, -1) == SUCCESS
    assert rt.synchronize_stream_with_timeout(stream, 1) == SUCCESS
    assert rt.synchronize_stream_with_timeout(stream, 0) == PARAM_INVALID
    assert rt.synchronize_stream_with_timeout(stream, -2) == PARAM_INVALID


def test_a_held_stream_is_not_ready_and_times_out() -> None:
    with held_stream() as (stream, gate):
        assert gate.reached.wait(30)
        assert rt.stream_query(stream) == (NOT_READY, SUCCESS)
        assert rt.synchronize_stream_with_timeout(stream, 5) == STREAM_TIMEOUT
        gate.open()
        assert rt.synchronize_stream_with_timeout(stream, -1) == SUCCESS
        assert rt.stream_query(stream) == (COMPLETE, SUCCESS)


def test_destroy_waits_for_the_work() -> None:
    data = pattern(4096)
    device, host = device_bytes(data), pinned_bytes(bytes(4096))
    stream = create_stream()
    assert rt.memcpy_async(host, 4096, device, 4096, D2H, stream) == SUCCESS
    assert rt.destroy_stream(stream) == SUCCESS
    assert read(host, 4096) == data


def test_destroy_force_drops_the_work() -> None:
    device, host = device_bytes(pattern(64)), pinned_bytes(bytes(64))
    with held_stream() as (_, _gate):
        waiting = create_stream()
        event, _ = rt.create_event_with_flag(1)  # a wait for it is allowed before it is recorded
        assert rt.stream_wait_event(waiting, event) == SUCCESS
        assert rt.memcpy_async(host, 64, device, 64, D2H, waiting) == SUCCESS
        assert rt.destroy_stream_force(waiting) == SUCCESS
    assert read(host, 64) == bytes(64)


def test_abort_empties_a_stream() -> None:
    device, host = device_bytes(pattern(64)), pinned_bytes(bytes(64))
    stream = create_stream()
    event, _ = rt.create_event_with_flag(1)
    assert rt.stream_wait_event(stream, event) == SUCCESS
    assert rt.memcpy_async(host, 64, device, 64, D2H, stream) == SUCCESS
    assert rt.stream_abort(stream) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    assert read(host, 64) == bytes(64)
    assert rt.stream_abort(0) == INVALID_PARAM


def test_streams_are_independent() -> None:
    data = pattern(64)
    device, host = device_bytes(data), pinned_bytes(bytes(64))
    with held_stream() as (held, gate):
        assert gate.reached.wait(30)
        other = create_stream()
        assert rt.memcpy_async(host, 64, device, 64, D2H, other) == SUCCESS
        assert rt.synchronize_stream(other) == SUCCESS
        assert read(host, 64) == data
        assert rt.stream_query(held) == (NOT_READY, SUCCESS)


def test_failure_mode() -> None:
    stream = create_stream()
    assert rt.set_stream_failure_mode(stream, 1) == SUCCESS
    assert rt.set_stream_failure_mode(stream, 1) == SUCCESS
    assert rt.get_stream_attribute(stream, 1) == ({"failureMode": 1}, SUCCESS)
    assert rt.set_stream_failure_mode(stream, 0) == NOT_SUPPORTED
    assert rt.set_stream_failure_mode(stream, 5) != SUCCESS


def test_attributes() -> None:
    stream = create_stream()
    assert rt.get_stream_attribute(stream, 1) == ({"failureMode": 0}, SUCCESS)
    assert rt.get_stream_attribute(stream, 3) == ({"userCustomTag": 0}, SUCCESS)
    assert rt.set_stream_attribute(stream, 3, {"userCustomTag": 2**32 - 1}) == SUCCESS
    assert rt.get_stream_attribute(stream, 3) == ({"userCustomTag": 2**32 - 1}, SUCCESS)
    assert rt.set_stream_attribute(stream, 1, {"failureMode": 1}) == SUCCESS
    assert rt.get_stream_attribute(stream, 1) == ({"failureMode": 1}, SUCCESS)
    assert list(rt.get_stream_attribute(stream, 2)[0]) == ["overflowSwitch"]


def test_attributes_without_a_name() -> None:
    stream = create_stream()
    value, ret = rt.get_stream_attribute(stream, 77)
    assert ret == INVALID_PARAM
    assert value == {"reserved": [0, 0, 0, 0]}
    assert rt.set_stream_attribute(stream, 77, {"reserved": [1, 2]}) == INVALID_PARAM
    assert rt.set_stream_attribute(5, 3, {"userCustomTag": 1}) == INVALID_HANDLE


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("set_stream_overflow_switch", (1,)),
        ("get_stream_overflow_switch", ()),
        ("get_stream_res_limit", (0,)),
        ("set_stream_res_limit", (0, 1)),
        ("reset_stream_res_limit", ()),
        ("use_stream_res_in_current_thread", ()),
        ("unuse_stream_res_in_current_thread", ()),
    ],
)
def test_functions_of_the_card_work_or_say_that_they_do_not(name: str, rest: tuple[int, ...], stream: int) -> None:
    result = getattr(rt, name)(stream, *rest)
    assert isinstance(result, tuple) == name.startswith("get_")
    assert (result[-1] if isinstance(result, tuple) else result) in (SUCCESS, NOT_SUPPORTED)


def test_counters_work_or_say_that_they_do_not() -> None:
    for result in [rt.get_stream_available_num(), rt.get_thread_last_task_id(), rt.get_res_in_current_thread(0)]:
        assert len(result) == 2 and result[1] in (SUCCESS, NOT_SUPPORTED)
