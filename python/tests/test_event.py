"""Events and notifies."""

import pytest
from acl import rt

from support import (
    D2H,
    EVENT_TIMEOUT,
    INTERNAL_ERROR,
    INVALID_HANDLE,
    INVALID_PARAM,
    NOT_SUPPORTED,
    PARAM_INVALID,
    STREAM_CONTEXT,
    SUCCESS,
    TASK_TIMEOUT,
    TIMESTAMP_INVALID,
    blocked_stream,
    create_event,
    create_stream,
    device_bytes,
    on_new_thread,
    pattern,
    pinned_bytes,
    read,
)

SYNC, PROGRESS, TIME_LINE = 1, 2, 8


def test_recorded_event_completes() -> None:
    event = create_event()
    assert rt.record_event(event, 0) == SUCCESS
    assert rt.synchronize_event(event) == SUCCESS
    assert rt.query_event_status(event) == (1, SUCCESS)
    assert rt.query_event(event) == (0, SUCCESS)
    assert rt.destroy_event(event) == SUCCESS


@pytest.mark.parametrize("flag", [SYNC, PROGRESS, TIME_LINE, SYNC | TIME_LINE, SYNC | PROGRESS | TIME_LINE])
@pytest.mark.parametrize("create", [rt.create_event_with_flag, rt.create_event_ex_with_flag], ids=["classic", "ex"])
def test_event_of_every_flag_is_usable(create: object, flag: int) -> None:
    event, ret = create(flag)  # type: ignore[operator]
    assert ret == SUCCESS and event != 0
    assert rt.record_event(event, 0) == SUCCESS
    assert rt.synchronize_event(event) == SUCCESS
    assert rt.destroy_event(event) == SUCCESS


@pytest.mark.parametrize("flag", [0, 4, 0x80, 0x10 | 1, 2**31])
def test_invalid_flags_are_refused(flag: int) -> None:
    assert rt.create_event_with_flag(flag) == (0, PARAM_INVALID)
    assert rt.create_event_ex_with_flag(flag) == (0, PARAM_INVALID)


def test_the_two_queries_return_opposite_values() -> None:
    event = create_event()
    with blocked_stream() as (stream, gate):
        assert rt.record_event(event, stream) == SUCCESS
        assert rt.query_event(event) == (1, SUCCESS)
        assert rt.query_event_status(event) == (0, SUCCESS)
        gate.open()
        assert rt.synchronize_event(event) == SUCCESS
        assert rt.query_event(event) == (0, SUCCESS)
        assert rt.query_event_status(event) == (1, SUCCESS)


def test_unrecorded_ex_event_is_complete_and_classic_event_is_not() -> None:
    classic = create_event()
    assert rt.query_event_status(classic) == (0, SUCCESS)
    assert rt.synchronize_event(classic) == SUCCESS
    assert rt.stream_wait_event(0, classic) == PARAM_INVALID
    ex, _ = rt.create_event_ex_with_flag(SYNC)
    assert rt.query_event_status(ex) == (1, SUCCESS)
    assert rt.stream_wait_event(0, ex) == SUCCESS
    assert rt.synchronize_stream(0) == SUCCESS


def test_synchronize_event_with_timeout_times_out() -> None:
    event = create_event()
    with blocked_stream() as (stream, gate):
        assert rt.record_event(event, stream) == SUCCESS
        assert rt.synchronize_event_with_timeout(event, 5) == EVENT_TIMEOUT
        assert rt.synchronize_event_with_timeout(event, 0) == PARAM_INVALID
        assert rt.synchronize_event_with_timeout(event, -2) == PARAM_INVALID
        gate.open()
        assert rt.synchronize_event_with_timeout(event, -1) == SUCCESS


def test_synchronize_event_needs_no_context() -> None:
    event = create_event()
    assert rt.record_event(event, 0) == SUCCESS
    assert on_new_thread(lambda: rt.synchronize_event(event)) == SUCCESS


def test_stream_wait_event_orders_two_streams() -> None:
    data = pattern(64)
    device, host = device_bytes(data), pinned_bytes(bytes(64))
    event = create_event()
    waiting = create_stream()
    with blocked_stream() as (stream, gate):
        assert rt.record_event(event, stream) == SUCCESS
        assert rt.stream_wait_event(waiting, event) == SUCCESS  # the stream is the first argument
        assert rt.memcpy_async(host, 64, device, 64, D2H, waiting) == SUCCESS
        assert rt.query_event_wait_status(event) == (1, SUCCESS)
        assert rt.stream_query(waiting) == (1, SUCCESS)
        assert read(host, 64) == bytes(64)
        gate.open()
        assert rt.synchronize_stream(waiting) == SUCCESS
    assert read(host, 64) == data
    assert rt.query_event_wait_status(event) == (0, SUCCESS)


def test_second_record_does_not_affect_an_earlier_wait() -> None:
    event = create_event()
    waiting, busy = create_stream(), create_stream()
    assert rt.record_event(event, busy) == SUCCESS
    assert rt.stream_wait_event(waiting, event) == SUCCESS
    with blocked_stream() as (stream, _gate):
        assert rt.record_event(event, stream) == SUCCESS
        assert rt.synchronize_stream(waiting) == SUCCESS
        assert rt.query_event_status(event) == (0, SUCCESS)


