"""Creates a stream, uses it and tears everything down.

buggy.py tears down in the order of creation. Resetting the device has destroyed the stream, so its
handle is no longer valid.
fixed.py tears down in reverse order.
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
    block = take(acl.rt.malloc(SIZE, 0))
    check(acl.rt.memset_async(block, SIZE, 0, SIZE, stream))
    check(acl.rt.synchronize_stream(stream))
    check(acl.rt.free(block))

    check(acl.rt.reset_device(0))
    ret = acl.rt.destroy_stream(stream)
    if ret != 0:
        print(f"destroy_stream: {ret} {acl.get_recent_err_msg()}")
    check(acl.finalize())
    verdict(int(ret != 0), 1, "teardown calls")


main()
