"""Copies and memsets: data, return codes and time of execution."""

import ctypes
import struct
from typing import Any, Callable

import acl
import pytest
from acl import rt
from acl.util import bytes_to_ptr

from support import (
    ADDR_UNALIGNED,
    CONTEXT_NULL,
    D2D,
    D2H,
    DEFAULT,
    H2D,
    H2H,
    HOST_TO_BUF,
    INNER_D2D,
    INTER_D2D,
    INVALID_HANDLE,
    INVALID_PARAM,
    NOT_SUPPORTED,
    PARAM_INVALID,
    STREAM_CONTEXT,
    SUCCESS,
    blocked_stream,
    create_stream,
    device_bytes,
    malloc,
    malloc_host,
    on_new_thread,
    pattern,
    pinned_bytes,
    read,
    run_python,
)

SIZES = [1, 2, 63, 64, 65, 4095, 4096, 100_003, 3 << 20]

Copy = Callable[[int, int, int, int, int], int]


def memcpy(dst: int, dest_max: int, src: int, count: int, kind: int) -> int:
    return rt.memcpy(dst, dest_max, src, count, kind)


def memcpy_async(dst: int, dest_max: int, src: int, count: int, kind: int) -> int:
    ret = rt.memcpy_async(dst, dest_max, src, count, kind, 0)
    assert rt.synchronize_stream(0) == SUCCESS
    return ret


def memcpy_async_with_condition(dst: int, dest_max: int, src: int, count: int, kind: int) -> int:
    ret = rt.memcpy_async_with_condition(dst, dest_max, src, count, kind, 0)
    assert rt.synchronize_stream(0) == SUCCESS
    return ret


every_copy = pytest.mark.parametrize(
    "copy", [memcpy, memcpy_async, memcpy_async_with_condition], ids=lambda copy: copy.__name__
)
asynchronous = pytest.mark.parametrize(
    "submit", [rt.memcpy_async, rt.memcpy_async_with_condition], ids=["memcpy_async", "memcpy_async_with_condition"]
)


# Plain copies


@every_copy
@pytest.mark.parametrize("size", SIZES)
def test_pinned_memory_round_trip(copy: Copy, size: int) -> None:
    data = pattern(size, 1)
    up, first, second, down = pinned_bytes(data), malloc(size), malloc(size), malloc_host(size)
    assert copy(first, size, up, size, H2D) == SUCCESS
    assert copy(second, size, first, size, D2D) == SUCCESS
    assert copy(down, size, second, size, D2H) == SUCCESS
    assert acl.util.ptr_to_bytes(down, size) == data


@every_copy
@pytest.mark.parametrize("size", SIZES)
def test_bytes_round_trip(copy: Copy, size: int) -> None:
    data, result = pattern(size, 2), bytes(size + 1)  # larger than the shared one-byte objects
    device = malloc(size)
    assert copy(device, size, bytes_to_ptr(data), size, H2D) == SUCCESS
    assert copy(bytes_to_ptr(result), size, device, size, D2H) == SUCCESS
    assert result == data + b"\0"


@every_copy
def test_ctypes_and_bytearray_round_trip(copy: Copy) -> None:
    data = pattern(100, 3)
    device = malloc(100)
    source = (ctypes.c_ubyte * 100).from_buffer_copy(data)
    target = bytearray(100)
    assert copy(device, 100, ctypes.addressof(source), 100, H2D) == SUCCESS
    address = ctypes.addressof((ctypes.c_ubyte * 100).from_buffer(target))
    assert copy(address, 100, device, 100, D2H) == SUCCESS
    assert target == data


@every_copy
def test_pointers_into_allocations_are_accepted(copy: Copy) -> None:
    device = device_bytes(bytes(100))
    host = pinned_bytes(pattern(100))
    assert copy(device + 10, 90, host + 5, 20, H2D) == SUCCESS
    assert read(device, 100) == bytes(10) + pattern(100)[5:25] + bytes(70)


@every_copy
def test_default_kind_infers_the_direction(copy: Copy) -> None:
    data = pattern(100)
    host, device, other, back = pinned_bytes(data), malloc(100), malloc(100), malloc_host(100)
    assert copy(device, 100, host, 100, DEFAULT) == SUCCESS
    assert copy(other, 100, device, 100, DEFAULT) == SUCCESS
    assert copy(back, 100, other, 100, DEFAULT) == SUCCESS
    assert read(back, 100) == data