def test_elapsed_time_matches_the_timestamps() -> None:
    start, end = create_event(), create_event()
    assert rt.record_event(start, 0) == SUCCESS
    assert rt.record_event(end, 0) == SUCCESS
    assert rt.synchronize_stream(0) == SUCCESS
    forward, ret = rt.event_elapsed_time(start, end)
    assert ret == SUCCESS and type(forward) is float and forward >= 0.0
    backward, ret = rt.event_elapsed_time(end, start)
    assert ret == SUCCESS and backward == -forward
    first, ret = rt.event_get_timestamp(start)
    assert ret == SUCCESS
    second, ret = rt.event_get_timestamp(end)
    assert ret == SUCCESS and second >= first
    assert abs((second - first) / 1000 - forward) <= 0.002


def test_elapsed_time_requires_recorded_time_line_events() -> None:
    recorded, fresh = create_event(), create_event()
    assert rt.record_event(recorded, 0) == SUCCESS
    assert rt.synchronize_stream(0) == SUCCESS
    assert rt.event_elapsed_time(recorded, fresh) == (0.0, INTERNAL_ERROR)
    without, _ = rt.create_event_with_flag(SYNC)
    assert rt.record_event(without, 0) == SUCCESS
    assert rt.synchronize_stream(0) == SUCCESS
    assert rt.event_elapsed_time(recorded, without)[1] == TIMESTAMP_INVALID


def test_ex_events_cannot_be_reset() -> None:
    event = create_event()
    assert rt.record_event(event, 0) == SUCCESS
    assert rt.reset_event(event, 0) == SUCCESS
    assert rt.synchronize_stream(0) == SUCCESS
    ex, _ = rt.create_event_ex_with_flag(SYNC)
    assert rt.reset_event(ex, 0) == NOT_SUPPORTED
    assert rt.query_event(ex)[1] == NOT_SUPPORTED
    assert rt.query_event_wait_status(ex)[1] == NOT_SUPPORTED


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("destroy_event", "e"),
        ("record_event", "es"),
        ("reset_event", "es"),
        ("synchronize_event", "e"),
        ("stream_wait_event", "se"),
        ("query_event", "e"),
        ("query_event_status", "e"),
        ("query_event_wait_status", "e"),
        ("event_elapsed_time", "ee"),
        ("event_get_timestamp", "e"),
        ("get_event_id", "e"),
    ],
)
def test_invalid_handles_are_refused(name: str, shape: str, stream: int) -> None:
    function = getattr(rt, name)
    gone = create_event()
    assert rt.destroy_event(gone) == SUCCESS
    for handle, code in [(0, INVALID_PARAM), (1, INVALID_HANDLE), (gone, INVALID_HANDLE), (stream, INVALID_HANDLE)]:
        result = function(*(handle if kind == "e" else 0 for kind in shape))
        assert (result[-1] if isinstance(result, tuple) else result) == code, (handle, result)


def test_invalid_stream_is_refused() -> None:
    event = create_event()
    assert rt.record_event(event, 5) == INVALID_HANDLE
    assert rt.record_event(event, 0) == SUCCESS
    assert rt.stream_wait_event(5, event) == INVALID_HANDLE


def test_event_wait_ends_with_the_operator_wait_timeout() -> None:
    stream = create_stream()
    event, ret = rt.create_event_with_flag(1)
    assert ret == SUCCESS
    assert rt.set_op_wait_timeout(1) == SUCCESS
    assert rt.stream_wait_event(stream, event) == SUCCESS
    assert rt.set_op_wait_timeout(0) == SUCCESS
    assert rt.synchronize_stream(stream) == TASK_TIMEOUT
    assert rt.synchronize_stream(stream) == SUCCESS


def test_event_of_another_device_is_refused() -> None:
    event = create_event()
    assert rt.set_device(1) == SUCCESS
    assert rt.record_event(event, 0) == STREAM_CONTEXT
    assert rt.stream_wait_event(0, event) == STREAM_CONTEXT
    assert rt.synchronize_event(event) == SUCCESS
    assert rt.set_device(0) == SUCCESS
    assert rt.record_event(event, 0) == SUCCESS


def test_events_have_ids() -> None:
    event = create_event()
    assert rt.get_event_id(event)[1] == SUCCESS
    assert rt.get_event_avail_num()[1] in (SUCCESS, NOT_SUPPORTED)


def test_operator_timeouts_succeed_or_are_not_supported() -> None:
    assert rt.set_op_wait_timeout(0) == SUCCESS
    assert rt.set_op_execute_time_out(1) in (SUCCESS, NOT_SUPPORTED)
    for result in [rt.set_op_execute_timeout_v2(1000), rt.get_op_timeout_interval(), rt.get_op_execute_timeout()]:
        assert len(result) == 2 and result[1] in (SUCCESS, NOT_SUPPORTED)


def test_notify_wait_ends_when_the_notify_is_recorded() -> None:
    notify, ret = rt.create_notify(0)
    assert ret == SUCCESS
    assert rt.get_notify_id(notify)[1] == SUCCESS
    waiting = create_stream()
    assert rt.wait_and_reset_notify(notify, waiting, 0) == SUCCESS
    assert rt.stream_query(waiting) == (1, SUCCESS)
    assert rt.record_notify(notify, 0) == SUCCESS
    assert rt.synchronize_stream(waiting) == SUCCESS
    assert rt.notify_batch_reset([notify]) == SUCCESS
    assert rt.destroy_notify(notify) == SUCCESS
