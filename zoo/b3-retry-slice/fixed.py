"""Loads blocks with one batch and falls back to single copies if the batch fails.

buggy.py restarts at the fail index. If no entry is to blame, the index is SIZE_MAX or was never
written. A slice that starts there is empty, so nothing is retried.
fixed.py passes correct capacities and would copy every block again if the batch failed.
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


BLOCKS, BLOCK = 8, 4096
DEVICE = {"id": 0, "type": 1}
HOST = {"id": 0, "type": 0}


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    pool = take(acl.rt.malloc_host(BLOCKS * BLOCK))
    cache = take(acl.rt.malloc(BLOCKS * BLOCK, 0))
    check(acl.rt.memset(cache, BLOCKS * BLOCK, 0, BLOCKS * BLOCK))
    ctypes.memset(pool, 5, BLOCKS * BLOCK)
    offsets = [block * BLOCK for block in range(BLOCKS)]
    rooms = [BLOCKS * BLOCK - at for at in offsets]

    fail_index, ret = acl.rt.memcpy_batch_async(
        [cache + at for at in offsets],
        rooms,
        [pool + at for at in offsets],
        [BLOCK] * BLOCKS,
        [{"dstLoc": DEVICE, "srcLoc": HOST}],
        [0],
        stream,
    )
    if ret != 0:
        print(f"memcpy_batch_async: {ret} at {fail_index} {acl.get_recent_err_msg()}")
        for at in offsets:  # some codes come without an index: retry every block
            check(acl.rt.memcpy_async(cache + at, BLOCKS * BLOCK - at, pool + at, BLOCK, H2D, stream))
    check(acl.rt.synchronize_stream(stream))

    back = ctypes.create_string_buffer(BLOCKS * BLOCK)
    check(acl.rt.memcpy(ctypes.addressof(back), BLOCKS * BLOCK, cache, BLOCKS * BLOCK, D2H))
    wrong = BLOCKS * BLOCK - back.raw.count(b"\x05")
    check(acl.rt.free(cache))
    check(acl.rt.free_host(pool))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong // BLOCK, BLOCKS, "blocks")


main()
