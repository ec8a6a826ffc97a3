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
    blocked_stream,
    create_stream,
    device_bytes,
    on_new_thread,
    pattern,
    pinned_bytes,
    read,
)

COMPLETE, NOT_READY = 0, 1


def test_stream_can_be_created_used_and_destroyed() -> None:
    stream = create_stream()
    assert rt.stream_query(stream) == (COMPLETE, SUCCESS)
    assert rt.synchronize_stream(stream) == SUCCESS
    assert rt.destroy_stream(stream) == SUCCESS


@pytest.mark.parametrize(("priority", "flag"), [(0, 0), (7, 1), (3, 2), (0, 3), (99, 0), (-5, 0), (0, 1 << 20)])
def test_create_stream_with_config_accepts_any_priority_and_flag(priority: int, flag: int) -> None:
    stream, ret = rt.create_stream_with_config(priority, flag)
    assert ret == SUCCESS and stream != 0
    assert rt.synchronize_stream(stream) == SUCCESS
    assert rt.destroy_stream(stream) == SUCCESS


def test_streams_have_distinct_handles_and_ids() -> None:
    streams = [create_stream() for _ in range(10)]
    assert len(set(streams)) == 10
    ids = [rt.stream_get_id(stream) for stream in streams]
    assert all(ret == SUCCESS for _, ret in ids)
    assert len(set(ids)) == 10


def test_thread_without_a_context_cannot_create_a_stream() -> None:
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
def test_invalid_handles_are_refused(name: str) -> None:
    function = getattr(rt, name)
    gone = create_stream()
    assert rt.destroy_stream(gone) == SUCCESS
    event, _ = rt.create_event()
    for handle in [1, 2**64 - 1, gone, event]:
        result = function(handle)
        assert (result[-1] if isinstance(result, tuple) else result) == INVALID_HANDLE, handle


def test_synchronize_stream_with_timeout_checks_its_timeout() -> None:
    stream = create_stream()
    assert rt.synchronize_stream_with_timeout(stream, -1) == SUCCESS
    assert rt.synchronize_stream_with_timeout(stream, 1) == SUCCESS
    assert rt.synchronize_stream_with_timeout(stream, 0) == PARAM_INVALID
    assert rt.synchronize_stream_with_timeout(stream, -2) == PARAM_INVALID


def test_blocked_stream_is_not_ready_and_times_out() -> None:
    with blocked_stream() as (stream, gate):
        assert gate.reached.wait(30)
        assert rt.stream_query(stream) == (NOT_READY, SUCCESS)
        assert rt.synchronize_stream_with_timeout(stream, 5) == STREAM_TIMEOUT
        gate.open()
        assert rt.synchronize_stream_with_timeout(stream, -1) == SUCCESS
        assert rt.stream_query(stream) == (COMPLETE, SUCCESS)


def test_destroy_stream_waits_for_pending_work() -> None:
    data = pattern(4096)
    device, host = device_bytes(data), pinned_bytes(bytes(4096))
    stream = create_stream()
    assert rt.memcpy_async(host, 4096, device, 4096, D2H, stream) == SUCCESS
    assert rt.destroy_stream(stream) == SUCCESS
    assert read(host, 4096) == data


def test_destroy_stream_force_drops_pending_work() -> None:
    device, host = device_bytes(pattern(64)), pinned_bytes(bytes(64))
    with blocked_stream() as (_, _gate):
        waiting = create_stream()
        event, _ = rt.create_event_with_flag(1)  # a wait for it is allowed before it is recorded
        assert rt.stream_wait_event(waiting, event) == SUCCESS
        assert rt.memcpy_async(host, 64, device, 64, D2H, waiting) == SUCCESS
        assert rt.destroy_stream_force(waiting) == SUCCESS
    assert read(host, 64) == bytes(64)


def test_stream_abort_drops_pending_work() -> None:
    device, host = device_bytes(pattern(64)), pinned_bytes(bytes(64))
    stream = create_stream()
    event, _ = rt.create_event_with_flag(1)
    assert rt.stream_wait_event(stream, event) == SUCCESS
    assert rt.memcpy_async(host, 64, device, 64, D2H, stream) == SUCCESS
    assert rt.stream_abort(stream) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    assert read(host, 64) == bytes(64)
    assert rt.stream_abort(0) == SUCCESS


def test_streams_are_independent() -> None:
    data = pattern(64)
    device, host = device_bytes(data), pinned_bytes(bytes(64))
    with blocked_stream() as (blocked, gate):
        assert gate.reached.wait(30)
        other = create_stream()
        assert rt.memcpy_async(host, 64, device, 64, D2H, other) == SUCCESS
        assert rt.synchronize_stream(other) == SUCCESS
        assert read(host, 64) == data
        assert rt.stream_query(blocked) == (NOT_READY, SUCCESS)