@every_copy
@pytest.mark.parametrize("kind", [H2H, H2D, D2H, D2D, DEFAULT])
def test_wrong_kind_between_known_allocations_is_corrected(copy: Copy, kind: int) -> None:
    data = pattern(100)
    host, device = pinned_bytes(data), malloc(100)
    assert copy(device, 100, host, 100, kind) == SUCCESS
    assert read(device, 100) == data


@every_copy
def test_empty_copy_is_not_checked(copy: Copy) -> None:
    assert copy(0, 0, 0, 0, 99) == SUCCESS


@every_copy
def test_wrong_arguments_are_refused(copy: Copy) -> None:
    host, device = malloc_host(100), malloc(100)
    assert copy(0, 100, host, 100, H2D) == INVALID_PARAM
    assert copy(device, 100, 0, 100, H2D) == INVALID_PARAM
    for kind in [-1, INNER_D2D, INTER_D2D, 8, 2**31 - 1]:
        assert copy(device, 100, host, 100, kind) == INVALID_PARAM
    assert copy(device, 0, host, 100, H2D) == PARAM_INVALID
    assert copy(device, 99, host, 100, H2D) == PARAM_INVALID


@every_copy
def test_range_beyond_its_allocation_is_refused(copy: Copy) -> None:
    host, device = malloc_host(10_000), malloc(100)
    assert copy(device, 10_000, host, 10_000, H2D) != SUCCESS
    assert copy(device + 90, 5000, host, 5000, H2D) != SUCCESS
    assert read(device, 100) is not None


@every_copy
def test_freed_memory_is_refused(copy: Copy) -> None:
    host, device = malloc_host(100), malloc(100)
    assert rt.free(device) == SUCCESS
    assert copy(device, 100, host, 100, H2D) != SUCCESS


def test_invalid_pointer_returns_an_error() -> None:
    device = malloc(100)
    assert rt.memcpy(device, 100, 8, 100, H2D) != SUCCESS
    assert rt.memcpy(2**63, 100, device, 100, D2H) != SUCCESS
    assert rt.memcpy_async(8, 100, device, 100, D2H, 0) != SUCCESS


def test_memcpy_copies_from_host_to_host() -> None:
    data, target = pattern(100), malloc_host(100)
    assert rt.memcpy(target, 100, bytes_to_ptr(data), 100, H2H) == SUCCESS
    assert read(target, 100) == data


def test_memcpy_between_host_and_device_requires_a_context() -> None:
    host, device = malloc_host(100), malloc(100)
    assert on_new_thread(lambda: rt.memcpy(device, 100, host, 100, H2D)) == CONTEXT_NULL
    assert on_new_thread(lambda: rt.memcpy(device, 100, device, 100, D2D)) == SUCCESS  # a copy onto itself
    assert on_new_thread(lambda: rt.memcpy_async(device, 100, host, 100, H2D, 0)) == CONTEXT_NULL


# Asynchronous copies


@asynchronous
def test_pinned_destination_is_written_when_the_copy_runs(submit: Callable[..., int]) -> None:
    data = pattern(4096)
    device, host = device_bytes(data), pinned_bytes(bytes(4096))
    with blocked_stream() as (stream, gate):
        assert submit(host, 4096, device, 4096, D2H, stream) == SUCCESS
        assert acl.util.ptr_to_bytes(host, 4096) == bytes(4096)
        gate.open()
        assert rt.synchronize_stream(stream) == SUCCESS
    assert acl.util.ptr_to_bytes(host, 4096) == data


@asynchronous
def test_pinned_source_is_read_when_the_copy_runs(submit: Callable[..., int]) -> None:
    device, host = device_bytes(bytes(64)), pinned_bytes(pattern(64, 1))
    with blocked_stream() as (stream, gate):
        assert submit(device, 64, host, 64, H2D, stream) == SUCCESS
        ctypes.memmove(host, pattern(64, 2), 64)
        gate.open()
        assert rt.synchronize_stream(stream) == SUCCESS
    assert read(device, 64) == pattern(64, 2)


