"""Contexts."""

import pytest
from acl import rt

from support import (
    CONTEXT_NULL,
    H2D,
    INVALID_DEVICEID,
    INVALID_PARAM,
    NOT_SUPPORTED,
    PARAM_INVALID,
    STREAM_CONTEXT,
    SUCCESS,
    SYSPARAMOPT_NOT_SET,
    create_stream,
    malloc,
    malloc_host,
    on_new_thread,
)


def test_new_context_is_current_until_another_is_set() -> None:
    primary, ret = rt.get_context()
    assert ret == SUCCESS and primary != 0
    ctx, ret = rt.create_context(0)
    assert ret == SUCCESS and ctx not in (0, primary)
    assert rt.get_context() == (ctx, SUCCESS)
    assert rt.set_context(primary) == SUCCESS
    assert rt.get_context() == (primary, SUCCESS)
    assert rt.destroy_context(ctx) == SUCCESS


def test_context_determines_the_current_device() -> None:
    primary, _ = rt.get_context()
    ctx, ret = rt.create_context(1)
    assert ret == SUCCESS
    assert rt.get_device() == (1, SUCCESS)
    assert rt.set_context(primary) == SUCCESS
    assert rt.get_device() == (0, SUCCESS)
    assert rt.destroy_context(ctx) == SUCCESS


def test_context_with_streams_can_be_destroyed() -> None:
    primary, _ = rt.get_context()
    ctx, ret = rt.create_context(0)
    assert ret == SUCCESS
    create_stream()
    assert rt.destroy_context(ctx) == SUCCESS
    assert rt.set_context(ctx) == PARAM_INVALID
    assert rt.destroy_context(ctx) == CONTEXT_NULL
    assert rt.set_context(primary) == SUCCESS


def test_invalid_contexts_are_refused() -> None:
    primary, _ = rt.get_context()
    assert rt.create_context(99) == (0, INVALID_DEVICEID)
    assert rt.create_context(-1) == (0, INVALID_DEVICEID)
    assert rt.destroy_context(0) == INVALID_PARAM
    assert rt.destroy_context(77) == CONTEXT_NULL
    assert rt.destroy_context(primary) == CONTEXT_NULL
    assert rt.set_context(0) == INVALID_PARAM
    assert rt.set_context(77) == PARAM_INVALID
    assert rt.get_context() == (primary, SUCCESS)


def test_new_thread_has_no_context_until_it_sets_one() -> None:
    ctx, _ = rt.get_context()
    assert on_new_thread(rt.get_context) == (0, CONTEXT_NULL)
    assert on_new_thread(lambda: (rt.set_context(ctx), rt.get_context())) == (SUCCESS, (ctx, SUCCESS))


def test_destroyed_context_is_lost_by_all_threads() -> None:
    primary, _ = rt.get_context()
    ctx, _ = rt.create_context(0)

    def use() -> tuple[int, int, int]:
        first = rt.set_context(ctx)
        second = rt.destroy_context(ctx)
        return first, second, rt.create_stream()[1]

    assert on_new_thread(use) == (SUCCESS, SUCCESS, CONTEXT_NULL)
    assert rt.create_stream()[1] == CONTEXT_NULL
    assert rt.set_context(primary) == SUCCESS


def test_default_stream_requires_a_context() -> None:
    stream, ret = rt.ctx_get_current_default_stream()
    assert ret == SUCCESS and stream != 0
    assert rt.synchronize_stream(stream) == SUCCESS
    assert on_new_thread(rt.ctx_get_current_default_stream) == (0, CONTEXT_NULL)


def test_stream_of_another_context_is_refused() -> None:
    primary, _ = rt.get_context()
    device, host = malloc(64), malloc_host(64)
    ctx, _ = rt.create_context(0)
    stream = create_stream()
    assert rt.set_context(primary) == SUCCESS
    assert rt.memcpy_async(device, 64, host, 64, H2D, stream) == STREAM_CONTEXT
    assert rt.destroy_stream(stream) == STREAM_CONTEXT
    assert rt.synchronize_stream(stream) == SUCCESS  # waiting is allowed
    assert rt.destroy_context(ctx) == SUCCESS


def test_primary_context_is_active_after_set_device() -> None:
    assert rt.get_primary_ctx_state(0) == (1, 0, SUCCESS)
    assert rt.get_primary_ctx_state(1) == (0, 0, SUCCESS)
    assert rt.set_device(1) == SUCCESS
    assert rt.get_primary_ctx_state(1) == (1, 0, SUCCESS)
    assert rt.get_primary_ctx_state(99) == (0, 0, INVALID_DEVICEID)


@pytest.mark.parametrize("scope", ["", "ctx_"])
def test_system_parameters_round_trip(scope: str) -> None:
    put, get = getattr(rt, f"{scope}set_sys_param_opt"), getattr(rt, f"{scope}get_sys_param_opt")
    assert put(0, 1) == SUCCESS
    assert get(0) == (1, SUCCESS)
    assert put(0, 0) == SUCCESS
    assert get(0) == (0, SUCCESS)
    assert put(99, 1) != SUCCESS
    assert get(99)[1] != SUCCESS


def test_unset_system_parameter_is_an_error_of_the_context_only() -> None:
    assert rt.get_sys_param_opt(3) == (0, SUCCESS)
    assert rt.ctx_get_sys_param_opt(3)[1] == SYSPARAMOPT_NOT_SET


def test_overflow_status_succeeds_or_is_not_supported() -> None:
    memory = malloc(64)
    assert rt.get_overflow_status(memory, 64, 0) in (SUCCESS, NOT_SUPPORTED)
    assert rt.reset_overflow_status(0) in (SUCCESS, NOT_SUPPORTED)
