"""Allocations, registrations and pointer attributes."""

import ctypes
import mmap
from typing import Iterator

import acl
import pytest
from acl import rt

from support import (
    ALREADY_REGISTERED,
    CONTEXT_NULL,
    D2H,
    DEVICE,
    HOST,
    INVALID_MEMORY_TYPE,
    INVALID_PARAM,
    NOT_REGISTERED,
    NOT_SUPPORTED,
    OUT_OF_MEMORY,
    PARAM_INVALID,
    SUCCESS,
    UNREGISTERED,
    blocked_stream,
    device_bytes,
    malloc,
    malloc_host,
    on_new_thread,
    pattern,
    read,
    write,
)


@pytest.fixture
def page() -> Iterator[int]:
    """The address of four pageable pages."""
    memory = mmap.mmap(-1, 16384)
    view = ctypes.c_char.from_buffer(memory)
    yield ctypes.addressof(view)
    del view
    memory.close()


@pytest.mark.parametrize("policy", [0, 1, 2, 3, 4, 5, 0x100, 0x1000, 0x100000])
@pytest.mark.parametrize("name", ["malloc", "malloc_align32", "malloc_cached"])
def test_malloc_accepts_every_policy(name: str, policy: int) -> None:
    ptr, ret = getattr(rt, name)(1000, policy)
    assert ret == SUCCESS and ptr % 64 == 0
    write(ptr, pattern(1000))
    assert read(ptr, 1000) == pattern(1000)
    assert rt.free(ptr) == SUCCESS


@pytest.mark.parametrize("name", ["malloc", "malloc_align32", "malloc_cached"])
def test_impossible_sizes_are_refused(name: str) -> None:
    function = getattr(rt, name)
    assert function(0, 0) == (0, INVALID_PARAM)
    assert function(2**64 - 1, 0) == (0, INVALID_PARAM)
    assert function(2**50, 0) == (0, OUT_OF_MEMORY)


def test_malloc_host_returns_memory_of_the_host() -> None:
    ptr, ret = rt.malloc_host(1000)
    assert ret == SUCCESS and ptr != 0
    ctypes.memmove(ptr, pattern(1000), 1000)
    assert acl.util.ptr_to_bytes(ptr, 1000) == pattern(1000)
    assert rt.free_host(ptr) == SUCCESS
    assert rt.malloc_host(0) == (0, INVALID_PARAM)


def test_dvpp_functions_allocate_device_memory() -> None:
    ptr, ret = acl.media.dvpp_malloc(1000)
    assert ret == SUCCESS
    write(ptr, pattern(1000))
    assert read(ptr, 1000) == pattern(1000)
    assert acl.media.dvpp_free(ptr) == SUCCESS
    assert acl.media.dvpp_malloc(0) == (0, INVALID_PARAM)
    assert acl.media.dvpp_free(0) == INVALID_PARAM


def test_invalid_frees_are_refused() -> None:
    device, host = malloc(64), malloc_host(64)
    assert rt.free(0) == INVALID_PARAM
    assert rt.free_host(0) == INVALID_PARAM
    assert rt.free(host) == PARAM_INVALID
    assert rt.free_host(device) == PARAM_INVALID
    assert rt.free(12345) == PARAM_INVALID
    assert rt.free(device) == SUCCESS
    assert rt.free(device) == PARAM_INVALID
    assert rt.free_host(host) == SUCCESS
    assert rt.free_host(host) == PARAM_INVALID


def test_memory_in_use_can_be_freed() -> None:
    data = pattern(64)
    device, host = device_bytes(data), malloc_host(64)
    with blocked_stream() as (stream, gate):
        assert rt.memcpy_async(host, 64, device, 64, D2H, stream) == SUCCESS
        assert rt.free(device) == SUCCESS
        gate.open()
        assert rt.synchronize_stream(stream) == SUCCESS
    assert read(host, 64) == data


def test_thread_without_a_context_can_free_but_not_allocate() -> None:
    assert on_new_thread(lambda: rt.malloc(64, 0)) == (0, CONTEXT_NULL)
    assert on_new_thread(lambda: rt.malloc_host(64)) == (0, CONTEXT_NULL)
    assert on_new_thread(lambda: rt.get_mem_info(1)) == (0, 0, CONTEXT_NULL)
    device, host = malloc(64), malloc_host(64)
    assert on_new_thread(lambda: (rt.free(device), rt.free_host(host))) == (SUCCESS, SUCCESS)


def test_get_mem_info_of_missing_memory_is_zero() -> None:
    for attribute in [0, 2, 3, 6, 7]:  # DDR, on a chip with HBM
        assert rt.get_mem_info(attribute) == (0, 0, SUCCESS)


