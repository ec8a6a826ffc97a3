"""Allocates a cache of 8 MiB blocks on a device with 64 MiB.

buggy.py uses a number of blocks that was computed for a larger card. The last allocations fail, and
the engine runs with holes in its cache.
fixed.py computes the number of blocks from the free memory.
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


BLOCK = 8 << 20
WANTED = 12


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    free, _total, ret = acl.rt.get_mem_info(1)
    check(ret)
    count = min(WANTED, free // (BLOCK * 5 // 4))  # leaves some memory free
    blocks = []
    for _ in range(count):
        block, ret = acl.rt.malloc(BLOCK, 0)
        if ret != 0:
            print(f"malloc: {ret} {acl.get_recent_err_msg()}")
        blocks.append(block)
    holes = 0
    for block in blocks:
        ret = acl.rt.memset(block, BLOCK, 0, BLOCK)
        if ret != 0:
            print(f"memset: {ret} {acl.get_recent_err_msg()}")
            holes += 1
    for block in blocks:
        if block:
            check(acl.rt.free(block))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(holes, count, "blocks of the cache")


main()
