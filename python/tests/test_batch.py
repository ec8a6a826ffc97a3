"""Batch copies, an extension of softacl to pyACL."""

import array
from typing import Any, Callable, Sequence

import pytest
from acl import rt
from acl.util import bytes_to_ptr

from support import (
    DEVICE,
    HOST,
    INVALID_HANDLE,
    INVALID_PARAM,
    NOT_SUPPORTED,
    NO_FAIL_INDEX,
    PARAM_INVALID,
    SUCCESS,
    UNREGISTERED,
    blocked_stream,
    device_bytes,
    malloc,
    malloc_host,
    on_new_thread,
    pattern,
    pinned_bytes,
    read,
    run_python,
)

TO_DEVICE = {"dstLoc": {"id": 0, "type": DEVICE}, "srcLoc": {"id": 0, "type": HOST}}
TO_HOST = {"dstLoc": {"id": 0, "type": HOST}, "srcLoc": {"id": 0, "type": DEVICE}}
Numbers = Sequence[Any]
Batch = Callable[..., tuple[int, int]]


def batch(dsts: Any, dest_maxs: Any, srcs: Any, sizes: Any, attrs: Any, indexes: Any) -> tuple[int, int]:
    return rt.memcpy_batch(dsts, dest_maxs, srcs, sizes, attrs, indexes)


def batch_async(dsts: Any, dest_maxs: Any, srcs: Any, sizes: Any, attrs: Any, indexes: Any) -> tuple[int, int]:
    result = rt.memcpy_batch_async(dsts, dest_maxs, srcs, sizes, attrs, indexes, 0)
    assert rt.synchronize_stream(0) == SUCCESS
    return result


both = pytest.mark.parametrize("copy", [batch, batch_async], ids=["memcpy_batch", "memcpy_batch_async"])


def numpy_arrays(dtype: str) -> Callable[[list[int]], Any]:
    def make(numbers: list[int]) -> Any:
        return pytest.importorskip("numpy").array(numbers, dtype=dtype)

    return make


containers = pytest.mark.parametrize(
    "container",
    [list, numpy_arrays("int64"), numpy_arrays("uint64"), lambda numbers: array.array("Q", numbers)],
    ids=["list", "int64", "uint64", "array"],
)


@both
@containers
def test_blocks_round_trip(copy: Batch, container: Callable[[list[int]], Any]) -> None:
    count, size = 50, 300
    device, host, back = malloc(count * 512), pinned_bytes(pattern(count * size)), malloc_host(count * size)
    slots = [device + (i * 7 % count) * 512 for i in range(count)]
    hosts, backs = [host + i * size for i in range(count)], [back + i * size for i in range(count)]
    sizes, maxs, zero = container([size] * count), container([512] * count), container([0])
    assert copy(container(slots), maxs, container(hosts), sizes, [TO_DEVICE], zero) == (NO_FAIL_INDEX, SUCCESS)
    assert copy(container(backs), sizes, container(slots), sizes, [TO_HOST], zero) == (NO_FAIL_INDEX, SUCCESS)
    assert read(back, count * size) == pattern(count * size)


@both
def test_pageable_memory_counts_as_host(copy: Batch) -> None:
    data, result, device = pattern(100), bytes(100), malloc(100)
    assert copy([device], [100], [bytes_to_ptr(data)], [100], [TO_DEVICE], [0]) == (NO_FAIL_INDEX, SUCCESS)
    assert copy([bytes_to_ptr(result)], [100], [device], [100], [TO_HOST], [0]) == (NO_FAIL_INDEX, SUCCESS)
    assert result == data
    unregistered = {"dstLoc": {"type": DEVICE}, "srcLoc": {"type": UNREGISTERED}}
    assert copy([device], [100], [bytes_to_ptr(data)], [100], [unregistered], [0]) == (0, PARAM_INVALID)


@both
def test_one_batch_can_copy_in_both_directions(copy: Batch) -> None:
    first, second = device_bytes(pattern(100, 1)), malloc(100)
    up, down = pinned_bytes(pattern(100, 2)), malloc_host(100)
    result = copy([down, second], [100, 100], [first, up], [100, 100], [TO_HOST, TO_DEVICE], [0, 1])
    assert result == (NO_FAIL_INDEX, SUCCESS)
    assert read(down, 100) == pattern(100, 1)
    assert read(second, 100) == pattern(100, 2)


@both
def test_index_of_the_invalid_entry_is_returned(copy: Batch) -> None:
    device, host = malloc(64), malloc_host(64)
    for wrong in range(4):
        dsts, srcs = [device] * 4, [host] * 4
        dsts[wrong], srcs[wrong] = host, device
        assert copy(dsts, [64] * 4, srcs, [64] * 4, [TO_DEVICE], [0]) == (wrong, PARAM_INVALID)


