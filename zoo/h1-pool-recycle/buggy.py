"""Requests take pinned buffers from a pool, fill them and upload them.

buggy.py returns a buffer to the pool when the copy call returns. The next request gets the same
buffer and overwrites it while the copy is in flight.
fixed.py returns a buffer when the event recorded after its upload is complete.
Modeled on https://github.com/vllm-project/vllm-ascend/pull/15746.
"""

import ctypes
import sys

import acl

H2D, D2H, D2D = 1, 2, 3


def check(ret):
    if ret != 0:
        sys.exit(f"failed with {ret}: {acl.get_recent_err_msg()}")


def take(result):
    """Returns the value of a (value, code) result; exits if the call failed."""
    value, ret = result
    check(ret)
    return value


def verdict(wrong, total, what):
    print(f"wrong: {wrong} of {total} {what}" if wrong else f"right: {total} {what}")


SIZE = 8192


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    free = [take(acl.rt.malloc_host(SIZE)) for _ in range(2)]
    caches = [take(acl.rt.malloc(SIZE, 0)) for _ in range(4)]

    for request, cache in enumerate(caches):
        buffer = free.pop()
        ctypes.memset(buffer, request + 1, SIZE)
        check(acl.rt.memcpy_async(cache, SIZE, buffer, SIZE, H2D, stream))
        free.append(buffer)
    check(acl.rt.synchronize_stream(stream))

    wrong = 0
    for request, cache in enumerate(caches):
        back = ctypes.create_string_buffer(SIZE)
        check(acl.rt.memcpy(ctypes.addressof(back), SIZE, cache, SIZE, D2H))
        wrong += SIZE - back.raw.count(bytes([request + 1]))
        check(acl.rt.free(cache))
    for buffer in free:
        check(acl.rt.free_host(buffer))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, 4 * SIZE, "bytes")


main()
