"""Offloads a block into a pinned buffer that a context manager owns.

buggy.py frees the buffer when an exception leaves the with statement, while the download into it is
still queued.
fixed.py waits for the stream before it frees the buffer.
Modeled on https://github.com/vllm-project/vllm-ascend/pull/15746.
"""

import contextlib

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


@contextlib.contextmanager
def pinned(size, stream):
    buffer = take(acl.rt.malloc_host(size))
    try:
        yield buffer
    finally:
        check(acl.rt.synchronize_stream(stream))
        check(acl.rt.free_host(buffer))


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    block = take(acl.rt.malloc(SIZE, 0))
    check(acl.rt.memset(block, SIZE, 5, SIZE))

    canceled = 0
    try:
        with pinned(SIZE, stream) as buffer:
            check(acl.rt.memcpy_async(buffer, SIZE, block, SIZE, D2H, stream))
            raise TimeoutError("the request was canceled")
    except TimeoutError:
        canceled += 1
    check(acl.rt.synchronize_stream(stream))

    check(acl.rt.free(block))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(0, canceled, "requests canceled")


main()