@both
def test_entries_within_device_or_host_are_refused(copy: Batch) -> None:
    device, host = malloc(64), malloc_host(64)
    inside = {"dstLoc": {"id": 0, "type": DEVICE}, "srcLoc": {"id": 0, "type": DEVICE}}
    outside = {"dstLoc": {"type": HOST}, "srcLoc": {"type": HOST}}
    assert copy([device], [8], [device + 32], [8], [inside], [0]) == (0, PARAM_INVALID)
    assert copy([host], [8], [host + 32], [8], [outside], [0]) == (0, PARAM_INVALID)


@both
def test_wrong_device_id_is_refused(copy: Batch) -> None:
    other = {"dstLoc": {"id": 1, "type": DEVICE}, "srcLoc": {"type": HOST}}
    assert copy([malloc(64)], [64], [malloc_host(64)], [64], [other], [0]) == (0, PARAM_INVALID)


@both
def test_errors_of_the_whole_batch_have_no_index(copy: Batch) -> None:
    device, host = malloc(64), malloc_host(64)
    assert copy([], [], [], [], [], []) == (NO_FAIL_INDEX, INVALID_PARAM)
    assert copy([device], [63], [host], [64], [TO_DEVICE], [0]) == (NO_FAIL_INDEX, INVALID_PARAM)
    assert copy([device], [64], [host], [64], [], []) == (NO_FAIL_INDEX, PARAM_INVALID)
    assert copy([device], [64], [host], [64], [TO_DEVICE] * 2, [0, 1]) == (NO_FAIL_INDEX, PARAM_INVALID)
    assert copy([device] * 2, [64] * 2, [host] * 2, [64] * 2, [TO_DEVICE], [1]) == (NO_FAIL_INDEX, PARAM_INVALID)
    assert copy([device] * 2, [64] * 2, [host] * 2, [64] * 2, [TO_DEVICE] * 2, [0, 0]) == (NO_FAIL_INDEX, PARAM_INVALID)
    assert copy([device] * 2, [64] * 2, [host] * 2, [64] * 2, [TO_DEVICE] * 2, [0, 2]) == (NO_FAIL_INDEX, PARAM_INVALID)


@both
def test_batch_of_empty_entries_succeeds(copy: Batch) -> None:
    assert copy([0, 0], [0, 0], [0, 0], [0, 0], [], []) == (NO_FAIL_INDEX, SUCCESS)


def test_empty_entry_is_refused_only_by_the_asynchronous_call() -> None:
    device, host = malloc(64), malloc_host(64)
    arguments: Any = ([device] * 2, [64] * 2, [host] * 2, [64, 0], [TO_DEVICE], [0])
    assert rt.memcpy_batch(*arguments) == (NO_FAIL_INDEX, SUCCESS)
    assert rt.memcpy_batch_async(*arguments, 0) == (1, PARAM_INVALID)


def test_only_the_blocking_call_has_an_entry_limit() -> None:
    device, host = malloc(5000), pinned_bytes(pattern(5000))
    dsts, srcs = [device + i for i in range(5000)], [host + i for i in range(5000)]
    arguments: Any = (dsts, [1] * 5000, srcs, [1] * 5000, [TO_DEVICE], [0])
    assert rt.memcpy_batch(*arguments) == (NO_FAIL_INDEX, PARAM_INVALID)
    assert rt.memcpy_batch_async(*arguments, 0) == (NO_FAIL_INDEX, SUCCESS)
    assert rt.synchronize_stream(0) == SUCCESS
    assert read(device, 5000) == pattern(5000)


def test_asynchronous_batch_runs_in_stream_order() -> None:
    device, host = device_bytes(pattern(128)), pinned_bytes(bytes(128))
    with blocked_stream() as (stream, gate):
        dsts, srcs, sizes = [host, host + 64], [device + 64, device], [64, 64]
        assert rt.memcpy_batch_async(dsts, sizes, srcs, sizes, [TO_HOST], [0], stream) == (NO_FAIL_INDEX, SUCCESS)
        assert read(host, 128) == bytes(128)
        gate.open()
        assert rt.synchronize_stream(stream) == SUCCESS
    assert read(host, 128) == pattern(128)[64:] + pattern(128)[:64]


def test_entries_before_an_invalid_one_are_copied_only_by_the_asynchronous_call() -> None:
    device, host = device_bytes(bytes(64)), pinned_bytes(b"\7" * 64)
    arguments: Any = ([device, host], [8, 8], [host, device], [8, 8], [TO_DEVICE], [0])
    assert rt.memcpy_batch(*arguments) == (1, PARAM_INVALID)
    assert read(device, 64) == bytes(64)
    assert rt.memcpy_batch_async(*arguments, 0) == (1, PARAM_INVALID)
    assert rt.synchronize_stream(0) == SUCCESS
    assert read(device, 64) == b"\7" * 8 + bytes(56)