@pytest.mark.parametrize("attribute", [1, 4, 12])
def test_get_mem_info_reflects_allocations(attribute: int) -> None:
    free, total, ret = rt.get_mem_info(attribute)
    assert ret == SUCCESS and 0 < free <= total
    ptr = malloc(1 << 30)
    assert rt.get_mem_info(attribute)[0] <= free - (1 << 30)
    assert rt.free(ptr) == SUCCESS
    assert rt.get_mem_info(attribute) == (free, total, SUCCESS)


@pytest.mark.parametrize("attribute", [-1, 18, 1000])
def test_get_mem_info_refuses_unknown_memory_types(attribute: int) -> None:
    assert rt.get_mem_info(attribute) == (0, 0, INVALID_MEMORY_TYPE)


def test_malloc_with_cfg_checks_its_attributes() -> None:
    for function in [rt.malloc_with_cfg, rt.malloc_for_task_scheduler]:
        ptr, ret = function(64, 0, {})
        assert ret == SUCCESS and rt.free(ptr) == SUCCESS
        ptr, ret = function(64, 0, {"numAttrs": 1, "attrs": [{"attr": 1, "value": {"moduleId": 3}}]})
        assert ret == SUCCESS and rt.free(ptr) == SUCCESS
        assert function(0, 0, {}) == (0, INVALID_PARAM)
        with pytest.raises(KeyError):
            function(64, 0, {"numAttrs": 2, "attrs": [{"attr": 1}]})
        with pytest.raises(KeyError):
            function(64, 0, {"attrs": [{"attr": 1}]})
        with pytest.raises(TypeError):
            function(64, 0, {"numAttrs": 1, "attrs": [5]})


def test_malloc_with_cfg_for_another_device_is_refused() -> None:
    def configuration(device: int) -> dict[str, object]:
        return {"numAttrs": 1, "attrs": [{"attr": 2, "value": {"deviceId": device}}]}

    assert rt.malloc_with_cfg(64, 0, configuration(0))[1] == SUCCESS
    assert rt.malloc_with_cfg(64, 0, configuration(1)) == (0, PARAM_INVALID)


def test_malloc_host_with_cfg_checks_its_attributes() -> None:
    ptr, ret = rt.malloc_host_with_cfg(64, {})
    assert ret == SUCCESS and rt.free_host(ptr) == SUCCESS
    assert rt.malloc_host_with_cfg(0, {}) == (0, INVALID_PARAM)
    with pytest.raises(KeyError):
        rt.malloc_host_with_cfg(64, {"numAttrs": 1})


def test_mem_flush_and_mem_invalidate_succeed() -> None:
    ptr = malloc(64)
    assert rt.mem_flush(ptr, 64) == SUCCESS
    assert rt.mem_invalidate(ptr, 64) == SUCCESS


def kind(ptr: int) -> tuple[int, int]:
    attributes, ret = rt.pointer_get_attributes(ptr)
    assert ret == SUCCESS
    return attributes["location"]["type"], attributes["location"]["id"]


def test_pointer_attributes_contain_the_location(page: int) -> None:
    device, host = malloc(64), malloc_host(64)
    assert kind(device) == (DEVICE, 0)
    assert kind(device + 63) == (DEVICE, 0)
    assert kind(host) == (HOST, 0)
    assert kind(page)[0] == UNREGISTERED
    assert rt.set_device(1) == SUCCESS
    assert kind(malloc(64)) == (DEVICE, 1)
    assert kind(device) == (DEVICE, 0)
    assert rt.pointer_get_attributes(0)[1] == INVALID_PARAM
    assert on_new_thread(lambda: rt.pointer_get_attributes(device)[1]) == SUCCESS


def test_pointer_attributes_have_the_documented_keys() -> None:
    attributes, ret = rt.pointer_get_attributes(malloc(64))
    assert ret == SUCCESS
    assert list(attributes) == ["location", "page_size", "rsv"]
    assert list(attributes["location"]) == ["id", "type"]
    assert attributes["page_size"] > 0 and attributes["rsv"] == [0, 0, 0, 0]


def test_host_register_pins_exactly_the_range(page: int) -> None:
    mapped, ret = rt.host_register(page, 8192, 0)
    assert ret == SUCCESS and mapped != 0
    assert kind(page + 8191) == (HOST, 0)
    assert kind(page + 8192)[0] == UNREGISTERED
    assert rt.host_register(page, 4096, 0) == (0, ALREADY_REGISTERED)
    assert rt.host_get_device_pointer(page, 0)[1] == SUCCESS
    assert rt.host_unregister(page) == SUCCESS
    assert rt.host_unregister(page) == NOT_REGISTERED
    assert kind(page)[0] == UNREGISTERED


