"""Copies one pinned buffer to another.

buggy.py ignores the code of an asynchronous copy from host to host, which is refused with 207000.
The Python API returns codes and does not raise, so the failure is silent.
fixed.py makes a blocking copy and checks its code.
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


SIZE = 4096


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    source = take(acl.rt.malloc_host(SIZE))
    target = take(acl.rt.malloc_host(SIZE))
    ctypes.memset(source, 5, SIZE)
    ctypes.memset(target, 0, SIZE)

    acl.rt.memcpy_async(target, SIZE, source, SIZE, 0, stream)
    check(acl.rt.synchronize_stream(stream))

    wrong = SIZE - ctypes.string_at(target, SIZE).count(b"\x05")
    check(acl.rt.free_host(source))
    check(acl.rt.free_host(target))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, SIZE, "bytes")


main()
