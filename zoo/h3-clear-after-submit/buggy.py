"""Clears an output array and downloads results into it.

buggy.py clears the array after it has submitted the download. If the copy runs early, the results
are erased; if it runs late, they survive.
fixed.py clears the array before it submits the download.
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
    device = take(acl.rt.malloc(SIZE, 0))
    host = take(acl.rt.malloc_host(SIZE))
    check(acl.rt.memset(device, SIZE, 9, SIZE))

    check(acl.rt.memcpy_async(host, SIZE, device, SIZE, D2H, stream))
    ctypes.memset(host, 0, SIZE)  # removes old results
    check(acl.rt.synchronize_stream(stream))

    wrong = SIZE - ctypes.string_at(host, SIZE).count(b"\x09")
    check(acl.rt.free_host(host))
    check(acl.rt.free(device))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, SIZE, "bytes")


main()
