"""The sampled tokens of a step come back into a pinned array and are appended to the requests."""

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


REQUESTS = 512
SIZE = REQUESTS * 4


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    sampled = take(acl.rt.malloc(SIZE, 0))
    host = take(acl.rt.malloc_host(SIZE))
    ctypes.memset(host, 0, SIZE)
    check(acl.rt.memset(sampled, SIZE, 3, SIZE))

    check(acl.rt.memcpy_async(host, SIZE, sampled, SIZE, D2H, stream))
    check(acl.rt.synchronize_stream(stream))
    tokens = ctypes.string_at(host, SIZE)

    wrong = SIZE - tokens.count(b"\x03")
    check(acl.rt.free_host(host))
    check(acl.rt.free(sampled))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong // 4, REQUESTS, "tokens")


main()
