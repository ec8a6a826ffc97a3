"""Gathers data through a temporary buffer on the device.

buggy.py frees the buffer when the Python function returns, while the queued copies still use it.
fixed.py waits for the copies before it frees the buffer.
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


def gather(target, host, stream):
    workspace = take(acl.rt.malloc(SIZE, 0))
    check(acl.rt.memcpy_async(workspace, SIZE, host, SIZE, H2D, stream))
    check(acl.rt.memcpy_async(target, SIZE, workspace, SIZE, D2D, stream))
    check(acl.rt.synchronize_stream(stream))
    check(acl.rt.free(workspace))


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    target = take(acl.rt.malloc(SIZE, 0))
    host = take(acl.rt.malloc_host(SIZE))
    ctypes.memset(host, 3, SIZE)

    gather(target, host, stream)
    check(acl.rt.synchronize_stream(stream))

    back = ctypes.create_string_buffer(SIZE)
    check(acl.rt.memcpy(ctypes.addressof(back), SIZE, target, SIZE, D2H))
    wrong = SIZE - back.raw.count(b"\x03")
    check(acl.rt.free(target))
    check(acl.rt.free_host(host))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, SIZE, "bytes")


main()
