"""Devices."""

import os

import acl
import pytest
from acl import rt

from support import (
    CONTEXT_NULL,
    CONTEXT_RELEASE,
    D2D,
    FEATURE_UNSUPPORTED,
    H2D,
    INVALID_DEVICEID,
    INVALID_PARAM,
    NOT_SUPPORTED,
    PARAM_INVALID,
    STREAM_TIMEOUT,
    SUCCESS,
    blocked_stream,
    create_stream,
    device_bytes,
    malloc,
    on_new_thread,
    pattern,
    read,
    run_python,
)


def test_set_device_makes_the_device_current() -> None:
    assert rt.get_device() == (0, SUCCESS)
    assert rt.set_device(1) == SUCCESS
    assert rt.get_device() == (1, SUCCESS)
    assert rt.set_device(0) == SUCCESS
    assert rt.get_device() == (0, SUCCESS)


@pytest.mark.parametrize("device_id", [-1, 64, 2**31 - 1, -(2**31)])
def test_missing_device_returns_an_error(device_id: int) -> None:
    assert rt.set_device(device_id) == INVALID_DEVICEID
    assert rt.reset_device(device_id) == INVALID_DEVICEID
    assert rt.get_device() == (0, SUCCESS)


@pytest.mark.bare
def test_queries_work_without_a_device() -> None:
    assert on_new_thread(rt.get_device) == (0, CONTEXT_NULL)
    count, ret = on_new_thread(rt.get_device_count)
    assert ret == SUCCESS and count >= 1
    assert on_new_thread(rt.get_run_mode) == (1, SUCCESS)


@pytest.mark.bare
def test_reset_device_is_counted() -> None:
    assert rt.set_device(0) == SUCCESS
    assert rt.set_device(0) == SUCCESS
    assert rt.reset_device(0) == SUCCESS
    assert rt.malloc(64, 0)[1] == SUCCESS
    assert rt.reset_device(0) == SUCCESS
    assert rt.reset_device(0) == CONTEXT_RELEASE
    assert rt.get_device()[1] == CONTEXT_NULL


@pytest.mark.bare
def test_reset_force_ignores_the_count() -> None:
    assert rt.set_device(0) == SUCCESS
    assert rt.set_device(0) == SUCCESS
    assert rt.reset_device_force(0) == SUCCESS
    assert rt.reset_device_force(0) == CONTEXT_RELEASE
    assert rt.get_device()[1] == CONTEXT_NULL


@pytest.mark.bare
def test_environment_sets_the_number_of_devices() -> None:
    assert run_python("import acl; print(acl.rt.get_device_count())", SOFTACL_DEVICES="5").strip() == "(5, 0)"


def test_get_run_mode_is_host() -> None:
    assert rt.get_run_mode() == (1, SUCCESS)


def test_get_device_info_returns_cores_and_memory() -> None:
    cores, ret = rt.get_device_info(0, 102)
    assert ret == SUCCESS and cores > 0
    memory, ret = rt.get_device_info(0, 301)
    assert ret == SUCCESS and memory > 2**31  # more than fits into 32 bits
    assert rt.get_device_info(99, 102) == (0, INVALID_DEVICEID)
    assert rt.get_device_info(0, 9999)[1] == PARAM_INVALID


def test_get_device_utilization_rate_has_the_documented_keys() -> None:
    rates, ret = rt.get_device_utilization_rate(0)
    assert ret == SUCCESS
    assert list(rates) == [
        "cube_utilization",
        "vector_utilization",
        "aicpu_utilization",
        "memory_utilization",
        "utilization_extend",
    ]
    assert all(type(value) is int for value in rates.values())
    assert rt.get_device_utilization_rate(99)[1] == INVALID_DEVICEID


def test_query_device_status_returns_normal() -> None:
    assert rt.query_device_status(0) == (0, SUCCESS)
    assert rt.query_device_status(99)[1] == INVALID_DEVICEID


def test_device_get_bare_tgid_returns_the_process_id() -> None:
    assert rt.device_get_bare_tgid() == (os.getpid(), SUCCESS)


def test_device_uuids_are_stable_and_distinct() -> None:
    first, ret = rt.device_get_uuid(0)
    assert ret == SUCCESS
    assert list(first) == ["bytes"] and len(first["bytes"]) == 16
    assert all(0 <= byte <= 255 for byte in first["bytes"])
    assert rt.device_get_uuid(1)[0] != first
    assert rt.device_get_uuid(0)[0] == first
    assert rt.device_get_uuid(99)[1] == INVALID_DEVICEID


def test_stream_priority_range_is_7_to_0() -> None:
    assert rt.device_get_stream_priority_range() == (7, 0, SUCCESS)


@pytest.mark.parametrize(
    "name",
    [
        "get_logic_dev_id_by_user_dev_id",
        "get_user_dev_id_by_logic_dev_id",
        "get_logic_dev_id_by_phy_dev_id",
        "get_phy_dev_id_by_logic_dev_id",
    ],
)
def test_device_id_conversions_return_the_same_id(name: str) -> None:
    assert getattr(rt, name)(1) == (1, SUCCESS)
    assert getattr(rt, name)(99)[1] == INVALID_DEVICEID