@asynchronous
def test_pageable_copy_finishes_before_the_call_returns(submit: Callable[..., int], stream: int) -> None:
    data = pattern(100_000)
    device, result = malloc(100_000), bytes(100_000)
    assert submit(device, 100_000, bytes_to_ptr(data), 100_000, H2D, stream) == SUCCESS
    assert submit(bytes_to_ptr(result), 100_000, device, 100_000, D2H, stream) == SUCCESS
    assert result == data


@asynchronous
def test_pageable_copy_waits_for_the_stream(submit: Callable[..., int]) -> None:
    device, first, second = malloc(64), pinned_bytes(pattern(64, 1)), bytes(64)
    with blocked_stream() as (stream, gate):
        assert submit(device, 64, first, 64, H2D, stream) == SUCCESS
        gate.open()
        assert submit(bytes_to_ptr(second), 64, device, 64, D2H, stream) == SUCCESS
        assert second == pattern(64, 1)


@asynchronous
@pytest.mark.parametrize("kind", [H2H, D2H])
def test_wrong_kind_with_pageable_memory_is_refused(submit: Callable[..., int], kind: int, stream: int) -> None:
    assert submit(malloc(64), 64, bytes_to_ptr(pattern(64)), 64, kind, stream) == PARAM_INVALID


@asynchronous
@pytest.mark.parametrize("kind", [H2H, DEFAULT])
def test_asynchronous_host_to_host_copy_is_not_supported(submit: Callable[..., int], kind: int, stream: int) -> None:
    assert submit(malloc_host(64), 64, malloc_host(64), 64, kind, stream) == NOT_SUPPORTED
    assert submit(malloc_host(64), 64, bytes_to_ptr(pattern(64)), 64, kind, stream) == NOT_SUPPORTED


@asynchronous
def test_buffered_copy_reads_its_source_during_the_call(submit: Callable[..., int]) -> None:
    device = malloc(64)
    source = ctypes.create_string_buffer(pattern(64, 1), 64)
    with blocked_stream() as (stream, gate):
        assert submit(device, 64, ctypes.addressof(source), 64, HOST_TO_BUF, stream) == SUCCESS
        source.raw = bytes(64)
        gate.open()
        assert rt.synchronize_stream(stream) == SUCCESS
    assert read(device, 64) == pattern(64, 1)


@asynchronous
def test_copies_of_a_stream_run_in_order(submit: Callable[..., int], stream: int) -> None:
    device, hosts = malloc(1000), [pinned_bytes(pattern(1000, seed)) for seed in range(20)]
    for host in hosts:
        assert submit(device, 1000, host, 1000, H2D, stream) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    assert read(device, 1000) == pattern(1000, 19)


@asynchronous
def test_invalid_streams_are_refused(submit: Callable[..., int]) -> None:
    host, device = malloc_host(64), malloc(64)
    assert submit(device, 64, host, 64, H2D, 5) == INVALID_HANDLE
    gone = create_stream()
    assert rt.destroy_stream(gone) == SUCCESS
    assert submit(device, 64, host, 64, H2D, gone) == INVALID_HANDLE


def test_last_error_is_kept_per_thread_until_it_is_read() -> None:
    host, device = malloc_host(64), malloc(64)
    assert rt.peek_at_last_error(0) == SUCCESS
    assert rt.memcpy_async(device, 64, host, 64, H2D, 5) == INVALID_HANDLE
    assert rt.peek_at_last_error(0) == INVALID_HANDLE
    assert rt.memcpy(device, 1, host, 64, H2D) == PARAM_INVALID
    assert rt.memcpy(0, 1, host, 64, H2D) == INVALID_PARAM  # this check does not set the last error
    assert rt.memcpy(device, 64, host, 64, H2D) == SUCCESS  # success does not clear it
    assert on_new_thread(lambda: rt.peek_at_last_error(0)) == SUCCESS
    assert rt.get_last_error(0) == PARAM_INVALID
    assert rt.get_last_error(0) == SUCCESS
    assert rt.get_last_error(1) == rt.peek_at_last_error(1) == INVALID_PARAM


def test_older_versions_refuse_an_empty_copy() -> None:
    program = "import acl; acl.rt.set_device(0); p, r = acl.rt.malloc(8, 0); print(acl.rt.memcpy(p, 8, p, 0, 3))"
    assert run_python(program, SOFTACL_CANN="9.0").strip() == str(PARAM_INVALID)


# 2D copies


def rows(data: bytes, pitch: int, width: int, height: int) -> list[bytes]:
    return [data[row * pitch : row * pitch + width] for row in range(height)]


