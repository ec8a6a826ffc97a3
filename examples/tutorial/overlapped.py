"""Loads eight blocks of a KV cache into device memory, through two pinned staging buffers.

load_cache.py of docs/tutorial.md without its bug, and without a wait after every copy: two buffers take turns.
"""

import ctypes
import sys

import acl

BLOCKS, SIZE = 8, 64 * 1024
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2


def check(code):
    if code != 0:
        sys.exit(f"failed with {code}: {acl.get_recent_err_msg()}")


def take(result):
    value, code = result
    check(code)
    return value


def block(number):
    """Returns the saved contents of a block. A real program reads them from a file."""
    return bytes([number + 1]) * SIZE


def load(staging, cache, stream):
    sent = [take(acl.rt.create_event()) for _ in staging]
    for number, device in enumerate(cache):
        turn = number % len(staging)
        if number >= len(staging):
            check(acl.rt.synchronize_event(sent[turn]))
        ctypes.memmove(staging[turn], block(number), SIZE)
        check(acl.rt.memcpy_async(device, SIZE, staging[turn], SIZE, HOST_TO_DEVICE, stream))
        check(acl.rt.record_event(sent[turn], stream))
    check(acl.rt.synchronize_stream(stream))
    for event in sent:
        check(acl.rt.destroy_event(event))


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    staging = [take(acl.rt.malloc_host(SIZE)) for _ in range(2)]
    cache = [take(acl.rt.malloc(SIZE, 0)) for _ in range(BLOCKS)]

    load(staging, cache, stream)

    right = 0
    for number, device in enumerate(cache):
        back = ctypes.create_string_buffer(SIZE)
        check(acl.rt.memcpy(ctypes.addressof(back), SIZE, device, SIZE, DEVICE_TO_HOST))
        right += back.raw == block(number)
        check(acl.rt.free(device))
    print(f"{right} of {BLOCKS} blocks are right")

    for buffer in staging:
        check(acl.rt.free_host(buffer))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())


main()
