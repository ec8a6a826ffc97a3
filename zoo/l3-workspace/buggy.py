"""A gather goes through a temporary buffer on the device."""

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


def gather(target, host, stream):
    workspace = take(acl.rt.malloc(SIZE, 0))
    check(acl.rt.memcpy_async(workspace, SIZE, host, SIZE, H2D, stream))
    check(acl.rt.memcpy_async(target, SIZE, workspace, SIZE, D2D, stream))
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