@pytest.mark.parametrize(("width", "height"), [(1, 1), (10, 7), (16, 7), (3, 1)])
def test_memcpy2d_leaves_the_padding_unchanged(width: int, height: int) -> None:
    source, result = pattern(20 * height), bytes(bytearray(b"\xee") * (24 * height))
    device = device_bytes(b"\xdd" * (16 * height))
    assert rt.memcpy2d(device, 16, bytes_to_ptr(source), 20, width, height, H2D) == SUCCESS
    copied = read(device, 16 * height)
    assert rows(copied, 16, width, height) == rows(source, 20, width, height)
    assert all(copied[row * 16 + width : (row + 1) * 16] == b"\xdd" * (16 - width) for row in range(height))
    assert rt.memcpy2d(bytes_to_ptr(result), 24, device, 16, width, height, DEFAULT) == SUCCESS
    assert rows(result, 24, width, height) == rows(source, 20, width, height)
    assert all(result[row * 24 + width : (row + 1) * 24] == b"\xee" * (24 - width) for row in range(height))


def test_memcpy2d_async_runs_in_stream_order() -> None:
    source = pinned_bytes(pattern(20 * 5))
    device, other, result = device_bytes(bytes(16 * 5)), device_bytes(bytes(12 * 5)), pinned_bytes(bytes(24 * 5))
    with blocked_stream() as (stream, gate):
        assert rt.memcpy2d_async(device, 16, source, 20, 10, 5, H2D, stream) == SUCCESS
        assert rt.memcpy2d_async(other, 12, device, 16, 10, 5, D2D, stream) == SUCCESS
        assert rt.memcpy2d_async(result, 24, other, 12, 10, 5, D2H, stream) == SUCCESS
        assert read(result, 24 * 5) == bytes(24 * 5)
        gate.open()
        assert rt.synchronize_stream(stream) == SUCCESS
    assert rows(read(result, 24 * 5), 24, 10, 5) == rows(pattern(20 * 5), 20, 10, 5)


def test_pageable_memcpy2d_async_finishes_before_the_call_returns(stream: int) -> None:
    source, result, device = pattern(100), bytes(100), malloc(100)
    assert rt.memcpy2d_async(device, 10, bytes_to_ptr(source), 10, 10, 10, H2D, stream) == SUCCESS
    assert rt.memcpy2d_async(bytes_to_ptr(result), 10, device, 10, 10, 10, D2H, stream) == SUCCESS
    assert result == source


@pytest.mark.parametrize("suffix", [(), (0,)], ids=["memcpy2d", "memcpy2d_async"])
def test_memcpy2d_refuses_wrong_arguments(suffix: tuple[int, ...]) -> None:
    function: Callable[..., int] = rt.memcpy2d_async if suffix else rt.memcpy2d
    device, host = malloc(1000), malloc_host(1000)
    assert function(0, 0, 0, 0, 0, 5, 99, *suffix) == SUCCESS
    assert function(0, 0, 0, 0, 5, 0, 99, *suffix) == SUCCESS
    assert function(0, 10, host, 10, 5, 5, H2D, *suffix) == INVALID_PARAM
    assert function(device, 10, 0, 10, 5, 5, H2D, *suffix) == INVALID_PARAM
    assert function(device, 4, host, 10, 5, 5, H2D, *suffix) == INVALID_PARAM
    assert function(device, 10, host, 4, 5, 5, H2D, *suffix) == INVALID_PARAM
    for kind in [H2H, HOST_TO_BUF, INNER_D2D, INTER_D2D, -1]:
        assert function(device, 10, host, 10, 5, 5, kind, *suffix) == INVALID_PARAM
    assert function(device, 10, host, 10, 5, 5_242_881, H2D, *suffix) == PARAM_INVALID
    assert function(device, 2**23, host, 2**23, 5_000_001, 1, H2D, *suffix) == PARAM_INVALID
    assert function(device, 10, host, 10, 10, 200, H2D, *suffix) != SUCCESS  # beyond the allocations


def test_memcpy2d_within_a_device_must_be_asynchronous() -> None:
    device = malloc(100)
    assert rt.memcpy2d(device, 10, device + 50, 10, 5, 5, D2D) == NOT_SUPPORTED
    assert rt.memcpy2d_async(device, 10, device + 50, 10, 5, 5, D2D, 5) == INVALID_HANDLE


