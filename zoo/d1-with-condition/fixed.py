"""Uploads a block.

buggy.py calls the deprecated memcpy_async_with_condition. It dates from the time when the plain
copy did not check the memory. Both calls do the same today, and this one will be removed.
fixed.py calls memcpy_async.
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
    host = take(acl.rt.malloc_host(SIZE))
    block = take(acl.rt.malloc(SIZE, 0))
    ctypes.memset(host, 5, SIZE)

    check(acl.rt.memcpy_async(block, SIZE, host, SIZE, H2D, stream))
    check(acl.rt.synchronize_stream(stream))

    back = ctypes.create_string_buffer(SIZE)
    check(acl.rt.memcpy(ctypes.addressof(back), SIZE, block, SIZE, D2H))
    wrong = SIZE - back.raw.count(b"\x05")
    check(acl.rt.free(block))
    check(acl.rt.free_host(host))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, SIZE, "bytes")


main()