def test_invalid_stream_and_missing_context_are_refused() -> None:
    device, host = malloc(64), malloc_host(64)
    arguments: Any = ([device], [64], [host], [64], [TO_DEVICE], [0])
    assert rt.memcpy_batch_async(*arguments, 5) == (NO_FAIL_INDEX, INVALID_HANDLE)
    assert on_new_thread(lambda: rt.memcpy_batch_async(*arguments, 0))[1] == 107002
    assert on_new_thread(lambda: rt.memcpy_batch(*arguments)) == (NO_FAIL_INDEX, SUCCESS)  # needs no context


def test_chips_without_batch_copies_return_not_supported() -> None:
    program = """
import acl
acl.rt.set_device(0)
device, host = acl.rt.malloc(8, 0)[0], acl.rt.malloc_host(8)[0]
attr = {"dstLoc": {"type": 1}, "srcLoc": {"type": 0}}
print(acl.rt.memcpy_batch([device], [8], [host], [8], [attr], [0])[1])
"""
    assert run_python(program, SOFTACL_SOC="Ascend310P").strip() == str(NOT_SUPPORTED)


# Invalid arguments


@both
def test_lists_of_different_lengths_raise(copy: Batch) -> None:
    for position in range(4):
        arguments: list[Any] = [[1, 1], [1, 1], [1, 1], [1, 1], [TO_DEVICE], [0]]
        arguments[position] = [1]
        with pytest.raises(ValueError, match="the same length"):
            copy(*arguments)
    with pytest.raises(ValueError, match="the same length"):
        copy([1], [1], [1], [1], [TO_DEVICE], [0, 1])


@both
@pytest.mark.parametrize("value", [None, 5, (1,), {1}, "text", [None], [1.0], ["1"], object()])
def test_non_integers_raise(copy: Batch, value: Any) -> None:
    for position in [0, 1, 2, 3, 5]:
        arguments: list[Any] = [[1], [1], [1], [1], [TO_DEVICE], [0]]
        arguments[position] = value
        with pytest.raises(TypeError):
            copy(*arguments)


@both
@pytest.mark.parametrize("value", [None, 5, (TO_DEVICE,), TO_DEVICE, [None], [5], [[]]])
def test_attributes_must_be_dictionaries(copy: Batch, value: Any) -> None:
    with pytest.raises(TypeError):
        copy([1], [1], [1], [1], value, [0])


@both
def test_incomplete_attributes_raise(copy: Batch) -> None:
    for lacking in ["dstLoc", "srcLoc"]:
        attribute = {key: value for key, value in TO_DEVICE.items() if key != lacking}
        with pytest.raises(ValueError, match=lacking):
            copy([1], [1], [1], [1], [attribute], [0])
        with pytest.raises(TypeError, match=lacking):
            copy([1], [1], [1], [1], [{**TO_DEVICE, lacking: 5}], [0])


@both
def test_unsuitable_arrays_raise(copy: Batch) -> None:
    numpy = pytest.importorskip("numpy")
    words = numpy.ones(8, dtype=numpy.uint64)
    for bad in [
        words[::2],
        words[::-1],
        words.reshape(2, 4),
        words.astype(numpy.int32),
        words.astype(numpy.float64),
        words.astype(">u8"),
        numpy.ones((4, 4), dtype=numpy.int64)[:, 0],
    ]:
        count = len(bad)
        for position in [0, 1, 2, 3]:
            arguments: list[Any] = [[1] * count, [1] * count, [1] * count, [1] * count, [TO_DEVICE], [0]]
            arguments[position] = bad
            with pytest.raises(TypeError, match="contiguous"):
                copy(*arguments)


@both
def test_read_only_arrays_are_accepted_and_unchanged(copy: Batch) -> None:
    numpy = pytest.importorskip("numpy")
    device, host = malloc(64), malloc_host(64)
    arrays = [numpy.array([number], dtype=numpy.uint64) for number in (device, 64, host, 64)]
    for one in arrays:
        one.flags.writeable = False
    assert copy(*arrays, [TO_DEVICE], [0]) == (NO_FAIL_INDEX, SUCCESS)
    assert [int(one[0]) for one in arrays] == [device, 64, host, 64]


@both
def test_reserved_bytes_must_be_zero(copy: Batch) -> None:
    attribute = {**TO_DEVICE, "rsv": [1] + [0] * 15}
    assert copy([malloc(64)], [64], [malloc_host(64)], [64], [attribute], [0]) == (NO_FAIL_INDEX, INVALID_PARAM)


@both
def test_buffers_without_64_bit_items_raise(copy: Batch) -> None:
    for bad in [b"\1", bytearray(1), array.array("B", [1])]:
        with pytest.raises(TypeError):
            copy(bad, [1], [1], [1], [TO_DEVICE], [0])