# Descriptors


@pytest.fixture
def descriptor() -> int:
    size, ret = rt.get_memcpy_desc_size(INNER_D2D)
    assert ret == SUCCESS
    return malloc(size)


def test_only_one_kind_has_a_descriptor_size() -> None:
    assert rt.get_memcpy_desc_size(INNER_D2D) == (32, SUCCESS)
    for kind in [H2H, H2D, D2H, D2D, DEFAULT, HOST_TO_BUF, INTER_D2D]:
        assert rt.get_memcpy_desc_size(kind) == (0, NOT_SUPPORTED)
    for kind in [-1, 8]:
        assert rt.get_memcpy_desc_size(kind) == (0, INVALID_PARAM)


def test_descriptor_size_depends_on_the_chip() -> None:
    program = "import acl; print(acl.rt.get_memcpy_desc_size(6))"
    assert run_python(program, SOFTACL_SOC="Ascend950").strip() == "(64, 0)"
    assert run_python(program, SOFTACL_SOC="Ascend310P").strip() == "(0, 207000)"


DESCRIPTOR_PROGRAM = """
import acl, struct, sys
from acl import rt
devices = int(sys.argv[1])
def need(ret):
    assert ret == 0, ret
assert rt.set_device(0) == 0
size, ret = rt.get_memcpy_desc_size(6)
if ret != 0:
    print(ret)
    sys.exit()
stream, ret = rt.create_stream()
need(ret)
def on(device):
    need(rt.set_device(device))
    made = [rt.malloc(n, 0) for n in (size, 1000, 1000)]
    assert all(ret == 0 for _, ret in made)
    return [address for address, _ in made]
results = []
data = bytes(range(250)) * 4
for device in range(devices):
    descriptor, source, target = on(device)
    need(rt.set_device(0))
    need(rt.memcpy(source, 1000, acl.util.bytes_to_ptr(data), 1000, 1))
    need(rt.memset(target, 1000, 0, 1000))
    need(rt.set_memcpy_desc(descriptor, 6, source, target, 1000, 0)[1])
    need(rt.memcpy_async_with_desc(descriptor, 6, stream))
    waited = rt.synchronize_stream(stream)
    buffer, ret = rt.malloc_host(1000)
    need(rt.memcpy(buffer, 1000, target, 1000, 2))
    results.append((waited, acl.util.ptr_to_bytes(buffer, 1000) == data))
    need(rt.free_host(buffer))
print(results)
"""


@pytest.mark.parametrize(
    ("soc", "form", "expected"),
    [
        # The descriptor and its data on the device of the stream, then on another one.
        ("Ascend910B", "EP", "[(0, True), (507001, False)]"),
        ("Ascend910C", "EP", "[(0, True), (0, True)]"),
        ("Ascend950", "EP", "[(0, True), (507001, False)]"),
        ("Ascend310B", "EP", "[(0, True), (507013, False)]"),
        ("Ascend310B", "RC", "[(0, True), (507013, False)]"),
        ("Ascend310P", "EP", "207000"),
        ("Ascend910A", "EP", "207000"),
    ],
)
def test_descriptors_on_every_chip(soc: str, form: str, expected: str) -> None:
    output = run_python(DESCRIPTOR_PROGRAM, "2", SOFTACL_SOC=soc, SOFTACL_FORM=form)
    assert output.strip() == expected


def test_descriptor_can_be_used_repeatedly(descriptor: int, stream: int) -> None:
    source, target = device_bytes(pattern(1000)), device_bytes(bytes(1000))
    # The source comes before the destination, and the call returns the descriptor.
    assert rt.set_memcpy_desc(descriptor, INNER_D2D, source, target, 1000, 0) == (descriptor, SUCCESS)
    assert rt.memcpy_async_with_desc(descriptor, INNER_D2D, stream) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    assert read(target, 1000) == pattern(1000)
    assert rt.memset(target, 1000, 0, 1000) == SUCCESS
    for _ in range(5):
        assert rt.memcpy_async_with_desc(descriptor, INNER_D2D, stream) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    assert read(target, 1000) == pattern(1000)


