"""A context manager owns the pinned buffer into which a block of the cache is offloaded."""

import contextlib

import ctypes
import sys

import acl

H2D, D2H, D2D = 1, 2, 3


def check(ret):
    if ret != 0:
        sys.exit(f"failed with {ret}: {acl.get_recent_err_msg()}")


def take(result):
    """The value of a call that returns (value, code)."""
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
        check(acl.rt.free_host(buffer))


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    block = take(acl.rt.malloc(SIZE, 0))
    check(acl.rt.memset(block, SIZE, 5, SIZE))

    cancelled = 0
    try:
        with pinned(SIZE, stream) as buffer:
            check(acl.rt.memcpy_async(buffer, SIZE, block, SIZE, D2H, stream))
            raise TimeoutError("the request was cancelled")
    except TimeoutError:
        cancelled += 1
    check(acl.rt.synchronize_stream(stream))

    check(acl.rt.free(block))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(0, cancelled, "requests cancelled")


main()
