"""Keeps pinned buffers in a pool object.

buggy.py deletes the pool without freeing its buffers. Python frees the object but not the pinned
memory, which no other program can use.
fixed.py closes the pool first.
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


SIZE = 65536


class Pool:
    def __init__(self, count):
        self.buffers = [take(acl.rt.malloc_host(SIZE)) for _ in range(count)]



def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    block = take(acl.rt.malloc(SIZE, 0))
    check(acl.rt.memset(block, SIZE, 4, SIZE))
    pool = Pool(4)
    wrong = 0
    for buffer in pool.buffers:
        check(acl.rt.memcpy(buffer, SIZE, block, SIZE, D2H))
        wrong += SIZE - ctypes.string_at(buffer, SIZE).count(b"\x04")
    del pool
    check(acl.rt.free(block))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, 4 * SIZE, "bytes")


main()
