"""Uploads bytes on a stream and downloads them with a blocking copy.

buggy.py follows a CUDA habit: there, a blocking copy is ordered with the streams. On Ascend it is
not.
fixed.py synchronizes the stream before the blocking copy.
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


SIZE = 16384


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    device = take(acl.rt.malloc(SIZE, 0))
    up = take(acl.rt.malloc_host(SIZE))
    down = take(acl.rt.malloc_host(SIZE))
    check(acl.rt.memset(device, SIZE, 0, SIZE))
    ctypes.memset(up, 8, SIZE)

    check(acl.rt.memcpy_async(device, SIZE, up, SIZE, H2D, stream))
    check(acl.rt.synchronize_stream(stream))
    check(acl.rt.memcpy(down, SIZE, device, SIZE, D2H))

    wrong = SIZE - ctypes.string_at(down, SIZE).count(b"\x08")
    for address in (up, down):
        check(acl.rt.free_host(address))
    check(acl.rt.free(device))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, SIZE, "bytes")


main()
