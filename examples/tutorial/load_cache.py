"""Loads eight blocks of a KV cache into device memory, through one pinned staging buffer.

The program of docs/tutorial.md. It has a bug, which the tutorial finds; fixed.py and overlapped.py do not.
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
    for number, device in enumerate(cache):
        ctypes.memmove(staging, block(number), SIZE)
        check(acl.rt.memcpy_async(device, SIZE, staging, SIZE, HOST_TO_DEVICE, stream))
    check(acl.rt.synchronize_stream(stream))


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    staging = take(acl.rt.malloc_host(SIZE))
    cache = [take(acl.rt.malloc(SIZE, 0)) for _ in range(BLOCKS)]

    load(staging, cache, stream)

    right = 0
    for number, device in enumerate(cache):
        back = ctypes.create_string_buffer(SIZE)
        check(acl.rt.memcpy(ctypes.addressof(back), SIZE, device, SIZE, DEVICE_TO_HOST))
        right += back.raw == block(number)
        check(acl.rt.free(device))
    print(f"{right} of {BLOCKS} blocks are right")

    check(acl.rt.free_host(staging))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())


main()
