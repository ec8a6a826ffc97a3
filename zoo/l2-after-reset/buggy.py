"""Teardown in the order of creation."""

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


SIZE = 4096


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    block = take(acl.rt.malloc(SIZE, 0))
    check(acl.rt.memset_async(block, SIZE, 0, SIZE, stream))
    check(acl.rt.synchronize_stream(stream))
    check(acl.rt.free(block))

    check(acl.rt.reset_device(0))
    ret = acl.rt.destroy_stream(stream)
    if ret != 0:
        print(f"destroy_stream: {ret} {acl.get_recent_err_msg()}")
    check(acl.finalize())
    verdict(int(ret != 0), 1, "calls at the end")


main()