def test_failure_mode_can_be_enabled_but_not_disabled() -> None:
    stream = create_stream()
    assert rt.set_stream_failure_mode(stream, 1) == SUCCESS
    assert rt.set_stream_failure_mode(stream, 1) == SUCCESS
    assert rt.get_stream_attribute(stream, 1) == ({"failureMode": 1}, SUCCESS)
    assert rt.set_stream_failure_mode(stream, 0) == NOT_SUPPORTED
    assert rt.set_stream_failure_mode(stream, 5) != SUCCESS


def test_attributes_round_trip() -> None:
    stream = create_stream()
    assert rt.get_stream_attribute(stream, 1) == ({"failureMode": 0}, SUCCESS)
    assert rt.get_stream_attribute(stream, 3) == ({"userCustomTag": 0}, SUCCESS)
    assert rt.set_stream_attribute(stream, 3, {"userCustomTag": 2**32 - 1}) == SUCCESS
    assert rt.get_stream_attribute(stream, 3) == ({"userCustomTag": 2**32 - 1}, SUCCESS)
    assert rt.set_stream_attribute(stream, 1, {"failureMode": 1}) == SUCCESS
    assert rt.get_stream_attribute(stream, 1) == ({"failureMode": 1}, SUCCESS)
    assert list(rt.get_stream_attribute(stream, 2)[0]) == ["overflowSwitch"]


def test_unknown_attributes_are_refused() -> None:
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
def test_hardware_functions_succeed_or_are_not_supported(name: str, rest: tuple[int, ...], stream: int) -> None:
    result = getattr(rt, name)(stream, *rest)
    assert isinstance(result, tuple) == name.startswith("get_")
    assert (result[-1] if isinstance(result, tuple) else result) in (SUCCESS, NOT_SUPPORTED)


def test_counters_succeed_or_are_not_supported() -> None:
    for result in [rt.get_stream_available_num(), rt.get_res_in_current_thread(0)]:
        assert len(result) == 2 and result[1] in (SUCCESS, NOT_SUPPORTED)


def test_task_ids_count_the_tasks_of_the_thread(stream: int) -> None:
    pointer = device_bytes(bytes(64))
    assert rt.memset_async(pointer, 64, 1, 64, stream) == SUCCESS
    first, code = rt.get_thread_last_task_id()
    assert code == SUCCESS
    assert rt.memset_async(pointer, 64, 2, 64, stream) == SUCCESS
    assert rt.get_thread_last_task_id() == (first + 1, SUCCESS)
    assert rt.synchronize_stream(stream) == SUCCESS


def test_available_streams_and_events_shrink() -> None:
    (streams, _), (events, _) = rt.get_stream_available_num(), rt.get_event_avail_num()
    stream, event = create_stream(), rt.create_event_with_flag(1)[0]  # SYNC: takes a resource
    assert rt.get_stream_available_num() == (streams - 1, SUCCESS)
    assert rt.get_event_avail_num() == (events - 1, SUCCESS)
    assert rt.destroy_stream(stream) == SUCCESS and rt.destroy_event(event) == SUCCESS


def test_overflow_status_is_written_by_the_stream(stream: int) -> None:
    pointer = device_bytes(pattern(64))
    assert rt.get_overflow_status(pointer, 64, stream) == SUCCESS
    assert rt.reset_overflow_status(stream) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    assert read(pointer, 64) == bytes(64)
    assert rt.get_overflow_status(pointer, 63, stream) == PARAM_INVALID


def test_allocator_is_returned_for_its_stream(stream: int) -> None:
    description = rt.allocator_create_desc()
    assert rt.allocator_set_obj_to_desc(description, 11) == SUCCESS
    assert rt.allocator_set_alloc_func_to_desc(description, 12) == SUCCESS
    assert rt.allocator_set_free_func_to_desc(description, 13) == SUCCESS
    assert rt.allocator_set_alloc_advise_func_to_desc(description, 14) == SUCCESS
    assert rt.allocator_set_get_addr_from_block_func_to_desc(description, 15) == SUCCESS
    assert rt.allocator_register(stream, description) == SUCCESS
    assert rt.allocator_get_by_stream(stream) == (description, 11, 12, 13, 14, 15, SUCCESS)
    assert rt.allocator_unregister(stream) == SUCCESS
    assert rt.allocator_get_by_stream(stream)[-1] == PARAM_INVALID
    assert rt.allocator_destroy_desc(description) == SUCCESS