def test_descriptor_is_read_when_the_task_runs(descriptor: int) -> None:
    source = device_bytes(pattern(100))
    first, second = device_bytes(bytes(100)), device_bytes(bytes(100))
    assert rt.set_memcpy_desc(descriptor, INNER_D2D, source, first, 100, 0)[1] == SUCCESS
    with blocked_stream() as (stream, gate):
        assert rt.memcpy_async_with_desc(descriptor, INNER_D2D, stream) == SUCCESS
        assert rt.set_memcpy_desc(descriptor, INNER_D2D, source + 10, second + 5, 50, 0)[1] == SUCCESS
        gate.open()
        assert rt.synchronize_stream(stream) == SUCCESS
    assert read(first, 100) == bytes(100)
    assert read(second, 100) == bytes(5) + pattern(100)[10:60] + bytes(45)


def test_descriptor_fields_can_be_written_directly(descriptor: int, stream: int) -> None:
    source, target = device_bytes(pattern(100)), device_bytes(bytes(100))
    assert rt.set_memcpy_desc(descriptor, INNER_D2D, source, target, 100, 0)[1] == SUCCESS
    assert read(descriptor, 32)[12:] == struct.pack("<IQQ", 100, source, target)
    fields = struct.pack("<IQQ", 30, source, target + 7)
    assert rt.memcpy(descriptor + 12, 20, bytes_to_ptr(fields), 20, H2D) == SUCCESS
    assert rt.memcpy_async_with_desc(descriptor, INNER_D2D, stream) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    assert read(target, 100) == bytes(7) + pattern(100)[:30] + bytes(63)


def test_set_memcpy_desc_refuses_wrong_arguments(descriptor: int) -> None:
    source, target, host = malloc(100), malloc(100), malloc_host(128)

    def put(*changes: Any) -> int:
        arguments = [descriptor, INNER_D2D, source, target, 100, 0]
        for position, value in changes:
            arguments[position] = value
        same, ret = rt.set_memcpy_desc(*arguments)
        assert same == arguments[0]
        return ret

    assert put((0, 0)) == put((2, 0)) == put((3, 0)) == put((4, 0)) == put((5, 1)) == INVALID_PARAM
    assert put((1, 8)) == put((1, -1)) == INVALID_PARAM
    assert put((1, D2D)) == put((1, INTER_D2D)) == NOT_SUPPORTED
    assert put((4, 2**32 + 1)) == PARAM_INVALID
    assert put((0, descriptor + 32)) == PARAM_INVALID  # not aligned to 64
    assert put((0, host)) == put((2, host)) == put((3, host)) == PARAM_INVALID
    with pytest.raises(TypeError, match="parse fai"):
        put((5, None))
    assert on_new_thread(put) == CONTEXT_NULL


def test_memcpy_async_with_desc_refuses_wrong_arguments(descriptor: int, stream: int) -> None:
    host = malloc_host(128)
    assert rt.memcpy_async_with_desc(0, INNER_D2D, stream) == INVALID_PARAM
    assert rt.memcpy_async_with_desc(descriptor, INNER_D2D, 0) == INVALID_PARAM  # no default stream here
    assert rt.memcpy_async_with_desc(descriptor, 8, stream) == INVALID_PARAM
    assert rt.memcpy_async_with_desc(descriptor, D2D, stream) == NOT_SUPPORTED
    assert rt.memcpy_async_with_desc(descriptor, INNER_D2D, 5) == INVALID_HANDLE
    assert rt.memcpy_async_with_desc(host, INNER_D2D, stream) == PARAM_INVALID
    assert rt.memcpy_async_with_desc(descriptor + 32, INNER_D2D, stream) == PARAM_INVALID
    primary, _ = rt.get_context()
    ctx, _ = rt.create_context(0)
    assert rt.memcpy_async_with_desc(descriptor, INNER_D2D, stream) == STREAM_CONTEXT
    assert rt.set_context(primary) == SUCCESS
    assert rt.destroy_context(ctx) == SUCCESS


# Memsets


@pytest.mark.parametrize("value", [0, 1, 255, 256 + 7, -1])
@pytest.mark.parametrize("allocate", [malloc, malloc_host], ids=["device", "pinned"])
def test_memset_writes_the_low_byte(allocate: Callable[[int], int], value: int) -> None:
    ptr = allocate(100)
    assert rt.memset(ptr, 100, 0xAA, 100) == SUCCESS
    assert rt.memset(ptr + 10, 90, value, 50) == SUCCESS
    assert read(ptr, 100) == b"\xaa" * 10 + bytes([value & 255]) * 50 + b"\xaa" * 40
    assert rt.memset_async(ptr, 100, value, 100, 0) == SUCCESS
    assert rt.synchronize_stream(0) == SUCCESS
    assert read(ptr, 100) == bytes([value & 255]) * 100