def test_host_register_refuses_wrong_arguments(page: int) -> None:
    assert rt.host_register(0, 4096, 0) == (0, INVALID_PARAM)
    assert rt.host_register(page, 0, 0) == (0, INVALID_PARAM)
    assert rt.host_register(page, 4096, 1) == (0, NOT_SUPPORTED)
    assert rt.host_register(page, 4096, 8) == (0, NOT_SUPPORTED)  # read-only
    assert rt.host_register(page + 64, 64, 0) == (0, PARAM_INVALID)
    assert rt.host_unregister(0) == INVALID_PARAM
    assert on_new_thread(lambda: rt.host_register(page, 4096, 0)) == (0, CONTEXT_NULL)


def test_host_register_v2_checks_its_flags(page: int) -> None:
    assert rt.host_register_v2(page, 4096, 2) == SUCCESS
    assert rt.host_register_v2(page, 4096, 2) == ALREADY_REGISTERED
    assert rt.host_get_device_pointer(page, 0)[1] == SUCCESS
    assert rt.host_get_device_pointer(page, 1) == (0, INVALID_PARAM)
    assert rt.host_unregister(page) == SUCCESS
    assert rt.host_register_v2(page, 4096, 0x10000000) == SUCCESS  # pinned, not mapped
    assert rt.host_get_device_pointer(page, 0) == (0, PARAM_INVALID)
    assert rt.host_unregister(page) == SUCCESS
    assert rt.host_register_v2(page, 4096, 0) == PARAM_INVALID
    assert rt.host_register_v2(page, 4096, 1) == PARAM_INVALID
    assert rt.host_register_v2(page, 4096, 2 | 4) == NOT_SUPPORTED
    pinned = malloc_host(4096)
    assert rt.host_register_v2(pinned, 4096, 0x10000000) == ALREADY_REGISTERED
    assert rt.free_host(pinned) == SUCCESS
    assert rt.host_register_v2(0, 4096, 2) == INVALID_PARAM
    assert rt.host_register_v2(page, 0, 2) == INVALID_PARAM


def test_registered_memory_is_copied_asynchronously(page: int) -> None:
    data = pattern(4096)
    device = device_bytes(data)
    assert rt.host_register(page, 4096, 0)[1] == SUCCESS
    with blocked_stream() as (stream, gate):
        assert rt.memcpy_async(page, 4096, device, 4096, D2H, stream) == SUCCESS
        assert ctypes.string_at(page, 4096) == bytes(4096)
        gate.open()
        assert rt.synchronize_stream(stream) == SUCCESS
    assert ctypes.string_at(page, 4096) == data
    assert rt.host_unregister(page) == SUCCESS


def test_mapped_virtual_memory_is_usable() -> None:
    prop = {"handleType": 0, "allocationType": 0, "memAttr": 1, "location": {"id": 0, "type": DEVICE}, "reserve": 0}
    granularity, ret = rt.mem_get_allocation_granularity(prop, 0)
    assert ret == SUCCESS and granularity > 0
    address, ret = rt.reserve_mem_address(granularity, 0, 0, 0)
    assert ret == SUCCESS
    handle, ret = rt.malloc_physical(granularity, prop, 0)
    assert ret == SUCCESS
    assert rt.map_mem(address, granularity, 0, handle, 0) == SUCCESS
    write(address, pattern(1000))
    assert read(address, 1000) == pattern(1000)
    assert rt.unmap_mem(address) == SUCCESS
    assert rt.free_physical(handle) == SUCCESS
    assert rt.release_mem_address(address) == SUCCESS


def test_memory_can_be_exported_to_other_processes() -> None:
    data = pattern(1000)
    ptr = device_bytes(data)
    key, ret = rt.ipc_mem_get_export_key(ptr, 1000, 65, 1)
    assert ret == SUCCESS and isinstance(key, str) and 0 < len(key) < 65 and "\0" not in key
    assert rt.ipc_mem_set_import_pid(key, [1]) == SUCCESS
    assert rt.ipc_mem_close(key) == SUCCESS


def test_value_wait_passes_after_value_write() -> None:
    ptr = device_bytes(bytes(8))
    ret = rt.value_write(ptr, 7, 0, 0)
    assert ret == SUCCESS
    assert rt.value_wait(ptr, 7, 1, 0) == SUCCESS
    assert rt.synchronize_stream(0) == SUCCESS
    assert read(ptr, 8) == (7).to_bytes(8, "little")


def test_cmo_async_succeeds_or_is_not_supported() -> None:
    ret = rt.cmo_async(malloc(64), 64, 0, 0)
    assert ret in (SUCCESS, NOT_SUPPORTED)
