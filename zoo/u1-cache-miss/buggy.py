"""Serves a request from the blocks of a prefix cache.

buggy.py copies a block that the cache lists as present although its load failed or never happened,
and reads uninitialized device memory.
fixed.py fills every block first.
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


BLOCKS, BLOCK = 4, 4096


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    cache = take(acl.rt.malloc(BLOCKS * BLOCK, 0))
    host = take(acl.rt.malloc_host(BLOCKS * BLOCK))
    for block in range(BLOCKS):
        if block == 2:
            continue  # a miss that was not recorded
        at = block * BLOCK
        check(acl.rt.memset_async(cache + at, BLOCKS * BLOCK - at, 7, BLOCK, stream))
    for at in range(0, BLOCKS * BLOCK, BLOCK):
        check(acl.rt.memcpy_async(host + at, BLOCKS * BLOCK - at, cache + at, BLOCK, D2H, stream))
    check(acl.rt.synchronize_stream(stream))

    wrong = BLOCKS * BLOCK - ctypes.string_at(host, BLOCKS * BLOCK).count(b"\x07")
    check(acl.rt.free(cache))
    check(acl.rt.free_host(host))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong // BLOCK, BLOCKS, "blocks")


main()