def test_memset_accepts_pageable_memory() -> None:
    data = bytes(100)
    assert rt.memset(bytes_to_ptr(data), 100, 7, 100) == SUCCESS
    assert data == b"\7" * 100


def test_memset_refuses_wrong_arguments() -> None:
    ptr = malloc(100)
    assert rt.memset(0, 0, 0, 0) == rt.memset_async(0, 0, 0, 0, 5) == SUCCESS
    assert rt.memset(0, 100, 0, 100) == rt.memset_async(0, 100, 0, 100, 0) == INVALID_PARAM
    assert rt.memset(ptr, 99, 0, 100) != SUCCESS
    assert rt.memset_async(ptr, 99, 0, 100, 0) == PARAM_INVALID
    assert rt.memset_async(ptr, 100, 0, 100, 5) == INVALID_HANDLE
    assert rt.memset(ptr, 100_000, 0, 100_000) != SUCCESS
    assert on_new_thread(lambda: rt.memset(ptr, 100, 0, 100)) == CONTEXT_NULL


def test_memset_async_is_ordered_for_device_memory_and_immediate_for_host_memory() -> None:
    device, host = device_bytes(bytes(64)), pinned_bytes(bytes(64))
    with blocked_stream() as (stream, gate):
        assert rt.memset_async(device, 64, 7, 64, stream) == SUCCESS
        assert rt.memset_async(host, 64, 7, 64, stream) == SUCCESS
        assert read(device, 64) == bytes(64)
        assert read(host, 64) == b"\7" * 64
        gate.open()
        assert rt.synchronize_stream(stream) == SUCCESS
    assert read(device, 64) == b"\7" * 64


# Reductions


SUM, MAX, MIN, EQUAL = 10, 11, 12, 13


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(SUM, lambda a, b: a + b), (MAX, max), (MIN, min)],
    ids=["sum", "max", "min"],
)
@pytest.mark.parametrize(
    ("dtype", "letter"), [(0, "f"), (3, "i"), (2, "b"), (6, "h")], ids=["float", "int32", "int8", "int16"]
)
def test_reduce_async_computes_sum_max_and_min(
    kind: int, expected: Callable[[int, int], int], dtype: int, letter: str, stream: int
) -> None:
    left, right = [1, -2, 30, 4, 0, 7], [5, 6, -7, 4, 0, -9]
    target = device_bytes(struct.pack(f"<6{letter}", *left))
    source = device_bytes(struct.pack(f"<6{letter}", *right))
    size = struct.calcsize(f"<6{letter}")
    assert rt.reduce_async(target, source, size, kind, dtype, stream, 0) == SUCCESS
    assert rt.synchronize_stream(stream) == SUCCESS
    result = struct.unpack(f"<6{letter}", read(target, size))
    assert list(result) == [expected(a, b) for a, b in zip(left, right)]


def test_reduce_async_refuses_wrong_arguments() -> None:
    one, two, host = malloc(64), malloc(64), malloc_host(64)
    assert rt.reduce_async(0, two, 4, SUM, 0, 0, 0) == INVALID_PARAM
    assert rt.reduce_async(one, 0, 4, SUM, 0, 0, 0) == INVALID_PARAM
    assert rt.reduce_async(one, two, 4, SUM, 0, 0, 1) == INVALID_PARAM
    assert rt.reduce_async(one, two, 4, SUM, 99, 0, 0) == INVALID_PARAM
    assert rt.reduce_async(one, two, 0, SUM, 0, 0, 0) == PARAM_INVALID
    assert rt.reduce_async(one, two, 4, 9, 0, 0, 0) == PARAM_INVALID
    assert rt.reduce_async(one, two, 4, 14, 0, 0, 0) == PARAM_INVALID
    assert rt.reduce_async(one + 2, two, 4, SUM, 0, 0, 0) == ADDR_UNALIGNED
    assert rt.reduce_async(one, two, 4, SUM, 0, 5, 0) == INVALID_HANDLE
    assert rt.reduce_async(host, two, 4, SUM, 0, 0, 0) != SUCCESS
