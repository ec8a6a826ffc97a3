"""A worker uploads a block on a stream of its context and destroys the context.

buggy.py destroys the context when the worker's queue is empty, although the upload is still pending
on the stream.
fixed.py synchronizes and destroys the stream first.
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
    primary = take(acl.rt.get_context())
    host = take(acl.rt.malloc_host(SIZE))
    block = take(acl.rt.malloc(SIZE, 0))
    check(acl.rt.memset(block, SIZE, 0, SIZE))
    ctypes.memset(host, 6, SIZE)

    context = take(acl.rt.create_context(0))
    stream = take(acl.rt.create_stream())
    check(acl.rt.memcpy_async(block, SIZE, host, SIZE, H2D, stream))
    check(acl.rt.synchronize_stream(stream))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.destroy_context(context))  # destroys its streams as well
    check(acl.rt.set_context(primary))

    back = ctypes.create_string_buffer(SIZE)
    check(acl.rt.memcpy(ctypes.addressof(back), SIZE, block, SIZE, D2H))
    wrong = SIZE - back.raw.count(b"\x06")
    check(acl.rt.free(block))
    check(acl.rt.free_host(host))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, SIZE, "bytes")


main()