def test_synchronize_device_checks_its_timeout() -> None:
    assert rt.synchronize_device() == SUCCESS
    assert rt.synchronize_device(0) == SUCCESS  # the argument is ignored
    assert rt.synchronize_device_with_timeout(1000) == SUCCESS
    assert rt.synchronize_device_with_timeout(-1) == SUCCESS
    assert rt.synchronize_device_with_timeout(0) == PARAM_INVALID
    assert rt.synchronize_device_with_timeout(-2) == PARAM_INVALID


def test_synchronize_device_waits_for_every_stream() -> None:
    with blocked_stream() as (_, gate):
        assert gate.reached.wait(30)
        assert rt.synchronize_device_with_timeout(10) == STREAM_TIMEOUT
        gate.open()
        assert rt.synchronize_device() == SUCCESS


def test_synchronize_device_requires_a_context() -> None:
    assert on_new_thread(rt.synchronize_device) == CONTEXT_NULL


def test_peer_access_is_disabled_by_default() -> None:
    assert rt.device_can_access_peer(0, 1) == (1, SUCCESS)
    assert rt.device_peer_access_status(0, 1) == (0, SUCCESS)


def test_copies_between_devices_require_peer_access() -> None:
    data = pattern(1000)
    source = device_bytes(data)
    assert rt.set_device(1) == SUCCESS
    target = malloc(1000)
    assert rt.memcpy(target, 1000, source, 1000, D2D) != SUCCESS
    # A queued copy is accepted and fails at the wait.
    stream = create_stream()
    assert rt.memcpy_async(target, 1000, source, 1000, D2D, stream) == SUCCESS
    assert rt.synchronize_stream(stream) == 507001
    # One call is enough, for copies in either direction.
    assert rt.device_enable_peer_access(0, 0) == SUCCESS
    assert rt.device_enable_peer_access(0, 0) == SUCCESS
    assert rt.device_peer_access_status(1, 0) == (1, SUCCESS)
    assert rt.device_peer_access_status(0, 1) == (1, SUCCESS)
    assert rt.memcpy(target, 1000, source, 1000, D2D) == SUCCESS
    assert read(target, 1000) == data
    assert rt.memcpy_async(source, 1000, target, 1000, D2D, stream) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    assert rt.destroy_stream(stream) == SUCCESS
    assert rt.device_disable_peer_access(0) == SUCCESS
    assert rt.device_disable_peer_access(0) != SUCCESS
    assert rt.device_peer_access_status(0, 1) == (0, SUCCESS)


def test_invalid_peer_access_is_refused() -> None:
    assert rt.device_can_access_peer(0, 0) == (0, INVALID_PARAM)
    assert rt.device_can_access_peer(0, 99)[1] == INVALID_DEVICEID
    assert rt.device_enable_peer_access(1, 1) == FEATURE_UNSUPPORTED
    assert rt.device_enable_peer_access(0, 0) == INVALID_PARAM
    assert rt.device_disable_peer_access(0) == INVALID_PARAM
    assert on_new_thread(lambda: rt.device_enable_peer_access(1, 0)) == CONTEXT_NULL


def test_device_task_abort_leaves_the_device_status_normal() -> None:
    assert rt.device_task_abort(0, 1000) == SUCCESS
    assert rt.query_device_status(0) == (0, SUCCESS)


def test_blocking_copies_accept_memory_of_another_device() -> None:
    data = pattern(100)
    source = device_bytes(data)
    assert rt.set_device(1) == SUCCESS
    assert read(source, 100) == data
    assert rt.memcpy(source, 100, acl.util.bytes_to_ptr(bytes(100)), 100, H2D) == SUCCESS
    assert read(source, 100) == bytes(100)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_device_capability", (0, 1)),
        ("get_devices_topo", (0, 1)),
        ("set_ts_device", (0,)),
        ("set_device_sat_mode", (0,)),
        ("get_device_sat_mode", ()),
        ("get_device_res_limit", (0, 0)),
        ("set_device_res_limit", (0, 0, 1)),
        ("reset_device_res_limit", (0,)),
        ("device_set_limit", (0, 1)),
        ("device_get_limit", (0,)),
    ],
)
def test_hardware_functions_succeed_or_are_not_supported(name: str, arguments: tuple[int, ...]) -> None:
    result = getattr(rt, name)(*arguments)
    ret = result[-1] if isinstance(result, tuple) else result
    assert ret in (SUCCESS, NOT_SUPPORTED)
    assert isinstance(result, tuple) == name.startswith("get_") or name == "device_get_limit"


def test_links_features_and_limits() -> None:
    assert rt.get_devices_topo(0, 1) == (1, SUCCESS)  # HCCS
    assert rt.get_device_capability(0, 1) == (0, SUCCESS)
    assert rt.set_ts_device(0) == SUCCESS
    assert rt.device_get_limit(2)[1] == NOT_SUPPORTED
    assert rt.device_set_limit(2, 4096) == SUCCESS
    assert rt.device_get_limit(2) == (4096, SUCCESS)


def test_operator_timeout_is_returned_in_milliseconds() -> None:
    assert rt.set_op_execute_time_out(2) == SUCCESS
    assert rt.get_op_execute_timeout() == (2000, SUCCESS)
    assert rt.set_op_execute_timeout_v2(1_500_000) == (1_500_000, SUCCESS)
    assert rt.get_op_execute_timeout() == (1500, SUCCESS)
    assert rt.get_op_timeout_interval() == (1, SUCCESS)
